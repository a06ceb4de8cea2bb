"""So that one instance acts: a plain Lease, as the API's own leader election keeps it.

The holder renews; another takes over when the renewals have stopped for the lease's duration,
measured on its own monotonic clock from when it saw the last change, never by comparing wall clocks
of two machines. Losing the race costs nothing: every effect carries its own preconditions.

Must not: stop anything by itself. ``may_act`` is asked before each step.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from unmoor.model.base import JSON
from unmoor.model.kinds import LEASES
from unmoor.model.moment import rfc3339_micro
from unmoor.runtime.ports import Api, ApiError, Clock, PortError


class LeaseTimes(msgspec.Struct, frozen=True):
    """Seconds. A holder that could not renew for ``renew_deadline_s`` stops acting."""

    duration_s: float = 15.0
    renew_deadline_s: float = 10.0
    retry_s: float = 2.0


class Leader:
    """Holds or waits for one Lease."""

    def __init__(
        self,
        api: Api,
        clock: Clock,
        *,
        identity: str,
        namespace: str,
        name: str = "unmoor",
        times: LeaseTimes = LeaseTimes(),
    ) -> None:
        """``identity`` must differ between instances."""
        self._api = api
        self._clock = clock
        self._identity = identity
        self._ref = LEASES.ref(name, namespace)
        self._times = times
        self._renewed_at: float | None = None
        self._seen: tuple[str, float] = ("", 0.0)

    def may_act(self) -> bool:
        """True while we hold the lease and have renewed it recently enough."""
        if self._renewed_at is None:
            return False
        return self._clock.now().mono < self._renewed_at + self._times.renew_deadline_s

    async def run(self, on_change: Callable[[bool], None] = lambda _: None) -> None:
        """Acquire and renew until cancelled; ``on_change`` hears when we begin or stop to lead."""
        was_leading = False
        while True:
            asked_at = self._clock.now().mono
            try:
                if await self._try():
                    self._renewed_at = asked_at
                else:
                    self._renewed_at = None
            except PortError:
                # Unknown or refused: what we hold stays good until its deadline.
                pass
            is_leading = self.may_act()
            if is_leading != was_leading:
                was_leading = is_leading
                on_change(is_leading)
            await self._clock.sleep(self._times.retry_s)

    async def release(self) -> None:
        """Give the lease up at a clean stop, so that the next instance need not wait."""
        if self._renewed_at is None:
            return
        self._renewed_at = None
        try:
            lease = await self._api.get(self._ref)
            if lease["spec"].get("holderIdentity") == self._identity:
                await self._write(lease, {"holderIdentity": "", "leaseDurationSeconds": 1})
        except PortError:
            return

    async def _try(self) -> bool:
        try:
            lease = await self._api.get(self._ref)
        except ApiError as error:
            if error.code != 404:  # noqa: PLR2004
                raise
            return await self._create()
        spec = lease.get("spec", {})
        holder = spec.get("holderIdentity") or ""
        if holder == self._identity:
            return await self._write(lease, {})
        if holder and not self._has_expired(lease):
            return False
        transitions = int(spec.get("leaseTransitions") or 0) + 1
        now = self._clock.now().wall
        return await self._write(
            lease, {"acquireTime": rfc3339_micro(now), "leaseTransitions": transitions}
        )

    def _has_expired(self, lease: JSON) -> bool:
        """Nobody has touched it for its duration, by our own clock, since we first saw it so."""
        version = str(lease["metadata"]["resourceVersion"])
        now = self._clock.now().mono
        if self._seen[0] != version:
            self._seen = (version, now)
        duration = float(lease["spec"].get("leaseDurationSeconds") or self._times.duration_s)
        return now >= self._seen[1] + duration

    async def _create(self) -> bool:
        now = self._clock.now().wall
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._ref.name, "namespace": self._ref.namespace},
            "spec": {"acquireTime": rfc3339_micro(now), "leaseTransitions": 0, **self._held(now)},
        }
        return await self._won(lambda: self._api.create(self._ref, body))

    async def _write(self, lease: JSON, spec: JSON) -> bool:
        body = {
            "metadata": {"resourceVersion": lease["metadata"]["resourceVersion"]},
            "spec": {**self._held(self._clock.now().wall), **spec},
        }
        return await self._won(lambda: self._api.patch(self._ref, body))

    async def _won(self, write: Callable[[], Any]) -> bool:
        try:
            await write()
        except ApiError as error:
            if error.code == 409:  # noqa: PLR2004 - somebody else was first
                return False
            raise
        return True

    def _held(self, now: datetime) -> JSON:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": round(self._times.duration_s) or 1,
            "renewTime": rfc3339_micro(now),
        }
