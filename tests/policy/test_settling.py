"""Whose pods are waited for after a command, and for how many of them (R3)."""

from __future__ import annotations

import pytest

from tests import builders
from tests.builders import at, condition, pod
from unmoor.model.base import ObjectMeta
from unmoor.model.disruption import DisruptedNode
from unmoor.model.snapshot import View
from unmoor.model.workload import Job, JobStatus
from unmoor.policy import settling

ON_A = (DisruptedNode(name="a", uid="uid-node-a"),)
NOW = builders.moment()
OTHERS = builders.owner("StatefulSet", "db")


def test_r3_what_is_noted_before_a_command() -> None:
    view = View.of(
        pod("web-1"),
        pod("web-2", on="b"),
        pod("web-3", is_ready=False),
        pod("naked", owners=()),
        pod("db-0", owners=(OTHERS,), is_ready=False),
        pod("web-4", gone_by=at(20)),
        pod("agent", owners=(builders.DAEMON_SET,)),
    )
    moved = settling.baseline(view, ON_A, NOW)

    assert [(one.kind, one.name, one.ready) for one in moved] == [("ReplicaSet", "web", 2)]


def test_r3_whose_pods_stay_or_are_going_already_is_not_noted() -> None:
    cache = builders.owner("ReplicaSet", "cache")
    view = View.of(
        pod("agent", owners=(builders.DAEMON_SET,)),
        pod("done", owners=(OTHERS,), phase="Succeeded"),
        pod("cache-1", owners=(cache,), gone_by=at(20)),
        pod("cache-2", owners=(cache,), on="b"),
        pod("web-1", on="b"),
    )

    assert settling.baseline(view, ON_A, NOW) == ()


def test_r3_an_owner_that_is_gone_wants_nothing() -> None:
    view = View.of(pod())
    moved = settling.baseline(view, ON_A, NOW)

    assert settling.unsettled(View.of(), moved) == ()


@pytest.mark.parametrize("kind", ["Job", "Rollout"])
def test_r3_finished_jobs_and_owners_of_unknown_kinds(kind: str) -> None:
    """A finished Job wants nothing; of a kind that we cannot read, what is there counts."""
    owner = builders.owner(kind, "one")
    done = Job(
        metadata=ObjectMeta(name="one", namespace="shop", uid=owner.uid),
        status=JobStatus(conditions=(condition("Complete"),)),
    )
    running = builders.changed(done, status=JobStatus())
    moved = settling.baseline(View.of(pod(owners=(owner,)), running), ON_A, NOW)
    assert len(moved) == 1

    after = View.of(done) if kind == "Job" else View.of()
    assert settling.unsettled(after, moved) == ()
