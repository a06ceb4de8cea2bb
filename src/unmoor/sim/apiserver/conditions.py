"""How the server itself sets a condition of a pod: in its place, and only when something changes.

Must not: be used for what clients report; their lists are theirs.
"""

from __future__ import annotations

from unmoor.model.base import JSON


def with_condition(conditions: list[JSON], kind: str, now: str, **said: str) -> list[JSON]:
    """The list with this condition True; the very same list when it says so already."""
    new: JSON = {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    new |= said
    old = next((one for one in conditions if one.get("type") == kind), None)
    if old is None:
        return [*conditions, new]
    if old.get("status") == "True":
        new["lastTransitionTime"] = old.get("lastTransitionTime")
        if {name: value for name, value in new.items() if value is not None} == {
            name: value for name, value in old.items() if value is not None
        }:
            return conditions
    return [new if one is old else one for one in conditions]
