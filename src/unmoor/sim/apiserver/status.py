"""How the server says no: one function per kind of refusal, in the real server's words.

Each returns an ApiError that carries the whole Status object, so that both faces tell the same
story. The wording was compared with a real API server; people and programs match on it.

Must not: decide whether anything is refused.
"""

from __future__ import annotations

from typing import Any

import msgspec

from unmoor.model.base import JSON
from unmoor.model.kinds import Resource
from unmoor.runtime.ports import ApiError

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
SERVED_PATCHES = (
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
)


class Cause(msgspec.Struct, frozen=True):
    """One thing that is wrong with a request (API reference: metav1.StatusCause)."""

    reason: str
    message: str
    field: str = ""

    def __str__(self) -> str:
        """The cause as it stands in a Status message."""
        return f"{self.field}: {self.message}" if self.field else self.message

    def to_json(self) -> JSON:
        """The cause as it stands in a Status object."""
        body = {"reason": self.reason, "message": self.message}
        return {**body, "field": self.field} if self.field else body


def required(field: str, detail: str = "") -> Cause:
    """Name a field that has to be there and is not."""
    text = f"Required value: {detail}" if detail else "Required value"
    return Cause("FieldValueRequired", text, field)


def bad_value(field: str, value: object, detail: str) -> Cause:
    """Name a field whose value cannot be."""
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}", field)


def unsupported(field: str, value: object, supported: tuple[str, ...]) -> Cause:
    """Name a field whose value is none of the few that are known."""
    listed = ", ".join(f'"{one}"' for one in supported)
    text = f"Unsupported value: {shown(value)}: supported values: {listed}"
    return Cause("FieldValueNotSupported", text, field)


def forbidden_field(field: str, detail: str) -> Cause:
    """Name a field that may not be written, or not so."""
    return Cause("FieldValueForbidden", f"Forbidden: {detail}", field)


def shown(value: object) -> str:
    """A value as messages quote it."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    return msgspec.json.encode(value).decode()


def qualified(resource: Resource[Any]) -> str:
    """``nodes`` or ``machines.karpenter.sh``: a resource as messages name it."""
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def qualified_kind(resource: Resource[Any]) -> str:
    """``Node`` or ``Machine.karpenter.sh``: a kind as messages name it."""
    return f"{resource.kind}.{resource.group}" if resource.group else resource.kind


def failure(
    code: int, reason: str, message: str, details: JSON | None = None, retry_after_s: int = 0
) -> ApiError:
    """Build any refusal."""
    status: JSON = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
    }
    if reason:
        status["reason"] = reason
    if retry_after_s:
        details = {**(details or {}), "retryAfterSeconds": retry_after_s}
    if details is not None:
        status["details"] = details
    status["code"] = code
    wait_s = float(retry_after_s) if retry_after_s else None
    return ApiError(code, reason, message, retry_after_s=wait_s, status=status)


def success(code: int = 0, details: JSON | None = None) -> JSON:
    """Build the Status of a request that was carried out and has no object to show."""
    status: JSON = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        status["details"] = details
    if code:
        status["code"] = code
    return status


def details_of(resource: Resource[Any], name: str, kind: str = "") -> JSON:
    """Which object a Status is about."""
    details: JSON = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = kind or resource.plural
    return details


def deleted(resource: Resource[Any], name: str, uid: str) -> JSON:
    """Build the Status that tells of a finished deletion."""
    return success(details={**details_of(resource, name), "uid": uid})


def not_found(resource: Resource[Any], name: str) -> ApiError:
    """404: there is no such object."""
    text = f'{qualified(resource)} "{name}" not found'
    return failure(404, "NotFound", text, details_of(resource, name))


def no_such_page() -> ApiError:
    """404: nothing is served under this path."""
    text = "the server could not find the requested resource"
    return failure(404, "NotFound", text, {})


def already_exists(resource: Resource[Any], name: str) -> ApiError:
    """409: the name is taken."""
    text = f'{qualified(resource)} "{name}" already exists'
    return failure(409, "AlreadyExists", text, details_of(resource, name))


def conflict(resource: Resource[Any], name: str, why: str = MODIFIED) -> ApiError:
    """409: a write that was based on something else than what is stored."""
    text = f'Operation cannot be fulfilled on {qualified(resource)} "{name}": {why}'
    return failure(409, "Conflict", text, details_of(resource, name))


def precondition(resource: Resource[Any], name: str, why: str) -> ApiError:
    """409: a deletion whose preconditions do not hold; it names the kind, not the resource."""
    text = f'Operation cannot be fulfilled on {qualified_kind(resource)} "{name}": {why}'
    return failure(409, "Conflict", text, details_of(resource, name, resource.kind))


def not_bindable(name: str, why: str) -> ApiError:
    """409: a pod that cannot be put on a node."""
    text = f'Operation cannot be fulfilled on pods/binding "{name}": {why}'
    return failure(409, "Conflict", text, {"name": name, "kind": "pods/binding"})


def invalid(resource: Resource[Any], name: str, *causes: Cause) -> ApiError:
    """422: the object breaks the rules of its kind."""
    words = [str(cause) for cause in causes]
    text = words[0] if len(words) == 1 else f"[{', '.join(words)}]"
    details = details_of(resource, name, resource.kind)
    details["causes"] = [cause.to_json() for cause in causes]
    message = f'{qualified_kind(resource)} "{name}" is invalid: {text}'
    return failure(422, "Invalid", message, details)


def bad_options(kind: str, causes: list[Cause]) -> ApiError:
    """422: options of a request that cannot be; ``kind`` is that of the options."""
    words = [str(cause) for cause in causes]
    text = words[0] if len(words) == 1 else f"[{', '.join(words)}]"
    details = {"group": "meta.k8s.io", "kind": kind, "causes": [one.to_json() for one in causes]}
    return failure(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {text}', details)


def unusable_patch(detail: str) -> ApiError:
    """422: the patch fits the object, but its result is not one of this kind."""
    cause = Cause("FieldValueInvalid", f"Invalid value: {detail}", "patch")
    return failure(422, "Invalid", f' "" is invalid: {cause}', {"causes": [cause.to_json()]})


def patch_does_not_apply() -> ApiError:
    """422: an operation of a JSON patch failed."""
    text = "the server rejected our request due to an error in our request"
    return failure(422, "Invalid", text, {})


def bad_request(message: str) -> ApiError:
    """400: the request itself makes no sense."""
    return failure(400, "BadRequest", message)


def forbidden(resource: Resource[Any], name: str, why: str, cause: Cause | None = None) -> ApiError:
    """403: admission says no."""
    details = details_of(resource, name)
    if cause is not None:
        details["causes"] = [cause.to_json()]
    text = f'{qualified(resource)} "{name}" is forbidden: {why}'
    return failure(403, "Forbidden", text, details)


def unsupported_media() -> ApiError:
    """415: this kind of patch is not served here."""
    text = (
        "the body of the request was in an unknown format - accepted media types include: "
        f"{SERVED_PATCHES}"
    )
    return failure(415, "UnsupportedMediaType", text)


def not_allowed() -> ApiError:
    """405: the path exists, the verb does not."""
    text = "the server does not allow this method on the requested resource"
    return failure(405, "MethodNotAllowed", text, {})


def expired(message: str) -> ApiError:
    """410: that version is no longer known."""
    return failure(410, "Expired", message)


def too_many_requests(message: str, cause: Cause, retry_after_s: int = 0) -> ApiError:
    """429: not now."""
    return failure(429, "TooManyRequests", message, {"causes": [cause.to_json()]}, retry_after_s)
