"""How does the server say no? From an HTTP answer to an ``ApiError``, whoever wrote the body.

An API server answers with a Status. Proxies and load balancers in front of it answer with HTML, a
word, or nothing, and then only the code is left. Some codes make a claim about an object ("it is
gone", "it is there already"), and we act on such a claim by forgetting the object; so those codes
are believed only from an API server. From anybody else they mean that we did not reach it. So does
a yes that is about something else.

Must not: read from the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from unmoor.kube.codec import Malformed, decode_object
from unmoor.model.base import JSON, Ref
from unmoor.runtime.ports import ApiError, PortError, Unreachable

EXCERPT_CHARS = 200
"""How much of a foreign body goes into an error text."""
MESSAGE_CHARS = 2_000
"""How much of what an API server says goes there."""
RETRY_AFTER_MAX_S = 3600.0
"""Nobody makes us wait longer than this at a time."""

_CLAIMS = {404, 409, 410, 422}
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def error_of(code: int, headers: Mapping[str, str], body: bytes, now: datetime) -> PortError:
    """The error that an answer other than 2xx stands for."""
    try:
        status = decode_object(body)
    except Malformed:
        status = {}
    wait_s = _retry_after_s(headers.get("Retry-After", ""), now)
    if status.get("kind") == "Status":
        return error_of_status(status, code=code, retry_after_s=wait_s)
    said = excerpt(body.decode(errors="replace")) or "with an empty body"
    # Every answer of a kube-apiserver has an audit id, also its plain "404 page not found".
    is_redirect = 300 <= code < 400  # noqa: PLR2004 - nobody else sends us elsewhere
    if is_redirect or (code in _CLAIMS and "Audit-Id" not in headers):
        return Unreachable(f"not the API server answered, but something before it: {code} {said}")
    return ApiError(code, _reason(code), said, retry_after_s=wait_s)


def error_of_status(
    status: JSON, *, code: int = 500, retry_after_s: float | None = None
) -> ApiError:
    """The error that a Status stands for; ``code`` where it has none itself."""
    said = status.get("code")
    code = said if isinstance(said, int) and said else code
    details = status.get("details")
    asked = details.get("retryAfterSeconds") if isinstance(details, dict) else None
    if retry_after_s is None and isinstance(asked, (int, float)) and asked > 0:
        retry_after_s = min(float(asked), RETRY_AFTER_MAX_S)
    return ApiError(
        code,
        _text(status.get("reason")) or _reason(code),
        _cut(_text(status.get("message")), MESSAGE_CHARS) or "the server did not say why",
        retry_after_s=retry_after_s,
        status=status,
    )


def _reason(code: int) -> str:
    if code in _REASONS:
        return _REASONS[code]
    try:
        return HTTPStatus(code).phrase.replace(" ", "")
    except ValueError:
        return "Unknown"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def foreign(answer: JSON, ref: Ref, subresource: str, *, may_be_status: bool) -> str:
    """Why this cannot be the answer to a request about an object; "" when it can.

    Something between us and the server may answer in its place, or mix answers up.
    """
    kind, meta = answer.get("kind", ""), answer.get("metadata")
    if kind == "Status" and may_be_status:
        return "" if answer.get("status") != "Failure" else "a failure is told as a success"
    if not isinstance(meta, dict):
        return "the answer is no object: it has no metadata"
    is_kind = kind in {"", ref.kind} or subresource not in {"", "status"}
    if kind == ref.kind and may_be_status and not meta:
        return ""  # A real server says so little of an object that its deletion has removed.
    where = (meta.get("namespace", ""), meta.get("name", ""))
    if is_kind and where == (ref.namespace, ref.name or where[1]):
        return ""
    shown = "/".join(str(part) for part in where if part)
    return f"the answer is about something else: {excerpt(f'{kind} {shown}')}"


def excerpt(text: str) -> str:
    """As much of a foreign text as fits into a line of ours."""
    text = " ".join(text[: 4 * EXCERPT_CHARS].split())
    return _cut("".join(char for char in text if char.isprintable()), EXCERPT_CHARS)


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[:chars] + "..."


def _retry_after_s(value: str, now: datetime) -> float | None:
    """Seconds or a date, as HTTP allows; None for anything else."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:12]), RETRY_AFTER_MAX_S)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    if until.tzinfo is None:
        return None
    return min(max((until - now).total_seconds(), 0.0), RETRY_AFTER_MAX_S)
