"""What is a fact for the real kube-scheduler is one for the oracle, unless a rule is stricter."""

from __future__ import annotations

import pytest

from tests.facts import reading
from tests.facts.fact import Fact
from tests.facts.stricter import DIFFERENCES
from tests.facts.table import FACTS
from unmoor.engine import company, judge, oracle
from unmoor.engine.scenery import scene_of
from unmoor.engine.sites import Standing
from unmoor.engine.wish import levels_of, wish_of


def fitting(fact: Fact) -> set[str]:
    """Where the oracle would put the pod, preferences aside."""
    view = reading.view_of([*fact.cluster, *reading.own_claims(fact.pod)])
    pod = reading.read_pod(fact.pod)
    wish = wish_of(pod, view, levels_of(pod, has_soft_taints=True), has_soft_taints=True)
    sites = [Standing(place, view) for place in scene_of(view, ()).places]
    others = company.company_of(wish, view, sites, {})
    return {
        site.name
        for site in sites
        if not judge.own_refusals(wish) and not oracle.standing_refusals(wish, others, site)
    }


@pytest.mark.parametrize("name", sorted(FACTS.keys() - DIFFERENCES.keys()))
def test_the_oracle_agrees(name: str) -> None:
    fact = FACTS[name]()

    assert fitting(fact) == fact.fitting


@pytest.mark.parametrize("name", DIFFERENCES)
def test_where_it_does_not_it_is_stricter(name: str) -> None:
    fact, (_, fits) = FACTS[name](), DIFFERENCES[name]

    assert fitting(fact) == set(fits.split())
    assert fitting(fact) < fact.fitting
