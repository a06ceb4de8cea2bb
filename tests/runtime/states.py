"""States of objects as the server would have written them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from unmoor.model.base import JSON, Object
from unmoor.model.kinds import Resource, ref_of
from unmoor.runtime.ports import Broken
from unmoor.runtime.store import Store


def at_version(obj: Any, version: int | str, **meta: Any) -> Any:
    """The same object as written at a version."""
    metadata = msgspec.structs.replace(obj.metadata, resource_version=str(version), **meta)
    return msgspec.structs.replace(obj, metadata=metadata)


def body_of(obj: Object) -> JSON:
    body: JSON = msgspec.to_builtins(obj)
    return body


def take(
    store: Store,
    resource: Resource[Any],
    objects: Iterable[Any],
    version: str,
    odd: Sequence[Broken] = (),
) -> None:
    """Let a store take a whole list."""
    for _ in store.replacing(resource, tuple(objects), version, odd):
        pass


def broken(obj: Object, version: int, problem: str = "odd") -> Broken:
    return Broken(ref_of(obj), str(version), problem)
