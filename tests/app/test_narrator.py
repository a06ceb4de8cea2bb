"""What a rehearsal tells of unmoor, beside what the demo shows."""

from __future__ import annotations

import msgspec
import pytest

from tests.app.test_metrics import HandClock
from tests.builders import NOW, at, condition, machine, moment, node, pod
from unmoor.app.narrator import AGAIN_S, GONE_KEPT, Line, Narrator
from unmoor.lifecycle.effects import Create, Nominate
from unmoor.lifecycle.registration import STARTUP_TAINTS_EXIST
from unmoor.lifecycle.step import Step
from unmoor.model.base import Condition
from unmoor.model.kinds import MACHINES, PODS
from unmoor.model.machine import MACHINE_EMPTY, MACHINE_INITIALIZED
from unmoor.model.pod import Pod
from unmoor.policy.verdict import Method, Reason, Verdict
from unmoor.runtime.story import Outcome, Record


def test_a_crash_that_repeats_is_told_once_and_counted() -> None:
    said: list[Line] = []
    narrator = Narrator(HandClock(), {}, said.append)

    for crash in ("KeyError: 'a'", "KeyError: 'a'", "KeyError: 'b'"):
        narrator.hear(Record("garbage", "all", moment(), 1, Step(), crash=crash))

    told = [line.text.removeprefix("a step of garbage crashed: ") for line in said]
    assert told == ["KeyError: 'a'", "KeyError: 'b'"]
    assert narrator.counts["crashes"] == 3


class Heard:
    """A narrator, its clock, and what it has said."""

    def __init__(self) -> None:
        self.clock, self.lines = HandClock(), list[Line]()
        self.narrator = Narrator(self.clock, {}, self.lines.append)

    def texts(self) -> list[str]:
        """What was said since the last look."""
        said = [line.text for line in self.lines]
        self.lines.clear()
        return said

    def warn(self, message: str, *pods: str) -> None:
        """Refuse pods of the shop in one step; ``{}`` is the pod."""
        verdicts = tuple(
            Verdict(
                subject=PODS.ref(name, "shop"),
                method=Method.PROVISIONING,
                reason=Reason.UNPLACEABLE,
                message=message.format(f"shop/{name}"),
                is_warning=True,
            )
            for name in pods or ("web-1",)
        )
        self.narrator.hear(Record("provisioning", "all", moment(), 1, Step(verdicts=verdicts)))

    def order(self, *pods: str) -> None:
        """Order a machine for these pods of the shop."""
        create = Create(ref=MACHINES.ref("general-a"), body={}, owner=None, why="for them")
        places = {"machine/general-a": tuple(("shop", pod) for pod in pods)}
        outcomes = (Outcome(create), Outcome(Nominate(places=places, why="planned")))
        self.narrator.hear(Record("provisioning", "all", moment(), 1, Step(), outcomes))


@pytest.fixture
def heard() -> Heard:
    return Heard()


def waiting(name: str, why: str) -> Pod:
    """A pod that the scheduler found no place for."""
    unplaced = Condition(type="PodScheduled", status="False", message=why)
    status = msgspec.structs.replace(pod().status, phase="Pending", conditions=(unplaced,))
    return msgspec.structs.replace(pod(name, on=""), status=status)


def test_a_reason_is_told_when_it_changes_and_again_when_it_lasts(heard: Heard) -> None:
    heard.warn("no type has room for cpu 1000")
    heard.warn("no type has room for cpu 1000")
    assert heard.texts() == ["no type has room for cpu 1000"]

    heard.warn("the limit is reached")
    heard.warn("no type has room for cpu 1001")
    assert heard.texts() == ["the limit is reached"], "reasons by turns are told once each"

    heard.clock.mono += AGAIN_S
    heard.warn("the limit is reached")
    assert heard.texts() == ["the limit is reached"]


def test_what_holds_for_several_pods_is_told_in_one_line(heard: Heard) -> None:
    heard.warn("no place for {}: the limit", "web-1", "web-2", "db-0", "db-1", "db-2")
    others = "shop/web-2, shop/db-0, shop/db-1 and 1 more"
    assert heard.texts() == [f"no place for shop/web-1: the limit; so it is with {others}"]

    heard.warn("no place for {}: the limit", "web-1", "web-2", "job-0")
    assert heard.texts() == ["no place for shop/job-0: the limit"]


def test_why_the_scheduler_finds_no_place_is_told_again_when_it_changes(heard: Heard) -> None:
    see = heard.narrator.see
    first, then = waiting("web-1", "no nodes available"), waiting("web-1", "0/1: Insufficient cpu")
    see(None, first)
    see(first, first)
    see(first, then)

    assert heard.texts() == [
        "pod shop/web-1 finds no place: no nodes available",
        "pod shop/web-1 still finds no place: 0/1: Insufficient cpu",
    ]


def test_what_changes_for_all_pods_of_an_owner_is_told_of_one(heard: Heard) -> None:
    for name in ("web-1", "web-2"):
        heard.narrator.see(None, waiting(name, "no nodes available"))
    assert len(heard.texts()) == 2

    for name in ("web-1", "web-2"):
        heard.narrator.see(waiting(name, "no nodes available"), waiting(name, "Insufficient cpu"))

    assert heard.texts() == ["pod shop/web-1 still finds no place: Insufficient cpu"]


