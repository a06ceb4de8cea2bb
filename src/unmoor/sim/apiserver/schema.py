"""What a custom object may look like: the schema of its CRD, for pruning, defaults and rules.

What the schema does not know is dropped without a word; a value of the wrong type is refused. Both
are what a real API server does with the CRDs that we install, so a field that is missing in a CRD
gets lost in a rehearsal as it would in a cluster.

An update is forgiven what it leaves as it was: a value that is no longer allowed may stay, and the
rest of its object can be written.

Must not: judge ``metadata``, which every kind has alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from unmoor.model.base import JSON
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.fields.shape import INT_OR_STRING, PRESERVE
from unmoor.sim.apiserver.patch import is_same
from unmoor.sim.apiserver.schema_rules import Check, checks_of, type_of
from unmoor.sim.apiserver.status import Cause
from unmoor.sim.apiserver.validations import BLOCKING, NEW, NOT_ASKED, Rule, rules_of

_SERVER_FIELDS = ("apiVersion", "kind", "metadata")
_LOGICAL = ("oneOf", "anyOf", "allOf", "not")
_NOWHERE = "<nil>"
"""The field of a cause that is about several at once (as the real server has it)."""

Found: TypeAlias = Iterator[Cause]


class _Node:
    """One place of a schema, read once."""

    __slots__ = (
        "checks",
        "default",
        "has_default",
        "has_defaults_below",
        "has_rules",
        "is_int_or_string",
        "is_nullable",
        "items",
        "keys",
        "logical",
        "others",
        "preserves",
        "properties",
        "required",
        "rules",
        "type",
    )

    def __init__(self, schema: JSON, *, runs_rules: bool) -> None:
        self.type: str = schema.get("type", "")
        self.is_int_or_string = bool(schema.get(INT_OR_STRING))
        self.is_nullable = bool(schema.get("nullable"))
        self.preserves = bool(schema.get(PRESERVE))
        self.required: tuple[str, ...] = tuple(schema.get("required") or ())
        properties = schema.get("properties")
        self.properties: dict[str, _Node] | None = (
            None
            if properties is None
            else {name: _Node(inner, runs_rules=runs_rules) for name, inner in properties.items()}
        )
        others = schema.get("additionalProperties")
        self.others: _Node | None = None
        if others:
            inner = others if isinstance(others, dict) else {PRESERVE: True}
            self.others = _Node(inner, runs_rules=runs_rules)
        items = schema.get("items")
        self.items: _Node | None = _Node(items, runs_rules=runs_rules) if items else None
        self.keys: tuple[str, ...] = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        self.rules: tuple[Rule, ...] = rules_of(schema) if runs_rules else ()
        self.checks: dict[str, tuple[Check, ...]] = checks_of(schema)
        self.logical: dict[str, tuple[_Node, ...]] = {}
        for word in _LOGICAL if not self.is_int_or_string else ():
            if schema.get(word):
                inner = schema[word]
                self.logical[word] = tuple(
                    _Node(one, runs_rules=False)
                    for one in (inner if isinstance(inner, list) else [inner])
                )
        self.has_default = "default" in schema
        below = [*(self.properties or {}).values(), self.others, self.items]
        known = [one for one in below if one is not None]
        self.has_defaults_below: bool = any(
            one.has_default or one.has_defaults_below for one in known
        )
        self.has_rules: bool = bool(self.rules) or any(one.has_rules for one in known)
        self.default: Any = schema.get("default")
        if self.has_default and self.has_defaults_below:
            self.default = _completed(self, self.default)


class Schema:
    """The schema of one version of one custom kind."""

    __slots__ = ("_node", "root")

    def __init__(self, root: JSON, *, runs_rules: bool = False) -> None:
        """Take ``openAPIV3Schema`` as the CRD has it, with its rules in CEL or without."""
        self.root = root
        self._node = _Node(root, runs_rules=runs_rules)

    def prune(self, obj: JSON) -> JSON:
        """The object as it is stored; itself when nothing has to go or to come.

        Without what the schema does not know and nulls that may not be, and with its defaults.
        """
        node = self._node
        new = obj if node.preserves else self._pruned(obj)
        return _completed_fields(node, new) if node.has_defaults_below else new

    def _pruned(self, obj: JSON) -> JSON:
        properties = self._node.properties or {}
        new = {}
        for name, value in obj.items():
            if name in _SERVER_FIELDS:
                new[name] = value
            elif name in properties:
                node = properties[name]
                if value is not None or node.is_nullable:
                    new[name] = _pruned(node, value)
        is_same = len(new) == len(obj) and all(new[name] is obj[name] for name in new)
        return obj if is_same else new

    def causes(self, obj: JSON, old: JSON | None = None) -> list[Cause]:
        """What is wrong with the object, or with what has changed in it; sorted by field."""
        node = self._node
        found: list[Cause] = [
            status.required(name) for name in node.required if obj.get(name) is None
        ]
        properties = node.properties or {}
        for name, value in obj.items():
            if name not in _SERVER_FIELDS and name in properties:
                found += _causes(properties[name], value, name, _older(old, name))
        found.sort(key=lambda cause: cause.field)
        if node.has_rules and any(cause.reason in BLOCKING for cause in found):
            return [*found, NOT_ASKED]
        return found + self._rule_causes(obj, old)

    def _rule_causes(self, obj: JSON, old: JSON | None) -> list[Cause]:
        node = self._node
        if not node.has_rules:
            return []
        found: list[Cause] = []
        before = NEW if old is None else _seen_by_rules(old)
        for rule in node.rules:
            if old is not None or not rule.is_transition:
                found += rule.causes(_seen_by_rules(obj), before, "", node.type)
        for name, known in (node.properties or {}).items():
            if name not in _SERVER_FIELDS and name in obj:
                found += _rule_causes(known, obj[name], name, _older(old, name))
        return sorted(found, key=lambda cause: cause.field)

    def causes_of_nulls(self, obj: JSON) -> list[Cause]:
        """Nulls that may not be and that no default replaces, where nobody prunes them."""
        return [
            cause
            for name, node in (self._node.properties or {}).items()
            if name not in _SERVER_FIELDS and name in obj
            for cause in _null_causes(node, obj[name], name)
        ]


# ---------------------------------------------------------------------------- pruning and defaults


def _pruned(node: _Node, value: Any) -> Any:
    if node.preserves and node.properties is None:
        return value
    if isinstance(value, list):
        return _pruned_list(node.items, value)
    if not isinstance(value, dict):
        return value
    properties, others = node.properties, node.others
    if properties is None and others is None:
        return value if not value else {}
    new = {}
    for name, inner in value.items():
        known = others if properties is None else properties.get(name, others)
        if known is None:
            if node.preserves:
                new[name] = inner
        elif inner is not None or known.is_nullable or (known.preserves and not known.type):
            new[name] = _pruned(known, inner)
    is_same = len(new) == len(value) and all(new[name] is value[name] for name in new)
    return value if is_same else new


def _pruned_list(items: _Node | None, value: list[Any]) -> list[Any]:
    if items is None:
        return value
    new = [_pruned(items, one) for one in value]
    return value if all(a is b for a, b in zip(new, value, strict=True)) else new


def _completed(node: _Node, value: Any) -> Any:
    if not node.has_defaults_below:
        return value
    if isinstance(value, list) and node.items is not None:
        return [_completed(node.items, one) for one in value]
    return _completed_fields(node, value) if isinstance(value, dict) else value


def _completed_fields(node: _Node, value: JSON) -> JSON:
    properties = node.properties or {}
    new = {}
    for name, inner in value.items():
        known = properties.get(name, node.others)
        new[name] = inner if known is None else _completed(known, inner)
    for name, known in properties.items():
        if known.has_default and name not in new:
            new[name] = known.default
    is_same = len(new) == len(value) and all(new[name] is value[name] for name in value)
    return value if is_same else new


# --------------------------------------------------------------------------------------- judging


def _fits(wanted: str, found: str, value: Any) -> bool:
    if wanted == "number":
        return found in {"number", "integer"}
    if wanted == "integer" and found == "number":
        return float(value).is_integer()
    return wanted == found


def _causes(node: _Node, value: Any, where: str, old: Any = NEW) -> Found:
    if (value is None and node.is_nullable) or (old is not NEW and is_same(old, value)):
        return
    found = type_of(value)
    if node.is_int_or_string:
        if found not in {"integer", "string"}:
            yield _mistyped(where, "integer,string", found)
            return
    elif node.type and not _fits(node.type, found, value):
        yield _mistyped(where, node.type, found)
        return
    for check in node.checks.get(found, ()):
        yield from check(value, where)
    if found == "object":
        yield from _object_causes(node, value, where, old)
    elif found == "array" and node.items is not None:
        for index, one in enumerate(value):
            yield from _causes(node.items, one, f"{where}[{index}]", _older_item(node, old, one))
    if node.logical:
        yield from _logical_causes(node, value, where)


def _older(old: Any, name: str) -> Any:
    """What a field was before."""
    return old.get(name, NEW) if isinstance(old, dict) else NEW


def _older_item(node: _Node, old: Any, item: Any) -> Any:
    """What an entry of a list was before; entries of most lists have no identity."""
    if not node.keys or not isinstance(old, list) or not isinstance(item, dict):
        return NEW
    wanted = [item.get(key) for key in node.keys]
    same = (one for one in old if [one.get(key) for key in node.keys] == wanted)
    return next(same, NEW)


def _rule_causes(node: _Node, value: Any, where: str, old: Any) -> Found:
    if value is None or not node.has_rules:
        return
    is_unchanged = old is not NEW and is_same(old, value)
    for rule in node.rules:
        if old is not NEW if rule.is_transition else not is_unchanged:
            yield from rule.causes(value, old, where, node.type)
    if isinstance(value, dict):
        properties = node.properties or {}
        for name, inner in value.items():
            known = properties.get(name, node.others)
            if known is not None:
                here = f"{where}.{name}" if name in properties else f"{where}[{name}]"
                yield from _rule_causes(known, inner, here, _older(old, name))
    elif isinstance(value, list) and node.items is not None:
        for index, one in enumerate(value):
            before = one if is_unchanged else _older_item(node, old, one)
            yield from _rule_causes(node.items, one, f"{where}[{index}]", before)


def _seen_by_rules(obj: JSON) -> JSON:
    """An object as the rules of its whole see it: its metadata is hardly there."""
    meta = obj["metadata"]
    seen = {name: meta[name] for name in ("name", "generateName") if name in meta}
    return {**obj, "metadata": seen}


def _null_causes(node: _Node, value: Any, where: str) -> Found:
    if value is None:
        if node.type and not (node.is_nullable or node.has_default):
            yield _mistyped(where, node.type, "null")
    elif isinstance(value, dict):
        for name, inner in value.items():
            known = (node.properties or {}).get(name, node.others)
            if known is not None:
                yield from _null_causes(known, inner, f"{where}.{name}")


def _mistyped(where: str, wanted: str, found: str) -> Cause:
    text = f'Invalid value: "{found}": {where} in body must be of type {wanted}: "{found}"'
    return Cause("FieldValueTypeInvalid", text, where)


def _object_causes(node: _Node, value: JSON, where: str, old: Any) -> Found:
    for name in node.required:
        if name not in value:
            yield status.required(f"{where}.{name}")
    properties = node.properties
    for name, inner in value.items():
        known = node.others if properties is None else properties.get(name, node.others)
        if known is not None:
            yield from _causes(known, inner, f"{where}.{name}", _older(old, name))


def _logical_causes(node: _Node, value: Any, where: str) -> Found:
    for word, nodes in node.logical.items():
        results = [list(_causes(one, value, where)) for one in nodes]
        fitting = sum(1 for found in results if not found)
        text, others = "", list[Cause]()
        if word == "oneOf" and fitting != 1:
            how = f"{fitting} valid alternatives" if fitting else "none valid"
            text = f"must validate one and only one schema (oneOf). Found {how}"
            others = [] if fitting else results[0]
        elif word == "anyOf" and not fitting:
            text, others = "must validate at least one schema (anyOf)", results[0]
        elif word == "allOf" and fitting < len(nodes):
            text = "must validate all the schemas (allOf)"
            others = [one for found in results for one in found]
        elif word == "not" and fitting:
            text = "must not validate the schema (not)"
        if text:
            yield Cause("FieldValueInvalid", f'Invalid value: "": "{where}" {text}', _NOWHERE)
            yield from others


def stored_version(spec: JSON) -> tuple[JSON, JSON]:
    """The version in which a CRD's objects are stored, and its schema."""
    version: JSON = next(one for one in spec["versions"] if one.get("storage"))
    return version, (version.get("schema") or {}).get("openAPIV3Schema") or {}
