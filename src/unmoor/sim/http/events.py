"""How does an event look in ``events.k8s.io/v1``? Every stored one is a ``v1`` Event.

The two are one kind under two names: what the newer one dropped it keeps as ``deprecated...``.

Must not: judge an event.
"""

from __future__ import annotations

from collections.abc import Iterable

from unmoor.model.base import JSON
from unmoor.model.selector import parse_fields
from unmoor.sim.http.catalog import EVENTS_GROUP

API_VERSION = f"{EVENTS_GROUP}/v1"
_NEW_OF_OLD = {
    "message": "note",
    "involvedObject": "regarding",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_OLD_OF_NEW = {new: old for old, new in _NEW_OF_OLD.items()}


_ALWAYS: JSON = {
    "firstTimestamp": None,
    "lastTimestamp": None,
    "source": {},
    "eventTime": None,
}
"""What every event has on the wire, said or not."""
_ALWAYS_OLD: JSON = {**_ALWAYS, "reportingComponent": "", "reportingInstance": ""}


def shown(obj: JSON, *, is_view: bool) -> JSON:
    """A stored event as it goes out; in ``events.k8s.io/v1`` if that ``is_view``."""
    if not is_view:
        return {**_ALWAYS_OLD, **obj}
    found = {**_ALWAYS, **obj, "apiVersion": API_VERSION}
    for name in ("reportingComponent", "reportingInstance"):
        if not found.get(name):
            found.pop(name, None)
    return _renamed(found.items(), _NEW_OF_OLD)


def stored(body: JSON) -> JSON:
    """What a client says in ``events.k8s.io/v1``, as it is stored."""
    found = _renamed(body.items(), _OLD_OF_NEW)
    if found.get("apiVersion") == API_VERSION:
        found["apiVersion"] = "v1"
    return found


def _renamed(items: Iterable[tuple[str, object]], names: dict[str, str]) -> JSON:
    return {names.get(name, name): value for name, value in items}


def stored_fields(selector: str) -> str:
    """A field selector of ``events.k8s.io/v1`` in the words of ``v1``."""
    if not selector:
        return ""
    parts = []
    for one in parse_fields(selector):
        first, dot, rest = one.path.partition(".")
        path = f"{_OLD_OF_NEW.get(first, first)}{dot}{rest}"
        value = one.value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
        parts.append(f"{path}{'=' if one.is_equal else '!='}{value}")
    return ",".join(parts)
