"""Which nodes are empty for long enough, and the first reason why not."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import (
    IDENTITY,
    at,
    condition,
    daemon_pod,
    machine,
    moment,
    node,
    pod,
    provisioner,
)
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.machine import LIVING_CONDITIONS, MACHINE_EMPTY, Machine
from unmoor.model.snapshot import View
from unmoor.policy import emptiness
from unmoor.policy.command import NODES_MAX, Proposal
from unmoor.policy.look import Look
from unmoor.policy.verdict import Method, Reason, Verdict

LIVING = tuple(condition(kind) for kind in LIVING_CONDITIONS)


def empty_machine(since_s: float = -30.0, **fields: Any) -> Machine:
    return machine(conditions=(*LIVING, condition(MACHINE_EMPTY, since=at(since_s))), **fields)


def proposed(*objects: Object, ttl_s: int | None = 30, **given: Any) -> Proposal:
    provided = provisioner(ttl_after_empty_s=ttl_s, **given)
    return emptiness.propose(Look(View.of(provided, *objects, identity=IDENTITY), moment()))


def verdict_of(*objects: Object, **given: Any) -> Verdict:
    proposal = proposed(*objects, **given)
    assert proposal.command is None
    return proposal.verdicts[0]


@pytest.mark.parametrize(("ahead_s", "goes"), [(29, False), (30, True), (1e9, True)])
def test_a_time_that_is_still_to_come_holds_a_node_for_no_longer(
    ahead_s: float, *, goes: bool
) -> None:
    """A clock was wrong when it was written."""
    assert (proposed(node(), empty_machine(ahead_s)).command is not None) is goes


def test_t051_a_node_goes_when_its_time_has_come() -> None:
    proposal = proposed(node(), empty_machine())

    assert proposal.command is not None
    assert proposal.command.action == "emptiness/delete"
    assert [one.uid for one in proposal.command.nodes] == ["uid-node-a"]
    assert proposal.command.nodes[0].machine_uid == "uid-machine-m-a"
    assert [verdict.reason for verdict in proposal.verdicts] == [Reason.EMPTY_FOR_TTL]
    assert [verdict.is_refusal for verdict in proposal.verdicts] == [False]
    assert proposal.eligible == {Method.EMPTINESS: 1}


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
        (
            [node(annotations={names.DO_NOT_DISRUPT: "any"}), empty_machine()],
            Reason.DO_NOT_DISRUPT,
            "DeprovisioningBlocked",
        ),
    ],
)
def test_why_not(objects: list[Object], reason: Reason, event: str) -> None:
    found = verdict_of(*objects)

    assert (found.reason, found.event, found.method) == (reason, event, Method.EMPTINESS)
    assert found.subject.name == "a"


def test_what_blocks_is_told_only_where_the_method_would_act() -> None:
    blocked = node(annotations={names.DO_NOT_DISRUPT: "true"})

    assert verdict_of(blocked, empty_machine(-1)).reason is Reason.TTL_RUNNING
    assert verdict_of(blocked, empty_machine(), ttl_s=None).reason is Reason.NOT_CONFIGURED


@pytest.mark.parametrize("is_consolidated", [None, True])
def test_r6_not_configured_never_acts(*, is_consolidated: bool | None) -> None:
    found = verdict_of(node(), empty_machine(-9e6), ttl_s=None, is_consolidated=is_consolidated)

    assert found.reason is Reason.NOT_CONFIGURED


def test_a_daemon_pod_does_not_count() -> None:
    assert proposed(node(), empty_machine(), daemon_pod()).command is not None


def test_protected_pods_of_the_node_itself_play_no_part() -> None:
    """There is nothing to evict (spec 3.3)."""
    protected = builders.pod(
        "agent",
        owners=(builders.DAEMON_SET,),
        annotations={names.DO_NOT_EVICT: "true"},
    )

    assert proposed(node(), empty_machine(), protected, builders.budget()).command is not None


def test_a_protected_pod_makes_a_node_not_empty_and_is_not_told() -> None:
    protected = pod(annotations={names.DO_NOT_EVICT: "true"})
    found = verdict_of(node(), empty_machine(), protected, builders.budget())

    assert (found.reason, found.event) == (Reason.NOT_EMPTY, "")


def test_all_go_together_and_what_is_too_many_waits() -> None:
    letters = [f"n{number:04}" for number in range(NODES_MAX + 5)]
    nodes = [node(name) for name in letters]
    machines = [
        machine(f"m-{name}", node_name=name, conditions=(*LIVING, condition(MACHINE_EMPTY)))
        for name in letters
    ]
    proposal = proposed(*nodes, *machines)

    assert proposal.command is not None
    assert [one.name for one in proposal.command.nodes] == letters[:NODES_MAX]
    assert proposal.eligible == {Method.EMPTINESS: NODES_MAX + 5}
    reasons = [verdict.reason for verdict in proposal.verdicts]
    assert reasons == [Reason.EMPTY_FOR_TTL] * NODES_MAX + [Reason.NEXT_COMMAND] * 5


@pytest.mark.parametrize("ttl_s", [10**12, 2**63 - 1])
def test_a_ttl_without_end_keeps_its_own_nodes_only(ttl_s: int) -> None:
    endless = provisioner("endless", ttl_after_empty_s=ttl_s)
    kept = node("kept", labels={names.PROVISIONER_NAME: "endless"})
    there = (endless, kept, empty_machine(name="m-kept", node="kept"), node(), empty_machine())

    proposal = proposed(*there)

    assert proposal.command is not None
    assert [one.uid for one in proposal.command.nodes] == ["uid-node-a"]
