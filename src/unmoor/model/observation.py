"""Answers to questions put to the outside, each with the moment it was given.

A step that needs to know what only the outside can say (is this machine still there? was that
eviction admitted?) returns an effect and decides next time, on the answer that it then finds in
the view. Answers are memory of the droppable kind: losing one costs a question, never correctness.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Generic, TypeVar

import msgspec

from unmoor.model.instance import OfferingName
from unmoor.model.moment import Moment

T = TypeVar("T")

ASKED_PAUSE_MAX_S = 60.0
"""Whoever asks us to come back later than this is asked after this time all the same."""


class Asked(StrEnum):
    """What a question is about; its subject is in brackets."""

    INSTANCE = "instance"
    """Is it there? (provider id) -> CloudInstance, or a problem of kind NOT_FOUND"""
    INSTANCES = "instances"
    """Which are there? (cluster) -> tuple of CloudInstance"""
    LAUNCH = "launch"
    """What came of an attempt? (token) -> CloudInstance"""
    TERMINATION = "termination"
    """Was the machine told to go? (provider id) -> True"""
    EVICTION = "eviction"
    """Was the eviction admitted? (pod uid) -> True"""
    WRITE = "write"
    """Did the server refuse the last write to it? (uid) -> True, or a problem that stays; no answer
    when none was refused yet, and none about pods"""
    CREATION = "creation"
    """Did the server refuse the last object that was to be made for it? (uid) -> True, or a problem
    that stays; no answer when none was refused yet"""
    PODS = "pods"
    """Which pods are on a node? (its name) -> the monotonic time of asking; they are in the view"""
    NODES = "nodes"
    """Which nodes are there? ("all") -> the monotonic time of asking; they are in the view"""
    INSTANCE_TYPES = "instance-types"
    """What is on sale? (the cloud's scheme) -> tuple of InstanceType"""
    SELECTION = "selection"
    """What do selectors find? (the subject of a Wish) -> Selection"""
    STOCK_OUT = "stock-out"
    """Was an offering refused for want of capacity? (str of its OfferingName) -> how many times in
    a row; no answer when it never was"""
    CAPACITY = "capacity"
    """Had the cloud any for the last machine that was launched for it? (uid) -> True, or a problem
    of kind INSUFFICIENT_CAPACITY that stays; no answer when it always had"""
    NO_SHOW = "no-show"
    """Which machines have not come up? (a provisioner as it is, and str of the OfferingName) -> how
    many in a row; as with nominations, what we know ourselves"""
    NOMINATION = "nomination"
    """Which pods are to go there? (str of the Ref of a node or machine) -> tuple of pod keys; not a
    question, but what we have answered ourselves"""
    SUPPOSED = "supposed"
    """Which conditions would a machine have? (its uid) -> tuple of Condition; as with nominations,
    what we know ourselves, where we only observe"""
    OBJECT = "object"
    """What does the server itself say? (str of the Ref) -> the object is in the view"""


OF_THE_API_SERVER = frozenset((Asked.OBJECT, Asked.PODS, Asked.NODES))
"""What is asked of the API server; all else is the cloud's to answer."""


class ProblemKind(StrEnum):
    """Why there is no answer. Closed: the interpreter translates every port error into one."""

    NOT_FOUND = "not-found"
    CONFLICT = "conflict"
    """A precondition did not hold: somebody else was first."""
    TOO_MANY_REQUESTS = "too-many-requests"
    """429: for an eviction, a budget forbids it now."""
    INSUFFICIENT_CAPACITY = "insufficient-capacity"
    INVALID = "invalid"
    """The other side will never accept this as it is."""
    FORBIDDEN = "forbidden"
    FAILED = "failed"
    """Refused for another reason; nothing was done."""
    UNKNOWN = "unknown"
    """Nobody knows whether it was done: timeout, broken connection."""


class Problem(msgspec.Struct, frozen=True):
    """What went wrong, in the other side's words. ``retry_after_s``: what it asked us to wait.

    ``sold_out``: of which offerings a cloud has none left, if it said so.
    """

    kind: ProblemKind
    message: str = ""
    code: int = 0
    retry_after_s: float | None = None
    sold_out: tuple[OfferingName, ...] = ()


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """``result`` is None exactly when there is a ``problem``."""

    at: Moment
    result: T | None = None
    problem: Problem | None = None

    def again_at(self, pause_s: float) -> float:
        """When to ask again (monotonic): after ``pause_s``, or later if that is what they want."""
        asked_s = 0.0 if self.problem is None else self.problem.retry_after_s or 0.0
        return self.at.after(max(pause_s, min(asked_s, ASKED_PAUSE_MAX_S)))

    @property
    def is_missing(self) -> bool:
        """The other side says that there is no such thing."""
        return self.problem is not None and self.problem.kind is ProblemKind.NOT_FOUND
