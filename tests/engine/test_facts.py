"""What is a fact for the real kube-scheduler is one for the oracle, unless a rule is stricter."""

from __future__ import annotations

import pytest

from tests.engine import planted
from tests.engine.planted import Engine
from tests.facts import reading
from tests.facts.fact import Fact
from tests.facts.stricter import DIFFERENCES
from tests.facts.table import FACTS


def fitting(fact: Fact, engine: Engine = planted.sound) -> set[str]:
    """Where the oracle of ``engine`` would put the pod, preferences aside."""
    wishes, judge, oracle = engine("wish"), engine("judge"), engine("oracle")
    view = reading.view_of([*fact.cluster, *reading.own_claims(fact.pod)])
    pod = reading.read_pod(fact.pod)
    level = wishes.levels_of(pod, has_soft_taints=True)
    wish = wishes.wish_of(pod, view, level, has_soft_taints=True)
    places = engine("scenery").scene_of(view, ()).places
    sites = [engine("sites").Standing(place, view) for place in places]
    others = engine("company").company_of(wish, view, sites, {})
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
