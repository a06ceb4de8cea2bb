"""A pod is deleted past its budget at the end of a drain, also when its node has just gone."""

from __future__ import annotations

import pytest

from tests.sim.buying import Market
from tests.sim.promising import BLIND_S
from unmoor.model.kinds import NODES, PODS
from unmoor.runtime.around import Call

RULE = "a-pod-leaves-by-eviction"
DEADLINE_S = 300.0


def drained(market: Market, *, for_s: float, gone_for_s: float | None) -> None:
    """A node was drained for so long; it may be gone. Then unmoor deletes a pod of it."""
    market.checkers.allowances.deadline_s = DEADLINE_S
    market.node("a")
    market.pod("p", on="a")
    market.lost("a")
    market.time_s += for_s
    if gone_for_s is not None:
        market.server.patch(NODES.ref("a"), {"metadata": {"finalizers": None}})
        market.time_s += gone_for_s
    ref = PODS.ref("p", "default")
    market.act("unmoor-a", Call("delete", ref), lambda: market.server.delete(ref))


@pytest.mark.parametrize("gone_for_s", [None, BLIND_S - 1.0])
def test_after_the_deadline_it_may(gone_for_s: float | None) -> None:
    market = Market()
    drained(market, for_s=DEADLINE_S + 10.0, gone_for_s=gone_for_s)

    assert market.told(RULE) == []


@pytest.mark.parametrize(
    ("for_s", "gone_for_s"),
    [(DEADLINE_S - 10.0, None), (DEADLINE_S - 10.0, 1.0), (DEADLINE_S + 10.0, BLIND_S + 1.0)],
    ids=["before it", "before it, of a node that is gone", "when the node is long gone"],
)
def test_otherwise_it_may_not(for_s: float, gone_for_s: float | None) -> None:
    market = Market()
    drained(market, for_s=for_s, gone_for_s=gone_for_s)

    assert market.told(RULE) == [
        "the pod was removed past the Eviction API, and no deadline is over"
    ]
