"""Tells a rehearsal as a story: one line for each thing that a person would want to know.

It listens to the mirror of the cluster (what happened) and to the records of unmoor's steps (what
it asked for and was answered), and keeps the few figures that the ending needs.

Must not: act on anything.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import msgspec

from unmoor.app import evening
from unmoor.app.bill import Bill
from unmoor.app.bookings import Bookings
from unmoor.app.told import Told
from unmoor.lifecycle.effects import Create, Evict, Nominate
from unmoor.lifecycle.registration import STARTUP_TAINTS_EXIST
from unmoor.model import names
from unmoor.model.base import condition_of
from unmoor.model.cluster import Instance
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.instance import InstanceType
from unmoor.model.machine import MACHINE_INITIALIZED, Machine
from unmoor.model.money import usd_per_h
from unmoor.model.node import Node
from unmoor.model.observation import Problem, ProblemKind
from unmoor.model.pod import Pod
from unmoor.model.wording import named
from unmoor.policy.verdict import Method, Verdict
from unmoor.runtime.ports import ApiError, Clock
from unmoor.runtime.story import Outcome, Record

TOO_MANY_REQUESTS = 429
AGAIN_S = 300.0
"""What is waited for is said again after so long: silence looks as if nobody waited."""
_NUMBER = re.compile(r"\d+")
GONE_KEPT = 1_000
"""So many nodes that are gone are remembered, the latest of them."""
_COUNT = re.compile(r"^(0/\d+ nodes are available: )?(\d+ )?")
"""How many nodes refuse for one of the scheduler's reasons."""
OTHERS_KEPT = 8
"""Reasons that come back by turns are told once each."""


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened. ``at_s``: seconds since the beginning.

    ``is_purchase``: a machine was ordered for pods that wait, or launched for them.
    """

    at_s: float
    who: str
    text: str
    is_warning: bool = False
    is_purchase: bool = False


def unplaced(pod: Pod) -> str:
    """Why a pod finds no place, as the scheduler says it; nothing when it has one or may get it."""
    said = condition_of(pod.status.conditions, "PodScheduled")
    is_waiting = not pod.node_name and not pod.is_deleting
    return said.message if is_waiting and said is not None and said.status == "False" else ""


class Narrator:
    """``say`` gets each line. Subscribe ``see`` to a store and ``hear`` to a process."""

    def __init__(
        self, clock: Clock, types: dict[str, InstanceType], say: Callable[[Line], None]
    ) -> None:
        """Begin with nothing said. The clock is at 0 when the story begins."""
        self.bill = Bill()
        self.bookings = Bookings()
        self.counts: Counter[str] = Counter()
        self.empty_since: dict[str, float] = {}
        self.asked_at: dict[str, float] = {}
        """When the deletion of each node was asked for."""
        self.removed_at: dict[str, float] = {}
        self.provisioner_of: dict[str, str] = {}
        self._clock = clock
        self._types = types
        self._say = say
        self._held: set[str] = set()
        self._reasons = Told(OTHERS_KEPT)
        self._whys = Told(OTHERS_KEPT)
        """Why the scheduler has no place for the pods of an owner."""
        self._crashes: set[str] = set()

    @property
    def at_s(self) -> float:
        """Seconds since the beginning."""
        return self._clock.now().mono

    def tell(self, who: str, text: str, *, is_warning: bool = False) -> None:
        """Say a line."""
        self._say(Line(round(self.at_s, 1), who, text, is_warning))

    def _buy(self, text: str, *, is_ours: bool = True) -> None:
        """Say a line about a machine that is bought."""
        self._say(Line(round(self.at_s, 1), "unmoor", text, is_purchase=is_ours))

    # What the cluster shows.

    def see(self, old: Any | None, new: Any | None) -> None:
        """Something in the cluster changed."""
        match new or old:
            case Node():
                self._node(old, new)
            case Pod():
                self._pod(old, new)
            case Machine():
                self._machine(old, new)
            case Disruption():
                self._disruption(old, new)
            case Instance():
                self._instance(old, new)
            case _:
                return

    def _machine(self, old: Machine | None, new: Machine | None) -> None:
        if new is None:
            if old is not None:
                self.bookings.end(old.name)
            return
        is_ordered = self.bookings.is_ordered(new.name)
        if new.node_name and (old is None or not old.node_name):
            self.bookings.join(new.name, new.node_name)
        if new.provider_id and (old is None or not old.provider_id):
            price, book = self._price(new)
            self.bill.start(new.provider_id, self.at_s, price)
            what = f"{new.instance_type} in {new.zone}, {new.capacity_type}"
            said = f"launched {new.name}: {what}, {usd_per_h(price, book)}"
            self._buy(said, is_ours=is_ordered)
        self._closed(new)
        if new.is_empty and (old is None or not old.is_empty):
            self.empty_since[new.node_name] = self.at_s
            self.provisioner_of[new.node_name] = new.provisioner_name
            why = "" if self.bookings.is_used(new.node_name) else " (no pod has come)"
            self.tell("unmoor", f"node {new.node_name} is empty{why}; its time begins to run")
        if old is not None and old.is_empty and not new.is_empty:
            self.empty_since.pop(new.node_name, None)

    def _closed(self, machine: Machine) -> None:
        """Somebody has to open its node first; it may be that nobody will. Of one that goes, no
        matter.
        """
        if machine.is_deleting:
            return
        held = condition_of(machine.status.conditions, MACHINE_INITIALIZED)
        if held is None or held.reason != STARTUP_TAINTS_EXIST:
            return
        if self._is_news((machine.name, held.reason), held.message):
            text = f"{machine.name} takes no pods yet: {held.message}"
            self.tell("unmoor", text, is_warning=True)

    def _node(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            if old is not None:
                self._remove(old.name)
                self.bookings.remove(old.name)
                self.tell("cluster", f"node {old.name} is gone")
            return
        if new.is_initialized and (old is None or not old.is_initialized):
            zone = new.metadata.labels.get(names.ZONE, "?")
            self.tell("cluster", f"node {new.name} in {zone} is ready for pods")
        elif old is not None and old.is_initialized and old.is_ready != new.is_ready:
            said = "is ready again" if new.is_ready else "is not ready: nothing is heard from it"
            self.tell("cluster", f"node {new.name} {said}", is_warning=not new.is_ready)
        if new.is_deleting and (old is None or not old.is_deleting):
            self.asked_at[new.name] = self.at_s
        if new.is_cordoned and old is not None and not old.is_cordoned:
            is_ours = names.CORDONED in new.metadata.annotations
            text = f"cordoned {new.name}" if is_ours else f"node {new.name} is cordoned"
            self.tell("unmoor" if is_ours else "cluster", f"{text}: no new pods go there")

    def _remove(self, node: str) -> None:
        """A node is gone; who went long before it is forgotten."""
        self.counts["nodes removed"] += 1
        self.removed_at.pop(node, None)  # One that bears its name counts as late as it goes.
        self.removed_at[node] = self.at_s
        if len(self.removed_at) > GONE_KEPT:
            oldest = next(iter(self.removed_at))
            for kept in (self.removed_at, self.asked_at, self.empty_since, self.provisioner_of):
                kept.pop(oldest, None)

    def _pod(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        if pod is None or pod.is_of_its_node:
            return
        name = f"{pod.namespace}/{pod.name}"
        if new is None:
            self.tell("cluster", f"pod {name} is gone from {pod.node_name or 'the queue'}")
        elif new.is_ready and (old is None or not old.is_ready):
            self.tell("cluster", f"pod {name} is ready on {new.node_name}")
        elif new.is_terminal and not new.is_deleting and (old is None or not old.is_terminal):
            self.tell("cluster", f"pod {name} has finished: {new.status.phase}")
        elif words := unplaced(new):
            before = unplaced(old) if old is not None else ""
            if not before:
                self.unplaced(new)
            elif words != before and not self.bookings.is_promised(new.key):
                self._still_unplaced(new, words)
        if new is None or new.node_name:
            self._follow(pod, is_gone=new is None)

    def unplaced(self, pod: Pod) -> None:
        """Say that a pod finds no place, and why."""
        words = unplaced(pod)
        self._is_new_reason(pod, words)
        self.tell("cluster", f"pod {pod.namespace}/{pod.name} finds no place: {words}")

    def _still_unplaced(self, pod: Pod, words: str) -> None:
        """Why has changed: of the pods of one owner that is told once."""
        if self._is_new_reason(pod, words):
            self.tell("cluster", f"pod {pod.namespace}/{pod.name} still finds no place: {words}")

    def _is_new_reason(self, pod: Pod, words: str) -> bool:
        """Is there something among the scheduler's reasons that no pod of its owner had before?

        Each node that joins refuses for another reason at first: those come and go.
        """
        parts = [_COUNT.sub("", one) for one in words.removesuffix(".").split(", ")]
        about = _workload_of(pod)
        return bool(self._whys.news(about, parts, now_s=self.at_s, again_s=math.inf))

    def _follow(self, pod: Pod, *, is_gone: bool) -> None:
        """Tell of a machine whose pods are all elsewhere, or gone, before it had any."""
        own = self.bookings
        for machine in own.leave(pod.key) if is_gone else own.use(pod.key, pod.node_name):
            why = "the pods that it was ordered for are elsewhere, or gone"
            self.tell("unmoor", f"nobody waits for {machine}: {why}")

    def _disruption(self, old: Disruption | None, new: Disruption | None) -> None:
        if new is None or (old is not None and old.phase == new.phase):
            return
        nodes = ", ".join(node.name for node in new.spec.nodes)
        why = f": {new.status.message}" if new.status.message else ""
        if old is None and evening.is_to_save(new):
            why = f": {_decided(new)}"
        self.tell("unmoor", f"disruption {new.name} ({nodes}) is {new.phase}{why}")
        if evening.is_to_save(new) and new.phase is DisruptionPhase.SUCCEEDED:
            self.tell("cluster", f"the machines cost {self.bill.fleet().said('USD/h')} now")

    def _instance(self, old: Instance | None, new: Instance | None) -> None:
        """A machine that was told to go, has died, or whose object somebody removed."""
        instance = new or old
        if instance is None or instance.provider_id not in self.bill.started:
            return
        if new is not None and new.spec.is_terminating:
            self.bill.stop(new.provider_id, self.at_s)
            self.tell("unmoor", f"told the cloud to end {new.provider_id}")
        elif new is None or new.status.phase == "Terminated":
            self.bill.stop(instance.provider_id, self.at_s)
            self.tell("cluster", f"machine {instance.provider_id} has died")

    def _price(self, machine: Machine) -> tuple[float | None, str]:
        """What it costs, if that is known, and of which book that is."""
        one = self._types.get(machine.instance_type)
        if one is None:
            return None, ""
        book = one.book_of(machine.capacity_type)
        for offering in one.offerings:
            if (offering.zone, offering.capacity_type) == (machine.zone, machine.capacity_type):
                return offering.price_usd_per_h, book
        return None, book

    # What unmoor asked for.

    def hear(self, record: Record) -> None:
        """Unmoor has taken a step."""
        if record.crash:
            self.counts["crashes"] += 1
            if record.crash not in self._crashes:
                self._crashes.add(record.crash)
                text = f"a step of {record.reconciler} crashed: {record.crash}"
                self.tell("unmoor", text, is_warning=True)
        alike: dict[str, list[Verdict]] = {}
        for verdict in record.step.verdicts:
            if verdict.is_warning and self._is_worth_it(record, verdict):
                alike.setdefault(_without_subject(verdict), []).append(verdict)
        for first, *others in alike.values():
            more = f"; so it is with {named(tuple(map(_called, others)))}" if others else ""
            self.tell("unmoor", f"{first.message}{more}", is_warning=True)
        for outcome in record.outcomes:
            self._outcome(outcome)

    def _is_worth_it(self, record: Record, verdict: Verdict) -> bool:
        if verdict.subject.kind == "Pod" and verdict.method is Method.PROVISIONING:
            self.bookings.refuse((verdict.subject.namespace, verdict.subject.name))
        about = (record.reconciler, verdict.subject, verdict.reason)
        return self._is_news(about, verdict.message)

    def _is_news(self, about: Hashable, words: str) -> bool:
        """A reason is told when it is new or has changed, and again when it has held for long.

        One that differs in numbers alone is the same.
        """
        same = (_NUMBER.sub("#", words),)
        return bool(self._reasons.news(about, same, now_s=self.at_s, again_s=AGAIN_S))

    def _outcome(self, outcome: Outcome) -> None:
        effect = outcome.effect
        if isinstance(effect, Create) and effect.ref.kind == "Machine" and not outcome.problem:
            self.bookings.order(effect.ref.name)
            self._buy(f"ordered {effect.ref.name} {effect.why}")
        if isinstance(effect, Nominate):
            self.bookings.promise(effect.places)
        if isinstance(effect, Evict):
            ref, problem = effect.ref, outcome.problem
            self.eviction("unmoor", f"{ref.namespace}/{ref.name}", problem)

    def eviction(self, who: str, pod: str, problem: Problem | ApiError | None) -> None:
        """Somebody asked for an eviction; a refusal is told once, however often it is repeated."""
        if problem is None:
            self.counts["evictions"] += 1
            self._held.discard(pod)
            self.tell(who, f"asked {pod} to go: the server admits it")
        elif _is_by_budget(problem):
            self.counts["refusals"] += 1
            if pod not in self._held:
                self.tell(who, f"asked {pod} to go: its budget says not yet")
            self._held.add(pod)


def _decided(command: Disruption) -> str:
    """Why its nodes go, and what comes in their stead."""
    spec = command.spec
    is_said = not spec.saving_per_hour or "saves" in spec.reason
    saves = "" if is_said else f", saves {usd_per_h(float(spec.saving_per_hour))}"
    instead = f"; first comes {spec.replacement_summary}" if spec.replacements else ""
    return f"{spec.reason}{saves}{instead}"


def _called(verdict: Verdict) -> str:
    subject = verdict.subject
    return f"{subject.namespace}/{subject.name}" if subject.namespace else subject.name


def _without_subject(verdict: Verdict) -> str:
    """What is said of several objects in the same words is told once."""
    return f"{verdict.reason} {verdict.message.replace(_called(verdict), '')}"


def _workload_of(pod: Pod) -> tuple[str, str]:
    owner = pod.metadata.controller
    return pod.namespace, pod.name if owner is None else owner.uid


def _is_by_budget(problem: Problem | ApiError) -> bool:
    if isinstance(problem, ApiError):
        return problem.code == TOO_MANY_REQUESTS
    return problem.kind is ProblemKind.TOO_MANY_REQUESTS
