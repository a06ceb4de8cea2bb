"""A small world: applies the effects of steps to objects, and lets time pass.

Just enough server for state machines: merge patches with their preconditions, finalizers, graceful
deletion, evictions with budgets, a cloud that launches by token. What the real API does beyond that
is tested against the embedded API server, not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from tests import builders
from tests.lifecycle import noted, refusing
from tests.lifecycle.merging import merge
from unmoor.lifecycle.effects import (
    AnyEffect,
    Avoid,
    Create,
    Delete,
    Evict,
    Fact,
    Launch,
    Nominate,
    Observe,
    Patch,
    Publish,
    Suppose,
    Terminate,
)
from unmoor.lifecycle.step import Step
from unmoor.model.base import Object, Ref
from unmoor.model.instance import CloudInstance, InstanceState, InstanceType
from unmoor.model.kinds import KIND_OF, KINDS, PODS
from unmoor.model.moment import Moment
from unmoor.model.observation import Answer, Asked, Problem, ProblemKind
from unmoor.model.pod import Pod
from unmoor.model.selection import Selection
from unmoor.model.settings import Settings
from unmoor.model.snapshot import Identity, View
from unmoor.policy import stock
from unmoor.policy.drain import budgets_over

StepFunction = Callable[[View, Any, Any, Moment], Step[Any]]
KeysOf = Callable[[View], Iterable[str]]
Fails = Callable[[AnyEffect], bool]
STEPS_AT_ONCE_MAX = 200
"""A key that is stepped this often without time passing is spinning."""


class Row(msgspec.Struct, frozen=True):
    """A step function and the keys that it is stepped for."""

    name: str
    step: StepFunction
    keys: KeysOf


class World:
    """Objects, instances and a clock; steps rows until nothing happens any more."""

    def __init__(
        self,
        *objects: Object,
        instances: Iterable[CloudInstance] = (),
        settings: Settings = Settings(),
        identity: Identity = builders.IDENTITY,
    ) -> None:
        self.view = View.of(*objects, settings=settings, identity=identity)
        self.cloud = {one.provider_id: one for one in instances}
        self.moment = builders.moment()
        self.skew_s = 0.0
        """How far the wall clock that steps see is ahead of the servers'."""
        self.effects: list[AnyEffect] = []
        self.facts: list[Fact] = []
        self.fails: Fails = lambda _: False
        """These requests never arrive."""
        self.refuses: Fails = lambda _: False
        """These writes the server will not do."""
        self.forgets: Fails = lambda _: False
        """These are carried out, and the answer is lost."""
        self.memories: dict[tuple[str, str], Any] = {}
        self.types: tuple[InstanceType, ...] = ()
        self.selection: Selection | None = Selection()
        """What the cloud sells, and what selectors find."""
        self.stuck_pods: set[str] = set()
        self.unseen: list[Object] = []
        """What no watch has brought: only who asks the server finds it."""
        self.roll_call_problem: Problem | None = None
        self.types_problem: Problem | None = None
        self.launch_problems: list[Problem] = []
        self.lost_launches = 0
        self.eviction_problem: Problem | None = None
        self.termination_problem: Problem | None = None
        self.acted = False
        self._ends: dict[str, datetime] = {}
        self._version = 1

    # What a test asks.
    def names(self, kind: str) -> list[str]:
        return sorted(obj.name for obj in self.view._objects[kind].values())

    def events(self, reason: str = "") -> list[Publish]:
        told = [effect for effect in self.effects if isinstance(effect, Publish)]
        return [event for event in told if reason in {"", event.reason}]

    def done(self, kind: type[Any]) -> list[Any]:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def counted(self, name: str) -> float:
        return sum(fact.value or 0 for fact in self.facts if fact.name == name)

    # What a test does.
    def put(self, obj: Object) -> None:
        """Change or create an object from outside."""
        self._version += 1
        meta = msgspec.structs.replace(obj.metadata, resource_version=str(self._version))
        self.view._put(msgspec.structs.replace(obj, metadata=meta))

    def change(self, obj: Object | None, **fields: Any) -> None:
        """Change some fields of an object as it is now."""
        assert obj is not None
        self.put(builders.changed(obj, **fields))

    def drop(self, obj: Object | None) -> None:
        """Take an object away from outside."""
        assert obj is not None
        self.view._drop(KIND_OF[type(obj)], obj.key)

    def restart(self) -> None:
        """Lose everything that is droppable."""
        self.memories.clear()
        self.view._answers.clear()

    def wait(self, delay_s: float) -> None:
        """Let time pass; pods whose grace is over go, unless they are stuck."""
        self.moment = Moment(
            self.moment.wall + timedelta(seconds=delay_s), self.moment.mono + delay_s
        )
        for pod in list(self.view.all(PODS).values()):
            ends = self._ends.get(pod.uid, pod.gone_by)
            is_over = ends is not None and ends <= self.moment.wall
            if is_over and pod.name not in self.stuck_pods and not pod.metadata.finalizers:
                self.drop(pod)

    def step(self, row: Row, key: str) -> Step[Any]:
        """Decide once and act."""
        memory = self.memories.get((row.name, key))
        wall = self.moment.wall + timedelta(seconds=self.skew_s)
        step = row.step(self.view, key, memory, Moment(wall, self.moment.mono))
        self.memories[row.name, key] = step.memory
        self.acted = False
        for effect in step.effects:
            self.effects.append(effect)
            if self.fails(effect):
                problem: Problem | None = self._lose(effect)
            elif isinstance(effect, Patch | Delete | Create) and self.refuses(effect):
                problem = Problem(ProblemKind.FORBIDDEN, "a webhook says no", code=403)
                self._answer(*refusing.asked_by(effect), None, problem)
            else:
                problem = self.act(effect)
                if self.forgets(effect):
                    problem = self._lose(effect)
            if problem is None:
                self.facts += effect.facts
            # As in the loop: what failed is tried later, an answer is looked at at once.
            is_question = isinstance(effect, Evict | Launch | Observe | Terminate)
            kind = None if problem is None else problem.kind
            is_done = kind in {None, ProblemKind.NOT_FOUND, ProblemKind.CONFLICT}
            self.acted |= not isinstance(effect, Publish) and (is_question or is_done)
        return step

    def settle(self, *rows: Row) -> float | None:
        """Step all keys until nothing is done any more; return the next wake time."""
        for _ in range(STEPS_AT_ONCE_MAX):
            acted, wakes = False, []
            for row in rows:
                for key in sorted(row.keys(self.view)):
                    step = self.step(row, key)
                    acted |= self.acted
                    wakes.append(step.wake_at)
            if not acted:
                return min((wake for wake in wakes if wake is not None), default=None)
        raise AssertionError(f"still acting: {self.effects[-5:]}")

    def run(self, *rows: Row, for_s: float, tick_s: float = 1.0) -> None:
        """Step all keys, tick by tick, for some time."""
        end = self.moment.mono + for_s
        while self.moment.mono < end:
            self.settle(*rows)
            self.wait(tick_s)
        self.settle(*rows)

    # The servers.
    def _lose(self, effect: AnyEffect) -> Problem:
        """Nobody knows whether it was done."""
        problem = Problem(ProblemKind.UNKNOWN, "timeout")
        match effect:
            case Evict():
                self._answer(Asked.EVICTION, effect.ref.uid, None, problem)
            case Launch():
                self._answer(Asked.LAUNCH, effect.request.token, None, problem)
            case Terminate():
                self._answer(Asked.TERMINATION, effect.provider_id, None, problem)
            case Observe():
                self._answer(effect.asked, effect.subject, None, problem)
            case _:
                pass
        return problem

    def act(self, effect: AnyEffect) -> Problem | None:
        match effect:
            case Patch():
                return self._patch(effect)
            case Create():
                return self._create(effect)
            case Delete():
                return self._delete(effect)
            case Evict():
                return self._evict(effect)
            case Launch():
                return self._launch(effect)
            case Terminate():
                return self._terminate(effect)
            case Observe():
                return self._observe(effect)
            case Nominate() | Publish() | Avoid() | Suppose():
                for asked, subject, result in noted.answers(effect):
                    self._answer(asked, subject, result, None)
        return None

    def _held(self, ref: Ref) -> Any | None:
        assert ref.uid, f"{ref} without a uid"
        return self.view.find(ref)

    def _patch(self, effect: Patch) -> Problem | None:
        held = self._held(effect.ref)
        if held is None:
            return Problem(ProblemKind.NOT_FOUND)
        if effect.resource_version not in {"", held.metadata.resource_version}:
            return Problem(ProblemKind.CONFLICT)
        before = msgspec.to_builtins(held)
        after = merge(before, effect.body)
        if effect.subresource != "status":
            after["status"] = before.get("status", {})
        elif after.get("metadata") != before.get("metadata"):
            return Problem(ProblemKind.INVALID)
        obj = msgspec.convert(after, KINDS[effect.ref.kind].type, strict=False)
        if obj.is_deleting and not obj.metadata.finalizers and effect.ref.kind != "Pod":
            self.drop(held)
        elif obj != held:
            self.put(obj)
        return None

    def _create(self, effect: Create) -> Problem | None:
        if self.view.find(effect.ref) is not None:
            return None
        body = merge(
            effect.body,
            {
                "metadata": {
                    "name": effect.ref.name,
                    "uid": f"uid-{effect.ref.name}-{self._version}",
                    "creationTimestamp": self.moment.wall,
                },
                "status": None,
            },
        )
        self.put(msgspec.convert(body, KINDS[effect.ref.kind].type, strict=False))
        if effect.owner is not None and self.view.answer(*refusing.asked_by(effect)) is not None:
            self._answer(*refusing.asked_by(effect), True, None)
        return None

    def _delete(self, effect: Delete) -> Problem | None:
        held = self._held(effect.ref)
        if held is None:
            return Problem(ProblemKind.NOT_FOUND)
        if effect.resource_version not in {"", held.metadata.resource_version}:
            return Problem(ProblemKind.CONFLICT)
        if effect.ref.kind == "Pod":
            grace_s = held.grace_s if effect.grace_s is None else effect.grace_s
            self._end_pod(held, grace_s)
            return None
        if not held.metadata.finalizers:
            self.drop(held)
        elif not held.is_deleting:
            self.change(held, metadata__deletion_timestamp=self.moment.wall)
        return None

    def _end_pod(self, pod: Any, grace_s: int) -> None:
        before_s = pod.metadata.deletion_grace_period_seconds
        if grace_s == 0:
            self.drop(pod)
        elif pod.gone_by is None or grace_s < before_s:
            # The kubelet counts from now on, the server from when the pod was deleted first.
            self._ends[pod.uid] = gone_by = self.moment.wall + timedelta(seconds=grace_s)
            if pod.gone_by is not None:
                gone_by = pod.gone_by - timedelta(seconds=before_s - grace_s)
            self.change(
                pod,
                metadata__deletion_timestamp=gone_by,
                metadata__deletion_grace_period_seconds=grace_s,
            )

    def _evict(self, effect: Evict) -> Problem | None:
        pod = self._held(effect.ref)
        problem = self.eviction_problem or refusing.eviction_refusal(self.view, pod)
        if problem is None:
            assert pod is not None
            if not pod.is_deleting:
                for budget in budgets_over(self.view, pod):
                    allowed = budget.status.disruptions_allowed
                    self.change(budget, status__disruptions_allowed=allowed - 1)
                self._end_pod(pod, pod.grace_s)
        self._answer(Asked.EVICTION, effect.ref.uid, True if problem is None else None, problem)
        return problem

    def _launch(self, effect: Launch) -> Problem | None:
        token = effect.request.token
        made = next((one for one in self.cloud.values() if one.token == token), None)
        if made is None and self.launch_problems:
            problem = self.launch_problems.pop(0)
            self._answer(Asked.LAUNCH, token, None, problem)
            for name in map(str, problem.sold_out):
                times = stock.times_refused(self.view, name, self.moment)
                self._answer(Asked.STOCK_OUT, name, times, None)
            if effect.owner is not None and problem.kind is ProblemKind.INSUFFICIENT_CAPACITY:
                self._answer(Asked.CAPACITY, effect.owner.uid, None, problem)
            return problem
        if made is None:
            made = builders.instance(
                f"i-{len(self.cloud)}",
                token=token,
                machine_name=effect.request.machine,
                launched_at=self.moment.wall,
            )
            self.cloud[made.provider_id] = made
        if effect.owner is not None:
            self._answer(Asked.CAPACITY, effect.owner.uid, True, None)
        if self.lost_launches:
            self.lost_launches -= 1
            problem = Problem(ProblemKind.UNKNOWN, "timeout")
            self._answer(Asked.LAUNCH, token, None, problem)
            return problem
        self._answer(Asked.LAUNCH, token, made, None)
        return None

    def _terminate(self, effect: Terminate) -> Problem | None:
        held = self.cloud.get(effect.provider_id)
        problem = self.termination_problem
        if held is None and problem is None:
            problem = Problem(ProblemKind.NOT_FOUND)
        if held is None or problem is not None:
            self._answer(Asked.TERMINATION, effect.provider_id, None, problem)
            return problem
        self.cloud[effect.provider_id] = msgspec.structs.replace(
            held, state=InstanceState.SHUTTING_DOWN
        )
        self._answer(Asked.TERMINATION, effect.provider_id, True, None)
        return None

    def _observe(self, effect: Observe) -> Problem | None:
        result: Any = self.moment.mono
        match effect.asked:
            case Asked.INSTANCE:
                result = self.cloud.get(effect.subject)
            case Asked.INSTANCES:
                result = tuple(one for one in self.cloud.values() if one.cluster == effect.subject)
            case Asked.INSTANCE_TYPES if self.types_problem is not None:
                self._answer(effect.asked, effect.subject, None, self.types_problem)
                return self.types_problem
            case Asked.INSTANCE_TYPES | Asked.SELECTION as asked:
                result = self.types if asked is Asked.INSTANCE_TYPES else self.selection
            case Asked.PODS | Asked.NODES if self.roll_call_problem is not None:
                self._answer(effect.asked, effect.subject, None, self.roll_call_problem)
                return self.roll_call_problem
            case Asked.PODS:
                self._find(lambda one: isinstance(one, Pod) and one.node_name == effect.subject)
            case Asked.NODES:
                self._find(lambda one: KIND_OF[type(one)] == "Node")
            case Asked.OBJECT if (ref := effect.ref) is not None:
                self._find(lambda one: (KIND_OF[type(one)], one.key) == (ref.kind, ref.key))
                result = True if self.view.find(ref) is not None else None
            case _:
                raise AssertionError(f"{effect.asked} has its own effect")
        problem = Problem(ProblemKind.NOT_FOUND) if result is None else None
        self._answer(effect.asked, effect.subject, result, problem)
        return problem

    def _find(self, is_meant: Callable[[Object], bool]) -> None:
        for one in [one for one in self.unseen if is_meant(one)]:
            self.unseen.remove(one)
            self.put(one)

    def _answer(self, asked: Asked, subject: str, result: Any, problem: Problem | None) -> None:
        self.view._answers[asked][subject] = Answer(self.moment, result, problem)
