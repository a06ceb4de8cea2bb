"""A scene that is asked many times says each time what the oracle says of a fresh one."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, cast

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from tests.engine.crowds import Dice, some_pods, some_scene
from tests.engine.scenes import ZONES, place, pod, scene, template
from tests.engine.stored import DRIVER, OBJECTS
from unmoor.engine import oracle
from unmoor.engine.bulk.whatif import WhatIf
from unmoor.engine.refusal import Constraint
from unmoor.engine.scene import Place, Scene
from unmoor.model import names
from unmoor.model.pod import Pod
from unmoor.model.taint import Taint

PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)


def everybody(pod: Pod) -> bool:
    """Random pods have no owners: they all move."""
    del pod
    return True


def a_full_scene(dice: Dice) -> Scene:
    """A random scene whose nodes also have the pods that are pending elsewhere."""
    on, pods = some_scene(dice), some_pods(dice)
    places: list[Place] = []
    for at, one in enumerate(on.places):
        more = [
            msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=one.name))
            for pod in pods[at :: len(on.places)]
        ]
        capacity = {"cpu": 1000 * (1 + dice.number(3)), "pods": 5}
        places.append(
            msgspec.structs.replace(
                one,
                pods=(*one.pods, *more),
                provisioner=dice.one(("p0", "", "p1")),
                capacity=capacity,
            )
        )
    return msgspec.structs.replace(on, places=tuple(places))


def questions(on: Scene, dice: Dice) -> Iterator[tuple[str, ...]]:
    """Each node alone, some together, in an order of their own, some twice."""
    known = [*(one.name for one in on.places), *(one.name for one in on.started)]
    if not known:
        return
    yield from ((name,) for name in known)
    for _ in range(3):
        yield tuple(dict.fromkeys(dice.one(known) for _ in range(1 + dice.number(2))))
    yield from ((name,) for name in reversed(known))


def state_of(asked: WhatIf) -> list[Any]:
    """All that a question changes, and must put back."""
    if asked._compiled is None:  # Nothing was kept: the only questions were of another kind.
        return []
    found = asked._compiled.greedy
    ground = found.ground
    tallies = [
        (
            tally.number,
            {name: (int(a), int(b), int(c)) for name, a, b, c in _counts(tally) if a or b or c},
            tally.total,
            tally.is_live,
        )
        for tally in found.counting._book.all
    ]
    sites = [
        (site.name, [pod.key for pod in site.pods], site.free, site.held, site.attached)
        for site in ground.standing
    ]
    rows = (ground.free.tolist(), ground.is_open.tolist())
    return [tallies, sites, rows, dict(ground.gone)]


def _counts(tally: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    tally.grow()
    return zip(tally.domains.names, tally.certain, tally.possible, tally.sites, strict=False)


SEEDS = st.integers(min_value=0, max_value=2**32)
"""Bytes that hypothesis makes are mostly plain; here they are to be as different as can be."""


def dice_of(seed: int) -> Dice:
    """Enough bytes for a scene and questions."""
    return Dice(Random(seed).randbytes(900))


def forget(asked: WhatIf) -> None:
    """Have each question worked out anew, whatever was asked before."""
    asked._answers.clear()
    asked._stuck.clear()


def answers_as_the_oracle(asked: WhatIf, on: Scene, gone: tuple[str, ...]) -> None:
    forget(asked)
    expected = oracle.solve(on.without(gone), asked.moved(gone))
    hopeless = asked.hopeless(gone) if len(gone) == 1 else {}
    found = asked.without(gone)

    assert {stuck.pod for stuck in hopeless.values()} <= expected.refused.keys()
    assert list(found.placements.items()) == list(expected.placements.items())
    assert found.machines == expected.machines
    assert found.given_up == expected.given_up
    assert list(found.refused) == list(expected.refused)


@settings(max_examples=40, deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck))
@given(SEEDS)
def test_each_question_is_answered_as_by_the_oracle(seed: int) -> None:
    dice = dice_of(seed)
    on = a_full_scene(dice)
    asked = WhatIf(on, everybody)

    for gone in questions(on, dice):
        answers_as_the_oracle(asked, on, gone)


@settings(max_examples=30, deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck))
@given(SEEDS)
def test_after_a_question_everything_is_as_before(seed: int) -> None:
    on = a_full_scene(dice_of(seed))
    asked = WhatIf(on, everybody)
    nodes = [one.name for one in on.places]
    for name in nodes:
        asked.without([name])  # Makes every tally that is ever asked for.
    before = state_of(asked)

    for name in nodes:
        forget(asked)
        asked.without([name])

        assert state_of(asked) == before


def with_other_pods(on: Scene, dice: Dice) -> Scene:
    """The scene a little later: pods have moved, come and gone."""
    places = list(on.places)
    for _ in range(1 + dice.number(2)):
        at, to = dice.number(len(places) - 1), dice.number(len(places) - 1)
        going = places[at].pods[: 1 + dice.number(1)]
        coming = [_moved(pod, places[to].name) for pod in (*going, *some_pods(dice)[:2])]
        places[at] = msgspec.structs.replace(
            places[at], pods=tuple(pod for pod in places[at].pods if pod not in going)
        )
        taken = {pod.key for place in places for pod in place.pods}
        by_key = {pod.key: pod for pod in coming if pod.key not in taken}
        coming = list(by_key.values())
        places[to] = msgspec.structs.replace(places[to], pods=(*places[to].pods, *coming))
    return msgspec.structs.replace(on, places=tuple(places))


def _moved(one: Pod, where: str) -> Pod:
    return msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, node_name=where))


def with_other_nodes(on: Scene, dice: Dice) -> Scene:
    """The scene after one of the things that are not about pods."""
    places, at = list(on.places), dice.number(len(on.places) - 1)
    match dice.number(4):
        case 0:
            del places[at]
        case 1:
            places[at] = msgspec.structs.replace(places[at], is_cordoned=True)
        case 2:
            places[at] = msgspec.structs.replace(
                places[at], labels={**places[at].labels, names.ZONE: dice.one(ZONES)}
            )
        case 3:
            return msgspec.structs.replace(on, templates=on.templates[1:])
        case _:
            return msgspec.structs.replace(on, started=on.started[1:])
    return msgspec.structs.replace(on, places=tuple(places))


@settings(max_examples=40, deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck))
@given(SEEDS)
def test_a_scene_that_changes_is_answered_as_one_that_is_new(seed: int) -> None:
    dice = Dice(Random(seed).randbytes(3000))
    on = a_full_scene(dice)
    assume(on.places)
    asked = WhatIf(on, everybody)
    for _ in range(4):
        answers_as_the_oracle(asked, on, (on.places[0].name,))
        is_about_pods = dice.number(4) > 0 or len(on.places) < 2
        on = with_other_pods(on, dice) if is_about_pods else with_other_nodes(on, dice)
        asked.follow(on)

        for one in on.places[:3]:
            answers_as_the_oracle(asked, on, (one.name,))
        names_of = [one.name for one in on.places]
        assert asked.hopeless(names_of) == WhatIf(on, everybody).hopeless(names_of)


def test_only_rows_with_other_pods_are_made_anew() -> None:
    on = scene(*(place(name, "", pod(f"on-{name}", node=name), cpu="8") for name in "abc"))
    asked = WhatIf(on, everybody)
    asked.without(["a"])
    compiled = asked._compiled
    assert compiled is not None
    sites = list(compiled[0].ground.standing)
    fuller = msgspec.structs.replace(on.places[1], pods=(*on.places[1].pods, pod("b", cpu="7")))

    asked.follow(msgspec.structs.replace(on, places=(on.places[0], fuller, on.places[2])))

    assert asked._compiled is compiled
    now = compiled[0].ground.standing
    assert [one is other for one, other in zip(sites, now, strict=True)] == [True, False, True]


@pytest.mark.parametrize("room_before", [{DRIVER: 1}, {}], ids=["full before", "told later"])
def test_volumes_still_count_where_other_pods_have_changed(room_before: dict[str, int]) -> None:
    def using(name: str, claim: str, node: str) -> Pod:
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
        return pod(name, node=node, volumes=[volume])

    there, mover = using("there", "waiting", "a"), using("mover", "mine", "b")
    on = scene(
        place("a", ZONES[0], there, volume_room=room_before),
        place("b", ZONES[0], mover),
        objects=OBJECTS,
    )
    asked = WhatIf(on, everybody)
    asked.without(["b"])
    later = place("a", ZONES[0], there, pod("new", node="a"), volume_room={DRIVER: 1})
    on = msgspec.structs.replace(on, places=(later, on.places[1]))
    asked.follow(on)

    assert asked.is_ready
    assert list(asked.without(["b"]).refused) == [mover.key]
    answers_as_the_oracle(asked, on, ("b",))


def test_what_is_not_asked_for_yet_gets_a_column() -> None:
    on = scene(place("a", "", pod("one", node="a"), cpu="8"), place("b", "", cpu="8"))
    asked = WhatIf(on, everybody)
    asked.without(["a"])
    gpu = pod("gpu", node="a", requests={"example.com/gpu": "1"})
    later = msgspec.structs.replace(
        on, places=(msgspec.structs.replace(on.places[0], pods=(gpu,)), on.places[1])
    )
    asked.follow(later)

    assert list(asked.without(["a"]).refused) == [gpu.key]


def test_after_an_exception_in_the_middle_the_next_answer_is_right() -> None:
    trouble = {"on-b"}

    def moves(one: Pod) -> bool:
        if one.name in trouble:
            raise RuntimeError(one.name)
        return True

    on = scene(*(place(name, "", pod(f"on-{name}", node=name), cpu="8") for name in "ac"))
    asked = WhatIf(on, moves)
    asked.without(["a"])
    other = msgspec.structs.replace(on.places[1], pods=(pod("on-b", node="c", cpu="8"),))
    later = msgspec.structs.replace(on, places=(on.places[0], other))

    with pytest.raises(RuntimeError, match="on-b"):
        asked.follow(later)
    trouble.clear()

    answers_as_the_oracle(asked, later, ("a",))
    answers_as_the_oracle(asked, later, ("c",))


def test_reasons_are_those_of_the_oracle() -> None:
    alone = pod("a", node="full", cpu="40")
    on = scene(place("full", "", alone, cpu="48"), place("small", ""), place("other", "", cpu="8"))
    asked = WhatIf(on, everybody)

    found = asked.without(["full"]).refused
    asked.without(["other"])

    assert dict(found) == dict(oracle.solve(on.without(["full"]), [alone]).refused)
    assert found[alone.key][0].constraint == Constraint.RESOURCES
    with pytest.raises(KeyError):
        found["", "nobody"]


def test_reasons_of_many_questions_keep_one_simulation() -> None:
    nodes = [place(name, "", pod(f"on-{name}", node=name, cpu="40"), cpu="48") for name in "abc"]
    on = scene(*nodes)
    asked = WhatIf(on, everybody)
    plans = {name: asked.without([name]) for name in "abc"}
    assert asked._explaining is None, "until somebody reads a reason it costs nothing"

    for name, plan in plans.items():
        expected = oracle.solve(on.without([name]), asked.moved([name])).refused
        assert dict(plan.refused) == dict(expected)
    kept = asked._explaining

    assert [len(plan.refused[key]) for plan in plans.values() for key in plan.refused] == [1, 1, 1]
    assert asked._explaining is kept, "what was read once is not worked out again"


def test_only_the_latest_answers_are_remembered() -> None:
    asked = WhatIf(scene(*(place(name) for name in "abc")), answers_max=2)
    a, b = asked.without(["a"]), asked.without(["b"])
    assert asked.without(["a"]) is a

    asked.without(["c"])

    assert asked.without(["b"]) is b
    assert asked.without(["a"]) is not a


def test_what_limits_leave_grows_by_what_goes() -> None:
    web = pod("a", node="old", cpu="3")
    old = place("old", ZONES[0], web, cpu="4", provisioner="default", capacity={"cpu": 4000})
    on = scene(old, template(remaining={"cpu": 1000}))

    found = WhatIf(on, everybody).without(["old"])

    assert [one.pods for one in found.machines] == [(web.key,)]
    assert found == oracle.solve(on.without(["old"]), [web])


def test_the_last_soft_taint_goes_with_its_node() -> None:
    soft = (Taint(key="old", effect="PreferNoSchedule"),)
    on = scene(
        place("soft", ZONES[0], pod("a", node="soft"), taints=soft),
        place("plain", ZONES[0], pod("b", node="plain", cpu="31"), cpu="32"),
        place("other", ZONES[0]),
    )
    asked = WhatIf(on, everybody)

    for gone in ("soft", "plain", "soft"):
        forget(asked)

        assert asked.without([gone]) == oracle.solve(on.without([gone]), asked.moved([gone]))


def test_an_exception_discards_what_was_kept_and_nothing_else() -> None:
    broken = pod("broken", node="b")
    spec = msgspec.structs.replace(broken.spec, topology_spread_constraints=cast("Any", 7))
    on = scene(
        place("a", "", pod("web", node="a")),
        place("b", "", msgspec.structs.replace(broken, spec=spec)),
        place("c"),
    )
    asked = WhatIf(on, everybody)
    before = asked.without(["a"])
    with pytest.raises(TypeError):
        asked.without(["b"])

    assert asked._compiled is None
    forget(asked)
    assert asked.without(["a"]) == before


def test_pods_that_belong_to_their_node_do_not_move() -> None:
    static = pod("static", node="a")
    meta = msgspec.structs.replace(static.metadata, annotations={names.MIRROR_POD: "x"})
    mirror = msgspec.structs.replace(static, metadata=meta)
    on = scene(place("a", "", mirror, pod("web", node="a")), place("b"))

    assert list(WhatIf(on).without(["a"]).placements) == [("default", "web")]


def test_a_node_and_a_machine_of_one_name_go_together_with_all_their_pods() -> None:
    node = place("x", ZONES[0], pod("web", node="x"), cpu="2")
    machine = place("x", ZONES[1], is_node=False, is_initialized=False)
    on = scene(node, machine, place("b", cpu="8"))
    asked = WhatIf(on)

    assert [one.name for one in asked.moved(["x", "x"])] == ["web"]
    assert dict(asked.without(["x"]).placements) == {("default", "web"): "b"}
    assert asked.hopeless(["x"]) == {}
