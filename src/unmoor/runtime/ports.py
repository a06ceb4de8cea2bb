"""The whole outside on one page: what an adapter must offer, and how it must fail.

The API and the cloud have one contract suite each (``tests/contract``), which runs on every
implementation. Ports raise only the errors below. Of what steps ask for, the interpreter catches
them; the informer, the leader and the recorder answer for their own requests.

Must not: hold policy, or know any adapter.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from http import HTTPStatus
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from unmoor.lifecycle.effects import Publish
from unmoor.model.base import JSON, Ref
from unmoor.model.instance import CloudInstance, InstanceType, LaunchRequest, OfferingName
from unmoor.model.kinds import KINDS, Resource
from unmoor.model.moment import Moment
from unmoor.model.selection import Selection, Wish

T = TypeVar("T")
R = TypeVar("R")


class PortError(Exception):
    """The other side failed: theirs, not ours. Never raised as such."""


class ApiError(PortError):
    """The API server answered with a Status that is not Success.

    ``code``: HTTP code. ``reason``: the Status reason ("Conflict", "NotFound", "AlreadyExists",
    "Invalid", "TooManyRequests", "Expired", ...). ``status``: the Status object, whole.
    ``retry_after_s``: what the server asked us to wait, None when it did not say.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        retry_after_s: float | None = None,
        status: JSON | None = None,
    ) -> None:
        """Keep what the server said."""
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message
        self.retry_after_s = retry_after_s
        self.status = status or {}

    def is_absence_of(self, ref: Ref) -> bool:
        """True when the server says that there is no such object.

        A 404 alone does not: a path or a kind that is not served has one too, as words or as a
        Status that names nothing, or something else (a namespace, a budget).
        """
        details = self.status.get("details")
        if self.code != HTTPStatus.NOT_FOUND or not isinstance(details, dict):
            return False
        return (details.get("kind"), details.get("name")) == (KINDS[ref.kind].plural, ref.name)


class Unreachable(PortError):
    """Timeout or broken connection: nobody knows whether the request was carried out."""


class CloudError(PortError):
    """The cloud refused; nothing was done. ``kind`` says how, ``message`` in its own words.

    ``sold_out``: with "insufficient-capacity", of which offerings there is none, as far as known.
    """

    def __init__(
        self,
        kind: Literal["not-found", "insufficient-capacity", "rate-limited", "invalid", "failed"],
        message: str,
        *,
        retry_after_s: float | None = None,
        sold_out: tuple[OfferingName, ...] = (),
    ) -> None:
        """Keep what the cloud said."""
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.retry_after_s = retry_after_s
        self.sold_out = sold_out


class Query(msgspec.Struct, frozen=True):
    """Which objects of a kind: everything by default. Selectors are in the API's text form."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


class Broken(msgspec.Struct, frozen=True, gc=False):
    """An object that does not decode: skipped and reported, never a reason to stop.

    ``is_deleted``: a watch told of its deletion, which is true whatever its last state says.
    ``node``: what its ``spec.nodeName`` says, "" when that is not there or cannot be read either.
    """

    ref: Ref
    resource_version: str
    problem: str
    is_deleted: bool = False
    node: str = ""


class Page(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """One page of a list. ``next``: token of the next page, "" on the last."""

    items: tuple[T, ...]
    broken: tuple[Broken, ...] = ()
    resource_version: str = ""
    next: str = ""


class Change(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """One watch event about an object."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: T


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """The server's word that everything up to this version has been sent."""

    resource_version: str


WatchEvent: TypeAlias = Change[T] | Broken | Bookmark
PatchType: TypeAlias = Literal["merge", "strategic", "json", "apply"]


class DeleteOptions(msgspec.Struct, frozen=True):
    """API reference: metav1.DeleteOptions. Empty strings and None leave a field out."""

    uid: str = ""
    resource_version: str = ""
    grace_s: int | None = None
    propagation: Literal["", "Background", "Foreground", "Orphan"] = ""
    dry_run: bool = False


class Api(Protocol):
    """The Kubernetes API. Every method raises ApiError or Unreachable and nothing else.

    Reading decodes to ``resource.type`` (use ``resource.raw()`` for plain JSON). Writing takes and
    returns plain JSON. Preconditions (``metadata.uid``, ``metadata.resourceVersion``) travel in
    the body, as the real API has it.
    """

    async def list(
        self, resource: Resource[T], query: Query = ..., *, limit: int = ..., after: str = ...
    ) -> Page[T]:
        """One page; ``limit`` 0 means all at once, ``after`` is the previous page's ``next``."""
        ...

    def watch(
        self, resource: Resource[T], query: Query = ..., *, since: str
    ) -> AsyncIterator[WatchEvent[T]]:
        """Changes after version ``since``. Ends when the server closes it; 410 is an ApiError."""
        ...

    async def get(self, ref: Ref) -> JSON:
        """One object as it is now."""
        ...

    async def create(
        self, ref: Ref, body: JSON, *, subresource: str = ..., dry_run: bool = ...
    ) -> JSON:
        """POST. With ``subresource`` ("eviction", "binding") to one of an existing object."""
        ...

    async def replace(self, ref: Ref, body: JSON, *, subresource: str = ...) -> JSON:
        """PUT the whole object. For actors and tests: unmoor itself only patches."""
        ...

    async def patch(
        self,
        ref: Ref,
        body: Any,
        *,
        how: PatchType = ...,
        subresource: str = ...,
        dry_run: bool = ...,
    ) -> JSON:
        """PATCH; ``body`` is a list of operations for ``json``, else an object."""
        ...

    async def delete(self, ref: Ref, options: DeleteOptions = ...) -> JSON:
        """DELETE; returns the object (still there with finalizers or grace) or a Status."""
        ...


class Cloud(Protocol):
    """A cloud provider. Methods raise CloudError or Unreachable and nothing else.

    ``scheme``: the prefix of its provider ids, as in ``aws:///zone/i-123``.
    """

    scheme: str

    async def create(self, request: LaunchRequest) -> CloudInstance:
        """Launch. Asking again with the same token returns the same instance."""
        ...

    async def get(self, provider_id: str) -> CloudInstance:
        """One instance; "not-found" when it does not exist (any more)."""
        ...

    async def list(self, cluster: str) -> tuple[CloudInstance, ...]:
        """The instances of one cluster; may lag behind ``get``."""
        ...

    async def terminate(self, provider_id: str) -> None:
        """Tell it to go. Returns when the cloud has accepted; "not-found" when it is gone."""
        ...

    async def instance_types(self) -> tuple[InstanceType, ...]:
        """The instance types on offer, with zones, capacity types and prices."""
        ...

    async def discover(self, wish: Wish) -> Selection:
        """What the selectors of a node template find now; "invalid" when one means nothing."""
        ...


class Clock(Protocol):
    """The two clocks, and waiting."""

    def now(self) -> Moment:
        """One reading of both."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Wait on the monotonic clock."""
        ...


class Executor(Protocol):
    """Where a pass over the whole cluster runs: off the loop, or inline in virtual time."""

    async def run(self, work: Callable[[], R]) -> R:
        """Run ``work`` and return its result; whatever it raises is raised here."""
        ...


class Recorder(Protocol):
    """Publishes Kubernetes events: aggregated, rate limited, never blocking, never raising."""

    def publish(self, event: Publish, now: datetime, repeat_after_s: float) -> None:
        """Take an event; it is sent some time later or dropped and counted.

        The same event is dropped when it was taken less than ``repeat_after_s`` ago.
        """
        ...


ALL = Query()
"""Every object of a kind."""
