"""What does each verb look like on the wire? Paths, parameters and bodies, as values.

Must not: send anything.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec

from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import KINDS, Resource
from unmoor.model.validation import cut
from unmoor.runtime.ports import ApiError, DeleteOptions, PatchType, Query

FIELD_MANAGER = "unmoor"
"""Our name in ``managedFields``."""

NAME_CHARS_MAX = 253

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
    """The path of an object or of one of its subresources. Raises ApiError."""
    resource = KINDS[ref.kind]
    # As the server says it of an object that is not there: this one cannot be.
    absence: JSON = {"details": {"kind": resource.plural, "name": ref.name}}
    if not ref.name:  # or the whole collection would be meant
        text = f"a {ref.kind.lower()} without a name cannot exist"
        raise ApiError(404, "NotFound", text, status=absence)
    namespace, name = _segment(ref.namespace, absence), _segment(ref.name, absence)
    return resource.path(namespace, name, subresource)


def collection(resource: Resource[Any], namespace: str) -> str:
    """The path of all objects of a kind, in one namespace or everywhere. Raises ApiError."""
    return resource.path(_segment(namespace))


def _segment(name: str, absence: JSON | None = None) -> str:
    """A name as a part of a path, where it must not become more than one part.

    Names come from annotations, provider ids and command lines. What the API's own rule for names
    in paths refuses cannot exist, so the server need not be asked.
    """
    is_sane = name.isprintable() and len(name) <= NAME_CHARS_MAX
    if not is_sane or name in {".", ".."} or "/" in name or "%" in name:
        text = f"{cut(repr(name))} is no name that an object can have"
        raise ApiError(404, "NotFound", text, status=absence)
    return quote(name, safe="")


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
