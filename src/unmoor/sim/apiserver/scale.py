"""What the scale door shows and takes (API reference: autoscaling/v1 Scale).

Must not: carry out a write; ``update`` does.
"""

from __future__ import annotations

from typing import Any

from unmoor.model.base import JSON
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.rules import SCALE_VERSION, Rules, ScalePaths
from unmoor.sim.apiserver.storage import Table
from unmoor.sim.apiserver.update import Write

_BUILT_IN = ScalePaths(replicas=("spec", "replicas"), found=("status", "replicas"))


def paths_of(rules: Rules) -> ScalePaths:
    """Where this kind has its replicas."""
    return rules.scale or _BUILT_IN


def scale_of(table: Table, obj: JSON) -> JSON:
    """The Scale of an object."""
    meta, paths = obj["metadata"], paths_of(table.rules)
    fields = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas = _at(obj, paths.replicas)
    if table.rules.scale is None:
        replicas = 1 if replicas is None else replicas
        wanted: dict[str, str] = _at(obj, ("spec", "selector", "matchLabels")) or {}
        selector = ",".join(f"{key}={value}" for key, value in sorted(wanted.items()))
    else:
        selector = _at(obj, paths.selector) or "" if paths.selector else ""
        if replicas is None:
            text = f'the spec replicas field ".{".".join(paths.replicas)}" does not exist'
            details = {"causes": [{"message": text}]}
            text = f"Internal error occurred: {text}"
            raise status.failure(500, "InternalError", text, details)
    found: JSON = {"replicas": _at(obj, paths.found) or 0}
    if selector:
        found["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": {field: meta[field] for field in fields if field in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": found,
    }


def bare_scale_of(table: Table, obj: JSON) -> JSON:
    """The Scale that a patch starts from, which may not say how many replicas there are."""
    if _at(obj, paths_of(table.rules).replicas) is None:
        obj = config_of(table, 0, obj)
    return scale_of(table, obj)


def write_scale(write: Write, wanted: JSON) -> JSON:
    """Take the number of replicas over into the object."""
    table, old = write.table, write.old
    version = (wanted.get("metadata") or {}).get("resourceVersion")
    if version and version != old["metadata"]["resourceVersion"]:
        raise status.conflict(table.resource, write.key[1])
    replicas: Any = (wanted.get("spec") or {}).get("replicas", 0)
    hold_replicas(write, replicas)
    before = _at(old, paths_of(table.rules).replicas)
    if replicas == (1 if before is None and table.rules.scale is None else before):
        return scale_of(table, old)
    return scale_of(table, write.apply(config_of(table, replicas, old)))


def hold_replicas(write: Write, replicas: Any) -> None:
    """Raise 422 for a number of replicas that cannot be."""
    if not isinstance(replicas, int) or replicas < 0:
        cause = status.bad_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise status.invalid(write.table.resource, write.key[1], cause)


def config_of(table: Table, replicas: int, obj: JSON | None = None) -> JSON:
    """An object, or nothing but what it needs, with so many replicas."""
    return _put(obj or {}, paths_of(table.rules).replicas, replicas)


def _at(obj: JSON, path: tuple[str, ...]) -> Any:
    value: Any = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _put(obj: JSON, path: tuple[str, ...], value: Any) -> JSON:
    step, rest = path[0], path[1:]
    return {**obj, step: _put(obj.get(step) or {}, rest, value) if rest else value}
