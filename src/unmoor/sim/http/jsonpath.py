"""What does a printer column's path find? The part of JSONPath that CRDs may use.

Steps by name, by index, ``[*]``, and ``[?(@.type=="Ready")]``.

Must not: raise for an object in which there is nothing to find.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec


class Named(msgspec.Struct, frozen=True):
    """``.name``."""

    name: str


class At(msgspec.Struct, frozen=True):
    """``[3]``."""

    index: int


class Every(msgspec.Struct, frozen=True):
    """``[*]``."""


class Where(msgspec.Struct, frozen=True):
    """``[?(@.path=="value")]``."""

    path: tuple[str, ...]
    value: str


Step: TypeAlias = Named | At | Every | Where

_STEP = re.compile(
    r"""
      \.(?P<name>(?:\\.|[^.\[\]\\])+)
    | \[(?P<index>-?\d+)\]
    | (?P<every>\[\*\]|\.\*)
    | \['(?P<quoted>[^']+)'\]
    | \[\?\(\s*@\.(?P<path>[\w.]+)\s*==\s*["'](?P<value>[^"']*)["']\s*\)\]
    """,
    re.VERBOSE,
)


@lru_cache(maxsize=512)
def parse(path: str) -> tuple[Step, ...] | None:
    """The steps of a path, None for one that is more than a column may have."""
    steps: list[Step] = []
    position = 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            return None
        position = found.end()
        parts = found.groupdict()
        if parts["every"] or parts["name"] == "*":
            steps.append(Every())
        elif parts["index"] is not None:
            steps.append(At(int(parts["index"])))
        elif parts["path"] is not None:
            steps.append(Where(tuple(parts["path"].split(".")), parts["value"]))
        else:
            name = parts["quoted"] or parts["name"]
            steps.append(Named(re.sub(r"\\(.)", r"\1", name)))
    return tuple(steps)


def find(path: str, obj: Any) -> list[Any]:
    """Every value that the path leads to."""
    steps = parse(path)
    if steps is None:
        return []
    found: Iterable[Any] = [obj]
    for step in steps:
        found = [inner for value in found for inner in _taken(step, value)]
    return list(found)


def _taken(step: Step, value: Any) -> Iterator[Any]:
    match step:
        case Named() if isinstance(value, dict) and step.name in value:
            yield value[step.name]
        case At() if isinstance(value, list) and -len(value) <= step.index < len(value):
            yield value[step.index]
        case Every() if isinstance(value, list):
            yield from value
        case Every() if isinstance(value, dict):
            yield from value.values()
        case Named() | At() | Every():
            return
        case Where():
            for one in value if isinstance(value, list) else ():
                if _inner(one, step.path) == step.value:
                    yield one


def _inner(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
