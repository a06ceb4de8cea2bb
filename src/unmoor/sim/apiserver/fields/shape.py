"""What may stand in one place of an object: its type, and how lists and maps in it are merged.

Read from OpenAPI as a real API server publishes it (built-in kinds, by reference) or as a CRD has
it (custom kinds, written out). Shapes are made when first looked at: some contain themselves.

Must not: look at any value.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal, TypeAlias

from unmoor.model.base import JSON

Kind: TypeAlias = Literal[
    "any",
    "boolean",
    "bytes",
    "int-or-string",
    "integer",
    "list",
    "map",
    "micro-time",
    "number",
    "quantity",
    "string",
    "time",
]

REF = "#/components/schemas/"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_SPECIAL: dict[str, Kind] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "micro-time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "any",
}
_PLAIN: dict[str, Kind] = {
    "array": "list",
    "object": "map",
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}


class Shape:
    """One place. ``name`` is the schema it comes from, "" when it is written out in place."""

    def __init__(self, schema: JSON, book: Book, name: str = "") -> None:
        """Take a schema without a reference at its root."""
        self.schema = schema
        self.name = name
        self._book = book

    @cached_property
    def kind(self) -> Kind:
        """What stands here."""
        schema = self.schema
        if self.name in _SPECIAL:
            return _SPECIAL[self.name]
        if schema.get(INT_OR_STRING):
            return "int-or-string"
        if schema.get("format") == "byte" and self._book.is_typed:
            return "bytes"
        kind = _PLAIN.get(schema.get("type", ""))
        if kind is None or (kind == "map" and not (self.fields or self.element)):
            return "any"
        return kind

    @cached_property
    def fields(self) -> dict[str, Shape]:
        """The declared fields of a map."""
        properties = self.schema.get("properties") or {}
        return {name: self._book.shape(one) for name, one in properties.items()}

    @cached_property
    def element(self) -> Shape | None:
        """What a list, or a map beside its declared fields, is made of; None: of nothing more."""
        schema = self.schema
        inner = schema.get("items")
        if inner is None:
            inner = schema.get("additionalProperties")
        if isinstance(inner, dict):
            return self._book.shape(inner)
        if inner is True or schema.get(PRESERVE):
            return ANY
        return None

    @cached_property
    def is_atomic(self) -> bool:
        """It has one owner as a whole."""
        schema = self.schema
        if self.kind == "list":
            return bool(schema.get("x-kubernetes-list-type", "atomic") == "atomic")
        return self.kind == "map" and bool(schema.get("x-kubernetes-map-type") == "atomic")

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """What identifies an element of a list; none in a list that is a set."""
        if self.schema.get("x-kubernetes-list-type") != "map":
            return ()
        return tuple(sorted(self.schema.get("x-kubernetes-list-map-keys") or ()))

    @cached_property
    def key_defaults(self) -> JSON:
        """The value of a key that an element leaves out."""
        if self.element is None:
            return {}
        fields = self.element.fields
        return {
            key: fields[key].schema["default"]
            for key in self.keys
            if key in fields and "default" in fields[key].schema
        }

    @cached_property
    def short(self) -> str:
        """``PodSpec``: the name of the struct that a real server reads it into."""
        return self.name.rpartition(".")[2]

    @cached_property
    def go_type(self) -> str:
        """The type of the field in a real server, as its complaints name it."""
        match self.kind:
            case "list":
                return f"[]{self.element.go_type if self.element else 'string'}"
            case "map" if self.name:
                return ".".join(self.name.rsplit(".", 2)[1:])
            case "map":
                return f"map[string]{self.element.go_type if self.element else 'string'}"
            case "integer":
                return str(self.schema.get("format", "int64"))
            case "number":
                return "float64"
            case "boolean":
                return "bool"
            case "bytes":
                return "[]uint8"
            case "int-or-string":
                return "int32"
            case _:
                return "string"

    def child(self, name: str) -> Shape | None:
        """What stands under a name; None when the schema does not know it."""
        if self.kind == "any":
            return ANY
        return self.fields.get(name) or self.element

    @cached_property
    def zero(self) -> JSON:
        """What a real server has here before anything was said: a struct that is no pointer."""
        found: JSON = {}
        required = self.schema.get("required") or ()
        for name, shape in self.fields.items():
            if shape.schema.get("default") in ({}, "", 0, False) and "default" in shape.schema:
                found[name] = shape.zero if shape.kind == "map" else shape.schema["default"]
            elif (
                name in required and shape.kind in {"list", "map"} and "default" not in shape.schema
            ):
                found[name] = [] if shape.kind == "list" else {}
        return found


class Book:
    """Schemas by name, and the shapes made of them. ``is_typed``: a Go struct stands behind it."""

    def __init__(self, schemas: JSON, *, is_typed: bool = True) -> None:
        """Take the schemas of an OpenAPI document."""
        self.schemas = schemas
        self._named: dict[str, Shape] = {}
        self.is_typed = is_typed

    def named(self, name: str) -> Shape:
        """The shape of this name."""
        found = self._named.get(name)
        if found is None:
            found = self._named[name] = Shape(self.schemas[name], self, name)
        return found

    def shape(self, schema: JSON) -> Shape:
        """The shape of a schema, or of what it refers to."""
        inner = schema.get("allOf")
        ref = schema.get("$ref") or (inner[0].get("$ref") if inner and len(inner) == 1 else None)
        if ref is None:
            return Shape(schema, self)
        name = ref.removeprefix(REF)
        extra = {key: one for key, one in schema.items() if key not in {"$ref", "allOf"}}
        if not extra:
            return self.named(name)
        return Shape({**self.schemas[name], **extra}, self, name)


ANY = Shape({}, Book({}, is_typed=False))
"""Anything: maps have an owner for each field, lists one for all."""


def custom_shape(root: JSON, meta: Shape) -> Shape:
    """The shape of a custom kind: the schema of its CRD, and the metadata that every kind has."""
    book = Book({}, is_typed=False)
    shape = Shape({"type": "object", **root}, book)
    strings = {name: book.shape({"type": "string"}) for name in ("apiVersion", "kind")}
    shape.fields.update(strings | {"metadata": meta})
    return shape
