"""Balanced: what is saved against what is disturbed, in shares (R9, spec 3.11; off by default)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy.underused import SMALL, consolidated, going, node, pod, proposed, verdict_on
from unmoor.model.settings import Settings
from unmoor.policy.balance import Weight, score
from unmoor.policy.verdict import Reason

ON = Settings(balanced_factor=2.0)
POOL = Weight(58.08, 90.0)


@pytest.mark.parametrize(
    ("saving", "disruption", "total", "reached"),
    [
        (7.26, 4, POOL, 2.81),  # V199
        (2.42, 9, POOL, 0.42),
        (0, 11, POOL, 0),
        (2.42, 9, Weight(48.40, 90.0), 0.5),  # V200
        (24.2, 90, Weight(484.0, 900.0), 0.5),  # V201
        (-5, 10, Weight(100.0, 100.0), 0),  # V206
        (20, 5, Weight(100.0, 100.0), 4.0),
        (1, 1, Weight(0.0, 10.0), 0),  # V202
    ],
)
def test_v199_to_v206_the_score(
    saving: float, disruption: float, total: Weight, reached: float
) -> None:
    assert score(saving, disruption, total) == pytest.approx(reached, abs=0.01)


def shop(**given: Any) -> Any:
    """Ten small nodes; ``a`` has ten of the 28 pods, nine others have two each, which stay."""
    kept = {"karpenter.sh/do-not-evict": "true"}
    nodes = [node(name, SMALL) for name in "abcdefghij"]
    pods = [pod(f"web-{number}", "a", "10m") for number in range(10)]
    pods += [
        pod(f"{name}-{number}", name, "900m", annotations=kept)
        for name in "bcdefghij"
        for number in range(2)
    ]
    return proposed(*nodes, *pods, **given)


@pytest.mark.parametrize(
    ("factor", "goes"),
    [(None, ["a"]), (1.0, []), (2.0, []), (3.58, ["a"]), (4.0, ["a"])],
)
def test_v203_a_node_with_many_pods_stays_unless_little_is_asked_for(
    factor: float | None, goes: list[str]
) -> None:
    """It is a tenth of the bill and 10 of 28 pods: 0.28 of a share."""
    proposal = shop(settings=Settings(balanced_factor=factor))

    assert going(proposal) == goes
    if not goes:
        told = verdict_on(proposal, "a")
        assert told.reason is Reason.NOT_WORTH_IT
        assert (
            "would save 10.0% of what provisioner default costs and disturb 35.7%" in told.message
        )


def test_v202_nodes_that_disturb_nobody_go() -> None:
    assert going(proposed(node("a", SMALL), node("b", SMALL), settings=ON)) == ["a", "b"]


def test_v205_each_provisioner_has_its_own_share() -> None:
    """``a`` is all that its provisioner has: a whole bill for a whole disturbance."""
    nodes = [node("a", SMALL, provisioner="other"), node("b", SMALL)]
    pods = [pod(f"web-{number}", "a", "10m") for number in range(3)]
    pods += [pod(f"api-{number}", "b", "10m") for number in range(4)]

    both = (consolidated(), consolidated("other"))

    assert going(proposed(*both, *nodes, *pods, settings=ON)) == ["a"]
