"""What goes wrong between us and the others: wrappers at the ports that lose, delay and refuse.

Each kind of fault has its own chance, a ratio, and is off by default; ``calm`` switches all of them
off for good weather, ``storm`` on again. Nothing here lies: a refusal means that nothing was done,
a lost answer that it was, and a cut watch loses no event that the next watch would not replay.

Must not: know what the calls are about, or draw from any dice but those handed in.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from math import inf
from random import Random
from typing import TypeAlias, TypeVar

import msgspec

from unmoor.model.instance import CloudInstance, InstanceType, LaunchRequest, OfferingName
from unmoor.model.kinds import Resource
from unmoor.model.names import INSTANCE_TYPE
from unmoor.model.selection import Selection, Wish
from unmoor.runtime.around import ApiAround, Call
from unmoor.runtime.ports import (
    ALL,
    Api,
    ApiError,
    Change,
    Clock,
    Cloud,
    CloudError,
    Query,
    Unreachable,
    WatchEvent,
)

T = TypeVar("T")

Ratio: TypeAlias = tuple[int, int]
"""A chance as (hits, of how many)."""
NEVER: Ratio = (0, 1)

Seconds: TypeAlias = tuple[float, float]
"""A delay is drawn evenly from (shortest, longest)."""


CATCHING_UP_S = 60.0
"""So long after a watch was given up, what it has missed may not be known yet."""


class ApiFaults(msgspec.Struct, frozen=True, kw_only=True):
    """How often the way to the API server fails, for each request or watch event."""

    lost_request: Ratio = NEVER
    """Unreachable; nothing was done."""
    lost_answer: Ratio = NEVER
    """Unreachable; it was done."""
    conflict: Ratio = NEVER
    """409 to a patch, a replacement or a deletion."""
    too_many: Ratio = NEVER
    """429 with Retry-After, from the server's flow control."""
    server_error: Ratio = NEVER
    """500; nothing was done."""
    slow: Ratio = NEVER
    slow_s: Seconds = (0.05, 5.0)
    watch_cut: Ratio = NEVER
    """The stream ends before this event."""
    watch_expired: Ratio = NEVER
    """410 when a watch is opened."""
    watch_late: Ratio = NEVER
    """This event, and so all behind it, comes later."""
    late_s: Seconds = (0.1, 3.0)
    watch_silent: Ratio = NEVER
    """From this event on the stream says nothing more, and never ends."""


class CloudFaults(msgspec.Struct, frozen=True, kw_only=True):
    """How often the cloud fails, for each call."""

    lost_request: Ratio = NEVER
    lost_answer: Ratio = NEVER
    rate_limited: Ratio = NEVER
    stock_out: Ratio = NEVER
    """A launch is refused for want of capacity."""
    failed: Ratio = NEVER
    """Refused for another reason; nothing was done, nor under a launch's token before."""
    slow: Ratio = NEVER
    slow_s: Seconds = (0.1, 20.0)
    lagging: Ratio = NEVER
    """A launched or terminated instance shows up in lists only later."""
    lag_s: Seconds = (1.0, 60.0)


RETRY_AFTER_S = 1.0
OVERWRITES = frozenset({"replace", "patch", "delete"})
"""Verbs about what is there, so somebody else may have been first."""


class _Weather:
    """Whether a fault happens now. Draws nothing for what is off."""

    def __init__(self, dice: Random, clock: Clock) -> None:
        self.is_calm = False
        self.counts: Counter[str] = Counter()
        self.dice = dice
        self.clock = clock

    def strikes(self, what: str, ratio: Ratio) -> bool:
        hits, of = ratio
        if hits <= 0 or self.is_calm:
            return False
        if self.dice.randrange(of) >= hits:
            return False
        self.counts[what] += 1
        return True

    async def wait(self, seconds: Seconds) -> None:
        await self.clock.sleep(self.dice.uniform(*seconds))


