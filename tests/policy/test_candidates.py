"""Which nodes may go if a method wants them to, and the first reason why not."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import (
    IDENTITY,
    at,
    budget,
    daemon_pod,
    disruption,
    machine,
    moment,
    node,
    pod,
    provisioner,
)
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.disruption import Disruption, DisruptionPhase, LeftOut, LeftOutReason
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View
from unmoor.policy import candidates
from unmoor.policy.command import Candidate, Judged, proposal, refused, wanted
from unmoor.policy.verdict import Method, Reason, Verdict

METHOD = Method.DRIFT
BLOCKED = "DeprovisioningBlocked"
DO_NOT_EVICT = {names.DO_NOT_EVICT: "true"}
STATIC_KEPT = builders.mirror_pod().metadata.annotations | DO_NOT_EVICT


def wants(candidate: Candidate, _moment: Moment) -> Verdict:
    """A method that wants every node."""
    return wanted(candidate, METHOD, Reason.EMPTY_FOR_TTL, "it is wanted")


def wants_none(candidate: Candidate, _moment: Moment) -> Verdict:
    return refused(candidate, METHOD, Reason.NOT_CONFIGURED, "it is not wanted")


def judged(*objects: Object, after_s: float = 0.0, **given: Any) -> Judged:
    view = View.of(provisioner(**given), *objects, identity=IDENTITY)
    (found,) = [one for one in objects if isinstance(one, type(node()))]
    return candidates.judge(view, found, METHOD, wants, moment(after_s))


def why_not(*objects: Object, after_s: float = 0.0, **given: Any) -> Verdict:
    found = judged(*objects, after_s=after_s, **given)
    assert found.candidate is None
    assert found.verdict.is_refusal
    return found.verdict


def test_a_candidate_has_its_pods() -> None:
    found = judged(node(), machine(), pod(), daemon_pod())

    assert found.candidate is not None
    assert [one.name for one in found.candidate.pods] == ["web-1"]
    assert found.candidate.identity.machine == "m-a"
    assert found.verdict.message == "it is wanted"


@pytest.mark.parametrize(
    ("objects", "reason", "event"),
    [
        ([node(is_ours=False), machine(is_ours=False)], Reason.NOT_OURS, ""),
        ([node()], Reason.NO_MACHINE, ""),
        ([node(deleted_at=at(0)), machine()], Reason.BEING_DELETED, ""),
        ([node(), machine(deleted_at=at(0))], Reason.BEING_DELETED, ""),
        ([node(disruption="x"), machine(), disruption("x")], Reason.IN_DISRUPTION, ""),
        ([node(labels={names.INITIALIZED: ""}), machine()], Reason.NOT_INITIALIZED, ""),
        ([node(labels={names.PROVISIONER_NAME: ""}), machine()], Reason.LABEL_MISSING, ""),
        (
            [node(labels={names.PROVISIONER_NAME: "gone"}), machine()],
            Reason.PROVISIONER_MISSING,
            BLOCKED,
        ),
        (
            [node(annotations={names.DO_NOT_DISRUPT: "any"}), machine()],
            Reason.DO_NOT_DISRUPT,
            BLOCKED,
        ),
        (
            [node(), machine(), pod("coming", on="", nominated_to="a", phase="Pending")],
            Reason.NOMINATED,
            BLOCKED,
        ),
        ([node(), machine(), pod(), budget()], Reason.BUDGET, BLOCKED),
        ([node(), machine(), pod(annotations=DO_NOT_EVICT)], Reason.DO_NOT_EVICT, BLOCKED),
    ],
)
def test_why_not(objects: list[Object], reason: Reason, event: str) -> None:
    found = why_not(*objects)

    assert (found.reason, found.event, found.method) == (reason, event, METHOD)
    assert found.subject.name == "a"


@pytest.mark.parametrize("label", [names.CAPACITY_TYPE, names.ZONE])
def test_a_required_label_is_absent(label: str) -> None:
    full = node()
    labels = {key: value for key, value in full.metadata.labels.items() if key != label}
    found = why_not(builders.changed(full, metadata__labels=labels), machine())

    assert found.reason is Reason.LABEL_MISSING
    assert f'"{label}"' in found.message
    assert [ref.kind for ref in (found.subject, *found.also_on)] == ["Node", "Machine"]


def test_what_blocks_is_told_only_where_the_method_wants_the_node() -> None:
    protected = node(annotations={names.DO_NOT_DISRUPT: "true"})
    view = View.of(provisioner(), protected, machine(), identity=IDENTITY)

    found = candidates.judge(view, protected, METHOD, wants_none, moment())

    assert found.verdict.reason is Reason.NOT_CONFIGURED


def test_an_invalid_provisioner_stops_only_itself() -> None:
    bad = provisioner("bad", weight=1000)
    mine = node("b", labels={names.PROVISIONER_NAME: "bad"})
    other = machine("m-b", node_name="b", provisioner="bad")
    view = View.of(provisioner(), node(), machine(), bad, mine, other, identity=IDENTITY)

    found = candidates.find(view, METHOD, wants, moment())

    assert [one.node.name for one in found.candidates] == ["a"]
    assert found.judged[1].verdict.reason is Reason.PROVISIONER_INVALID
    assert "spec.weight is '1000'" in found.judged[1].verdict.message


def test_t07_nobody_picks_victims_of_a_provisioner_that_goes() -> None:
    assert why_not(node(), machine(), deleted_at=at(0)).reason is Reason.BEING_DELETED


# ------------------------------------------------------------------------- what protects pods (2.3)


@pytest.mark.parametrize(
    "objects",
    [
        [pod(), budget(allowed=1)],
        [pod(), budget(selector={"app": "other"})],
        [pod(is_ready=False), budget(policy="AlwaysAllow")],
        [pod(annotations={names.DO_NOT_EVICT: "yes"})],
        [pod(phase="Succeeded", annotations=DO_NOT_EVICT), budget()],
        [pod(gone_by=at(20), annotations=DO_NOT_EVICT), budget()],
        [pod(owners=(builders.DAEMON_SET,), annotations=DO_NOT_EVICT), budget()],
        [builders.changed(builders.mirror_pod(), metadata__annotations=STATIC_KEPT), budget()],
    ],
    ids=[
        *("allowed", "other pods", "unhealthy", "not true"),
        *("finished", "terminating", "daemon", "static"),
    ],
)
def test_pods_that_block_nothing(objects: list[Object]) -> None:
    """E05."""
    assert judged(node(), machine(), *objects).candidate is not None


def test_two_budgets_block_whatever_they_allow() -> None:
    found = why_not(node(), machine(), pod(), budget(allowed=9), budget("too", allowed=9))

    assert found.reason is Reason.TWO_BUDGETS
    assert "shop/too, shop/web" in found.message


def test_a_budget_is_told_before_an_annotation() -> None:
    first = pod("a-1", labels={}, annotations=DO_NOT_EVICT)

    assert why_not(node(), machine(), first, pod(), budget()).reason is Reason.BUDGET


# ------------------------------------------------------------------------- a person took it back


def taken(name: str = "emptiness-1", uid: str = "uid-node-a", since_s: float = 0.0) -> Disruption:
    made = disruption(
        name,
        phase=DisruptionPhase.CANCELLED,
        finished_at=at(since_s),
        left_out={"a": LeftOut(reason=LeftOutReason.UNCORDONED)},
    )
    (identity,) = made.spec.nodes
    return builders.changed(made, spec__nodes=(builders.changed(identity, uid=uid),))


def test_a_node_that_a_person_took_back_is_left_alone_for_a_while() -> None:
    found = why_not(node(), machine(), taken(), after_s=899)

    assert (found.reason, found.event) == (Reason.TAKEN_BACK, BLOCKED)
    assert "emptiness-1" in found.message
    assert "2024-05-01T12:15:00Z" in found.message
    assert judged(node(), machine(), taken(), after_s=900).candidate is not None


def test_the_latest_of_several_counts() -> None:
    older = taken("emptiness-0", since_s=-3600)

    assert why_not(node(), machine(), older, taken()).reason is Reason.TAKEN_BACK


def test_what_counts_is_who_took_it_and_which_node_it_was() -> None:
    unfit = LeftOut(reason=LeftOutReason.UNFIT, message="node a runs 1 pod: shop/web-1")
    left_out = builders.changed(taken(), status__left_out={"a": unfit})

    assert judged(node(), machine(), left_out).candidate is not None
    assert judged(node(), machine(), taken(uid="uid-of-another")).candidate is not None
    unfinished = builders.changed(taken(), status__finished_at=None)
    assert judged(node(), machine(), unfinished).candidate is not None


# --------------------------------------------------------------------------------- one command


def test_who_is_not_in_the_command_waits_for_the_next() -> None:
    there = [(node(name), machine(f"m-{name}", node_name=name)) for name in "abcd"]
    view = View.of(provisioner(), *(o for pair in there for o in pair), identity=IDENTITY)
    found = candidates.find(view, METHOD, wants, moment())

    made = proposal(found, found.candidates[:3], "old")

    assert made.command is not None
    assert [one.name for one in made.command.nodes] == ["a", "b", "c"]
    assert made.eligible == {METHOD: 4}
    assert [one.reason for one in made.verdicts[:3]] == [Reason.EMPTY_FOR_TTL] * 3
    waits = made.verdicts[3]
    assert (waits.reason, waits.is_refusal, waits.subject.name) == (Reason.NEXT_COMMAND, True, "d")
    assert "a, b and 1 more" in waits.message


def test_no_candidates_no_command() -> None:
    view = View.of(provisioner(), node(), identity=IDENTITY)
    made = proposal(candidates.find(view, METHOD, wants, moment()), (), "old")

    assert made.command is None
    assert made.eligible == {METHOD: 0}
    assert [one.reason for one in made.verdicts] == [Reason.NO_MACHINE]
