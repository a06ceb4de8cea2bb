"""What a built-in object becomes under a strategic merge patch: lists that merge by a key.

Which lists merge is part of each kind's definition (API reference: "patch strategy merge"); the
table below has those of the kinds we serve. Every other list is replaced.

Directives: ``$patch`` (delete, replace), ``$deleteFromPrimitiveList/x``, ``$setElementOrder/x`` and
``$retainKeys``.

Must not: serve custom kinds; their lists are unknown to the server, which answers 415.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unmoor.model.base import JSON
from unmoor.sim.apiserver.fields.problems import word
from unmoor.sim.apiserver.patch import is_same

DIRECTIVE = "$patch"
DELETE_FROM = "$deleteFromPrimitiveList/"
ORDER = "$setElementOrder/"
RETAIN = "$retainKeys"

PRIMITIVE = ""
"""The "key" of a list of plain values that merges as a set."""

_METADATA = {"metadata.finalizers": PRIMITIVE, "metadata.ownerReferences": "uid"}
_CONTAINERS = {
    "": "name",
    ".env": "name",
    ".ports": "containerPort",
    ".volumeMounts": "mountPath",
    ".volumeDevices": "devicePath",
    ".resources.claims": "name",
}
_POD_SPEC = {
    **{
        f"{name}{path}": key
        for name in ("containers", "initContainers", "ephemeralContainers")
        for path, key in _CONTAINERS.items()
    },
    "volumes": "name",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "resourceClaims": "name",
    "schedulingGates": "name",
}
_TEMPLATE = {
    **{f"spec.template.spec.{path}": key for path, key in _POD_SPEC.items()},
    "spec.template.metadata.finalizers": PRIMITIVE,
    "spec.template.metadata.ownerReferences": "uid",
}
_CONDITIONS = {"status.conditions": "type"}
_WORKLOAD = {**_METADATA, **_TEMPLATE, **_CONDITIONS}

MERGE_KEYS: dict[str, dict[str, str]] = {
    "Pod": {
        **_METADATA,
        **_CONDITIONS,
        **{f"spec.{path}": key for path, key in _POD_SPEC.items()},
        "status.podIPs": "ip",
        "status.hostIPs": "ip",
        "status.resourceClaimStatuses": "name",
    },
    "Node": {
        **_METADATA,
        **_CONDITIONS,
        "spec.podCIDRs": PRIMITIVE,
        "status.addresses": "type",
    },
    "Deployment": _WORKLOAD,
    "ReplicaSet": _WORKLOAD,
    "StatefulSet": _WORKLOAD,
    "DaemonSet": _WORKLOAD,
    "Job": _WORKLOAD,
    "Service": {**_METADATA, **_CONDITIONS, "spec.ports": "port"},
    "ServiceAccount": {**_METADATA, "secrets": "name"},
    "CSINode": {**_METADATA, "spec.drivers": "name"},
}
_OTHERS = {**_METADATA, **_CONDITIONS}


class StrategicError(ValueError):
    """A patch that contradicts the kind's definition."""


class MalformedError(StrategicError):
    """A directive that is none."""


def merge(kind: str, target: JSON, patch: JSON) -> JSON:
    """Apply a strategic merge patch; the very same object when nothing changed."""
    return _merge(MERGE_KEYS.get(kind, _OTHERS), "", target, patch)


def _merge(keys: dict[str, str], path: str, target: JSON, patch: JSON) -> JSON:
    directive = patch.get(DIRECTIVE)
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != DIRECTIVE}
    if directive == "delete":
        return {}
    if directive is not None and directive != "merge":
        raise StrategicError(
            f"unknown patch type: {directive} in map: map[{DIRECTIVE}:{directive}]"
        )
    result = dict(target)
    if RETAIN in patch:
        if not isinstance(patch[RETAIN], list):
            raise MalformedError("invalid patch format of retainKeys")
        result = {name: value for name, value in target.items() if name in patch[RETAIN]}
    _set(keys, path, result, patch)
    _reorder(keys, path, result, patch)
    return target if is_same(target, result) else result


