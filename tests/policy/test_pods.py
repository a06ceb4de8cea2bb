"""The one table of pods, row by row."""

from __future__ import annotations

import pytest

from tests.builders import TOLERATES_CORDON, at, changed, daemon_pod, mirror_pod, moment, pod
from unmoor.model import names
from unmoor.model.pod import Pod
from unmoor.policy import pods
from unmoor.policy.pods import Standing


@pytest.mark.parametrize(
    ("one", "row"),
    [
        (pod(), pods.ORDINARY),
        (pod(owners=()), pods.ORDINARY),  # R7
        (pod(annotations={names.DO_NOT_EVICT: "true"}), pods.ORDINARY),
        (pod(tolerations=(TOLERATES_CORDON,)), pods.ORDINARY),  # R1
        (daemon_pod(), pods.DAEMON),  # R1
        (mirror_pod(), pods.STATIC),
        (pod(annotations={names.MIRROR_POD: "x"}), pods.STATIC),
        (pod(phase="Succeeded"), pods.TERMINAL),
        (pod(phase="Failed", gone_by=at(-600)), pods.TERMINAL),
        (pod(gone_by=at(20)), pods.TERMINATING),
        (pod(gone_by=at(-60)), pods.TERMINATING),
        (pod(gone_by=at(-61)), pods.STUCK),
    ],
    ids=[
        "ordinary",
        "naked",
        "do-not-evict",
        "tolerating",
        "daemon",
        "static",
        "mirror",
        "succeeded",
        "failed",
        "terminating",
        "at the limit",
        "stuck",
    ],
)
def test_each_pod_has_its_row(one: Pod, row: Standing) -> None:
    assert pods.standing_of(one, moment(), pods.Patience(60.0)) is row


@pytest.mark.parametrize(
    ("one", "seen_at", "row"),
    [
        (pod(gone_by=at(-600)), None, pods.TERMINATING),
        (pod(gone_by=at(-600)), -90, pods.TERMINATING),
        (pod(gone_by=at(-600)), -91, pods.STUCK),
        (pod(gone_by=at(-60)), -1000, pods.TERMINATING),
        (pod(gone_by=at(-600), grace_s=500), -559, pods.TERMINATING),
        (pod(gone_by=at(-600), grace_s=500), -561, pods.STUCK),
    ],
    ids=["new", "at the limit", "stuck", "by the stamp it is not", "long grace", "and beyond it"],
)
def test_a_pod_is_stuck_when_both_clocks_say_so(
    one: Pod, seen_at: float | None, row: Standing
) -> None:
    now = moment()
    seen = {} if seen_at is None else {one.uid: now.mono + seen_at}

    assert pods.standing_of(one, now, pods.Patience(60.0, seen)) is row


def test_a_grace_that_the_deletion_has_made_longer_counts() -> None:
    longer = changed(pod(gone_by=at(-600)), metadata__deletion_grace_period_seconds=3600)
    now = moment()

    assert not pods.Patience(60.0, {longer.uid: now.mono - 3000}).is_over(longer, now)
    assert pods.Patience(60.0, {longer.uid: now.mono - 3661}).is_over(longer, now)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (pods.ORDINARY, "counts may_block is_evicted is_waited_for"),
        (pods.TERMINATING, "counts is_waited_for"),
        (pods.STUCK, ""),
        (pods.TERMINAL, ""),
        (pods.DAEMON, ""),
        (pods.STATIC, ""),
    ],
    ids=["ordinary", "terminating", "stuck", "terminal", "daemon", "static"],
)
def test_the_table(row: Standing, expected: str) -> None:
    columns = ("counts", "may_block", "is_evicted", "is_waited_for")

    assert " ".join(column for column in columns if getattr(row, column)) == expected