class FaultyApi(ApiAround):
    """The API port with faults in front of another. ``counts`` says which have happened."""

    def __init__(self, api: Api, dice: Random, clock: Clock, faults: ApiFaults) -> None:
        """Stand in front of ``api``."""
        super().__init__(api)
        self.faults = faults
        self._hanging = 0
        self._hung_since = 0.0
        self._hung_until = -inf
        self._weather = _Weather(dice, clock)

    @property
    def counts(self) -> Counter[str]:
        """How often each fault has happened."""
        return self._weather.counts

    def calm(self) -> None:
        """No faults from now on."""
        self._weather.is_calm = True

    def storm(self) -> None:
        """Faults again."""
        self._weather.is_calm = False

    async def watch(
        self, resource: Resource[T], query: Query = ALL, *, since: str
    ) -> AsyncIterator[WatchEvent[T]]:
        """Watch: expired, cut or late, but never with a gap or out of order."""
        weather, faults = self._weather, self.faults
        if since and weather.strikes("watch_expired", faults.watch_expired):
            raise ApiError(410, "Expired", "too old resource version (injected)")
        may_fail = any(
            hits for hits, _ in (faults.watch_cut, faults.watch_late, faults.watch_silent)
        )
        async for event in self._api.watch(resource, query, since=since):
            if may_fail and isinstance(event, Change):
                if weather.strikes("watch_cut", faults.watch_cut):
                    return
                if weather.strikes("watch_late", faults.watch_late):
                    await weather.wait(faults.late_s)
                if weather.strikes("watch_silent", faults.watch_silent):
                    await self._hang()
            yield event

    @property
    def blind_since(self) -> float | None:
        """Since when watches have hung, one after the other, until just now; None for none.

        One that was given up is opened anew where it was, and may hang at once again.
        """
        now = self._weather.clock.now().mono
        is_blind = bool(self._hanging) or now < self._hung_until + CATCHING_UP_S
        return self._hung_since if is_blind else None

    async def _hang(self) -> None:
        if self.blind_since is None:
            self._hung_since = self._weather.clock.now().mono
        self._hanging += 1
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._hanging -= 1
            self._hung_until = self._weather.clock.now().mono

    async def _through(self, call: Call, ask: Callable[[], Awaitable[T]]) -> T:
        weather, faults = self._weather, self.faults
        if weather.strikes("slow", faults.slow):
            await weather.wait(faults.slow_s)
        if weather.strikes("lost_request", faults.lost_request):
            raise Unreachable("the request was lost (injected)")
        if weather.strikes("too_many", faults.too_many):
            raise ApiError(
                429, "TooManyRequests", "slow down (injected)", retry_after_s=RETRY_AFTER_S
            )
        if weather.strikes("server_error", faults.server_error):
            raise ApiError(500, "InternalError", "something broke (injected)")
        if call.verb in OVERWRITES and weather.strikes("conflict", faults.conflict):
            raise ApiError(409, "Conflict", "somebody else was first (injected)")
        is_lost = weather.strikes("lost_answer", faults.lost_answer)
        return await _answered(ask, is_lost=is_lost)


