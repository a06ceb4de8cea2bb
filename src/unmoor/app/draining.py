"""How does ``unmoor drain`` take a person's node out? The shared step, on a view of that node only.

One node at a time: its own watch (the node, its pods, all budgets), its own store and loop, and an
observer that turns records into changes a person can follow. Nothing is labelled, deleted or ended;
a node that is not drained stays cordoned, because half of its pods may have moved already and only
its owner knows which way to go on.

Must not: decide whose turn it is (``lifecycle.drain``), or print.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from datetime import datetime
from math import inf
from random import Random
from typing import Any

import msgspec

from unmoor.app.answering import Answering
from unmoor.app.cli.command import Failure
from unmoor.app.told import Told
from unmoor.lifecycle import drain
from unmoor.lifecycle.drain_report import about_stuck
from unmoor.lifecycle.effects import Patch
from unmoor.lifecycle.eviction import Memory
from unmoor.model.kinds import BUDGETS, NODES, PODS, Resource
from unmoor.model.observation import ProblemKind
from unmoor.policy import caveats
from unmoor.policy import pods as standing
from unmoor.policy.caveats import Caveat
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
ROUTINE = frozenset({Reason.PODS_LEFT, Reason.DRAINED, Reason.STUCK_POD}) | HELD
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
    is_cordoned: bool | None
    """None: nobody knows."""
    moved: int
    left: tuple[str, ...] | None = ()
    """Pods that were waited for and are still there. None: nobody had looked."""
    given_up: tuple[str, ...] = ()
    """Pods that are still there and were not waited for any longer."""
    blockers: tuple[str, ...] = ()
    """Why, in sentences."""
    caveats: dict[Caveat, tuple[str, ...]] = {}
    """Pods (namespace/name) at the beginning that go though a person may mind, by what it is."""
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
        self.is_cordoned: bool | None = None
        """None: not known yet."""
        self.may_have_written = False
        self.moved = 0
        self._ports = ports
        self._show = show
        self._store = Store()
        self._story = Story()
        self._told = Told()
        self._caveats: dict[Caveat, tuple[str, ...]] = {}
        self._why: tuple[str, ...] = ()
        """What holds it now, in sentences."""
        self._cluster = Answering(ports.api, ports.clock, lambda text: self._tell("note", text))
        self._begun = ports.clock.now()
        self._end: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def run(self, *, deadline_s: float | None, timeout_s: float | None) -> Drained:
        """Drain; return when it is over, one way or the other."""
        self._begun = self._ports.clock.now()
        at = None if deadline_s is None else self._begun.plus(deadline_s)
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
        return self.so_far(is_drained=is_drained)

    def so_far(self, *, is_drained: bool = False) -> Drained:
        """Where it stands, at the end or in the middle."""
        pods = sorted(self.states)
        # Whoever is there when it is drained keeps coming back, or is stuck.
        given_up = [pod for pod in pods if is_drained or self.states[pod] == "stuck"]
        left = tuple(pod for pod in pods if pod not in given_up)
        return Drained(
            node=self.node,
            is_drained=is_drained,
            is_cordoned=self.is_cordoned,
            moved=self.moved,
            left=None if self.is_cordoned is None else left,
            given_up=tuple(given_up),
            blockers=() if is_drained else self._blockers(),
            caveats=self._caveats,
            took_s=round(self._ports.clock.now().mono - self._begun.mono, 1),
        )

    async def _work(self, deadline: Deadline) -> None:
        api, clock = self._cluster, self._ports.clock
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
            self._note_caveats()
            self.may_have_written = True
            await loop.run((self._row(deadline),))

    def _row(self, deadline: Deadline) -> Reconciler:
        wakes = tuple(
            Wake(resource.kind, lambda _view, _old, _new: (self.node,))
            for resource in (NODES, PODS, BUDGETS)
        )
        return Reconciler(name="drain", step=drain.by_person(deadline), wakes=wakes)

    def _report(self, resource: Resource[Any], problem: str) -> None:
        if problem != self._cluster.last:  # that no answer came is told once for all kinds
            self._note(resource.kind, f"{resource.plural} cannot be followed: {problem}")

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
        verdicts = record.step.verdicts
        self._why = tuple(
            verdict.message
            for verdict in verdicts
            if verdict.reason in HELD or verdict.reason not in ROUTINE
        )
        for verdict in verdicts:
            self._note_verdict(verdict)

    def _note_caveats(self) -> None:
        patience = standing.Patience(self._store.settings.cadence.stuck_terminating_s)
        on_node = self._store.pods_on(self.node)
        self._caveats = caveats.by_caveat(on_node, self._ports.clock.now(), patience)
        if self._caveats:
            self._tell("note", caveats.about(self._caveats))

    def _note_cordon(self, record: Record, *, is_cordoned: bool) -> None:
        for outcome in record.outcomes:
            if isinstance(outcome.effect, Patch) and outcome.problem is not None:
                problem = outcome.problem
                if problem.kind in HOPELESS:
                    self._fail(f"node/{self.node} cannot be cordoned: {problem.message}")
        was_cordoned, self.is_cordoned = self.is_cordoned, is_cordoned
        if is_cordoned and not was_cordoned:
            was_ours = any(isinstance(outcome.effect, Patch) for outcome in record.outcomes)
            self._tell("cordoned", "" if was_ours else "it was cordoned before")

    def _note_pods(self, record: Record) -> None:
        held = {
            str(verdict.evidence.get("pod")): verdict.message
            for verdict in record.step.verdicts
            if verdict.reason in HELD
        }
        known = record.step.memory
        seen = known.terminating if isinstance(known, Memory) else {}
        patience = standing.Patience(self._store.settings.cadence.stuck_terminating_s, seen)
        on_node = self._store.pods_on(self.node)
        states = dict.fromkeys(held, "held")
        for pod in standing.waited_for(on_node, record.moment, patience):
            name = "/".join(pod.key)
            if pod.is_deleting:
                states[name] = "terminating"
            else:
                # An answer is awaited for whom the budget held until now: no news for a person.
                is_held = name in held or self.states.get(name) == "held"
                states[name] = "held" if is_held else "waiting"
        words = {name: message for name, message in held.items() if states[name] == "held"}
        for pod in standing.stuck(on_node, record.moment, patience):
            name = "/".join(pod.key)
            states[name], words[name] = "stuck", about_stuck(pod)
        self._show_pods(states, words)

    def _show_pods(self, states: dict[str, str], words: dict[str, str]) -> None:
        for pod in sorted(self.states.keys() - states.keys()):
            self.moved += 1
            self._tell(*self._end_of(pod), pod=pod)
        for pod, state in states.items():
            if self.states.get(pod) != state:
                self._tell(state, words.get(pod, ""), pod=pod)
        self.states = states

    def _end_of(self, pod: str) -> tuple[str, str]:
        """State and message of a pod that is not waited for any longer."""
        namespace, _, name = pod.partition("/")
        there = self._store.get(PODS, name, namespace)
        if there is None or not there.is_terminal:
            return "gone", ""
        finalizers = ", ".join(there.metadata.finalizers)
        if not there.is_deleting:
            return "finished", ""
        return ("finished", f"its finalizers keep it: {finalizers}") if finalizers else ("gone", "")

    def _note_verdict(self, verdict: Verdict) -> None:
        is_about_us = verdict.subject.kind == NODES.kind
        if is_about_us and verdict.reason is Reason.DRAINED:
            self._finish(is_drained=True)
        elif is_about_us and verdict.reason is Reason.CUT_OFF:
            self._finish(is_drained=False)
        elif verdict.reason not in ROUTINE:
            owner = verdict.evidence.get("owner", "")
            self._note((verdict.subject, verdict.reason, owner), verdict.message)

    def _note(self, about: Hashable, message: str) -> None:
        now_s = self._ports.clock.now().mono
        for new in self._told.news(about, (message,), now_s=now_s, again_s=inf):
            self._tell("note", new)

    def _finish(self, *, is_drained: bool, why: str = "") -> None:
        if why:
            self._why = (why,)
        if not self._end.done():
            self._end.set_result(is_drained)

    def _fail(self, why: str) -> None:
        self._why = (why,)
        if not self._end.done():
            self._end.set_exception(Failure(why))

    def _tell(self, state: str, message: str = "", *, pod: str = "") -> None:
        at = self._ports.clock.now().wall
        self._show(Change(at=at, node=self.node, pod=pod, state=state, message=message))

    def _blockers(self) -> tuple[str, ...]:
        reasons = [*self._why]
        if self.is_cordoned is None:
            reasons.append("nobody had looked yet which pods are on it")
        if self._cluster.problem:
            reasons.append(self._cluster.problem)
        terminating = [pod for pod, state in sorted(self.states.items()) if state == "terminating"]
        if terminating:
            reasons.append(f"still terminating: {', '.join(terminating)}")
        return tuple(reasons)

    def _past(self, record: Record) -> str:
        return tell(self._story.of(record.reconciler, record.key))
