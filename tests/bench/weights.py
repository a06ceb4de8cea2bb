"""Which objects take a store's memory? Each once, by the part of the API object it is in."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import msgspec

from unmoor.model.kinds import PODS
from unmoor.runtime.store import Store


def of(store: Store) -> dict[str, float]:
    """MB by part of a pod: what two pods share counts once, for the first."""
    sizes: Counter[str] = Counter()
    seen: set[int] = set()
    for key, pod in store.all(PODS).items():
        _weigh(key, "key", sizes, seen)
        _weigh(pod, "pod", sizes, seen)
    tables = {**store._objects, **store._indexes}
    for name, table in tables.items():
        sizes[f"table {name}"] += sys.getsizeof(table)
        if name in store._indexes:
            for entry in table.items():
                _weigh(entry, f"entries of {name}", sizes, seen)
    return {f"weight {part}": size / 1e6 for part, size in sizes.most_common(24)}


def _weigh(value: Any, part: str, sizes: Counter[str], seen: set[int]) -> None:
    if value is None or isinstance(value, bool) or id(value) in seen:
        return
    seen.add(id(value))
    sizes[part] += sys.getsizeof(value)
    match value:
        case msgspec.Struct():
            for field in value.__struct_fields__:
                inner = f"{part}.{field}" if part.count(".") < 2 else part
                _weigh(getattr(value, field), inner, sizes, seen)
        case dict():
            for item in value.items():
                _weigh(item[0], part, sizes, seen)
                _weigh(item[1], part, sizes, seen)
        case tuple():
            for item in value:
                _weigh(item, part, sizes, seen)
        case _:
            pass
