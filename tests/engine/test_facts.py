"""What is a fact for the real kube-scheduler is one for us, unless a rule of ours is stricter."""

from __future__ import annotations

import pytest

from tests.engine import planted
from tests.engine.planted import Engine
from tests.facts import reading
from tests.facts.exceptions import AGREED, DIFFERENCES
from tests.facts.fact import Fact
from tests.facts.table import FACTS
from unmoor.engine import solving
from unmoor.engine.scenery import scene_of
from unmoor.model.snapshot import View


def view_of(fact: Fact) -> View:
    return reading.view_of(fact.cluster, coming=[fact.pod])


def fitting(fact: Fact, engine: Engine = planted.sound) -> set[str]:
    """Where the oracle of ``engine`` would put the pod, preferences aside."""
    wishes, judge, oracle = engine("wish"), engine("judge"), engine("oracle")
    view = view_of(fact)
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


@pytest.mark.parametrize("name", AGREED)
def test_the_oracle_agrees(name: str) -> None:
    fact = FACTS[name]()

    assert fitting(fact) == fact.fitting


@pytest.mark.parametrize("name", DIFFERENCES)
def test_where_it_does_not_it_is_stricter(name: str) -> None:
    fact, (_, fits) = FACTS[name](), DIFFERENCES[name]

    assert fitting(fact) == set(fits.split())
    assert fitting(fact) < fact.fitting


@pytest.mark.parametrize("name", FACTS)
def test_the_fast_engine_puts_it_where_the_oracle_would(name: str) -> None:
    fact = FACTS[name]()
    pod = reading.read_pod(fact.pod)

    plan = solving.solve(scene_of(view_of(fact), ()), [pod])

    assert set(plan.placements.values()) <= fitting(fact)
    assert (pod.key in plan.refused) == (not fitting(fact))
