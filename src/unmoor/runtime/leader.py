"""So that one instance acts: a plain Lease, as the API's own leader election keeps it.

The holder renews; another takes over when the renewals have stopped for the lease's duration,
measured on its own monotonic clock from when it saw the last change, never by comparing wall clocks
of two machines. The holder stops beginning anything earlier, at ``renew_deadline_s``. What it has
begun by then may still arrive until its requests time out; that window is why losing the race costs
nothing: every effect carries its own preconditions.

Must not: stop anything by itself. ``may_act`` is asked before each step and each effect.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from datetime import datetime

import msgspec

from unmoor.model.base import JSON
from unmoor.model.kinds import LEASES
from unmoor.model.moment import rfc3339_micro
from unmoor.runtime.ports import Api, ApiError, Clock, PortError

LEASE = "unmoor"
LEASE_OF_OBSERVERS = "unmoor-observe"
"""Who only observes is in nobody's way."""
COUNT_MOST = 2**31 - 1
"""The server refuses a lease with a larger count, whoever wrote the one before."""
RELEASE_LIMIT_S = 1.0
"""A clean stop tries this long to give the lease up; whoever ends the process waits longer."""
_FORBIDDEN = 403
_CONFLICT = 409


class LeaseTimes(msgspec.Struct, frozen=True):
    """Seconds. A holder that could not renew for ``renew_deadline_s`` stops acting."""

    duration_s: float = 15.0
    renew_deadline_s: float = 10.0
    retry_s: float = 2.0

    def __post_init__(self) -> None:
        """Two would lead at once if the others did not wait at least as long as the holder acts."""
        if not 0 < self.retry_s <= self.renew_deadline_s <= self.duration_s:
            raise ValueError(f"{self}: keep 0 < retry_s <= renew_deadline_s <= duration_s")


class Leader:
    """Holds or waits for one Lease."""

    def __init__(
        self,
        api: Api,
        clock: Clock,
        *,
        identity: str,
        namespace: str,
        name: str = LEASE,
        times: LeaseTimes = LeaseTimes(),
    ) -> None:
        """``identity`` must differ between instances."""
        assert identity, "who has no name cannot be told from the others"
        self._api = api
        self._clock = clock
        self._identity = identity
        self._ref = LEASES.ref(name, namespace)
        self._times = times
        self._renewed_at: float | None = None
        self._has_written = False
        self._has_rival = False
        self._seen: tuple[str, float] = ("", 0.0)

    def may_act(self) -> bool:
        """True while we hold the lease and have renewed it recently enough."""
        if self._renewed_at is None:
            return False
        return self._clock.now().mono < self._renewed_at + self._times.renew_deadline_s

    async def run(
        self,
        on_change: Callable[[bool], None] = lambda _: None,
        on_problem: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Acquire and renew until cancelled.

        ``on_change`` hears when we begin or stop to lead, ``on_problem`` what the server refuses.
        """
        was_leading = False
        while True:
            asked_at = self._clock.now().mono
            try:
                # An answer that comes later than this would be of no use any more.
                async with asyncio.timeout(self._times.renew_deadline_s / 2):
                    self._renewed_at = asked_at if await self._try() else None
            except (PortError, TimeoutError) as error:
                # Unknown or refused: what we hold stays good until its deadline.
                on_problem(self._about(error))
            is_leading = self.may_act()
            if is_leading != was_leading:
                was_leading = is_leading
                on_change(is_leading)
            await self._clock.sleep(self._times.retry_s)

    def _about(self, error: PortError | TimeoutError) -> str:
        said = f"{self._ref} is not held: {str(error) or 'no answer in time'}"
        if isinstance(error, ApiError) and error.code == _FORBIDDEN:
            said += (
                '; without it nothing is done. Let this service account "get", "create" and '
                f'"patch" leases of coordination.k8s.io in namespace {self._ref.namespace}, as '
                "deploy/rbac.yaml has it"
            )
        return said

    async def release(self) -> None:
        """Give the lease up at a clean stop, so that the next instance need not wait."""
        self._renewed_at = None
        if not self._has_written:
            return
        try:
            async with asyncio.timeout(RELEASE_LIMIT_S):
                lease = await self._api.get(self._ref)
                if _spec_of(lease).get("holderIdentity") == self._identity:
                    await self._write(lease, {"holderIdentity": "", "leaseDurationSeconds": 1})
        except (PortError, TimeoutError):
            return

    async def _try(self) -> bool:
        """Whether we hold the lease now; an error leaves that open."""
        try:
            lease = await self._api.get(self._ref)
        except ApiError as error:
            if not error.is_absence_of(self._ref):
                raise
            # Somebody has removed it, and its holder may not have noticed yet.
            if self._has_rival and not self._is_quiet("", self._times.duration_s):
                return False
            return await self._won(self._create)
        spec = _spec_of(lease)
        holder = spec.get("holderIdentity") or ""
        if holder == self._identity:
            # A conflict is no loss: others may label the lease, but only its holder field counts.
            await self._write(lease, {})
            return True
        version = str(lease["metadata"]["resourceVersion"])
        self._has_rival = bool(holder)
        duration_s = float(spec.get("leaseDurationSeconds") or self._times.duration_s)
        if holder and not self._is_quiet(version, duration_s):
            return False
        taken = {
            "acquireTime": rfc3339_micro(self._clock.now().wall),
            "leaseTransitions": min(int(spec.get("leaseTransitions") or 0) + 1, COUNT_MOST),
        }
        return await self._won(lambda: self._write(lease, taken))

    def _is_quiet(self, version: str, duration_s: float) -> bool:
        """Nobody has touched it for so long, by our own clock, since we first saw it so."""
        now = self._clock.now().mono
        if self._seen[0] != version:
            self._seen = (version, now)
        return now >= self._seen[1] + duration_s

    async def _won(self, write: Callable[[], Awaitable[None]]) -> bool:
        try:
            await write()
        except ApiError as error:
            if error.code == _CONFLICT:  # somebody else was first
                return False
            raise
        return True

    async def _create(self) -> None:
        now = self._clock.now().wall
        self._has_written = True
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._ref.name, "namespace": self._ref.namespace},
            "spec": {"acquireTime": rfc3339_micro(now), "leaseTransitions": 0, **self._held(now)},
        }
        await self._api.create(self._ref, body)

    async def _write(self, lease: JSON, spec: JSON) -> None:
        self._has_written = True
        body = {
            "metadata": {"resourceVersion": lease["metadata"]["resourceVersion"]},
            "spec": {**self._held(self._clock.now().wall), **spec},
        }
        await self._api.patch(self._ref, body)

    def _held(self, now: datetime) -> JSON:
        return {
            "holderIdentity": self._identity,
            # Whole seconds, and never less than we may act.
            "leaseDurationSeconds": math.ceil(self._times.duration_s),
            "renewTime": rfc3339_micro(now),
        }


def _spec_of(lease: JSON) -> JSON:
    spec: JSON = lease.get("spec") or {}
    return spec
