"""What a port raised, as a ``Problem``: the one place where theirs becomes ours.

Must not: know effects, or what is done about a problem.
"""

from __future__ import annotations

from unmoor.model.base import Ref
from unmoor.model.observation import Problem, ProblemKind
from unmoor.runtime.ports import ApiError, CloudError, PortError

_KIND_OF_CODE = {
    400: ProblemKind.INVALID,
    401: ProblemKind.FORBIDDEN,
    403: ProblemKind.FORBIDDEN,
    408: ProblemKind.UNKNOWN,
    409: ProblemKind.CONFLICT,
    422: ProblemKind.INVALID,
    429: ProblemKind.TOO_MANY_REQUESTS,
    502: ProblemKind.UNKNOWN,
    503: ProblemKind.UNKNOWN,
    504: ProblemKind.UNKNOWN,
}
_UNKNOWN_REASONS = frozenset({"Timeout", "ServerTimeout"})
"""API reference: StatusReason; the server itself cannot say what came of it (code 500 or 504)."""
_KIND_OF_CLOUD = {
    "not-found": ProblemKind.NOT_FOUND,
    "insufficient-capacity": ProblemKind.INSUFFICIENT_CAPACITY,
    "rate-limited": ProblemKind.TOO_MANY_REQUESTS,
    "invalid": ProblemKind.INVALID,
    "failed": ProblemKind.FAILED,
}


def problem_of(error: PortError, ref: Ref | None = None) -> Problem:
    """Translate what a port raised.

    Only where the API server says that ``ref`` itself is not there, its 404 is NOT_FOUND.
    """
    match error:
        case ApiError() if ref is not None and error.is_absence_of(ref):
            return Problem(ProblemKind.NOT_FOUND, error.message, error.code)
        case ApiError():
            kind = _KIND_OF_CODE.get(error.code, ProblemKind.FAILED)
            if error.reason in _UNKNOWN_REASONS:
                kind = ProblemKind.UNKNOWN
            return Problem(kind, error.message, error.code, error.retry_after_s)
        case CloudError():
            kind = _KIND_OF_CLOUD.get(error.kind, ProblemKind.FAILED)
            return Problem(kind, error.message, 0, error.retry_after_s, error.sold_out)
        case _:
            return Problem(ProblemKind.UNKNOWN, str(error) or type(error).__name__)
