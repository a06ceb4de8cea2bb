"""What an object becomes under a patch, and what a client hears whose patch does not fit.

Must not: store anything; server-side apply is in ``applying``.
"""

from __future__ import annotations

from typing import Any

from unmoor.model.base import JSON
from unmoor.runtime.ports import ApiError, PatchType
from unmoor.sim.apiserver import patch, status, strategic
from unmoor.sim.apiserver.fields import problems


def patched(kind: str, old: JSON, body: Any, how: PatchType) -> JSON:
    """The object under a patch; raises what the server says to one that does not fit."""
    if how == "json":
        return _of_its_kind(_operated(old, body), old)
    if not isinstance(body, dict):
        raise _undecodable(problems.word(body), "map[string]interface {}")
    if how == "merge":
        return _of_its_kind(patch.merge(old, body), old)
    try:
        return _of_its_kind(strategic.merge(kind, old, body), old)
    except strategic.MalformedError as error:
        raise status.bad_request(str(error)) from error
    except strategic.StrategicError as error:
        raise status.failure(500, "", str(error)) from error


def _operated(old: JSON, body: Any) -> JSON:
    """The object under a JSON patch."""
    if not isinstance(body, list):
        raise _undecodable(problems.word(body), "[]handlers.jsonPatchOp")
    for one in body:
        if not isinstance(one, dict):
            raise _undecodable(problems.word(one), "handlers.jsonPatchOp")
    if len(body) > patch.OPERATIONS_LIMIT:
        text = (
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{patch.OPERATIONS_LIMIT}, got {len(body)}"
        )
        raise status.failure(413, "RequestEntityTooLarge", text)
    try:
        found = patch.apply(old, body)
    except patch.PatchError as error:
        raise status.patch_does_not_apply() from error
    if not isinstance(found, dict):
        raise status.patch_does_not_apply()
    return found


def _of_its_kind(found: JSON, old: JSON) -> JSON:
    """The same, if it still says that it is what it was; what it leaves out is put back."""
    for name in ("kind", "apiVersion"):
        said, wanted = found.get(name), old.get(name)
        if said == wanted:
            continue
        if said:
            raise status.unusable_patch(f"{status.shown(said)}: {name} must be {wanted}")
        found = {**found, name: wanted}
    return found


def _undecodable(found: str, wanted: str) -> ApiError:
    text = f"json: cannot unmarshal {found} into Go value of type {wanted}"
    return status.bad_request(f"error decoding patch: {text}")
