"""Which nodes are empty for long enough, and the first reason why not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests import builders
from tests.builders import (
    IDENTITY,
    at,
    condition,
    daemon_pod,
    disruption,
    machine,
    moment,
    node,
    pod,
    provisioner,
)
from unmoor.model import names
from unmoor.model.base import Object, ObjectMeta
from unmoor.model.kinds import ref_of
from unmoor.model.machine import LIVING_CONDITIONS, MACHINE_EMPTY, Machine
from unmoor.model.snapshot import View
from unmoor.model.workload import Job, JobStatus
from unmoor.policy import candidates, emptiness, methods, settling
from unmoor.policy.command import Candidate, Proposal
from unmoor.policy.verdict import Method, Reason, Verdict

LIVING = tuple(condition(kind) for kind in LIVING_CONDITIONS)
OTHERS = builders.owner("StatefulSet", "db")


def empty_machine(since_s: float = -30.0, **fields: Any) -> Machine:
    return machine(conditions=(*LIVING, condition(MACHINE_EMPTY, since=at(since_s))), **fields)


def proposed(*objects: Object, ttl_s: int | None = 30, **given: Any) -> Proposal:
    provided = provisioner(ttl_after_empty_s=ttl_s, **given)
    return methods.propose(View.of(provided, *objects, identity=IDENTITY), moment())


def verdict_of(*objects: Object, **given: Any) -> Verdict:
    proposal = proposed(*objects, **given)
    assert proposal.command is None
    return proposal.verdicts[0]


def test_t051_a_node_goes_when_its_time_has_come() -> None:
    proposal = proposed(node(), empty_machine())

    assert proposal.command is not None
    assert proposal.command.action == "emptiness/delete"
    assert [one.uid for one in proposal.command.nodes] == ["uid-node-a"]
    assert proposal.command.nodes[0].machine_uid == "uid-machine-m-a"
    assert [verdict.reason for verdict in proposal.verdicts] == [Reason.EMPTY_FOR_TTL]
    assert proposal.eligible == 1


@pytest.mark.parametrize(
    ("objects", "reason", "event"),
    [
        ([node(), machine(conditions=LIVING)], Reason.NOT_EMPTY, ""),  # T052
        (
            [node(), machine(conditions=(*LIVING, condition(MACHINE_EMPTY, "False")))],
            Reason.NOT_EMPTY,
            "",
        ),  # T053
        ([node(), empty_machine(-29)], Reason.TTL_RUNNING, ""),
        ([node(), empty_machine(), pod()], Reason.NOT_EMPTY, ""),
        ([node(), empty_machine(), pod(gone_by=at(20))], Reason.NOT_EMPTY, ""),  # R5
        ([node(is_ours=False), empty_machine(is_ours=False)], Reason.NOT_OURS, ""),
        ([node()], Reason.NO_MACHINE, ""),
        ([node(deleted_at=at(0)), empty_machine()], Reason.BEING_DELETED, ""),
        ([node(), empty_machine(deleted_at=at(0))], Reason.BEING_DELETED, ""),
        ([node(disruption="x"), empty_machine(), disruption("x")], Reason.IN_DISRUPTION, ""),
        ([node(labels={names.INITIALIZED: ""}), empty_machine()], Reason.NOT_INITIALIZED, ""),
        (
            [node(annotations={names.DO_NOT_DISRUPT: "any"}), empty_machine()],
            Reason.DO_NOT_DISRUPT,
            "DeprovisioningBlocked",
        ),
        (
            [node(labels={names.PROVISIONER_NAME: "gone"}), empty_machine()],
            Reason.PROVISIONER_MISSING,
            "DeprovisioningBlocked",
        ),
        (
            [node(), empty_machine(), pod("coming", on="", nominated_to="a", phase="Pending")],
            Reason.NOMINATED,
            "DeprovisioningBlocked",
        ),
    ],
)
def test_why_not(objects: list[Object], reason: Reason, event: str) -> None:
    found = verdict_of(*objects)

    assert (found.reason, found.event) == (reason, event)
    assert found.subject.name == "a"


@pytest.mark.parametrize("label", [names.CAPACITY_TYPE, names.ZONE])
def test_a_required_label_is_absent(label: str) -> None:
    full = node()
    labels = {key: value for key, value in full.metadata.labels.items() if key != label}
    found = verdict_of(builders.changed(full, metadata__labels=labels), empty_machine())

    assert found.reason is Reason.LABEL_MISSING
    assert f'"{label}"' in found.message
    assert [ref.kind for ref in (found.subject, *found.also_on)] == ["Node", "Machine"]


def test_a_node_without_a_provisioner_is_silently_left_alone() -> None:
    found = verdict_of(node(labels={names.PROVISIONER_NAME: ""}), empty_machine())

    assert (found.reason, found.event) == (Reason.LABEL_MISSING, "")


def test_what_blocks_is_told_only_where_the_method_would_act() -> None:
    blocked = node(annotations={names.DO_NOT_DISRUPT: "true"})

    assert verdict_of(blocked, empty_machine(-1)).reason is Reason.TTL_RUNNING
    assert verdict_of(blocked, empty_machine(), ttl_s=None).reason is Reason.NOT_CONFIGURED


@pytest.mark.parametrize("is_consolidated", [None, True])
def test_r6_not_configured_never_acts(*, is_consolidated: bool | None) -> None:
    found = verdict_of(node(), empty_machine(-9e6), ttl_s=None, is_consolidated=is_consolidated)

    assert found.reason is Reason.NOT_CONFIGURED


def test_an_invalid_provisioner_stops_only_itself() -> None:
    bad = provisioner("bad", ttl_after_empty_s=30, weight=1000)
    other = machine(
        "m-b", node_name="b", provisioner="bad", conditions=(*LIVING, condition(MACHINE_EMPTY))
    )
    mine = node("b", labels={names.PROVISIONER_NAME: "bad"})
    proposal = proposed(node(), empty_machine(), bad, mine, other)

    assert proposal.command is not None
    assert [one.name for one in proposal.command.nodes] == ["a"]
    assert proposal.verdicts[1].reason is Reason.PROVISIONER_INVALID
    assert "spec.weight is '1000'" in proposal.verdicts[1].message


def test_t07_nobody_picks_victims_of_a_provisioner_that_goes() -> None:
    assert verdict_of(node(), empty_machine(), deleted_at=at(0)).reason is Reason.BEING_DELETED


def test_a_daemon_pod_does_not_count() -> None:
    assert proposed(node(), empty_machine(), daemon_pod()).command is not None


def test_protected_pods_play_no_part() -> None:
    """Emptiness has no eviction filter: there is nothing to evict (spec 3.3)."""
    protected = builders.pod(
        "agent",
        owners=(builders.DAEMON_SET,),
        annotations={names.DO_NOT_EVICT: "true"},
    )

    assert proposed(node(), empty_machine(), protected, builders.budget()).command is not None


def test_one_command_names_only_so_many_nodes() -> None:
    letters = [f"n{number:04}" for number in range(emptiness.NODES_MAX + 5)]
    nodes = [node(name) for name in letters]
    machines = [
        machine(f"m-{name}", node_name=name, conditions=(*LIVING, condition(MACHINE_EMPTY)))
        for name in letters
    ]
    command = proposed(*nodes, *machines).command

    assert command is not None
    assert len(command.nodes) == emptiness.NODES_MAX


def test_the_running_command_does_not_stand_in_its_own_way() -> None:
    marked = node(disruption="emptiness-1")
    view = View.of(marked, empty_machine(), provisioner(ttl_after_empty_s=30), identity=IDENTITY)

    assert methods.still_holds(view, disruption(), marked, moment()) is None
    assert methods.still_holds(view, disruption("other"), marked, moment()) is not None
    unknown = methods.still_holds(view, disruption(method="magic"), marked, moment())
    assert unknown is not None
    assert "magic" in unknown.message


def test_a_candidate_has_its_pods() -> None:
    view = View.of(node(), machine(), provisioner(), pod(), daemon_pod(), identity=IDENTITY)
    found = candidates.check(view, node(), Method.EMPTINESS, moment())

    assert isinstance(found, Candidate)
    assert [one.name for one in found.pods] == ["web-1"]
    assert ref_of(found.machine).name == found.identity.machine


# ------------------------------------------------------------------------------------ settling, R3


def test_r3_what_is_noted_before_a_command() -> None:
    view = View.of(
        pod("web-1"),
        pod("web-2", on="b"),
        pod("web-3", is_ready=False),
        pod("naked", owners=()),
        pod("db-0", owners=(OTHERS,), is_ready=False),
        pod("web-4", gone_by=at(20)),
    )
    moved = settling.baseline(view, view.pods_on("a"))

    assert [(one.kind, one.name, one.ready) for one in moved] == [("ReplicaSet", "web", 2)]


def test_r3_an_owner_that_is_gone_wants_nothing() -> None:
    view = View.of(pod())
    moved = settling.baseline(view, view.pods_on("a"))

    assert settling.unsettled(View.of(), moved) == ()


def test_ages_are_never_negative() -> None:
    """T09: a time stamp in the future is an age of nothing, not of less."""
    assert moment().since_s(builders.NOW + timedelta(minutes=7)) == 0.0


@pytest.mark.parametrize("kind", ["Job", "Rollout"])
def test_r3_finished_jobs_and_owners_of_unknown_kinds(kind: str) -> None:
    """A finished Job wants nothing; of a kind that we cannot read, what is there counts."""
    owner = builders.owner(kind, "one")
    done = Job(
        metadata=ObjectMeta(name="one", namespace="shop", uid=owner.uid),
        status=JobStatus(conditions=(condition("Complete"),)),
    )
    running = builders.changed(done, status=JobStatus())
    moved = settling.baseline(View.of(pod(owners=(owner,)), running), [pod(owners=(owner,))])
    assert len(moved) == 1

    after = View.of(done) if kind == "Job" else View.of()
    assert settling.unsettled(after, moved) == ()


@pytest.mark.parametrize("ttl_s", [10**12, 2**63 - 1])
def test_a_ttl_without_end_keeps_its_own_nodes_only(ttl_s: int) -> None:
    endless = provisioner("endless", ttl_after_empty_s=ttl_s)
    kept = node("kept", labels={names.PROVISIONER_NAME: "endless"})
    there = (endless, kept, empty_machine(name="m-kept", node="kept"), node(), empty_machine())

    proposal = proposed(*there)

    assert proposal.command is not None
    assert [one.uid for one in proposal.command.nodes] == ["uid-node-a"]
