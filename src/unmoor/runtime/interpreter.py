"""The only code that executes effects: through the ports, folding the answers back.

Each effect becomes one port call and each port error one ``Problem``. Whatever the server answers
goes into the store before the key is stepped again, and an unknown outcome (timeout, broken
connection) of a write is followed by a live read, so that a step never decides on what we only
hoped had happened. A server that names a time is left alone until then.

Must not: decide, retry, or wait for anything but the answer.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import msgspec

from unmoor.lifecycle import telling
from unmoor.lifecycle.effects import (
    AnyEffect,
    Avoid,
    Create,
    Delete,
    Evict,
    Launch,
    Nominate,
    Observe,
    Patch,
    Publish,
    Suppose,
    Terminate,
)
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import NODES, PODS
from unmoor.model.observation import OF_THE_API_SERVER, Answer, Asked, Problem, ProblemKind
from unmoor.model.selection import wish_in
from unmoor.policy import stock
from unmoor.runtime.ports import (
    Api,
    ApiError,
    Clock,
    Cloud,
    DeleteOptions,
    PortError,
    Query,
    Recorder,
    Unreachable,
)
from unmoor.runtime.problems import problem_of
from unmoor.runtime.store import Store
from unmoor.runtime.story import Outcome

MayAct: TypeAlias = Callable[[], bool]
"""False when another instance may be acting: nothing is begun then."""

CONCURRENT_REQUESTS_MAX = 100
"""Requests to the API server that are in flight at once, for all steps together."""
CONCURRENT_CLOUD_MAX = 50
"""The same for the cloud, which is slower and must not hold the others up."""
NODES_IN_A_PAGE = 500

_REFUSALS = frozenset({ProblemKind.FORBIDDEN, ProblemKind.INVALID, ProblemKind.FAILED})
"""What a server says that will not write, an admission webhook that fails among it."""
_NO_CAPACITY = frozenset({ProblemKind.INSUFFICIENT_CAPACITY})
_QUESTIONS: dict[Asked, Callable[[Cloud, str], Awaitable[Any]]] = {
    Asked.INSTANCE: lambda cloud, provider_id: cloud.get(provider_id),
    Asked.INSTANCES: lambda cloud, cluster: cloud.list(cluster),
    Asked.INSTANCE_TYPES: lambda cloud, _: cloud.instance_types(),
    Asked.SELECTION: lambda cloud, wish: cloud.discover(wish_in(wish)),
}
_BUG = Problem(ProblemKind.UNKNOWN, "a bug of ours")
_Asking: TypeAlias = (
    Patch | Create | Delete | Evict | Launch | Terminate | Observe | Nominate | Avoid | Suppose
)
"""What has an answer that must be waited for: everything but Publish."""


class Interpreter:
    """Executes effects. ``cloud`` None: no provider is configured, every cloud effect fails."""

    def __init__(
        self, api: Api, store: Store, clock: Clock, *, cloud: Cloud | None, recorder: Recorder
    ) -> None:
        """Hold the ports."""
        self._api = api
        self._store = store
        self._clock = clock
        self._cloud = cloud
        self._recorder = recorder
        self._requests = asyncio.Semaphore(CONCURRENT_REQUESTS_MAX)
        self._calls = asyncio.Semaphore(CONCURRENT_CLOUD_MAX)
        self._looking_for_nodes = asyncio.Lock()

    async def execute(
        self, effects: tuple[AnyEffect, ...], may_act: MayAct = lambda: True
    ) -> tuple[Outcome, ...]:
        """Execute effects of one step at once; the outcomes are in the same order.

        ``may_act`` is asked right before each one. All have ended when this returns.
        """
        asked = [effect for effect in effects if not isinstance(effect, Publish)]
        if len(asked) == 1:
            answers = [await self._one(asked[0], may_act)]
        else:
            answers = await asyncio.gather(*(self._one(effect, may_act) for effect in asked))
        outcomes = iter(answers)
        return tuple(
            self._say(effect, may_act) if isinstance(effect, Publish) else next(outcomes)
            for effect in effects
        )

    def _say(self, effect: Publish, may_act: MayAct) -> Outcome:
        """Publishing waits for nobody, and a drain says much: it needs no task of its own."""
        if not may_act():
            return Outcome(effect, Problem(ProblemKind.FAILED, "not leading"))
        try:
            repeat_s = telling.repeat_s(effect, self._store.settings.cadence)
            self._recorder.publish(effect, self._clock.now().wall, repeat_s)
        except Exception:  # noqa: BLE001 - ours, as below
            return Outcome(effect, _BUG, traceback.format_exc())
        return Outcome(effect)

    async def _one(self, effect: _Asking, may_act: MayAct) -> Outcome:
        try:
            async with self._permits(effect):
                if not may_act():
                    return Outcome(effect, Problem(ProblemKind.FAILED, "not leading"))
                return Outcome(effect, await self._do(effect))
        except Exception:  # noqa: BLE001 - ours: this effect crashes, the others are waited for
            return Outcome(effect, _BUG, traceback.format_exc())

    def _permits(self, effect: _Asking) -> AbstractAsyncContextManager[None]:
        match effect:
            case Launch() | Terminate():
                return self._calls
            case Observe() if effect.asked not in OF_THE_API_SERVER:
                return self._calls
            case _:
                return self._requests

    async def _do(self, effect: _Asking) -> Problem | None:
        match effect:
            case Patch():
                return await self._write(effect.ref, lambda: self._patch(effect))
            case Create():
                return await self._create(effect)
            case Delete():
                return await self._write(effect.ref, lambda: self._delete(effect))
            case Evict():
                return await self._evict(effect)
            case Launch():
                return await self._launch(effect)
            case Terminate():
                return await self._terminate(effect)
            case Observe():
                return await self._observe(effect)
            case Nominate() | Avoid() | Suppose():
                self._note(effect)
                return None

    def _note(self, effect: Nominate | Avoid | Suppose) -> None:
        """What we know ourselves is kept where answers are."""
        if isinstance(effect, Suppose):
            self._answer(Asked.SUPPOSED, effect.machine.uid, effect.conditions, None)
            return
        if isinstance(effect, Avoid):
            self._answer(Asked.NO_SHOW, effect.subject, effect.times, None)
            return
        for place, pods in effect.places.items():
            self._answer(Asked.NOMINATION, place, pods, None)

    # The API server.

    async def _patch(self, effect: Patch) -> None:
        preconditions = {"uid": effect.ref.uid}
        if effect.resource_version:
            preconditions["resourceVersion"] = effect.resource_version
        body = {**effect.body, "metadata": {**effect.body.get("metadata", {}), **preconditions}}
        answer = await self._api.patch(effect.ref, body, subresource=effect.subresource)
        self._store.fold(effect.ref.kind, answer)

    async def _delete(self, effect: Delete) -> None:
        options = DeleteOptions(
            uid=effect.ref.uid,
            resource_version=effect.resource_version,
            grace_s=effect.grace_s,
            propagation="" if effect.ref.kind == "Pod" else "Background",
        )
        answer = await self._api.delete(effect.ref, options)
        if _is_gone(answer):
            self._store.forget(effect.ref.kind, effect.ref.key, effect.ref.uid)
        else:
            self._store.fold(effect.ref.kind, answer)

    async def _evict(self, effect: Evict) -> Problem | None:
        ref = effect.ref
        body: JSON = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": ref.name, "namespace": ref.namespace},
            "deleteOptions": {"preconditions": {"uid": ref.uid}},
        }

        async def evict() -> None:
            await self._api.create(ref, body, subresource="eviction")

        problem = await self._write(ref, evict)
        self._answer(Asked.EVICTION, ref.uid, True if problem is None else None, problem)
        return problem

    async def _write(self, ref: Ref, write: Callable[[], Awaitable[None]]) -> Problem | None:
        """Write to one object; whatever is refused or unknown is looked up on the server."""
        if not ref.uid:
            raise ValueError(f"{ref} has no uid: whoever bears the name now may be another")
        try:
            await write()
        except PortError as error:
            problem = problem_of(error, ref)
            if problem.kind is ProblemKind.NOT_FOUND:
                self._store.forget(ref.kind, ref.key, ref.uid)
            elif _may_be_looked_up(problem):
                problem = _with_pause_of(await self._read(ref), problem)
            if ref.kind != PODS.kind:
                self._remember(Asked.WRITE, ref.uid, problem)
            return problem
        self._remember(Asked.WRITE, ref.uid, None)
        return None

    def _remember(
        self,
        asked: Asked,
        subject: str,
        problem: Problem | None,
        refusals: frozenset[ProblemKind] = _REFUSALS,
    ) -> None:
        """Whether they refuse; that they do not is worth saying if they ever did."""
        if problem is not None and problem.kind in refusals:
            self._answer(asked, subject, None, problem)
        elif problem is None and self._store.answer(asked, subject) is not None:
            self._answer(asked, subject, True, None)

    async def _create(self, effect: Create) -> Problem | None:
        problem = await self._made(effect)
        if effect.owner is not None:
            self._remember(Asked.CREATION, effect.owner.uid, problem)
        return problem

    async def _made(self, effect: Create) -> Problem | None:
        try:
            self._store.fold(effect.ref.kind, await self._api.create(effect.ref, effect.body))
        except PortError as error:
            problem = problem_of(error, effect.ref)
            if problem.retry_after_s is not None:
                return problem
            unseen = await self._read(effect.ref)
            # The name is deterministic: whoever made it, it is the one that we meant. But as long
            # as we have not seen it, we do not know it.
            if isinstance(error, ApiError) and error.reason == "AlreadyExists":
                return unseen
            return None if problem.kind is ProblemKind.UNKNOWN and unseen is None else problem
        return None

    async def _read(self, ref: Ref) -> Problem | None:
        """Look at the server itself and fold what it says; failing to is left to the next step."""
        held = self._store.find(ref)
        uid = ref.uid or (held.uid if held is not None else "")
        try:
            self._store.fold(ref.kind, await self._api.get(ref))
        except PortError as error:
            problem = problem_of(error, ref)
            if problem.kind is ProblemKind.NOT_FOUND:
                self._store.forget(ref.kind, ref.key, uid)
            return problem
        return None

    async def _roll_call(self, node: str) -> Problem | None:
        """Ask who is on a node: without a version, so the server must not answer from the past."""
        asked_at = self._clock.now().mono
        try:
            page = await self._api.list(PODS, Query(fields=f"spec.nodeName={node}"))
        except PortError as error:
            problem = problem_of(error)
            self._answer(Asked.PODS, node, None, problem)
            return problem
        self._store.fold_pods(node, page)
        self._answer(Asked.PODS, node, asked_at, None)
        return None

    async def _look_for_nodes(self, subject: str) -> Problem | None:
        """Ask which nodes are there, as above; all who ask meanwhile share the next answer."""
        asked_at = self._clock.now().mono
        async with self._looking_for_nodes:
            known = self._store.answer(Asked.NODES, subject)
            if known is not None and known.result is not None and known.result >= asked_at:
                return None
            began_at, page = self._clock.now().mono, None
            try:
                while page is None or page.next:
                    after = "" if page is None else page.next
                    page = await self._api.list(NODES, limit=NODES_IN_A_PAGE, after=after)
                    self._store.fold_listed(NODES, page)
            except PortError as error:
                problem = problem_of(error)
                self._answer(Asked.NODES, subject, None, problem)
                return problem
            self._answer(Asked.NODES, subject, began_at, None)
            return None

    # The cloud.

    async def _launch(self, effect: Launch) -> Problem | None:
        token = effect.request.token
        problem = await self._ask(Asked.LAUNCH, token, lambda cloud: cloud.create(effect.request))
        for name in map(str, problem.sold_out if problem is not None else ()):
            times = stock.times_refused(self._store, name, self._clock.now())
            self._answer(Asked.STOCK_OUT, name, times, None)
        if effect.owner is not None:
            self._remember(Asked.CAPACITY, effect.owner.uid, problem, _NO_CAPACITY)
        return problem

    async def _terminate(self, effect: Terminate) -> Problem | None:
        async def terminate(cloud: Cloud) -> bool:
            await cloud.terminate(effect.provider_id)
            return True

        return await self._ask(Asked.TERMINATION, effect.provider_id, terminate)

    async def _observe(self, effect: Observe) -> Problem | None:
        match effect.asked:
            case asked if asked in _QUESTIONS:  # of the cloud
                question = _QUESTIONS[effect.asked]
                return await self._ask(
                    effect.asked, effect.subject, lambda cloud: question(cloud, effect.subject)
                )
            case Asked.OBJECT if effect.ref is not None:
                problem = await self._read(effect.ref)
                self._answer(
                    effect.asked, effect.subject, True if problem is None else None, problem
                )
                return problem
            case Asked.PODS:
                return await self._roll_call(effect.subject)
            case Asked.NODES:
                return await self._look_for_nodes(effect.subject)
            case _:
                raise ValueError(f"{effect.asked} is answered by its own effect, not by Observe")

    async def _ask(
        self, asked: Asked, subject: str, question: Callable[[Cloud], Awaitable[Any]]
    ) -> Problem | None:
        try:
            result = await question(self._provider())
        except PortError as error:
            problem = problem_of(error)
            self._answer(asked, subject, None, problem)
            return problem
        self._answer(asked, subject, result, None)
        return None

    def _provider(self) -> Cloud:
        if self._cloud is None:
            raise Unreachable("no cloud provider is configured; start with --cloud NAME")
        return self._cloud

    def _answer(self, asked: Asked, subject: str, result: Any, problem: Problem | None) -> None:
        self._store.record(asked, subject, Answer(self._clock.now(), result, problem))


def _may_be_looked_up(problem: Problem) -> bool:
    """A server that names a time is left alone until then; what it turned away it has not done."""
    is_busy = problem.kind is ProblemKind.TOO_MANY_REQUESTS
    return not is_busy and problem.retry_after_s is None


def _with_pause_of(look: Problem | None, problem: Problem) -> Problem:
    """The look after a failure failed as well: the pause that it was told is kept."""
    if look is None or look.retry_after_s is None:
        return problem
    return msgspec.structs.replace(problem, retry_after_s=look.retry_after_s)


def _is_gone(answer: JSON) -> bool:
    """A deletion that took effect at once answers with a Status, or the object's last state."""
    if answer.get("kind") == "Status" or "metadata" not in answer:
        return True
    meta = answer["metadata"]
    grace = meta.get("deletionGracePeriodSeconds")
    return not meta.get("finalizers") and (not meta.get("deletionTimestamp") or grace == 0)
