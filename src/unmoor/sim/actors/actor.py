"""What all actors share: a stage with one mirror of the cluster, and a queue of keys for each.

An actor is told of every change (``look``) and marks keys; a marked key is played (``play``), as a
rule one after the other, on what the mirror shows then, and says when to look again. So an actor is
driven by level, not by edge: a lost event costs nothing once the next one comes. What the server
answers is folded into the mirror at once. A port error leaves the key for another try, a little
later.

Must not: know any particular actor, or poll.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, ClassVar, Literal, TypeAlias

from unmoor.lifecycle.effects import Publish
from unmoor.model.base import JSON, Object, Ref
from unmoor.model.kinds import KINDS, ref_of
from unmoor.model.moment import Moment
from unmoor.runtime.informer import Informer
from unmoor.runtime.ports import Api, ApiError, Clock, DeleteOptions, PatchType, PortError
from unmoor.runtime.queue import WorkQueue
from unmoor.runtime.store import Store

NOT_FOUND = 404
CONFLICT = 409

Seconds: TypeAlias = tuple[float, float]
"""A delay is drawn evenly from (shortest, longest)."""
Key: TypeAlias = tuple[str, ...]
"""What an actor plays: usually (namespace, name), or a word and a name."""


class Stage:
    """Where actors meet: the API, the clock, one mirror for all of them, and the dice."""

    def __init__(self, api: Api, clock: Clock, dice: Random, *, at_once: int = 1) -> None:
        """Draw one seed from ``dice``; every delay follows from it and from who waits.

        ``at_once``: how many keys of one actor are played at the same time. One is cheapest, and
        right where the API answers at once; behind a network, let slow answers not hold up others.
        """
        self.api = api
        self.clock = clock
        self.at_once = at_once
        self.store = Store()
        self.tell: Callable[[Publish], None] = _unheard
        """Who takes the events of actors: nobody, where no person looks at the cluster."""
        self._seed = dice.getrandbits(64)
        self._jitter = Random(f"{self._seed}/jitter")
        self.informer = Informer(api, self.store, clock, jitter=self._jitter.random)

    def draw(self, what: str, who: str, seconds: Seconds) -> float:
        """Draw a delay. The same question gets the same answer, whatever happened in between."""
        shortest, longest = seconds
        if shortest >= longest:
            return shortest
        return Random(f"{self._seed}/{what}/{who}").uniform(shortest, longest)

    def draw_life_s(self, what: str, who: str, mean_s: float) -> float:
        """Draw how long something lives that may end at any moment."""
        return Random(f"{self._seed}/{what}/{who}").expovariate(1.0 / mean_s)

    async def run(self, actors: Sequence[Actor]) -> None:
        """Keep the mirror and let the actors play, until cancelled."""
        kinds = sorted({kind for actor in actors for kind in actor.kinds})
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.informer.run([KINDS[kind] for kind in kinds]))
            await self.informer.wait_synced()
            for actor in actors:
                actor.enter()
            for actor in actors:
                tasks.create_task(actor.run(), name=type(actor).__name__)

    async def create(self, ref: Ref, body: JSON) -> None:
        """Create an object; one that is there already is looked at instead."""
        try:
            answer = await self.api.create(ref, body)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            answer = await self.api.get(ref)
        self.store.fold(ref.kind, answer)

    async def patch(
        self,
        obj: Object,
        body: JSON,
        *,
        how: PatchType = "merge",
        subresource: str = "",
        seen: Literal["any version", "this version"] = "any version",
    ) -> None:
        """Patch just this object (its uid); where a list is replaced, just this version of it."""
        ref = ref_of(obj)
        sure = {"uid": ref.uid}
        if seen == "this version":
            sure["resourceVersion"] = obj.metadata.resource_version
        exact = {**body, "metadata": {**body.get("metadata", {}), **sure}}
        try:
            answer = await self.api.patch(ref, exact, how=how, subresource=subresource)
        except ApiError as error:
            self._forget_if_gone(ref, error)
            if error.code == CONFLICT:
                await self._refresh(ref)
            raise
        self.store.fold(ref.kind, answer)

    async def delete(self, obj: Object, *, grace_s: int | None = None) -> None:
        """Delete just this object; one that is gone already is fine."""
        ref = ref_of(obj)
        try:
            answer = await self.api.delete(ref, DeleteOptions(uid=ref.uid, grace_s=grace_s))
        except ApiError as error:
            self._forget_if_gone(ref, error)
            if error.code == NOT_FOUND:
                return
            if error.code == CONFLICT:
                await self._refresh(ref)
            raise
        if answer.get("kind") == ref.kind:
            self.store.fold(ref.kind, answer)
        if grace_s == 0 and not obj.metadata.finalizers:
            self.store.forget(ref.kind, ref.key, ref.uid)

    async def _refresh(self, ref: Ref) -> None:
        """Somebody else was first: see what they did, before the next try."""
        try:
            self.store.fold(ref.kind, await self.api.get(ref))
        except ApiError as error:
            self._forget_if_gone(ref, error)

    def _forget_if_gone(self, ref: Ref, error: ApiError) -> None:
        if error.code == NOT_FOUND:
            self.store.forget(ref.kind, ref.key, ref.uid)


def _unheard(event: Publish) -> None:
    del event


class Actor:
    """One role. Subclasses say which kinds they watch, mark keys, and play them."""

    kinds: ClassVar[tuple[str, ...]] = ()

    def __init__(self, stage: Stage) -> None:
        """Wait for ``enter``."""
        self.stage = stage
        self.store = stage.store
        self.api = stage.api
        self.queue = WorkQueue()
        self.problems: dict[Key, str] = {}
        """What went wrong last with the keys that are to be tried again."""
        self._ready = asyncio.Event()
        self._in_play = 0

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        """Something changed: mark what it concerns. Called for the actor's own kinds only."""
        raise NotImplementedError

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Bring one key forward; return when to look again, None for "when it changes"."""
        raise NotImplementedError

    def enter(self) -> None:
        """Look at everything there is, and be told of changes from now on."""
        for kind in self.kinds:
            for obj in self.store.sorted(KINDS[kind]):
                self.look(kind, None, obj)
        self.store.subscribe(self._told)

    def mark(self, key: Key) -> None:
        """Play this key as soon as possible."""
        self.queue.add(key)
        self._ready.set()

    def mark_at(self, key: Key, at: float) -> None:
        """Play this key at a time, unless it is played earlier anyway."""
        self.queue.wake(key, at)
        self._ready.set()

    async def run(self) -> None:
        """Play marked keys until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                moment = self.stage.clock.now()
                key = None if self._is_busy else self.queue.take(moment.mono)
                if key is None:
                    await self._rest()
                    continue
                assert isinstance(key, tuple)
                self._in_play += 1
                if self.stage.at_once == 1:
                    await self._play(key, moment)
                else:
                    tasks.create_task(self._play(key, moment))

    @property
    def _is_busy(self) -> bool:
        return self._in_play >= self.stage.at_once

    async def _play(self, key: Key, moment: Moment) -> None:
        try:
            wake_at = await self.play(key, moment)
        except PortError as error:
            self.problems[key] = str(error)
            self.queue.failed(key, self.stage.clock.now().mono)
        else:
            self.problems.pop(key, None)
            self.queue.done(key, wake_at)
        finally:
            self._in_play -= 1
            self._ready.set()

    def _told(self, kind: str, old: Any | None, new: Any | None) -> None:
        if kind in self.kinds:
            self.look(kind, old, new)

    async def _rest(self) -> None:
        self._ready.clear()
        at = self.queue.next_at()
        if at is None or self._is_busy:
            await self._ready.wait()
            return
        timer = asyncio.get_running_loop().call_at(at, self._ready.set)
        try:
            await self._ready.wait()
        finally:
            timer.cancel()
