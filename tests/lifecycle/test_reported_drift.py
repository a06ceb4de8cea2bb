"""Stories of public bug reports about expiration and drift (`tests/reports.toml`)."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import changed, condition, instance
from tests.engine.pieces import daemon_pod, daemon_set, spec_of
from tests.lifecycle.driver import World
from tests.lifecycle.replacing import QUIET_S, ROWS, deleted_nodes, joins, replacement
from tests.lifecycle.rows import PROVISIONER
from tests.lifecycle.test_drifted import drift, owner, said, world_of
from tests.lifecycle.worlds import the_machine
from tests.policy import test_graceful as graceful
from tests.policy.underused import TYPES, consolidated, going, look, pod, verdict_on
from unmoor.lifecycle.effects import AnyEffect, Create
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.disruption import DisruptionPhase, Replacement
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.machine import MACHINE_DRIFTED
from unmoor.policy import drift as drifts
from unmoor.policy.command import Proposal
from unmoor.policy.verdict import Method, Reason


def need(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def test_d01_another_way_of_making_hashes_is_no_drift_and_an_edit_after_it_is() -> None:
    older = {names.PROVISIONER_HASH: "v0-4711"}
    world = world_of(annotations=older, now=changed(owner(), metadata__annotations=older))
    world.settle(PROVISIONER)
    assert said(world) == ("", "")
    stamped = the_machine(world).metadata.annotations[names.PROVISIONER_HASH]
    assert stamped != "v0-4711"

    world.put(owner(labels={"a": "b"}))
    world.settle(PROVISIONER)
    assert said(world)[0] == "ProvisionerDrifted"


@pytest.mark.parametrize(
    ("types", "is_drift"),
    [(("m.large",), False), (("m.large", "m.huge"), False), (("m.huge",), True)],
)
def test_d03_a_requirement_that_is_widened_is_no_drift(
    types: tuple[str, ...], *, is_drift: bool
) -> None:
    given: dict[str, Any] = {names.INSTANCE_TYPE: "m.large"}
    before = owner(requirements=[need(names.INSTANCE_TYPE, "m.large")])
    now = owner(requirements=[need(names.INSTANCE_TYPE, *types)], weight=7)

    world = world_of(before=before, now=now, node_labels=given)
    world.change(the_machine(world), metadata__labels=the_machine(world).metadata.labels | given)

    assert (drift(world) is not None) == is_drift


@pytest.mark.parametrize(
    ("kinds", "is_drift"), [(("reserved", "on-demand"), False), (("reserved",), True)]
)
def test_d07_what_a_machine_has_become_counts_where_its_provisioner_allows_it(
    kinds: tuple[str, ...], *, is_drift: bool
) -> None:
    """Its labels say what it is; it was launched as another."""
    world = world_of(
        before=owner(requirements=[need(names.CAPACITY_TYPE, "reserved")]),
        now=owner(requirements=[need(names.CAPACITY_TYPE, *kinds)]),
    )

    assert (drift(world) is not None) == is_drift


def fleet(of: Method) -> World:
    """Nodes a and c are due, of a provisioner each; each has a pod that fits nowhere else."""
    objects: list[Object] = [
        consolidated(name, consolidation=None, ttlSecondsUntilExpired=30)
        for name in ("default", "other")
    ]
    for name, whose, since_s in (("a", "default", -3600.0), ("c", "other", -60.0)):
        objects += graceful.due(name, of, since_s, provisioner=whose)
        asks = {"nodeSelector": {names.PROVISIONER_NAME: whose}}
        objects.append(pod(f"web{name}-1", name, "20", spec=asks))
    world = World(*objects, instances=[instance("a"), instance("c")])
    world.types = TYPES
    return world


def made_instead(reason: str, after_s: float = 0.0) -> Proposal:
    """Node a was made in place of node old, because of ``reason``; b has drifted as a has."""
    command = builders.disruption(
        "drift-1", nodes=("old",), method="drift", phase=DisruptionPhase.SUCCEEDED
    )
    why = f"{reason}; 1 pod to move, 1 machine first"
    came = (Replacement(name="m-a"),)
    command = changed(command, spec=changed(command.spec, reason=why, replacements=came))
    mine, machine = graceful.due("a", Method.DRIFT)
    machine = changed(machine, metadata__creation_timestamp=builders.NOW)
    others = graceful.due("b", Method.DRIFT, -3600)
    return graceful.proposed(Method.DRIFT, mine, machine, others, command, after_s=after_s)


@pytest.mark.parametrize(
    ("reason", "after_s", "gone"),
    [
        ("AMIDrift: image ami-1 -> ami-2", 0.0, []),
        ("AMIDrift: image ami-1 -> ami-2", 1799.0, []),
        ("AMIDrift: image ami-1 -> ami-2", 1800.0, ["b", "a"]),  # one is tried again
        ("AMIDrift: image ami-0 -> ami-1", 0.0, ["b", "a"]),  # a newer image
        ("SubnetDrift: subnet x -> one of y", 0.0, ["b", "a"]),
    ],
)
def test_d09_what_was_made_and_has_drifted_in_the_same_way_stops_the_roll(
    reason: str, after_s: float, gone: list[str]
) -> None:
    proposal = made_instead(reason, after_s)

    assert going(proposal) == gone
    if not gone:
        for name in "ab":
            told = verdict_on(proposal, name)
            assert (told.reason, told.event) == (Reason.BORN_DRIFTED, "DeprovisioningBlocked")
            assert "machine m-a was made in place of old by drift-1" in told.message


def test_d09_a_roll_goes_no_further_than_the_first_that_came_as_it_went() -> None:
    objects: list[Object] = [consolidated(consolidation=None)]
    for name, since_s in (("a", -3600.0), ("c", -60.0)):
        objects += [*graceful.due(name, Method.DRIFT, since_s), pod(f"web{name}-1", name, "20")]
    world = World(*objects, instances=[instance("a"), instance("c")])
    world.types = TYPES
    world.run(*ROWS, for_s=QUIET_S + 5)
    large: dict[str, Any] = {"cpu": "32", "memory": "128Gi", "pods": "100"}
    joins(world, allocatable=large, capacity=large)
    made = replacement(world)
    assert made is not None
    world.run(*ROWS, for_s=10)
    assert deleted_nodes(world) == ["a"]

    last = condition(MACHINE_DRIFTED, since=world.moment.wall)
    again = changed(last, reason="AMIDrift", message="image ami-1 -> ami-2")
    made = world.view.machine(made.name)
    assert made is not None
    world.change(made, status__conditions=(*made.status.conditions, again))
    world.run(*ROWS, for_s=1500, tick_s=10)
    assert deleted_nodes(world) == ["a"]
    assert any("made in place of a by drift-" in one.message for one in world.events())

    world.run(*ROWS, for_s=600, tick_s=10)
    assert len(world.names("Disruption")) > 1


def test_d09_nodes_are_told_apart_by_how_they_drifted_and_not_by_their_names() -> None:
    labels = "RequirementsDrifted: kubernetes.io/arch In [amd64], and node {} has none"

    def of(name: str) -> str:
        return drifts._nameless(labels.format(name), (name, f"m-{name}"))

    assert of("ip-10-0-0-1.ec2") == of("ip-10-0-0-12.ec2")
    assert of("has") != labels.format("has")
    assert drifts._nameless("node ab-1", ("ab",)) == "node ab-1"


def test_d11_a_replacement_that_always_fails_keeps_no_other_provisioner_waiting() -> None:
    world = fleet(Method.DRIFT)

    def is_for_the_first(effect: AnyEffect) -> bool:
        return isinstance(effect, Create) and "default-" in effect.ref.name

    world.refuses = is_for_the_first
    world.run(*ROWS, for_s=240, tick_s=2)
    tried = {one.spec.nodes[0].name: one.phase for one in world.view.sorted(DISRUPTIONS)}
    assert tried == {"a": DisruptionPhase.CANCELLED, "c": DisruptionPhase.LAUNCHING}


def test_d13_an_empty_drifted_node_goes_first_and_at_once_consolidation_or_not() -> None:
    off = consolidated(consolidation={"enabled": False})
    filled = (*graceful.due("a", Method.DRIFT, -3600), pod("web-1", "a"))
    proposal = graceful.PROPOSE[Method.DRIFT](look(off, *filled, graceful.due("b", Method.DRIFT)))

    assert going(proposal) == ["b"]
    assert proposal.command is not None
    assert proposal.command.replacements == ()


def test_d15_who_must_be_near_a_pod_of_a_daemon_set_keeps_its_node_and_says_so() -> None:
    """R53."""
    near = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": names.HOSTNAME, "labelSelector": {"matchLabels": {"app": "cni"}}}
            ]
        }
    }
    there = changed(daemon_pod("cni-1", on="a", owner="cni"), metadata__labels={"app": "cni"})
    drifted = (graceful.due("a", Method.DRIFT), daemon_set("cni", spec_of({"cpu": "100m"})), there)

    proposal = graceful.proposed(Method.DRIFT, *drifted, pod("web-1", "a", spec={"affinity": near}))

    assert going(proposal) == []
    told = verdict_on(proposal, "a")
    assert (told.reason, told.event) == (Reason.NO_PLACE, "DeprovisioningBlocked")
    assert "no pod that it looks for is in machine#0" in told.message


def test_e07_a_pod_without_an_owner_does_not_keep_an_expired_node() -> None:
    broken = pod("web-1", "a", owners=[], status={"conditions": []})

    assert going(
        graceful.proposed(Method.EXPIRATION, graceful.due("a", Method.EXPIRATION), broken)
    ) == ["a"]


def test_w13_nodes_that_expire_in_one_moment_go_one_after_another() -> None:
    objects: list[Object] = [consolidated(consolidation=None, ttlSecondsUntilExpired=30)]
    for name in "abc":
        objects += graceful.due(name, Method.EXPIRATION, -60)
        objects.append(pod(f"db-{name}", name, "20", labels={"app": "db"}))
    world = World(*objects, instances=[instance(name) for name in "abc"])
    world.types = TYPES
    world.run(*ROWS, for_s=QUIET_S + 400, tick_s=2)

    assert deleted_nodes(world) == []
    [one] = world.view.sorted(DISRUPTIONS)
    assert [n.name for n in one.spec.nodes] == ["a"]
    assert one.phase is DisruptionPhase.LAUNCHING
