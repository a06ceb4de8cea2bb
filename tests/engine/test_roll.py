"""Whoever follows what has changed knows what somebody knows who looks at everything."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest

from tests import builders
from tests.builders import SCHEME, changed, machine, node, pod, provisioner
from tests.engine.pieces import csi_node, daemon_pod, daemon_set, in_flight, spec_of, uninitialized
from tests.engine.test_scenery_state import TYPES, State
from unmoor.engine.daemons import Daemons
from unmoor.engine.roll import Roll
from unmoor.engine.scene import Doubts
from unmoor.engine.scenery import Scenery, scene_of
from unmoor.model.base import Object
from unmoor.model.kinds import CSI_NODES, DAEMON_SETS, MACHINES, NODES, PODS, Resource
from unmoor.model.provisioner import Limits
from unmoor.model.snapshot import View
from unmoor.runtime.ports import Broken

NAMES = ("a", "b", "c")
NOBODY: frozenset[str] = frozenset()
LOST: tuple[Resource[Any], ...] = (CSI_NODES, DAEMON_SETS, MACHINES, NODES, PODS, PODS, PODS, PODS)


def anything(dice: random.Random) -> Object:
    """Some object of a small world: names and instances meet, and do not belong together always."""
    name, other = dice.choice(NAMES), dice.choice(NAMES)
    instance = dice.choice(("", f"{SCHEME}:///{other}", f"{SCHEME}:///{name}"))
    going = builders.NOW if dice.random() < 0.2 else None
    number = {"number": str(dice.randrange(3))}
    match dice.randrange(10):
        case 0:
            capacity: dict[str, str | int | float] = {"cpu": str(dice.randrange(3))}
            return node(
                name, labels=number, provider_id=instance, deleted_at=going, capacity=capacity
            )
        case 1:
            return uninitialized(name, labels=number)
        case 2:
            return machine(f"m-{name}", labels=number, provider_id=instance, deleted_at=going)
        case 3:
            return in_flight(dice.choice((f"m-{name}", name)), provider_id=instance)
        case 4:
            return machine(
                dice.choice((f"m-{name}", name)), is_new=True, labels=number, deleted_at=going
            )
        case 5:
            return daemon_set("set", spec_of({"cpu": f"{dice.randrange(3)}"}))
        case 6:
            made = daemon_pod(f"daemon-{name}", on=other, owner="set")
            return changed(
                made,
                metadata__creation_timestamp=builders.NOW - timedelta(dice.randrange(2)),
                metadata__deletion_timestamp=going,
                metadata__labels=number,
                status__phase=dice.choice(("Running", "Running", "Failed")),
                spec__containers=spec_of({"cpu": f"{dice.randrange(3)}"}).containers,
            )
        case 7:
            return csi_node(name, ebs=dice.randrange(9))
        case _:
            phase = dice.choice(("Running", "Running", "Failed"))
            on = dice.choice(("", name, other))
            return pod(f"pod-{dice.randrange(6)}", on=on, phase=phase, labels=number)


def changes(state: State, dice: random.Random) -> None:
    """Something comes, changes, goes, or can no longer be read."""
    for _ in range(dice.randrange(4)):
        kind = dice.choice(LOST)
        known = state.store.sorted(kind)
        match dice.randrange(5):
            case 0 if known:
                state.lose(dice.choice(known))
            case 1:
                name = f"pod-{dice.randrange(6)}"
                state.version += 1
                broken = Broken(
                    ref=PODS.ref(name, "shop", f"uid-pod-shop-{name}"),
                    problem="odd",
                    resource_version=str(state.version),
                    node=dice.choice((*NAMES, "")),
                )
                state.store.mark_broken(PODS, broken)
            case _:
                state.hear(anything(dice))


def asked_of(view: View, dice: random.Random) -> tuple[set[tuple[str, str]], frozenset[str]]:
    """Who is placed anew, and which nodes are late."""
    placing = {key for key in sorted(view.all(PODS)) if dice.random() < 0.15}
    return placing, frozenset(name for name in NAMES if dice.random() < 0.15)


@pytest.mark.parametrize("seed", range(40))
def test_who_follows_knows_what_is_there(seed: int) -> None:
    dice, state = random.Random(seed), State()
    last = state.store.freeze()
    roll, asking = Roll.of(last, (), NOBODY), Daemons(last)
    for _ in range(40):
        changes(state, dice)
        view = state.store.freeze()
        placing, late = asked_of(view, dice)
        before = dict(roll.sources)
        news = roll.follow(last, view, placing, late)
        assert news is not None
        asking.follow(last, view, news.left, news.come)
        anew, last = Roll.of(view, placing, late), view

        assert (roll.sources, roll.begun, roll.lost) == (anew.sources, anew.begun, anew.lost)
        assert asking.all == Daemons(view).all
        others = [
            key
            for key in before.keys() | roll.sources.keys()
            if before.get(key) is not roll.sources.get(key)
        ]
        assert set(others) <= set(news.places)


@pytest.mark.parametrize("seed", range(40))
def test_a_scene_that_is_followed_is_the_one_that_would_be_made_from_scratch(seed: int) -> None:
    limits = Limits(resources={"cpu": "9"})
    limited = changed(provisioner(), spec__limits=limits)
    dice, state, scenery = random.Random(seed), State(limited), Scenery()
    for _ in range(40):
        changes(state, dice)
        view = state.store.freeze()
        placing, late = asked_of(view, dice)
        without = [name for name in (*NAMES, "m-a") if dice.random() < 0.1]
        doubts = Doubts(late=late)
        found = scenery.scene_of(view, TYPES, without=without, placing=placing, doubts=doubts)

        expected = scene_of(view, TYPES, without=without, placing=placing, doubts=doubts)
        assert found == expected


def test_who_follows_looks_only_at_what_has_changed() -> None:
    state = State(*(node(name) for name in NAMES), *(machine(f"m-{name}") for name in NAMES))
    last = state.store.freeze()
    roll = Roll.of(last, (), NOBODY)
    state.hear(pod("new", on="b"))
    news = roll.follow(last, state.store.freeze(), (), NOBODY)

    assert news is not None
    assert (news.places, [one.name for one in news.come]) == ([(True, "b")], ["new"])


def test_of_another_store_nobody_knows_what_has_changed() -> None:
    last = State(node("a")).store.freeze()
    roll = Roll.of(last, (), NOBODY)
    before = dict(roll.sources)

    assert roll.follow(last, State(node("b")).store.freeze(), (), NOBODY) is None
    assert roll.sources == before
