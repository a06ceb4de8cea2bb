"""How does ``unmoor drain`` take a person's node out? The shared step, on a view of that node only.

One node at a time: its own watch (the node, its pods, all budgets), its own store and loop, and an
observer that turns records into changes a person can follow. Nothing is labelled, deleted or ended;
a node that is not drained stays cordoned, because half of its pods may have moved already and only
its owner knows which way to go on.

Must not: decide whose turn it is (``lifecycle.drain``), or print.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Any

import msgspec

from unmoor.app.cli.command import Failure
from unmoor.lifecycle import drain
from unmoor.lifecycle.effects import Patch
from unmoor.lifecycle.eviction import Memory
from unmoor.model.base import Ref
from unmoor.model.kinds import BUDGETS, NODES, PODS, Resource
from unmoor.model.observation import ProblemKind
from unmoor.policy import pods as standing
from unmoor.policy.drain import Deadline
from unmoor.policy.verdict import Reason, Verdict
from unmoor.runtime.informer import Informer
from unmoor.runtime.interpreter import Interpreter
from unmoor.runtime.loop import InlineExecutor, Loop
from unmoor.runtime.ports import Api, Clock, Query, Recorder
from unmoor.runtime.reconciler import Reconciler, Wake
from unmoor.runtime.store import Store
from unmoor.runtime.story import Record, Story, tell

HOPELESS = frozenset({ProblemKind.FORBIDDEN, ProblemKind.INVALID})
"""A cordon that failed like this fails the next time, too."""
HELD = frozenset(
    {Reason.BUDGET, Reason.TWO_BUDGETS, Reason.EVICTION_REFUSED, Reason.UNREADABLE_POD}
)
ROUTINE = frozenset({Reason.PODS_LEFT, Reason.DRAINED}) | HELD
"""What is shown pod by pod, or at the end, and not as a note about the node."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened. ``pod`` "" means the node itself."""

    at: datetime
    node: str
    pod: str = ""
    state: str
    message: str = ""


class Drained(msgspec.Struct, frozen=True, kw_only=True):
    """How one node's drain ended."""

    node: str
    is_drained: bool
    moved: int
    left: tuple[str, ...] = ()
    """Pods that were waited for and are still there."""
    blockers: tuple[str, ...] = ()
    """Why, in sentences."""
    took_s: float


class Ports(msgspec.Struct, frozen=True):
    """What a drain needs of the outside."""

    api: Api
    clock: Clock
    recorder: Recorder