def _set(keys: dict[str, str], path: str, result: JSON, patch: JSON) -> None:
    """Take over every field that the patch names."""
    for name, value in _plain(patch):
        where = f"{path}.{name}" if path else name
        if value is None:
            result.pop(name, None)
            continue
        old = result.get(name)
        if isinstance(value, dict):
            result[name] = _merge(keys, where, old if isinstance(old, dict) else {}, value)
        elif isinstance(value, list) and where in keys:
            order = _order(patch.get(ORDER + name))
            result[name] = _merge_list(keys, where, old, (value, order)) if old else _new(value)
        else:
            result[name] = value


def _reorder(keys: dict[str, str], path: str, result: JSON, patch: JSON) -> None:
    """Carry out the directives about lists that stand beside them."""
    for name, value in patch.items():
        if name.startswith(DELETE_FROM):
            field = name[len(DELETE_FROM) :]
            if isinstance(value, list) and isinstance(result.get(field), list):
                result[field] = [one for one in result[field] if one not in value]
        elif name.startswith(ORDER) and name[len(ORDER) :] not in patch:
            field = name[len(ORDER) :]
            where = f"{path}.{field}" if path else field
            order = _order(value)
            if order is not None and isinstance(result.get(field), list) and where in keys:
                result[field] = _ordered(result[field], order, keys[where], result[field])


def _order(value: Any) -> list[Any] | None:
    if value is None or isinstance(value, list):
        return value
    raise StrategicError(f"expected a []interface {{}}, but received a {word(value)}")


def _plain(patch: JSON) -> Iterator[tuple[str, Any]]:
    for name, value in patch.items():
        if not name.startswith("$"):
            yield name, value


def _new(items: list[Any]) -> list[Any]:
    """A list that was not there: nothing to merge with, so no key is asked for either."""
    return [one for one in items if not (isinstance(one, dict) and DIRECTIVE in one)]


def _merge_list(
    keys: dict[str, str], path: str, old: Any, patch: tuple[list[Any], list[Any] | None]
) -> list[Any]:
    items, order = patch
    key = keys[path]
    if key == PRIMITIVE:
        merged = [*old, *(one for one in items if one not in old)]
        return _ordered(merged, items if order is None else order, key, old)
    if any(isinstance(one, dict) and one.get(DIRECTIVE) == "replace" for one in items):
        return [one for one in items if DIRECTIVE not in one]
    merged = list(old) if isinstance(old, list) else []
    for item in items:
        if not isinstance(item, dict) or key not in item:
            raise StrategicError(f"map: {item} does not contain declared merge key: {key}")
        at = next((i for i, one in enumerate(merged) if _name(one, key) == item[key]), None)
        if item.get(DIRECTIVE) == "delete":
            merged = [one for one in merged if _name(one, key) != item[key]]
        elif at is None:
            merged.append(_merge(keys, path, {}, item))
        else:
            merged[at] = _merge(keys, path, merged[at], item)
    return _ordered(merged, items if order is None else order, key, old)


def _name(item: Any, key: str) -> Any:
    return item.get(key) if key and isinstance(item, dict) else item


def _ordered(items: list[Any], order: list[Any], key: str, before: list[Any]) -> list[Any]:
    """Put what the patch names in its order, among what only the server has.

    Both are merged as sorted sequences are, by where things stood before; what is new goes first.
    """
    names = [_name(one, key) for one in order]
    place = [_name(one, key) for one in before]

    def rank(item: Any) -> int:
        name = _name(item, key)
        return place.index(name) if name in place else -1

    named = sorted(
        (one for one in items if _name(one, key) in names),
        key=lambda one: names.index(_name(one, key)),
    )
    others = [one for one in items if _name(one, key) not in names]
    result: list[Any] = []
    while named and others:
        result.append((named if rank(named[0]) < rank(others[0]) else others).pop(0))
    return [*result, *named, *others]