def test_nodes_that_join_are_no_change_for_who_has_no_place_on_them(heard: Heard) -> None:
    def said(*reasons: str, nodes: int = 2) -> Pod:
        return waiting("web-1", f"0/{nodes} nodes are available: {', '.join(reasons)}.")

    small, tainted = "Insufficient cpu", "node(s) had untolerated taint(s)"
    before = said(f"1 {small}")
    heard.narrator.see(None, before)
    for now in (said(f"1 {small}", f"1 {tainted}"), said(f"2 {small}")) * 3:
        heard.narrator.see(before, now)
        before = now
        heard.clock.mono += AGAIN_S
    assert heard.texts() == [
        f"pod shop/web-1 finds no place: 0/2 nodes are available: 1 {small}.",
        f"pod shop/web-1 still finds no place: 0/2 nodes are available: 1 {small}, 1 {tainted}.",
    ]

    heard.narrator.see(before, said(f"2 {small}", "1 Insufficient memory"))
    assert len(heard.texts()) == 1
    claimless = [said("its claim is not there", nodes=nodes) for nodes in (2, 3)]
    heard.narrator.see(before, claimless[0])
    heard.narrator.see(*claimless)
    assert len(heard.texts()) == 1


def test_a_pod_whose_machine_is_on_its_way_is_left_in_peace(heard: Heard) -> None:
    """Its reason changes with each node that joins; it has been said what comes for it."""
    heard.order("web-1")
    heard.texts()

    heard.narrator.see(waiting("web-1", "no nodes available"), waiting("web-1", "taints"))
    assert heard.texts() == []

    heard.warn("there is no place for it after all")
    heard.narrator.see(waiting("web-1", "taints"), waiting("web-1", "Insufficient cpu"))
    assert heard.texts()[-1] == "pod shop/web-1 still finds no place: Insufficient cpu"


def test_a_machine_that_nobody_uses_is_told(heard: Heard) -> None:
    heard.order("web-1")
    old = machine("general-a", is_new=True)
    heard.narrator.see(old, msgspec.structs.replace(old, status=machine(node_name="i-a").status))
    heard.texts()

    heard.narrator.see(waiting("web-1", ""), pod("web-1", on="i-b", is_ready=False))

    assert heard.texts() == [
        "nobody waits for general-a: the pods that it was ordered for are elsewhere, or gone"
    ]


def test_a_node_that_somebody_has_to_open_first_is_told_and_what_is_waited_for(
    heard: Heard,
) -> None:
    message = "node i-a still has the startup taint agent-not-ready"
    closed = Condition(
        type=MACHINE_INITIALIZED, status="False", reason=STARTUP_TAINTS_EXIST, message=message
    )
    joined = machine("general-a", node_name="i-a", conditions=(closed,))
    going = msgspec.structs.replace(joined.metadata, deletion_timestamp=NOW)
    gone = msgspec.structs.replace(joined, metadata=going)
    heard.narrator.see(gone, gone)

    for _ in range(2):
        heard.narrator.see(joined, joined)

    assert heard.texts() == [f"general-a takes no pods yet: {message}"]


def test_what_is_launched_is_told_with_zone_capacity_type_and_price(heard: Heard) -> None:
    heard.order("web-1")
    heard.narrator.see(machine("general-a", is_new=True), machine("general-a"))

    ordered, launched = heard.lines
    assert ordered.is_purchase
    assert launched.is_purchase
    assert launched.text.endswith(", on-demand, price unknown")

    heard.narrator.see(machine("by-hand", is_new=True), machine("by-hand"))
    assert not heard.lines[-1].is_purchase, "nobody ordered it"


def test_of_nodes_that_are_gone_the_latest_are_remembered(heard: Heard) -> None:
    narrator, more = heard.narrator, 10
    for number in range(GONE_KEPT + more):
        name = f"i-{number}"
        used = machine(name, node_name=name, conditions=())
        empty = machine(name, node_name=name, conditions=(condition(MACHINE_EMPTY),))
        narrator.see(used, empty)
        narrator.see(node(name), node(name, deleted_at=at(0)))
        narrator.see(node(name, deleted_at=at(0)), None)
        narrator.see(empty, None)

    latest = {f"i-{number}" for number in range(more, GONE_KEPT + more)}
    kept = (narrator.removed_at, narrator.asked_at, narrator.empty_since, narrator.provisioner_of)
    assert [set(one) for one in kept] == [latest] * 4
    assert narrator.counts["nodes removed"] == GONE_KEPT + more


def test_a_node_that_bears_the_name_of_one_that_is_gone_is_the_latest(heard: Heard) -> None:
    for name in ("a", *(f"i-{number}" for number in range(GONE_KEPT - 1)), "a", "b"):
        heard.narrator.see(node(name), None)

    assert list(heard.narrator.removed_at)[-2:] == ["a", "b"]