class Draining:
    """One node's drain. ``run`` it once; ``states`` is what is known while it runs."""

    def __init__(self, ports: Ports, node: str, show: Callable[[Change], None]) -> None:
        """``show`` hears every change as it happens."""
        self.node = node
        self.states: dict[str, str] = {}
        """State of each pod that is waited for, by namespace/name."""
        self.is_cordoned = False
        self.moved = 0
        self._ports = ports
        self._show = show
        self._store = Store()
        self._story = Story()
        self._blockers: dict[str, str] = {}
        self._notes: dict[tuple[Ref, Reason | None], str] = {}
        self._end: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def run(self, *, deadline_s: float | None, timeout_s: float | None) -> Drained:
        """Drain; return when it is over, one way or the other."""
        begun = self._ports.clock.now()
        at = None if deadline_s is None else begun.plus(deadline_s)
        work = asyncio.create_task(self._work(Deadline(at=at, length_s=deadline_s)))
        try:
            either: set[asyncio.Future[Any]] = {work, self._end}
            await asyncio.wait(either, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                await work
            is_drained = self._end.result() if self._end.done() else False
        finally:
            work.cancel()
        await asyncio.wait({work})
        now = self._ports.clock.now()
        return Drained(
            node=self.node,
            is_drained=is_drained,
            moved=self.moved,
            left=tuple(sorted(self.states)),
            blockers=self._reasons(),
            took_s=round(now.mono - begun.mono, 1),
        )

    async def _work(self, deadline: Deadline) -> None:
        api, clock = self._ports.api, self._ports.clock
        informer = Informer(api, self._store, clock, jitter=Random().random, report=self._report)
        loop = Loop(
            self._store,
            Interpreter(api, self._store, clock, cloud=None, recorder=self._ports.recorder),
            clock,
            executor=InlineExecutor(),
            observers=(self._story, self._observe),
        )
        queries = {
            NODES.kind: Query(fields=f"metadata.name={self.node}"),
            PODS.kind: Query(fields=f"spec.nodeName={self.node}"),
        }
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(informer.run((NODES, PODS, BUDGETS), queries))
            await informer.wait_synced()
            await loop.run((self._row(deadline),))

    def _row(self, deadline: Deadline) -> Reconciler:
        wakes = tuple(
            Wake(resource.kind, lambda _view, _old, _new: (self.node,))
            for resource in (NODES, PODS, BUDGETS)
        )
        return Reconciler(name="drain", step=drain.by_person(deadline), wakes=wakes)

    def _report(self, resource: Resource[Any], problem: str) -> None:
        about = (Ref(resource.kind, ""), None)
        if self._notes.get(about) != problem:
            self._notes[about] = problem
            self._tell("note", f"{resource.plural} cannot be followed: {problem}")

    # ---------------------------------------------------------------------------- what happened

    def _observe(self, record: Record) -> None:
        if record.crash:
            self._fail(f"this is a bug of unmoor, please report it:\n{self._past(record)}")
            return
        node = self._store.node(self.node)
        if node is None:
            self._tell("gone", "somebody deleted the node while it was being drained")
            self._finish(is_drained=False, why="the node does not exist any more")
            return
        self._note_cordon(record, is_cordoned=node.is_cordoned)
        self._note_pods(record)
        for verdict in record.step.verdicts:
            self._note(verdict)

    def _note_cordon(self, record: Record, *, is_cordoned: bool) -> None:
        for outcome in record.outcomes:
            if isinstance(outcome.effect, Patch) and outcome.problem is not None:
                problem = outcome.problem
                if problem.kind in HOPELESS:
                    self._fail(f"node/{self.node} cannot be cordoned: {problem.message}")
        if is_cordoned and not self.is_cordoned:
            self.is_cordoned = True
            was_ours = any(isinstance(outcome.effect, Patch) for outcome in record.outcomes)
            self._tell("cordoned", "" if was_ours else "it was cordoned before")

    def _note_pods(self, record: Record) -> None:
        held = {
            str(verdict.evidence.get("pod")): verdict.message
            for verdict in record.step.verdicts
            if verdict.reason in HELD
        }
        self._blockers = dict(held)
        states = self._states(record, held)
        for pod in sorted(self.states.keys() - states.keys()):
            self.moved += 1
            self._tell("gone", pod=pod)
        for pod, state in states.items():
            if self.states.get(pod) != state:
                self._tell(state, held.get(pod, "") if state == "held" else "", pod=pod)
        self.states = states

    def _states(self, record: Record, held: dict[str, str]) -> dict[str, str]:
        known = record.step.memory
        seen = known.terminating if isinstance(known, Memory) else {}
        patience = standing.Patience(self._store.settings.cadence.stuck_terminating_s, seen)
        on_node = self._store.pods_on(self.node)
        waited_for = standing.waited_for(on_node, record.moment, patience)
        states = dict.fromkeys(held, "held")
        for pod in waited_for:
            name = f"{pod.namespace}/{pod.name}"
            if pod.is_deleting:
                states[name] = "terminating"
            else:
                states[name] = "held" if name in held else "waiting"
        return states

    def _note(self, verdict: Verdict) -> None:
        is_about_us = verdict.subject.kind == NODES.kind
        if is_about_us and verdict.reason is Reason.DRAINED:
            self._finish(is_drained=True)
        elif is_about_us and verdict.reason is Reason.CUT_OFF:
            self._finish(is_drained=False, why=verdict.message)
        elif verdict.reason not in ROUTINE:
            about = (verdict.subject, verdict.reason)
            if self._notes.get(about) != verdict.message:
                self._notes[about] = verdict.message
                self._tell("note", verdict.message)

    def _finish(self, *, is_drained: bool, why: str = "") -> None:
        if why:
            self._notes[Ref(NODES.kind, self.node), Reason.CUT_OFF] = why
        if not self._end.done():
            self._end.set_result(is_drained)

    def _fail(self, why: str) -> None:
        if not self._end.done():
            self._end.set_exception(Failure(why))

    def _tell(self, state: str, message: str = "", *, pod: str = "") -> None:
        at = self._ports.clock.now().wall
        self._show(Change(at=at, node=self.node, pod=pod, state=state, message=message))

    def _reasons(self) -> tuple[str, ...]:
        terminating = [pod for pod, state in sorted(self.states.items()) if state == "terminating"]
        reasons = [*self._blockers.values(), *self._notes.values()]
        if terminating:
            reasons.append(f"still terminating: {', '.join(terminating)}")
        return tuple(reasons)

    def _past(self, record: Record) -> str:
        return tell(self._story.of(record.reconciler, record.key))
