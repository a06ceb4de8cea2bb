"""Who am I, and what may I do? The self reviews; whoever is let in may do everything.

Must not: hold any rule; the only one there is stands in the sentence above.
"""

from __future__ import annotations

from typing import Any

import msgspec

from unmoor.model.base import JSON
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.status import Cause

ADMIN_GROUPS = ("system:masters", "system:authenticated")
AUTHORIZATION = "authorization.k8s.io"
AUTHENTICATION = "authentication.k8s.io"


class User(msgspec.Struct, frozen=True):
    """Whom the server takes a client for."""

    name: str
    groups: tuple[str, ...] = ADMIN_GROUPS


class Review(msgspec.Struct, frozen=True):
    """One kind of question; nothing of it is stored."""

    group: str
    kind: str
    plural: str
    version: str = "v1"

    @property
    def singular(self) -> str:
        """The kind in lower case."""
        return self.kind.lower()


ALL = (
    Review(AUTHENTICATION, "SelfSubjectReview", "selfsubjectreviews"),
    Review(AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
    Review(AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
)
GROUPS = tuple(dict.fromkeys((one.group, one.version) for one in ALL))

_EVERYTHING: JSON = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def of(group: str, version: str) -> list[Review]:
    """The reviews of a group and version."""
    return [one for one in ALL if (one.group, one.version) == (group, version)]


def find(parts: list[str]) -> Review | None:
    """The review under a path."""
    for one in ALL:
        if parts == ["apis", one.group, one.version, one.plural]:
            return one
    return None


def answered(review: Review, body: JSON, user: User, now: str) -> JSON:
    """The review with its answer; raises 400 or 422 for a question that is none."""
    kind = body.get("kind") or review.kind
    if kind != review.kind:
        text = f'{kind} in version "{review.version}" cannot be handled as a {review.kind}'
        raise status.bad_request(text)
    spec = body.get("spec") or {}
    if not isinstance(spec, dict):
        text = f"json: cannot unmarshal into Go struct field {review.kind}.spec"
        raise status.bad_request(text)
    answer: JSON = {
        "kind": review.kind,
        "apiVersion": f"{review.group}/{review.version}",
        "metadata": {"creationTimestamp": None},
    }
    match review.kind:
        case "SelfSubjectReview":
            answer["metadata"] = {"creationTimestamp": now}
            user_info = {"username": user.name, "groups": list(user.groups)}
            return {**answer, "status": {"userInfo": user_info}}
        case "SelfSubjectAccessReview":
            _hold_attributes(spec)
            reason = "everybody who is let in may do everything here"
            return {**answer, "spec": spec, "status": {"allowed": True, "reason": reason}}
        case _:
            return {**answer, "spec": spec, "status": _EVERYTHING}


def _hold_attributes(spec: JSON) -> None:
    given: list[Any] = [
        spec[name] for name in ("resourceAttributes", "nonResourceAttributes") if spec.get(name)
    ]
    if len(given) == 1 and isinstance(given[0], dict):
        return
    where = "spec.resourceAttributes"
    text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    cause = Cause("FieldValueInvalid", f"Invalid value: null: {text}", where)
    details = {"group": AUTHORIZATION, "causes": [cause.to_json()]}
    said = f'.{AUTHORIZATION} "" is invalid: {cause}'
    raise status.failure(422, "Invalid", said, details)