class FaultyCloud:
    """The cloud port with faults in front of another. ``counts`` says which have happened."""

    def __init__(self, cloud: Cloud, dice: Random, clock: Clock, faults: CloudFaults) -> None:
        """Stand in front of ``cloud``."""
        self.scheme = cloud.scheme
        self._cloud = cloud
        self.faults = faults
        self._weather = _Weather(dice, clock)
        self._as_listed: dict[str, tuple[float, CloudInstance | None]] = {}

    @property
    def counts(self) -> Counter[str]:
        """How often each fault has happened."""
        return self._weather.counts

    def calm(self) -> None:
        """No faults from now on; lists show what is."""
        self._weather.is_calm = True
        self._as_listed.clear()

    def storm(self) -> None:
        """Faults again."""
        self._weather.is_calm = False

    async def create(self, request: LaunchRequest) -> CloudInstance:
        """Launch; a new instance may be missing from lists for a while."""

        async def launch() -> CloudInstance:
            made = await self._cloud.create(request)
            self._lag(made.provider_id, None)
            return made

        if await self._is_launched(request):
            # Whoever asks again gets the instance, in stock or not.
            return await self._through(launch, may_fail=False)
        if self._weather.strikes("stock_out", self.faults.stock_out):
            sold_out = await self._named_by(request)
            raise CloudError("insufficient-capacity", "out of stock (injected)", sold_out=sold_out)
        return await self._through(launch)

    async def _named_by(self, request: LaunchRequest) -> tuple[OfferingName, ...]:
        """Every offering of the types that a launch names: none of them is to be had."""
        wanted = {
            name
            for key, operator, values in request.requirements
            if key == INSTANCE_TYPE and operator == "In"
            for name in values
        }
        return tuple(
            OfferingName(one.name, offering.zone, offering.capacity_type)
            for one in await self._cloud.instance_types()
            if one.name in wanted
            for offering in one.offerings
        )

    async def _is_launched(self, request: LaunchRequest) -> bool:
        """Whoever launched it: there may be several of us in front of one cloud."""
        there = await self._cloud.list(request.cluster)
        return any(one.token == request.token for one in there)

    async def get(self, provider_id: str) -> CloudInstance:
        """Get."""
        return await self._through(lambda: self._cloud.get(provider_id))

    async def list(self, cluster: str) -> tuple[CloudInstance, ...]:
        """List; what was launched or terminated lately may show as it was before."""
        found = await self._through(lambda: self._cloud.list(cluster))
        now = self._weather.clock.now().mono
        shown = []
        for instance in found:
            until, before = self._as_listed.get(instance.provider_id, (now, instance))
            if now < until:
                shown.append(before)
            else:
                self._as_listed.pop(instance.provider_id, None)
                shown.append(instance)
        return tuple(instance for instance in shown if instance is not None)

    async def terminate(self, provider_id: str) -> None:
        """Terminate; lists may go on showing the instance as it was."""

        async def end() -> None:
            before = await self._cloud.get(provider_id)
            await self._cloud.terminate(provider_id)
            self._lag(provider_id, before)

        await self._through(end)

    async def instance_types(self) -> tuple[InstanceType, ...]:
        """What is on sale."""
        return await self._through(self._cloud.instance_types)

    async def discover(self, wish: Wish) -> Selection:
        """What selectors find."""
        return await self._through(lambda: self._cloud.discover(wish))

    def _lag(self, provider_id: str, shown: CloudInstance | None) -> None:
        if provider_id in self._as_listed:
            return
        if self._weather.strikes("lagging", self.faults.lagging):
            until = self._weather.clock.now().mono + self._weather.dice.uniform(*self.faults.lag_s)
            self._as_listed[provider_id] = (until, shown)

    async def _through(self, call: Callable[[], Awaitable[T]], *, may_fail: bool = True) -> T:
        weather, faults = self._weather, self.faults
        if weather.strikes("slow", faults.slow):
            await weather.wait(faults.slow_s)
        if weather.strikes("lost_request", faults.lost_request):
            raise Unreachable("the request was lost (injected)")
        if weather.strikes("rate_limited", faults.rate_limited):
            raise CloudError(
                "rate-limited", "request limit exceeded (injected)", retry_after_s=RETRY_AFTER_S
            )
        if may_fail and weather.strikes("failed", faults.failed):
            raise CloudError("failed", "something is wrong with this request (injected)")
        is_lost = weather.strikes("lost_answer", faults.lost_answer)
        return await _answered(call, is_lost=is_lost)


async def _answered(call: Callable[[], Awaitable[T]], *, is_lost: bool) -> T:
    """Do it; a lost answer hides a refusal as well."""
    if not is_lost:
        return await call()
    try:
        await call()
    except (ApiError, CloudError) as error:
        raise Unreachable("the answer was lost (injected)") from error
    raise Unreachable("the answer was lost (injected)")
