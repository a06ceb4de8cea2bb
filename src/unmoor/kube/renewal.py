"""When are credentials fetched again? Before they expire, when the server refuses them, and once.

However many requests wait, one fetch is under way at a time; all of them get what it brings. A
fetch that failed is not tried again for a while, so that a broken program is not started for each
request.

Must not: know where credentials come from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec

from unmoor.kube.auth import AuthError
from unmoor.kube.secret import Secret
from unmoor.runtime.ports import Clock

MARGIN_S = 10.0
"""Credentials are fetched again this long before they expire; a request on its way needs time."""
PAUSE_S = 10.0
"""Between two fetches, when one failed or did not please the server."""


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What a request carries: the Authorization header, a certificate and its key, or nothing."""

    header: Secret = Secret("")
    certificate: str = ""
    key: Secret = Secret("")


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What a fetch brings; without ``expires_at`` it serves until the server refuses it."""

    proof: Proof
    expires_at: datetime | None = None


Fetch: TypeAlias = Callable[[], Awaitable[Grant]]


class Renewal:
    """Credentials that are fetched. ``fetch`` raises AuthError when it cannot."""

    def __init__(self, fetch: Fetch, clock: Clock, first: Grant | None = None) -> None:
        """``first``: what there is without a fetch."""
        self._fetch = fetch
        self._clock = clock
        self._grant = first
        self._under_way: asyncio.Task[Grant] | None = None
        self._failure = ""
        self._fetched_at_s = self._insisted_at_s = float("-inf")

    async def proof(self) -> Proof:
        """What is valid now, fetched if need be. Raises AuthError."""
        now, grant = self._clock.now(), self._grant
        if grant is None or _expires_before(grant, now.wall + timedelta(seconds=MARGIN_S)):
            try:
                grant = await self._due(grant)
            except AuthError:
                if grant is None or _expires_before(grant, now.wall):
                    raise
        return grant.proof

    async def renew(self, rejected: Proof) -> bool:
        """Fetch again, unless that was done already; True when ``rejected`` is history."""
        if self._grant is not None and self._grant.proof != rejected:
            return True
        if self._under_way is None:
            if self._is_recent(self._insisted_at_s):
                return False
            self._insisted_at_s = self._clock.now().mono
        return (await self._fetched()).proof != rejected

    async def close(self) -> None:
        """Give up a fetch that is under way."""
        if self._under_way is not None:
            self._under_way.cancel()
            await asyncio.wait({self._under_way})

    async def _due(self, grant: Grant | None) -> Grant:
        # Credentials with a very short life, or a wrong clock, must not make us fetch all the time.
        if grant is not None and not self._failure and self._is_recent(self._fetched_at_s):
            return grant
        return await self._fetched()

    def _is_recent(self, then_s: float) -> bool:
        return self._clock.now().mono - then_s < PAUSE_S

    async def _fetched(self) -> Grant:
        if self._under_way is None:
            if self._failure and self._is_recent(self._fetched_at_s):
                raise AuthError(self._failure)
            self._under_way = asyncio.create_task(self._run())
            self._under_way.add_done_callback(_look_at)
        task = self._under_way
        await asyncio.wait({task})  # who waits may be cancelled without an end for the others
        if task.cancelled():
            raise AuthError("the client was closed: make another one")
        return task.result()

    async def _run(self) -> Grant:
        try:
            self._grant = await self._fetch()
        except AuthError as error:
            self._failure = str(error)
            raise
        else:
            self._failure = ""
            return self._grant
        finally:
            self._fetched_at_s = self._clock.now().mono
            self._under_way = None


def _look_at(task: asyncio.Task[Grant]) -> None:
    """A failure that nobody waits for any longer is no news."""
    if not task.cancelled():
        task.exception()


def _expires_before(grant: Grant, moment: datetime) -> bool:
    return grant.expires_at is not None and grant.expires_at <= moment
