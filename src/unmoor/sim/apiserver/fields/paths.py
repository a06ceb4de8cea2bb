"""Sets of fields: what an object consists of, and in what two objects differ.

A path is a tuple of elements, each written as in ``fieldsV1``: ``f:name`` for a field, ``k:{...}``
for an element of a list with keys, ``v:...`` for one of a set.

Must not: know who owns what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from unmoor.model.base import JSON
from unmoor.sim.apiserver.fields.shape import ANY, Shape

Path: TypeAlias = tuple[str, ...]
Paths: TypeAlias = frozenset[Path]

NOTHING: Paths = frozenset()
SELF = "."
SETS_KEPT = 500
"""Sets of fields whose ``fieldsV1`` is remembered: every pod of a workload has the same ones."""


class _Absent:
    """No value, which is not null."""


ABSENT: Final = _Absent()


class DuplicateKey(ValueError):
    """Two elements of a list have the same key, or one has none."""


def element_of(shape: Shape, item: Any) -> str:
    """The path element of a list's item."""
    if not shape.keys:
        return "v:" + msgspec.json.encode(item).decode()
    values = {}
    for key in shape.keys:
        value = item.get(key, shape.key_defaults.get(key)) if isinstance(item, dict) else None
        if value is None:
            raise DuplicateKey(key)
        values[key] = value
    return "k:" + msgspec.json.encode(values).decode()


def elements(shape: Shape, items: Any) -> dict[str, Any]:
    """The items of a list by their path elements; of equal ones the first."""
    found: dict[str, Any] = {}
    for item in items if isinstance(items, list) else ():
        try:
            found.setdefault(element_of(shape, item), item)
        except DuplicateKey:
            continue
    return found


