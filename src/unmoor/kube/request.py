"""What does each verb look like on the wire? Paths, parameters and bodies, as values.

Must not: send anything.
"""

from __future__ import annotations

import msgspec

from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import KINDS
from unmoor.runtime.ports import DeleteOptions, PatchType, Query

FIELD_MANAGER = "unmoor"
"""Our name in ``managedFields``."""

PATCH_TYPES: dict[PatchType, str] = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request; its text is how errors name it."""

    method: str
    path: str
    query: dict[str, str] = {}
    body: bytes | None = None
    content_type: str = "application/json"

    def __str__(self) -> str:
        """``GET /api/v1/nodes/a``."""
        return f"{self.method} {self.path}"


def path(ref: Ref, subresource: str = "") -> str:
    """The path of an object or of one of its subresources."""
    return KINDS[ref.kind].path(ref.namespace, ref.name, subresource)


def selection(query: Query) -> dict[str, str]:
    """The parameters that say which objects are meant."""
    parameters = {}
    if query.labels:
        parameters["labelSelector"] = query.labels
    if query.fields:
        parameters["fieldSelector"] = query.fields
    return parameters


def writing(*, dry_run: bool = False) -> dict[str, str]:
    """The parameters of everything that writes."""
    return {"fieldManager": FIELD_MANAGER} | ({"dryRun": "All"} if dry_run else {})


def delete_options(options: DeleteOptions) -> JSON:
    """The body of a DELETE."""
    body: JSON = {"apiVersion": "v1", "kind": "DeleteOptions"}
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    if set_ones := {field: value for field, value in preconditions.items() if value}:
        body["preconditions"] = set_ones
    if options.grace_s is not None:
        body["gracePeriodSeconds"] = options.grace_s
    if options.propagation:
        body["propagationPolicy"] = options.propagation
    if options.dry_run:
        body["dryRun"] = ["All"]
    return body
