"""Which objects a request means: namespace, label selector and field selector, compiled once.

Must not: parse selectors; ``model.selector`` does.
"""

from __future__ import annotations

from typing import Any

from unmoor.model.base import JSON
from unmoor.model.selector import LabelSelector, SelectorError, parse, parse_fields
from unmoor.runtime.ports import Query
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.rules import META_FIELDS, NAMESPACED_FIELDS, Rules

_NOTHING: dict[str, str] = {}


class Selection:
    """A compiled query. ``is_all`` is true when nothing but the kind is asked for."""

    __slots__ = ("_absent", "_fields", "_labels", "_namespace", "is_all")

    def __init__(self, rules: Rules, query: Query) -> None:
        """Compile; raises the ApiError for a selector that cannot be read."""
        self._namespace = query.namespace
        self._absent = rules.absent
        self._labels = _labels_of(query.labels)
        self._fields = _fields_of(rules, query.fields)
        self.is_all = not (query.namespace or self._labels or self._fields)

    def matches(self, obj: JSON) -> bool:
        """True when the object is among those that are meant."""
        meta = obj["metadata"]
        if self._namespace and meta.get("namespace") != self._namespace:
            return False
        labels = self._labels
        if labels is not None and not labels.matches(meta.get("labels") or _NOTHING):
            return False
        for path, where, value, is_equal in self._fields:
            found = _text_at(obj, where) or self._absent.get(path, "")
            if (found == value) != is_equal:
                return False
        return True


def _labels_of(text: str) -> LabelSelector | None:
    if not text:
        return None
    try:
        selector = parse(text)
        selector.matches(_NOTHING)
    except SelectorError as error:
        raise status.bad_request(f"unable to parse requirement: {error}") from error
    return None if selector.is_empty else selector


def _fields_of(rules: Rules, text: str) -> tuple[tuple[str, tuple[str, ...], str, bool], ...]:
    if not text:
        return ()
    try:
        requirements = parse_fields(text)
    except SelectorError as error:
        raise status.bad_request(f"invalid field selector: {error}") from error
    found = []
    for one in requirements:
        where = rules.fields.get(one.path)
        if where is None:
            raise status.bad_request(_unknown(rules, one.path))
        found.append((one.path, where, one.value, one.is_equal))
    return tuple(found)


def _unknown(rules: Rules, path: str) -> str:
    """Kinds without fields of their own are told so in other words (by the real server, too)."""
    if rules.is_custom or rules.fields not in (META_FIELDS, NAMESPACED_FIELDS):
        return f"field label not supported: {path}"
    return f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def _text_at(obj: JSON, where: tuple[str, ...]) -> str:
    value: Any = obj
    for part in where:
        value = value.get(part)
        if value is None:
            return ""
    if value is True:
        return "true"
    return "false" if value is False else str(value)
