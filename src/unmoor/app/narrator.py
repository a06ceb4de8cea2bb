"""Tells a rehearsal as a story: one line for each thing that a person would want to know.

It listens to the mirror of the cluster (what happened) and to the records of unmoor's steps (what
it asked for and was answered), and keeps the few figures that the ending needs.

Must not: act on anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from unmoor.lifecycle.effects import Create, Evict
from unmoor.model import names
from unmoor.model.base import Ref, condition_of
from unmoor.model.cluster import Instance
from unmoor.model.disruption import Disruption
from unmoor.model.instance import InstanceType
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.observation import Problem, ProblemKind
from unmoor.model.pod import Pod
from unmoor.policy.verdict import Reason
from unmoor.runtime.ports import ApiError, Clock
from unmoor.runtime.story import Outcome, Record

SECONDS_PER_HOUR = 3600.0
TOO_MANY_REQUESTS = 429


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened. ``at_s``: seconds since the beginning."""

    at_s: float
    who: str
    text: str
    is_warning: bool = False


class Bill(msgspec.Struct):
    """What the machines cost. ``unpriced``: machines whose price nobody knows; never free."""

    started: dict[str, tuple[float, float]] = {}
    spent_usd: float = 0.0
    unpriced: list[str] = []

    def start(self, machine: str, at_s: float, usd_per_h: float | None) -> None:
        """A machine runs from now on."""
        if machine in self.started:
            return
        if usd_per_h is None:
            self.unpriced.append(machine)
        self.started[machine] = (at_s, usd_per_h or 0.0)

    def stop(self, machine: str, at_s: float) -> None:
        """A machine was told to go."""
        since, usd_per_h = self.started.pop(machine, (at_s, 0.0))
        self.spent_usd += (at_s - since) * usd_per_h / SECONDS_PER_HOUR

    def usd_per_h(self) -> float:
        """What all running machines cost in an hour."""
        return sum(price for _, price in self.started.values())

    def total_usd(self, at_s: float) -> float:
        """What was spent until now."""
        running = sum((at_s - since) * price for since, price in self.started.values())
        return self.spent_usd + running / SECONDS_PER_HOUR


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
        self._warned: set[tuple[Ref, Reason]] = set()
        self._crashes: set[str] = set()

    @property
    def at_s(self) -> float:
        """Seconds since the beginning."""
        return self._clock.now().mono

    def tell(self, who: str, text: str, *, is_warning: bool = False) -> None:
        """Say a line."""
        self._say(Line(round(self.at_s, 1), who, text, is_warning))

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
            return
        if new.provider_id and (old is None or not old.provider_id):
            price = self._price(new)
            said = "price unknown" if price is None else f"{price:.4f} USD/h"
            self.bill.start(new.provider_id, self.at_s, price)
            self.tell("unmoor", f"launched {new.name}: {new.instance_type} in {new.zone}, {said}")
        if new.is_empty and (old is None or not old.is_empty):
            self.empty_since[new.node_name] = self.at_s
            self.provisioner_of[new.node_name] = new.provisioner_name
            self.tell("unmoor", f"node {new.node_name} is empty; its time begins to run")
        if old is not None and old.is_empty and not new.is_empty:
            self.empty_since.pop(new.node_name, None)

    def _node(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            if old is not None:
                self.removed_at[old.name] = self.at_s
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
        elif unplaced(new) and (old is None or not unplaced(old)):
            self.unplaced(new)

    def unplaced(self, pod: Pod) -> None:
        """Say that a pod finds no place, and why."""
        self.tell("cluster", f"pod {pod.namespace}/{pod.name} finds no place: {unplaced(pod)}")

    def _disruption(self, old: Disruption | None, new: Disruption | None) -> None:
        if new is None or (old is not None and old.phase == new.phase):
            return
        nodes = ", ".join(node.name for node in new.spec.nodes)
        why = f": {new.status.message}" if new.status.message else ""
        self.tell("unmoor", f"disruption {new.name} ({nodes}) is {new.phase}{why}")

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

    def _price(self, machine: Machine) -> float | None:
        one = self._types.get(machine.instance_type)
        for offering in one.offerings if one is not None else ():
            if (offering.zone, offering.capacity_type) == (machine.zone, machine.capacity_type):
                return offering.price_usd_per_h
        return None

    # What unmoor asked for.

    def hear(self, record: Record) -> None:
        """Unmoor has taken a step."""
        if record.crash:
            self.counts["crashes"] += 1
            if record.crash not in self._crashes:
                self._crashes.add(record.crash)
                text = f"a step of {record.reconciler} crashed: {record.crash}"
                self.tell("unmoor", text, is_warning=True)
        for verdict in record.step.verdicts:
            if verdict.is_warning and (verdict.subject, verdict.reason) not in self._warned:
                self._warned.add((verdict.subject, verdict.reason))
                self.tell("unmoor", verdict.message, is_warning=True)
        for outcome in record.outcomes:
            self._outcome(outcome)

    def _outcome(self, outcome: Outcome) -> None:
        effect = outcome.effect
        if isinstance(effect, Create) and effect.ref.kind == "Machine" and not outcome.problem:
            self.tell("unmoor", f"ordered {effect.ref.name} {effect.why}")
        if isinstance(outcome.effect, Evict):
            ref, problem = outcome.effect.ref, outcome.problem
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


def _is_by_budget(problem: Problem | ApiError) -> bool:
    if isinstance(problem, ApiError):
        return problem.code == TOO_MANY_REQUESTS
    return problem.kind is ProblemKind.TOO_MANY_REQUESTS
