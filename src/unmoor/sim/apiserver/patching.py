"""What an object becomes under a patch, and what a client hears whose patch does not fit.

Must not: store anything; server-side apply is in ``applying``.
"""

from __future__ import annotations

from typing import Any

from unmoor.model.base import JSON
from unmoor.runtime.ports import ApiError, PatchType
from unmoor.sim.apiserver import patch, status, strategic


def patched(kind: str, old: JSON, body: Any, how: PatchType) -> JSON:
    """The object under a patch; raises what the server says to one that does not fit."""
    if how == "json":
        if not isinstance(body, list):
            raise _undecodable("object", "[]handlers.jsonPatchOp")
        try:
            found = patch.apply(old, body)
        except patch.PatchError as error:
            raise status.patch_does_not_apply() from error
        if not isinstance(found, dict):
            raise status.patch_does_not_apply()
        return found
    if not isinstance(body, dict):
        raise _undecodable("array", "map[string]interface {}")
    if how == "merge":
        return patch.merge(old, body)
    try:
        return strategic.merge(kind, old, body)
    except strategic.StrategicError as error:
        raise status.failure(500, "", str(error)) from error


def _undecodable(found: str, wanted: str) -> ApiError:
    text = f"json: cannot unmarshal {found} into Go value of type {wanted}"
    return status.bad_request(f"error decoding patch: {text}")
