"""The real kube-scheduler says that the facts are facts."""

from __future__ import annotations

import pytest

from tests.e2e.vouching import Court, Promise, Trial
from tests.facts.fact import Fact
from tests.facts.table import FACTS
from unmoor.model.base import JSON

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]


def named(pod: JSON, name: str) -> JSON:
    return {**pod, "metadata": {**pod["metadata"], "name": name}}


def trial_of(fact: Fact) -> Trial:
    """The pod is promised to a node that refuses it, and then to one that takes it.

    Where every node refuses it, it is promised nowhere.
    """
    wrong = [Promise(named(fact.pod, "wrong"), node) for node in sorted(fact.refusing)[:1]]
    right = [Promise(fact.pod, node) for node in sorted(fact.fitting)[:1]]
    return Trial(fact.cluster, [*wrong, *(right or [Promise(fact.pod)])])


@pytest.mark.parametrize("name", FACTS)
async def test_a_fact(court: Court, name: str) -> None:
    fact = FACTS[name]()

    outcomes = await court.hear(trial_of(fact))

    assert {(one.pod, one.fits) for one in outcomes} == {
        (one.pod, fact.fitting) for one in outcomes
    }
    assert all(one.is_kept for one in outcomes if not one.pod.endswith("/wrong")), outcomes
    for one in outcomes:
        if one.bound is None:
            assert fact.because in one.message
