"""The same choice is not made again at once after it was withdrawn; another one is."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import at
from tests.policy.underused import LARGE, SMALL, bought, going, node, pod, proposed, verdict_on
from unmoor.model.disruption import (
    DisruptedNode,
    Disruption,
    DisruptionPhase,
    LeftOut,
    LeftOutReason,
    Replacement,
)
from unmoor.policy.command import Proposal
from unmoor.policy.verdict import Reason

MINUTE = 60.0


def withdrawn(
    nodes: str, name: str = "consolidation-1", ended_s: float = 0.0, **given: Any
) -> Disruption:
    """A command for these nodes, a letter each, that was given up while Pending."""
    made = builders.disruption(
        name,
        phase=given.pop("phase", DisruptionPhase.CANCELLED),
        finished_at=at(ended_s),
        left_out=given.pop("left_out", {}),
        method=given.pop("method", "consolidation"),
    )
    named = tuple(DisruptedNode(name=one, uid=f"uid-node-{one}") for one in nodes)
    spec = builders.changed(made.spec, nodes=named, **given)
    status = builders.changed(made.status, message="its pods would need 1 new machine")
    return builders.changed(made, spec=spec, status=status)


def alone(*before: Disruption, after_s: float) -> Proposal:
    """Node ``a`` could go alone, with its one pod onto ``b``, which stays."""
    pods = [pod("web-1", "a", "100m"), *(pod(f"api-{number}", "b", "1m") for number in range(3))]
    pinned = pod("db-1", "b", "1m", annotations={"karpenter.sh/do-not-evict": "true"})
    return proposed(node("a", SMALL), node("b", SMALL), *pods, pinned, *before, after_s=after_s)


@pytest.mark.parametrize(
    ("times", "after_s", "goes"),
    [
        ([0], MINUTE - 1, False),
        ([0], MINUTE, True),
        ([0, 60], 60 + 2 * MINUTE - 1, False),
        ([0, 60], 60 + 2 * MINUTE, True),
        ([0, 60, 180], 180 + 4 * MINUTE - 1, False),
        ([0, 60, 180], 180 + 4 * MINUTE, True),
        ([60 * number for number in range(20)], 19 * 60 + 30 * MINUTE - 1, False),
        ([60 * number for number in range(20)], 19 * 60 + 30 * MINUTE, True),
        ([0, 2 * 60 * 60], 2 * 60 * 60 + MINUTE, True),  # the first is long over
        ([1_000_000], 0, True),  # a clock was wrong
    ],
)
def test_it_is_tried_again_later_and_later(times: list[int], after_s: float, *, goes: bool) -> None:
    before = [withdrawn("a", f"consolidation-{n}", ended) for n, ended in enumerate(times)]

    proposal = alone(*before, after_s=after_s)

    assert going(proposal) == (["a"] if goes else [])
    if not goes:
        told = verdict_on(proposal, "a")
        assert (told.reason, told.event) == (Reason.WITHDRAWN, "Unconsolidatable")
        assert "its pods would need 1 new machine; it is tried again at" in told.message


@pytest.mark.parametrize(
    "other",
    [
        withdrawn("ab"),
        withdrawn("b"),
        withdrawn("a", method="drift"),
        withdrawn("a", replacements=(Replacement(name="m"),)),
        withdrawn("a", is_observed=True),
        withdrawn("a", phase=DisruptionPhase.SUCCEEDED),
        withdrawn("ab", left_out={"a": LeftOut(LeftOutReason.UNFIT)}),
        withdrawn("a", left_out={"a": LeftOut(LeftOutReason.UNFIT)}),
    ],
)
def test_another_choice_is_made_at_once(other: Disruption) -> None:
    assert going(alone(other, after_s=1)) == ["a"]


def test_what_was_left_when_it_was_withdrawn_is_the_choice() -> None:
    assert (
        going(alone(withdrawn("ac", left_out={"c": LeftOut(LeftOutReason.UNFIT)}), after_s=1)) == []
    )


def test_several_that_were_withdrawn_go_one_by_one() -> None:
    nodes = [node(name, SMALL) for name in "abc"]
    pods = [pod(f"{name}-1", name, "100m") for name in "abc"]
    assert going(proposed(*nodes, *pods)) == ["a", "b"]

    assert going(proposed(*nodes, *pods, withdrawn("ab"), after_s=1)) == ["a"]


def test_a_replacement_that_was_withdrawn_is_none_again_soon() -> None:
    before = withdrawn("a", replacements=(Replacement(name="m"),))

    assert bought(proposed(node("a", LARGE), pod("web-1", "a"))) == [("small", "medium")]
    assert going(proposed(node("a", LARGE), pod("web-1", "a"), before, after_s=1)) == []


def test_empty_nodes_that_were_withdrawn_together_go_alone() -> None:
    nodes = [node("a", SMALL), node("b", SMALL)]

    assert going(proposed(*nodes, withdrawn("ab"), after_s=1)) == ["a"]
