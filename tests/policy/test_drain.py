"""Whose turn it is, what a deadline changes, and which budget holds whom."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.builders import at, budget, daemon_pod, mirror_pod, moment, node, pod
from unmoor.model import names
from unmoor.model.disruption_budget import PodDisruptionBudget, PodDisruptionBudgetSpec
from unmoor.model.pod import Pod
from unmoor.model.selector import LabelSelector, LabelSelectorRequirement
from unmoor.model.snapshot import View
from unmoor.policy import drain
from unmoor.policy.drain import Deadline
from unmoor.policy.pods import Patience


def named(pods: tuple[Pod, ...]) -> list[str]:
    return [one.name for one in pods]


def planned(*pods: Pod, left_s: float | None = None, **given: Any) -> drain.Plan:
    deadline = Deadline() if left_s is None else Deadline(at(left_s))
    return drain.plan(pods, moment(), patience=Patience(60.0), deadline=deadline, **given)


WEB = pod("web")
CLUSTER_CRITICAL = pod("dns", priority_class=names.SYSTEM_CLUSTER_CRITICAL)
NODE_CRITICAL = pod("cni", priority_class=names.SYSTEM_NODE_CRITICAL)


@pytest.mark.parametrize(
    ("there", "turn"),
    [
        ([WEB, CLUSTER_CRITICAL, NODE_CRITICAL], ["web"]),
        ([pod("web", gone_by=at(20)), CLUSTER_CRITICAL], []),
        ([pod("web", gone_by=at(-100)), CLUSTER_CRITICAL, NODE_CRITICAL], ["dns"]),
        ([NODE_CRITICAL], ["cni"]),
        ([daemon_pod(), mirror_pod(), pod("done", phase="Failed"), NODE_CRITICAL], ["cni"]),
        ([], []),
    ],
    ids=["workloads", "terminating", "stuck", "node-critical", "ignored", "nobody"],
)
def test_r19_tiers(there: list[Pod], turn: list[str]) -> None:
    """E08."""
    assert named(planned(*there).turn) == turn


def test_r1_passed_pods_are_not_waited_for() -> None:
    plan = planned(WEB, NODE_CRITICAL, passed=frozenset({WEB.uid}))

    assert named(plan.waiting) == ["cni"]
    assert named(plan.turn) == ["cni"]


def test_r19_with_a_deadline_the_longest_grace_first() -> None:
    plan = planned(pod("c", grace_s=10), pod("b", grace_s=60), pod("a", grace_s=10), left_s=300)

    assert named(plan.turn) == ["b", "a", "c"]


def test_e10_what_no_longer_fits_goes_out_of_turn() -> None:
    slow = pod("slow", grace_s=600, priority_class=names.SYSTEM_NODE_CRITICAL)

    assert named(planned(WEB, slow, left_s=300).turn) == ["slow", "web"]


def test_e10_a_grace_beyond_the_deadline_is_late() -> None:
    plan = planned(
        pod("late", gone_by=at(400), grace_s=400), pod("fits", gone_by=at(302)), left_s=300
    )

    assert named(plan.late) == ["late"]


def test_e12_at_the_deadline_all_are_forced() -> None:
    plan = planned(WEB, NODE_CRITICAL, pod("going", gone_by=at(1)), left_s=0)

    assert named(plan.forced) == ["web", "cni"]
    assert plan.turn == ()


@pytest.mark.parametrize(
    ("text", "default_s", "expected"),
    [
        ("", None, None),
        ("", 300.0, at(300)),
        ("10m", None, at(600)),
        ("10m", 300.0, at(300)),
        ("1m", 300.0, at(60)),
        ("2024-05-01T12:02:00Z", None, datetime(2024, 5, 1, 12, 2, tzinfo=UTC)),
    ],
)
def test_deadlines(text: str, default_s: float | None, expected: datetime | None) -> None:
    annotations = {names.DRAIN_DEADLINE: text} if text else {}
    deadline = drain.deadline_of(node(annotations=annotations, deleted_at=at(0)), default_s)

    assert deadline.at == expected
    assert deadline.length_s == (None if expected is None else (expected - at(0)).total_seconds())


@pytest.mark.parametrize(
    ("deadline", "seen_s_ago", "left_s"),
    [
        (Deadline(at(200), length_s=600), 0, 300),
        (Deadline(at(-3600), length_s=600), 0, 300),
        (Deadline(at(-3600), length_s=600), 200, 100),
        (Deadline(at(-3600), length_s=600), 900, -600),
        (Deadline(at(-3600), length_s=60), 0, 60),
        (Deadline(at(-3600), length_s=-60), 0, -60),
        (Deadline(at(900), length_s=600), 0, 900),
        (Deadline(at(-3600)), 0, -3600),
    ],
    ids=[
        "ahead",
        "far ahead",
        "later",
        "long over",
        "short",
        "in the past",
        "behind",
        "a person's",
    ],
)
def test_a_deadline_does_not_pass_just_because_a_clock_says_so(
    deadline: Deadline, seen_s_ago: float, left_s: float
) -> None:
    now = moment()
    held = deadline.held_to(300.0, now.mono - seen_s_ago, now)

    assert held.left_s(now.wall) == left_s


def test_r1_pods_that_keep_coming_back_hold_up_no_later_tier() -> None:
    critical = pod("dns", priority_class=names.SYSTEM_CLUSTER_CRITICAL)
    stubborn = pod("stubborn")
    held = drain.plan([critical, stubborn], moment(), patience=Patience(60.0))
    assert named(held.turn) == ["stubborn"]

    plan = drain.plan(
        [critical, stubborn], moment(), patience=Patience(60.0), returning=frozenset({stubborn.uid})
    )
    assert named(plan.turn) == ["dns", "stubborn"]
    assert named(plan.waiting) == ["dns", "stubborn"]


@pytest.mark.parametrize("text", ["soon", "-5m", "2024-05-01T12:02:00"])
def test_a_bad_deadline_is_ignored_and_said(text: str) -> None:
    annotated = node(annotations={names.DRAIN_DEADLINE: text}, deleted_at=at(0))
    deadline = drain.deadline_of(annotated, None)

    assert deadline.at is None
    assert f'"{text}"' in deadline.problem


def test_a_deadline_at_the_end_of_time_is_one() -> None:
    for text in ("9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"):
        annotated = node(annotations={names.DRAIN_DEADLINE: text}, deleted_at=at(0))
        deadline = drain.deadline_of(annotated, 1e12)
        plan = drain.plan(
            [pod("web", gone_by=at(400))], moment(), patience=Patience(1e12), deadline=deadline
        )

        assert deadline.problem == ""
        assert named(plan.waiting) == ["web"]


def test_which_budgets_select_a_pod() -> None:
    expressions = (LabelSelectorRequirement(key="app", operator="Like"),)
    broken = budget("broken")
    view = View.of(
        budget("one"),
        budget("all", selector={}),
        budget("other", selector={"app": "other"}),
        budget("elsewhere", namespace="far"),
    )
    assert [one.name for one in drain.budgets_over(view, pod())] == ["all", "one"]

    view._put(
        type(broken)(
            metadata=broken.metadata,
            spec=type(broken.spec)(selector=LabelSelector(match_expressions=expressions)),
        )
    )
    assert "broken" in [one.name for one in drain.budgets_over(view, pod())]


def test_a_budget_is_found_by_one_of_its_labels_and_judged_by_all_of_its_selector() -> None:
    bad = (LabelSelectorRequirement(key="tier", operator="Like"),)
    web = (LabelSelectorRequirement(key="tier", operator="In", values=("web",)),)
    selectors = {
        "both": LabelSelector(match_labels={"app": "web", "tier": "web"}),
        "other-tier": LabelSelector(match_labels={"app": "web", "tier": "db"}),
        "by-expression": LabelSelector(match_expressions=web),
        "by-both": LabelSelector(match_labels={"app": "web"}, match_expressions=web),
        "bad-for-others": LabelSelector(match_labels={"app": "db"}, match_expressions=bad),
        "nobody": None,
    }
    view = View.of(
        *(
            PodDisruptionBudget(
                metadata=budget(name).metadata, spec=PodDisruptionBudgetSpec(selector=selector)
            )
            for name, selector in selectors.items()
        )
    )
    both = pod(labels={"app": "web", "tier": "web"})
    assert [one.name for one in drain.budgets_over(view, both)] == [
        "bad-for-others",
        "both",
        "by-both",
        "by-expression",
    ]
    assert [one.name for one in drain.budgets_over(view, pod(labels={}))] == ["bad-for-others"]

    narrowed = PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": "db"}))
    view._put(PodDisruptionBudget(metadata=budget("both").metadata, spec=narrowed))
    assert "both" not in [one.name for one in drain.budgets_over(view, both)]
    of_db = pod(labels={"app": "db"})
    assert [one.name for one in drain.budgets_over(view, of_db)] == ["bad-for-others", "both"]


@pytest.mark.parametrize(
    ("one", "is_ready", "is_exhausted"),
    [
        (budget(), True, True),
        (budget(allowed=1), True, False),
        (budget(policy="AlwaysAllow"), True, True),
        (budget(policy="AlwaysAllow"), False, False),
        (budget(), False, True),
    ],
)
def test_c01_when_a_budget_refuses(one: Any, *, is_ready: bool, is_exhausted: bool) -> None:
    assert drain.is_exhausted(one, pod(is_ready=is_ready)) == is_exhausted


def test_budgets_are_named_with_their_numbers() -> None:
    one = drain.about_budgets(pod(), (budget(healthy=3, needed=3),))
    two = drain.about_budgets(pod(), (budget("one"), budget("two")))

    assert "shop/web: 0 disruptions allowed (3 of 3 pods healthy, 3 needed)" in one
    assert "(shop/one, shop/two)" in two


def test_what_is_said_of_a_deadline_is_said_in_utc() -> None:
    annotated = node(annotations={names.DRAIN_DEADLINE: "2024-05-01T14:02:00+02:00"})
    assert f"{drain.deadline_of(annotated, None).at:%H:%M}" == "12:02"
