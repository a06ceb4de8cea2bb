"""Every kind of constraint is one that random scenes have, and that facts are told about.

So whoever adds one and forgets the facts, of which random scenes are drawn, hears of it here, and
the fast engine is held to the oracle with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

from tests.engine import census
from tests.engine.crowds import Dice, some_pods, some_promises, some_scene
from tests.engine.test_facts import view_of
from tests.facts import reading
from tests.facts.table import FACTS
from unmoor.engine import judge, oracle
from unmoor.engine.held import KINDS, Held, collisions
from unmoor.engine.oracle import Run
from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.scene import Scene
from unmoor.engine.scenery import scene_of
from unmoor.model.pod import Pod

SCENES_MAX = 400
LEAST = 4
"""Each kind is in so many of them at least: enough that `make thorough` has it many times."""
OF_MACHINES = {
    Constraint.REQUIREMENTS,
    Constraint.INSTANCE_TYPE,
    Constraint.LIMITS,
    Constraint.PROVISIONER,
    Constraint.ON_HOLD,
}
"""Those that no node knows, so that there is no fact about them."""
OF_PODS = {Constraint.DEVICE, Constraint.GATE}
"""Those for which no node is asked."""
OF_OURS = {Constraint.INVALID}
"""What the API server would not have let in, or is too much for us alone."""


def scenes() -> Iterator[tuple[Scene, list[Pod]]]:
    for seed in range(SCENES_MAX):
        dice = Dice(Random(seed).randbytes(400))
        scene, pods = some_scene(dice), some_pods(dice)
        yield some_promises(dice, scene, pods), pods


def refusals_at(scene: Scene, pod: Pod) -> Iterator[Refusal]:
    """All that speaks against a pod anywhere, on nodes that have only what they had."""
    run = Run(scene)
    wish = run.wish(pod, 0)
    company = run.company(wish)
    yield from judge.own_refusals(wish)
    for site in run.standing:
        yield from oracle.standing_refusals(wish, company, site)


def test_random_scenes_have_every_kind_often_enough() -> None:
    met = Counter[str]()

    for scene, pods in scenes():
        kinds = census.kinds_in(scene, pods, oracle.solve(scene, pods))
        kinds |= {one.constraint.value for pod in pods for one in refusals_at(scene, pod)}
        met.update(kinds)

    assert census.rare(met, LEAST) == {}


def test_a_kind_that_no_scene_has_is_told() -> None:
    met = dict.fromkeys(census.KINDS, LEAST) | {"volumes.ephemeral": LEAST - 1}

    assert census.rare(met, LEAST) == {"volumes.ephemeral": LEAST - 1}


def test_random_scenes_break_every_rule_of_nodes_and_collide_over_everything_held() -> None:
    rules, kinds = set(judge.NODE_RULES), set(KINDS)

    for scene, pods in scenes():
        run = Run(scene)
        for wish in (run.wish(pod, 0) for pod in pods):
            for place in scene.places:
                rules -= {rule for rule in rules if tuple(rule.refusals(wish, place))}
                kinds -= {kind for kind in kinds if _collide(kind, wish.pod, place.pods)}
        if not rules and not kinds:
            break

    assert (rules, kinds) == (set(), set())


def _collide(kind: Callable[[Pod], tuple[Held, ...]], pod: Pod, others: tuple[Pod, ...]) -> bool:
    return bool(collisions(kind(pod), [one for other in others for one in kind(other)]))


def test_there_are_facts_about_every_kind() -> None:
    found = {one.constraint for name in FACTS for one in _refusals_of_fact(name)}

    assert found == set(Constraint) - OF_MACHINES - OF_OURS


def test_the_words_of_every_kind_are_those_of_a_fact() -> None:
    told = {
        one.constraint
        for name in FACTS
        for one in _refusals_of_fact(name)
        if (because := FACTS[name]().because) and because in one.constraint.said
    }
    by_nodes = set(Constraint) - OF_MACHINES - OF_OURS - OF_PODS

    assert told == by_nodes - {Constraint.RESOURCES}


def _refusals_of_fact(name: str) -> Iterator[Refusal]:
    fact = FACTS[name]()
    scene = scene_of(view_of(fact), ())
    yield from refusals_at(scene, reading.read_pod(fact.pod))
