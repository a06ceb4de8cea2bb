"""Which fields does each kind have, for clients? OpenAPI v3, a document for each group and version.

Built-in kinds have the schemas of a real server, custom kinds those of their definitions.
Descriptions of built-in fields are left out, and so is what only people read.

Must not: be what the server itself holds objects against; ``apiserver.forms`` is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from typing import Any

import msgspec

from unmoor.model.base import JSON
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.rules import SCALE_VERSION
from unmoor.sim.http.catalog import Catalog, Served

REF = "#/components/schemas/"
ROOT = "/openapi/v3"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_ACTION = "x-kubernetes-action"
IDENTITY = "x-kubernetes-group-version-kind"
_WRITES = ("dryRun", "fieldManager", "fieldValidation")
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
_OTHERS = {"Scale": SCALE_VERSION, "Eviction": "policy/v1", "Binding": "v1"}


V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
V2_PROTOBUF_ASKED = (V2_PROTOBUF, V2_PROTOBUF.replace(".v1.0", "@v1.0"))
"""Clients write an @ that is not allowed in answers."""
EMPTY_V2: JSON = {
    "swagger": "2.0",
    "info": {"title": "unmoor simulation", "version": "unversioned"},
    "paths": {},
    "definitions": {},
}
EMPTY_V2_PROTOBUF = b"\x0a\x032.0"
"""A document with nothing but its ``swagger``."""


class OpenApi:
    """All documents, made when somebody first asks."""

    def __init__(self, catalog: Catalog) -> None:
        """Describe what this catalogue has."""
        self._catalog = catalog
        self._made: dict[str, bytes] = {}
        self._of: tuple[Served, ...] = ()

    def index(self) -> JSON:
        """Where the document of each group and version is; the hash changes with it."""
        paths = {}
        for name, text in self._documents().items():
            digest = hashlib.sha256(text).hexdigest().upper()
            paths[name] = {"serverRelativeURL": f"{ROOT}/{name}?hash={digest}"}
        return {"paths": paths}

    def document(self, name: str) -> bytes:
        """One document, by ``api/v1`` or ``apis/apps/v1``; raises 404."""
        found = self._documents().get(name)
        if found is None:
            raise status.no_such_page()
        return found

    def _documents(self) -> dict[str, bytes]:
        served = self._catalog.all()
        if served != self._of:
            self._of = served
            self._made = {
                _place(group, version): msgspec.json.encode(
                    _document(self._catalog.of(group, version))
                )
                for group, versions in self._catalog.groups().items()
                for version in versions
            }
        return self._made


def _place(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _document(kinds: tuple[Served, ...]) -> JSON:
    schemas: JSON = {}
    paths: JSON = {}
    wanted = [f"{_META}{name}" for name in ("DeleteOptions", "Status", "ObjectMeta", "ListMeta")]
    for served in kinds:
        if served.definition is not None:
            schemas |= _custom(served)
        else:
            wanted += [_name(served.kind, served.api_version)]
            wanted += [_name(f"{served.kind}List", served.api_version)]
        wanted += [
            _name(kind, version) for _, kind, version, _ in served.subresources() if kind in _OTHERS
        ]
        paths |= _paths(served)
    schemas |= _reachable(wanted)
    return {
        "openapi": "3.0.0",
        "info": {"title": "unmoor simulation", "version": _published()["version"]},
        "paths": paths,
        "components": {"schemas": schemas},
    }


@lru_cache(maxsize=1)
def _published() -> JSON:
    text = resources.files("unmoor.sim").joinpath("data", "openapi.json").read_bytes()
    found: JSON = msgspec.json.decode(text)
    return found


def _builtin() -> dict[str, JSON]:
    """The schemas of the built-in kinds, by name."""
    found: dict[str, JSON] = _published()["schemas"]
    return found


# ------------------------------------------------------------------------------------------ schemas


def _name(kind: str, api_version: str) -> str:
    """The schema of a kind, "" when there is none."""
    group, _, version = api_version.rpartition("/")
    identity = {"group": group, "kind": kind, "version": version}
    for name, schema in _builtin().items():
        if identity in schema.get(IDENTITY, ()):
            return name
    return ""


def _reachable(wanted: list[str]) -> JSON:
    found: JSON = {}
    known = _builtin()
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name in found or name not in known:
            continue
        found[name] = known[name]
        waiting += _references(known[name])
    return dict(sorted(found.items()))


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for one in schema:
            yield from _references(one)
    elif isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].removeprefix(REF)
        for one in schema.values():
            yield from _references(one)


def _custom_name(served: Served) -> str:
    backwards = ".".join(reversed(served.group.split(".")))
    return f"{backwards}.{served.version}.{served.kind}"


def _custom(served: Served) -> JSON:
    """The schemas of a custom kind and of its list."""
    assert served.definition is not None
    versions = served.definition["versions"]
    version = next(one for one in versions if one["name"] == served.version)
    root: JSON = (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
    properties = {
        **(root.get("properties") or {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"allOf": [{"$ref": f"{REF}{_META}ObjectMeta"}]},
    }
    name = _custom_name(served)
    items = {"type": "array", "items": {"$ref": REF + name}}
    list_properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"allOf": [{"$ref": f"{REF}{_META}ListMeta"}]},
        "items": items,
    }
    return {
        name: {**root, "properties": properties, IDENTITY: [_identity(served)]},
        f"{name}List": {
            "type": "object",
            "required": ["items"],
            "properties": list_properties,
            IDENTITY: [{**_identity(served), "kind": f"{served.kind}List"}],
        },
    }


def _identity(served: Served) -> JSON:
    return {"group": served.group, "kind": served.kind, "version": served.version}


# -------------------------------------------------------------------------------------------- paths


def _paths(served: Served) -> JSON:
    prefix = f"/{_place(served.group, served.version)}"
    found: JSON = {}
    collection = prefix
    if served.resource.is_namespaced:
        found[f"{prefix}/{served.plural}"] = {"get": _operation(served, "list")}
        collection = f"{prefix}/namespaces/{{namespace}}"
    collection = f"{collection}/{served.plural}"
    found[collection] = {
        "get": _operation(served, "list"),
        "post": _operation(served, "post", _WRITES),
        "delete": _operation(served, "deletecollection"),
    }
    found[f"{collection}/{{name}}"] = {
        "get": _operation(served, "get"),
        "put": _operation(served, "put", _WRITES),
        "patch": _patch(served),
        "delete": _operation(served, "delete", ("dryRun",)),
    }
    for door, _, _, verbs in served.subresources():
        path = f"{collection}/{{name}}/{door}"
        if "create" in verbs:
            found[path] = {"post": _operation(served, "post", _WRITES)}
        elif "get" in verbs:
            found[path] = {
                "get": _operation(served, "get"),
                "put": _operation(served, "put", _WRITES),
                "patch": _patch(served),
            }
        else:
            found[path] = {"put": _operation(served, "put", _WRITES)}
    return found


def _operation(served: Served, action: str, parameters: tuple[str, ...] = ()) -> JSON:
    schema = {"$ref": REF + _schema_name(served, action)}
    answer = {"description": "OK", "content": {"application/json": {"schema": schema}}}
    found: JSON = {
        "operationId": f"{action}{served.kind}",
        "responses": {"200": answer},
        _ACTION: action,
        IDENTITY: _identity(served),
    }
    if parameters:
        found["parameters"] = [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for name in parameters
        ]
    if action in {"post", "put"}:
        found["requestBody"] = {"content": {"*/*": {"schema": schema}}, "required": True}
    return found


def _patch(served: Served) -> JSON:
    found = _operation(served, "patch", (*_WRITES, "force"))
    is_custom = served.definition is not None
    patches = {
        media: {"schema": {"type": "object"}}
        for media in _PATCHES
        if not (is_custom and "strategic" in media)
    }
    return {**found, "requestBody": {"content": patches, "required": True}}


def _schema_name(served: Served, action: str) -> str:
    kind = f"{served.kind}List" if action == "list" else served.kind
    if served.definition is not None:
        return _custom_name(served) + ("List" if action == "list" else "")
    return _name(kind, served.api_version)