def members(shape: Shape, value: Any) -> Iterator[tuple[str, Shape, Any]]:
    """What a granular map or list consists of: path element, shape and value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield "f:" + name, shape.child(name) or ANY, inner
    elif isinstance(value, list):
        for element, item in elements(shape, value).items():
            yield element, shape.element or ANY, item


def is_leaf(shape: Shape, value: Any) -> bool:
    """True when nothing in the value has an owner of its own."""
    if shape.is_atomic:
        return True
    if isinstance(value, dict):
        return shape.kind not in {"map", "any"}
    return not (isinstance(value, list) and shape.kind == "list")


# ------------------------------------------------------------------------------- of one object


def paths_of(shape: Shape, value: JSON) -> Paths:
    """The fields that an object has: what an applier owns."""
    found: set[Path] = set()
    _collect(shape, value, (), found)
    return frozenset(found)


def _collect(shape: Shape, value: Any, path: Path, found: set[Path]) -> None:
    if is_leaf(shape, value):
        found.add(path)
        return
    for element, inner_shape, inner in members(shape, value):
        inner_path = (*path, element)
        _collect(inner_shape, inner, inner_path, found)
        is_declared = element.startswith("f:") and element[2:] in shape.fields
        if inner in (None, {}) or not is_declared:
            found.add(inner_path)


# ------------------------------------------------------------------------------ of two objects


class Difference:
    """Which fields came, changed and went."""

    def __init__(self, shape: Shape, old: JSON, new: JSON) -> None:
        """Compare."""
        self.added: set[Path] = set()
        self.modified: set[Path] = set()
        self.removed: set[Path] = set()
        self._compare(shape, (old, new), ())

    @property
    def written(self) -> Paths:
        """What came or changed."""
        return frozenset(self.added | self.modified)

    def _compare(self, shape: Shape, values: tuple[Any, Any], path: Path) -> None:
        old, new = values
        if old is new:
            return
        if old is ABSENT:
            _take_all(shape, new, path, self.added)
        elif new is ABSENT:
            _take_all(shape, old, path, self.removed)
        elif self._are_of_two_kinds(old, new):
            self._exchange(shape, values, path)
        elif not self._is_leaf(shape, old, new):
            self._descend(shape, values, path)
        elif old != new or (isinstance(old, bool) is not isinstance(new, bool)):
            self.modified.add(path)

    def _is_leaf(self, shape: Shape, old: Any, new: Any) -> bool:
        there = [one for one in (old, new) if one is not None]
        if not any(there):  # Both empty: the difference between empty and absent counts.
            return True
        return any(is_leaf(shape, one) for one in there)

    def _are_of_two_kinds(self, old: Any, new: Any) -> bool:
        """One is a map and the other is not, which may be where a schema lets anything stand."""
        if old is None or new is None:
            return False
        return isinstance(old, dict) is not isinstance(new, dict)

    def _exchange(self, shape: Shape, values: tuple[Any, Any], path: Path) -> None:
        """A map in the place of a plain value, or the other way round: the parts come or go."""
        self.modified.add(path)
        old, new = values
        for element, inner, one in members(shape, old if isinstance(old, dict) else None):
            _take_all(inner, one, (*path, element), self.removed)
        for element, inner, one in members(shape, new if isinstance(new, dict) else None):
            _take_all(inner, one, (*path, element), self.added)

    def _descend(self, shape: Shape, values: tuple[Any, Any], path: Path) -> None:
        parts: dict[str, tuple[Shape, Any, Any]] = {}
        for element, inner, value in members(shape, values[0]):
            parts[element] = (inner, value, ABSENT)
        for element, inner, value in members(shape, values[1]):
            before = parts.get(element)
            parts[element] = (inner, ABSENT if before is None else before[1], value)
        for element, (inner, old, new) in parts.items():
            self._compare(inner, (old, new), (*path, element))


def _take_all(shape: Shape, value: Any, path: Path, found: set[Path]) -> None:
    """Take everything in a value that came or went as a whole."""
    found.add(path)
    if value and not is_leaf(shape, value):
        for element, inner, one in members(shape, value):
            _take_all(inner, one, (*path, element), found)


# ------------------------------------------------------------------------------- sets of fields


def with_named(shape: Shape, paths: Iterable[Path]) -> Paths:
    """The set with every declared field on the way to one of its members."""
    found: set[Path] = set()
    for path in paths:
        found.add(path)
        place: Shape | None = shape
        for end, element in enumerate(path[:-1], 1):
            if place is None:
                break
            is_field = element.startswith("f:")
            if is_field and element[2:] in place.fields:
                found.add(path[:end])
            place = place.child(element[2:]) if is_field else place.element
    return frozenset(found)


@lru_cache(maxsize=SETS_KEPT)
def to_fields(paths: Paths) -> JSON:
    """The set as ``fieldsV1``; many objects share one, as they share what nobody writes into."""
    root: JSON = {}
    for path in sorted(paths):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node[SELF] = {}
    return {name: _folded(inner) for name, inner in root.items() if name != SELF}


def _folded(node: JSON) -> JSON:
    if node.keys() == {SELF}:
        return {}
    return {name: {} if name == SELF else _folded(inner) for name, inner in node.items()}


def from_fields(fields: Any) -> Paths:
    """The set that ``fieldsV1`` describes; raises ValueError for what describes none."""
    found: set[Path] = set()
    _unfold(fields, (), found)
    return frozenset(found)


def _unfold(node: Any, path: Path, found: set[Path]) -> None:
    if not isinstance(node, dict):
        raise ValueError(f"{node!r} is no set of fields")  # noqa: TRY004 - as for bad elements
    if path and (not node or SELF in node):
        found.add(path)
    for element, inner in node.items():
        if element == SELF:
            continue
        if element[:2] not in {"f:", "k:", "v:", "i:"}:
            raise ValueError(f"{element!r} is no path element")
        _unfold(inner, (*path, element), found)


def text_of(path: Path) -> str:
    """``.spec.containers[name="a"].image``: a path as people read it."""
    return "".join(_element_text(element) for element in path)


def _element_text(element: str) -> str:
    kind, value = element[:2], element[2:]
    if kind == "f:":
        return f".{value}"
    if kind == "k:":
        keys: JSON = msgspec.json.decode(value)
        listed = ",".join(
            f"{key}={msgspec.json.encode(one).decode()}" for key, one in sorted(keys.items())
        )
        return f"[{listed}]"
    return f"[={value}]" if kind == "v:" else f"[{value}]"
