"""Nodes on their way, and nodes that are there, before new ones (T310-T323, T334, T365)."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import condition, machine, node, provisioner
from tests.engine.pieces import (
    affinity,
    asking,
    daemon_pod,
    daemon_set,
    in_flight,
    instance_type,
    spec_of,
    uninitialized,
    unregistered,
    view_of,
    wants,
    with_spec,
)
from tests.engine.rounds import Rounds
from tests.engine.scenes import WEB, ZONES, as_object, place, solve, some, spread, template, term
from tests.engine.scenes import instance_type as type_of
from tests.engine.scenes import pod as pending
from unmoor.engine.scene import Doubts, Scene
from unmoor.engine.scenery import scene_of
from unmoor.model import names
from unmoor.model.machine import MACHINE_LAUNCHED
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.taint import Taint

GPU = "example.org/gpu"
NOT_READY = Taint(key=names.NOT_READY, effect="NoSchedule")
STARTUP = Taint(key="example.org/agent", effect="NoExecute")
UNKNOWN = Taint(key="example.org/mine", effect="NoSchedule")
FOUR = {"cpu": "4", "memory": "8Gi", "pods": "110"}
REUSED, NEW = "reused", "new"


def world(*objects: Any) -> Scene:
    """With one provisioner of machines of 4 cpu in two zones."""
    return scene_of(view_of(provisioner(), *objects), (instance_type(),))


def outcome(*objects: Any, **asks: Any) -> str:
    """Whether a pod goes to what is there, or to a new machine."""
    plan = solve(world(*objects), [pending("p", **asks)])
    assert not plan.refused
    return NEW if plan.machines else REUSED


def coming(**given: Any) -> Any:
    """A machine in flight, in zone z1."""
    return in_flight(capacity=FOUR, **given)


def came(taints: tuple[Taint, ...] = (), **given: Any) -> Node:
    """Its node, registered and not initialized."""
    return uninitialized("a", taints=taints, allocatable={**FOUR, GPU: "0"}, **given)


def running(name: str, cpu: str) -> Pod:
    return asking(builders.pod(name, on="a"), cpu=cpu)


MACHINE = machine("m-a", startup_taints=(STARTUP,))
CLAIMED = (MACHINE, came())
WITH_DEVICE = builders.changed(machine("m-a"), status__allocatable={**FOUR, GPU: "1"})
ROWS: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("T310 it fits", (coming(),), {"cpu": "1"}, REUSED),  # T310
    ("T310 selected", (coming(),), {"nodeSelector": {names.ZONE: "z1"}}, REUSED),
    ("T310 in another zone", (coming(),), {"nodeSelector": {names.ZONE: "z2"}}, NEW),
    ("T311 no room", (*CLAIMED, running("large", "3")), {"cpu": "2"}, NEW),  # T311
    ("T311 incompatible", CLAIMED, {"nodeSelector": {names.ZONE: "z2"}}, NEW),
    ("T311 on its way out", (coming(deleted_at=builders.LONG_AGO),), {}, NEW),
    ("T313 a taint that goes", (MACHINE, came((NOT_READY,))), {}, REUSED),  # T313
    ("T313 a taint that nobody announced", (MACHINE, came((UNKNOWN,))), {}, NEW),
    ("T313 an announced one", (MACHINE, came((STARTUP,))), {}, REUSED),
    ("T313 an announced one, too late", (MACHINE, node("a", taints=(STARTUP,))), {}, NEW),
    ("T313 not ready for a while", (MACHINE, node("a", taints=(NOT_READY,))), {}, REUSED),
    (
        "T314 a DaemonSet pod is there",  # T314
        (*CLAIMED, daemon_set(), daemon_pod("agent-1")),
        {"cpu": "2500m"},
        REUSED,
    ),
    (
        "T314 one that nobody expected",
        (*CLAIMED, daemon_pod("other-1", owner="other", cpu="2")),
        {"cpu": "2500m"},
        NEW,
    ),
    (
        "T322",  # T322
        (WITH_DEVICE, came(), node("b", labels={names.ZONE: "z2"})),
        {"requests": {GPU: "1"}},
        REUSED,
    ),
]


@pytest.mark.parametrize(
    ("objects", "asks", "expected"), [pytest.param(*rest, id=name) for name, *rest in ROWS]
)
def test_reused_or_new(objects: tuple[Any, ...], asks: dict[str, Any], expected: str) -> None:
    assert outcome(*objects, **asks) == expected


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(node("a", taints=(NOT_READY,)), id="it was up"),
        pytest.param(came((NOT_READY, STARTUP)), id="it was not"),
        pytest.param(unregistered("a", taints=(NOT_READY,), allocatable=FOUR), id="it is unknown"),
    ],
)
def test_a_node_that_should_be_ready_by_now_is_not_reused(there: Node) -> None:
    """Its startup taints are overlooked as before: only what goes by itself has had its time."""
    view = view_of(provisioner(), MACHINE, there)
    pods = [pending("p")]
    late = solve(scene_of(view, (instance_type(),), doubts=Doubts(frozenset({"a"}))), pods)
    in_time = solve(scene_of(view, (instance_type(),), doubts=Doubts(frozenset({"b"}))), pods)

    assert (len(late.machines), len(in_time.machines)) == (1, 0)
    [only] = [
        one for one in scene_of(view, (), doubts=Doubts(frozenset({"a"}))).places if one.is_node
    ]
    assert only.taints == (NOT_READY,)


def test_t312_zones_and_hosts_of_nodes_on_their_way_count() -> None:
    played = Rounds(template())
    found = []
    for key in (names.ZONE, names.HOSTNAME):
        labels = {"over": key}
        for count in (4, 5):
            one = spread(key, labels=labels)
            played.add(count, labels=labels, topologySpreadConstraints=[one], cpu="1100m")
            found.append(played.counts(key, labels))

    assert found == [[1, 1, 2], [3, 3, 3], [1] * 4, [1] * 9]


def test_t315_what_is_on_its_way_is_filled_before_more_is_launched() -> None:
    played = Rounds(template(types=[type_of("t", pods=110)]))
    for count in (2, 5, 1, 7, 4, 9):
        played.add(count, cpu="1")
        roomy = [one for one in played.scene.places if len(one.pods) < 3]

        assert len(roomy) <= 1

    assert len(played.nodes) == 10


STAGES = {
    "created": [machine("m-a", is_new=True, requirements=(wants(names.ZONE, "In", "z1"),))],
    "launched": [in_flight("m-a")],
    "joined": [
        machine("m-a", node_name="", conditions=(condition(MACHINE_LAUNCHED),)),
        unregistered("a"),
    ],
    "registered": [machine("m-a"), uninitialized("a")],
    "ready": [machine("m-a"), node("a")],
}
"""One machine from its creation on. Nobody has bound a pod yet."""


@pytest.mark.parametrize("objects", STAGES.values(), ids=STAGES.keys())
def test_t316_a_pod_that_stays_pending_gets_no_second_machine(objects: list[Any]) -> None:
    plan = solve(world(*objects), [pending("p", cpu="1")])

    assert not plan.machines
    assert list(plan.placements) == [("default", "p")]


@pytest.mark.parametrize("objects", STAGES.values(), ids=STAGES.keys())
def test_t321_a_second_pod_is_counted_on_the_same_machine(objects: list[Any]) -> None:
    both = solve(world(*objects), some(2, cpu="1500m"))
    too_large = solve(world(*objects), some(2, cpu="2500m"))

    assert (len(both.machines), len(too_large.machines)) == (0, 1)


@pytest.mark.parametrize("objects", STAGES.values(), ids=STAGES.keys())
def test_t323_who_wants_to_be_with_its_like_needs_no_second_node(objects: list[Any]) -> None:
    like = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term(names.ZONE)]}}

    plan = solve(world(*objects), some(2, labels=WEB, affinity=like))

    assert not plan.machines
    assert len(set(plan.placements.values())) == 1


def test_t317_what_is_initialized_comes_first() -> None:
    on = world(
        node("z-ready", provider_id="sim:///z-ready"),
        machine("m-a"),
        uninitialized("a"),
        in_flight("m-b"),
    )

    plan = solve(on, some(3, cpu="1"))

    assert set(plan.placements.values()) == {"z-ready"}


@pytest.mark.parametrize("count", [1, 100])
def test_t318_a_node_that_nobody_manages_is_used(count: int) -> None:
    mine = as_object(
        Node,
        {
            "metadata": {"name": "mine", "labels": {names.ZONE: "z1"}},
            "status": {"allocatable": {"cpu": "10", "memory": "10Gi", "pods": "110"}},
        },
    )

    plan = solve(world(mine), some(count, cpu="10m"))

    assert not plan.machines
    assert set(plan.placements.values()) == {"mine"}


def test_t319_who_fits_a_provisioner_and_no_node_waits_for_one() -> None:
    played = Rounds(place("a", ZONES[0], labels={names.ARCH: "amd64"}))
    picky = pending("picky", nodeSelector={names.ARCH: "arm64"})

    without = played.play(picky)
    played.offer(template())
    with_one = played.play(picky)

    assert list(without.refused) == [picky.key]
    assert [one.pods for one in with_one.machines] == [(picky.key,)]


@pytest.mark.parametrize(
    ("tier", "expected"), [("agents", NEW), ("others", REUSED)], ids=["matches", "does not"]
)
def test_t320_daemon_sets_count_on_nodes_that_they_match(tier: str, expected: str) -> None:
    picky = daemon_set("picky", spec_of({"cpu": "1"}, node_selector={"tier": "agents"}))

    found = outcome(machine("m-a"), node("a", labels={"tier": tier}), picky, cpu="3500m")

    assert found == expected


def test_t320_daemon_sets_do_not_count_on_nodes_that_lack_the_label() -> None:
    picky = daemon_set(
        "picky", spec_of({"cpu": "1"}, affinity=affinity((wants("tier", "Exists"),)))
    )

    assert outcome(machine("m-a"), node("a"), picky, cpu="3500m") == REUSED


@pytest.mark.parametrize(
    ("key", "domains", "expected"),
    [
        pytest.param(names.ZONE, ("z1", "z2", "z3"), [1, 2, 2], id="T334"),
        pytest.param(names.CAPACITY_TYPE, (names.SPOT, names.ON_DEMAND), [2, 3], id="T339"),
    ],
)
def test_t334_only_pods_that_run_match_and_are_here_count(
    key: str, domains: tuple[str, ...], expected: list[int]
) -> None:
    """Of those that are there, one counts in each of the first two domains."""

    def there(name: str, **given: Any) -> Pod:
        return builders.pod(name, **{"namespace": "default", "on": domains[0], **given})

    bare = builders.changed(node("bare"), metadata__labels={names.HOSTNAME: "bare"})
    on = scene_of(
        view_of(
            *(node(domain, labels={key: domain}) for domain in domains),
            bare,
            there("unlabelled", labels={}),
            there("elsewhere", namespace="other"),
            there("on a node without the label", on="bare"),
            there("nowhere", on="", phase="Pending"),
            there("ending", gone_by=builders.LONG_AGO),
            there("failed", phase="Failed"),
            there("done", phase="Succeeded"),
            there("counted-1"),
            there("counted-2", on=domains[1]),
        ),
        (),
    )

    plan = solve(on, some(3, labels=WEB, topologySpreadConstraints=[spread(key)]))

    found = {domain: int(domain in domains[:2]) for domain in domains}
    for where in plan.placements.values():
        found[where] += 1
    assert sorted(found.values()) == expected


def test_t365_a_startup_taint_needs_no_toleration() -> None:
    starting = with_spec(provisioner(), startup_taints=(STARTUP,))

    plan = solve(scene_of(view_of(starting), (instance_type(),)), [pending("p")])

    assert len(plan.machines) == 1
