"""States of objects as the server would have written them."""

from __future__ import annotations

from typing import Any

import msgspec

from unmoor.model.base import JSON, Object
from unmoor.model.kinds import ref_of
from unmoor.runtime.ports import Broken


def at_version(obj: Any, version: int | str, **meta: Any) -> Any:
    """The same object as written at a version."""
    metadata = msgspec.structs.replace(obj.metadata, resource_version=str(version), **meta)
    return msgspec.structs.replace(obj, metadata=metadata)


def body_of(obj: Object) -> JSON:
    body: JSON = msgspec.to_builtins(obj)
    return body


def broken(obj: Object, version: int, problem: str = "odd") -> Broken:
    return Broken(ref_of(obj), str(version), problem)
