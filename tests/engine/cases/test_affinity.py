"""Pods that want to be near others, or apart from them (T348-T363)."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from tests.engine.rounds import Rounds
from tests.engine.scenes import (
    WEB,
    ZONES,
    as_object,
    place,
    pod,
    preferred,
    required,
    some,
    spread,
    template,
    term,
)
from unmoor.engine.plan import Plan
from unmoor.model import names
from unmoor.model.cluster import Namespace
from unmoor.model.pod import Pod

ZONE, HOST, ARCH = names.ZONE, names.HOSTNAME, names.ARCH
ONE, TWO, THREE = ZONES
OTHER = {"app": "other"}
LARGE: dict[str, Any] = {"cpu": "2"}
SMALL: dict[str, Any] = {"cpu": "1"}
"""Larger pods are placed first."""


def near(key: str = HOST, labels: dict[str, str] = WEB, **more: Any) -> Any:
    return {"podAffinity": required(term(key, labels, **more))}


def apart(key: str = HOST, labels: dict[str, str] = WEB) -> Any:
    return {"podAntiAffinity": required(term(key, labels))}


def in_zone(*zones: str) -> Any:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}
    terms = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def placed(plan: Plan) -> set[str]:
    return {name for _, name in plan.placements}


def where(plan: Plan, pods: list[Pod]) -> set[str]:
    return {plan.placements[one.key] for one in pods}


def each_in_its_zone(**about: Any) -> list[Pod]:
    return [pod(f"pinned-{zone}", nodeSelector={ZONE: zone}, **about) for zone in ZONES]


@pytest.mark.parametrize("affinity", [{"podAffinity": {}}, {"podAntiAffinity": {}}])
def test_t348_affinity_that_says_nothing_asks_nothing(affinity: Any) -> None:
    assert placed(Rounds(template()).play(pod("p", affinity=affinity))) == {"p"}


def test_t349_a_follower_finds_its_target_among_others() -> None:
    others = some(10, "other", labels=OTHER, topologySpreadConstraints=[spread(HOST, labels=OTHER)])
    target, follower = pod("target", labels=WEB), pod("follower", affinity=near())

    plan = Rounds(template()).play(*others, target, follower)

    assert not plan.refused
    assert len(where(plan, others)) == 10
    assert plan.placements[follower.key] == plan.placements[target.key]


def test_t350_near_may_mean_of_the_same_architecture() -> None:
    on_arm: dict[str, Any] = {"nodeSelector": {ARCH: "arm64"}}
    hosts = [spread(HOST)]
    target = pod("target", labels=WEB, topologySpreadConstraints=hosts, **LARGE, **on_arm)
    follower = pod(
        "follower", labels=WEB, topologySpreadConstraints=hosts, affinity=near(ARCH), **SMALL
    )
    played = Rounds(template())

    played.play(target, follower)

    assert played.by_domain(ARCH) == {"arm64": 2}
    assert played.counts(HOST) == [1, 1]


def test_t351_those_that_want_to_be_together_on_one_host_are() -> None:
    played = Rounds(template())

    plan = played.add(3, labels=WEB, affinity=near())

    assert not plan.refused
    assert played.counts(HOST) == [3]


def test_t351_when_it_is_full_the_rest_waits() -> None:
    played = Rounds(template())
    first = played.add(10, labels=WEB, affinity=near())
    second = played.add(10, labels=WEB, affinity=near())

    assert (len(first.placements), len(first.refused)) == (5, 5)
    assert (len(second.placements), len(second.refused)) == (0, 10)


def test_t351_who_cannot_follow_into_the_zone_of_the_first_waits() -> None:
    played = Rounds(template())
    played.play(pod("first", labels=WEB, nodeSelector={ZONE: ONE}))

    plan = played.play(*some(3, "later", labels=WEB, affinity={**near(), **in_zone(TWO, THREE)}))

    assert len(plan.refused) == 3


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({}, None, id="T352"),  # T352
        pytest.param(in_zone(THREE), THREE, id="T352 in a zone that is named"),
    ],
)
def test_those_that_want_to_be_together_in_one_zone_are(more: Any, expected: str | None) -> None:
    played = Rounds(template())
    constrained: dict[str, Any] = {"labels": WEB, "affinity": {**near(ZONE), **more}}

    plan = played.add(3, **constrained, topologySpreadConstraints=[spread(HOST)])

    assert not plan.refused
    assert played.counts(HOST) == [1, 1, 1]
    ((zone, count),) = played.by_domain(ZONE).items()
    assert (expected or zone, count) == (zone, 3)


def test_t353_a_wish_to_be_near_nobody_is_given_up() -> None:
    lonely = pod("lonely", affinity={"podAffinity": preferred(term(HOST, OTHER))})

    plan = Rounds(template()).play(pod("p", labels=WEB), lonely)

    assert placed(plan) == {"p", "lonely"}
    assert list(plan.given_up) == [lonely.key]


def test_t353_a_wish_to_be_apart_is_given_up() -> None:
    """On one label that all nodes share."""
    wish = {"podAntiAffinity": preferred(term(names.OS))}
    played = Rounds(template())

    plan = played.add(4, labels=WEB, affinity=wish)

    assert not plan.refused
    assert len(plan.given_up) == 3


def test_t354_two_that_must_be_apart_are_ten_times_over() -> None:
    for _ in range(10):
        played = Rounds(template())
        played.add(2, labels=WEB, affinity=apart())

        assert played.counts(HOST) == [1, 1]


def test_t355_where_they_may_be_everywhere_the_averse_one_waits() -> None:
    averse = pod("averse", affinity=apart(ZONE), **SMALL)

    plan = Rounds(template()).play(*each_in_its_zone(labels=WEB, **LARGE), averse)

    assert list(plan.refused) == [averse.key]


def test_t355_where_one_may_be_anywhere_the_averse_one_waits() -> None:
    averse = pod("averse", affinity=apart(ZONE), **SMALL)

    plan = Rounds(template()).play(pod("somewhere", labels=WEB, **LARGE), averse)

    assert list(plan.refused) == [averse.key]


def test_t355_an_averse_one_that_may_be_anywhere_keeps_others_away_until_it_is_known_where() -> (
    None
):
    averse, other = pod("averse", affinity=apart(ZONE), **LARGE), pod("other", labels=WEB, **SMALL)
    played = Rounds(template())

    first = played.play(averse, other)
    second = played.play(other)

    assert list(first.refused) == [other.key]
    assert not second.refused
    assert played.counts(ZONE, {}) == [1, 1]


def test_t355_averse_ones_everywhere_keep_others_away() -> None:
    other = pod("other", labels=WEB, **SMALL)

    plan = Rounds(template()).play(*each_in_its_zone(affinity=apart(ZONE), **LARGE), other)

    assert list(plan.refused) == [other.key]


def test_t356_apart_may_mean_of_another_architecture() -> None:
    played = Rounds(template())
    hosts: dict[str, Any] = {"labels": WEB, "topologySpreadConstraints": [spread(HOST)]}

    played.play(
        pod("target", nodeSelector={ARCH: "arm64"}, **hosts, **LARGE),
        pod("averse", affinity=apart(ARCH), **hosts, **SMALL),
    )

    assert played.by_domain(ARCH) == {"arm64": 1, "amd64": 1}


WOULD_RATHER = {"podAntiAffinity": preferred(term(ZONE))}


@pytest.mark.parametrize(
    ("affinity", "is_kept_away"),
    [
        pytest.param(apart(ZONE), True, id="T357 a must"),
        pytest.param(WOULD_RATHER, False, id="T357 a wish"),
    ],
)
@pytest.mark.parametrize("rounds", [1, 2])
def test_t357_aversion_works_both_ways(affinity: Any, rounds: int, *, is_kept_away: bool) -> None:
    played = Rounds(template())
    averse, other = each_in_its_zone(affinity=affinity, **LARGE), pod("other", labels=WEB, **SMALL)
    if rounds == 2:
        played.play(*averse)
        averse = []

    plan = played.play(*averse, other)

    assert list(plan.refused) == ([other.key] if is_kept_away else [])


def test_t358_spreading_wins_over_a_wish_to_be_near() -> None:
    wish = {"podAffinity": preferred(term(HOST))}
    played = Rounds(template())

    played.add(3, labels=WEB, affinity=wish, topologySpreadConstraints=[spread(HOST)])

    assert played.counts(HOST) == [1, 1, 1]


def test_t359_zones_fill_one_in_each_round() -> None:
    played = Rounds(template())
    found = []
    for number in range(4):
        played.play(*some(3, f"round-{number}", labels=WEB, affinity=apart(ZONE)))
        found.append(played.counts(ZONE))

    assert found == [[1], [1, 1], [1, 1, 1], [1, 1, 1]]


def test_t360_who_is_to_be_near_nobody_waits() -> None:
    plan = Rounds(template()).add(10, affinity=near(ZONE))

    assert len(plan.refused) == 10


def test_t361_a_target_that_may_be_anywhere_is_joined_when_it_is_known_where() -> None:
    target = pod("target", labels=WEB, **LARGE)
    followers = some(10, "follower", affinity=near(ZONE))
    played = Rounds(template())

    first = played.play(target, *followers)
    second = played.play(*followers)

    assert placed(first) == {"target"}
    assert not second.refused
    assert played.counts(ZONE, {}) == [11]


def test_t361_a_target_in_a_known_zone_is_joined_at_once() -> None:
    target = pod("target", labels=WEB, nodeSelector={ZONE: ONE}, **LARGE)
    played = Rounds(template())

    plan = played.play(target, *some(10, "follower", affinity=near(ZONE)))

    assert not plan.refused
    assert played.by_domain(ZONE, {}) == {ONE: 11}


CHAIN = [("db", ""), ("web", "db"), ("cache", "web"), ("ui", "cache")]


def chain(*, of: list[tuple[str, str]], key: str = HOST) -> list[Pod]:
    return [
        pod(
            name,
            labels={"app": name},
            **({"affinity": near(key, {"app": target})} if target else {}),
        )
        for name, target in of
    ]


@pytest.mark.parametrize("seed", range(50))
def test_t362_a_chain_is_resolved_in_whatever_order(seed: int) -> None:
    pods = chain(of=CHAIN)
    random.Random(seed).shuffle(pods)
    named = [as_created(one, at) for at, one in enumerate(pods)]

    plan = Rounds(template()).play(*named)

    assert not plan.refused
    assert len(where(plan, named)) == 1


def as_created(one: Pod, at: int) -> Pod:
    """Equal pods are tried in the order of their uids."""
    metadata = msgspec.structs.replace(one.metadata, uid=f"uid-{at:02}")
    return msgspec.structs.replace(one, metadata=metadata)


def test_t362_a_chain_without_an_end_waits() -> None:
    plan = Rounds(template()).play(*chain(of=[("db", "nobody"), *CHAIN[1:]]))

    assert len(plan.refused) == 4


@pytest.mark.parametrize(
    ("more", "is_found"),
    [
        pytest.param({}, False, id="T363 in its own namespace there is none"),
        pytest.param({"namespaces": ["other"]}, True, id="T363 named"),
        pytest.param({"namespaceSelector": {}}, True, id="T363 all"),
    ],
)
def test_t363_namespaces(more: dict[str, Any], *, is_found: bool) -> None:
    namespaces = [
        as_object(Namespace, {"metadata": {"name": name}}) for name in ("default", "other")
    ]
    target = pod("target", labels=WEB, namespace="other")
    follower = pod("follower", affinity=near(**more))
    played = Rounds(template(), place("apart", ONE, room="0"), objects=namespaces)

    plan = played.play(
        *some(3, "filler", labels=OTHER, topologySpreadConstraints=[spread(HOST, labels=OTHER)]),
        target,
        follower,
    )

    assert (follower.key in plan.placements) == is_found
    assert is_found == (plan.placements.get(follower.key) == plan.placements[target.key])
