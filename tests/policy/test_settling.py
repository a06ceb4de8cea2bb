"""Whose pods are waited for after a command, and for how many of them (R3)."""

from __future__ import annotations

import pytest

from tests import builders
from tests.builders import at, condition, pod
from unmoor.model.base import ObjectMeta
from unmoor.model.snapshot import View
from unmoor.model.workload import Job, JobStatus
from unmoor.policy import settling

OTHERS = builders.owner("StatefulSet", "db")


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
