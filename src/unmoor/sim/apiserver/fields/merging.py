"""What an object becomes when a configuration is applied to it, and when fields are taken off.

Must not: know who owns what; ``managers`` decides what is taken off.
"""

from __future__ import annotations

from typing import Any

from unmoor.sim.apiserver.fields.paths import Path, Paths, elements, is_leaf, members
from unmoor.sim.apiserver.fields.shape import ANY, Shape


def merged(shape: Shape, live: Any, config: Any) -> Any:
    """The live value with the configuration laid over it."""
    if config is None or is_leaf(shape, config) or is_leaf(shape, live):
        return config
    if isinstance(config, dict):
        if not isinstance(live, dict):
            return {
                name: merged(shape.child(name) or ANY, None, value)
                for name, value in config.items()
            }
        result = dict(live)
        for name, value in config.items():
            result[name] = merged(shape.child(name) or ANY, live.get(name), value)
        return result
    return _merged_list(shape, live if isinstance(live, list) else [], config)


def _merged_list(shape: Shape, live: list[Any], config: list[Any]) -> list[Any]:
    """Elements in the order of the configuration; what only the live list has keeps its place."""
    inner = shape.element or ANY
    before, wanted = elements(shape, live), elements(shape, config)
    waiting = list(before)
    shared = [element for element in wanted if element in before]
    result: list[Any] = []
    for element, value in wanted.items():
        following = shared[0] if shared else None
        while waiting and waiting[0] != element:
            if waiting[0] not in wanted:
                result.append(before[waiting.pop(0)])
            elif following is not None and waiting[0] != following:
                waiting.pop(0)  # It moves to where the configuration has it.
            else:
                break
        result.append(merged(inner, before.get(element), value))
        if waiting and waiting[0] == element:
            waiting.pop(0)
        if following == element:
            shared.pop(0)
    return [*result, *(before[element] for element in waiting if element not in wanted)]


def without(shape: Shape, value: Any, paths: Paths) -> Any:
    """The value without some of its fields; null when nothing is left."""
    if not paths or not value or is_leaf(shape, value):
        return value
    inner_paths: dict[str, set[Path]] = {}
    gone: set[str] = set()
    for path in paths:
        if len(path) == 1:
            gone.add(path[0])
        elif path:
            inner_paths.setdefault(path[0], set()).add(path[1:])
    kept: list[tuple[str, Any]] = []
    for element, inner, one in members(shape, value):
        if element in gone:
            continue
        below = inner_paths.get(element)
        kept.append((element, one if below is None else without(inner, one, frozenset(below))))
    if not kept:
        return None
    if isinstance(value, dict):
        return {element[2:]: one for element, one in kept}
    return [one for _, one in kept]


def lean(shape: Shape, value: Any) -> Any:
    """The value as a real server keeps it: without lists and maps in which nothing stands.

    What has to be there stays, and so does a struct, which may say something by being there.
    """
    if isinstance(value, list):
        inner = shape.element or ANY
        items = [lean(inner, one) for one in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    if not isinstance(value, dict) or shape.kind != "map":
        return value
    required = shape.schema.get("required") or ()
    new = {}
    for name, one in value.items():
        child = shape.child(name) or ANY
        is_void = one in ([], {}) and child.kind in {"list", "map"} and not child.fields
        if not is_void or name in required:
            new[name] = lean(child, one)
    is_same = len(new) == len(value) and all(new[name] is value[name] for name in new)
    return value if is_same else new


def tidied(value: Any) -> Any:
    """The value without the nulls that are left where all fields were taken off; else itself."""
    if isinstance(value, list):
        items = [tidied(one) for one in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    if not isinstance(value, dict):
        return value
    new = {name: tidied(one) for name, one in value.items() if one is not None}
    is_same = len(new) == len(value) and all(new[name] is value[name] for name in new)
    return value if is_same else new
