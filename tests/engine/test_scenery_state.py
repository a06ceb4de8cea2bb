"""What the scene has while objects come, change and go, in whatever order they are heard of."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests import builders
from tests.builders import changed, machine, node, pod, provisioner
from tests.engine.pieces import (
    asking,
    csi_node,
    daemon_pod,
    daemon_set,
    in_flight,
    instance_type,
    spec_of,
    uninitialized,
)
from unmoor.engine.oracle import solve
from unmoor.engine.refusal import Constraint
from unmoor.engine.requests import requests_of
from unmoor.engine.scene import Place
from unmoor.engine.scenery import Scenery, scene_of
from unmoor.model import names, resources
from unmoor.model.base import Object
from unmoor.model.kinds import KIND_OF, KINDS, PODS
from unmoor.model.pod import Pod
from unmoor.model.provisioner import Limits
from unmoor.model.scheduling import (
    Affinity,
    ClaimSource,
    Container,
    ContainerPort,
    PodAffinity,
    PodAffinityTerm,
    Volume,
    WeightedPodAffinityTerm,
)
from unmoor.model.selector import LabelSelector
from unmoor.model.taint import Taint
from unmoor.runtime.ports import Broken
from unmoor.runtime.store import Store

TYPES = (instance_type(),)
TAINT = Taint(key="example.org/mine", effect="NoSchedule")
WITH_VOLUME = pod(
    "db",
    volumes=(Volume(name="data", persistent_volume_claim=ClaimSource(claim_name="data")),),
)
WITH_PORT = changed(pod("lb"), spec__containers=(Container(ports=(ContainerPort(host_port=80),)),))


class State:
    """A store that numbers what it is told, as a server does, and its scenery."""

    def __init__(self, *objects: Object) -> None:
        self.store = Store(identity=builders.IDENTITY)
        self.scenery = Scenery()
        self.version = 0
        self.hear(*objects)

    def hear(self, *objects: Object) -> None:
        for obj in objects:
            self.version += 1
            newer = changed(obj, metadata__resource_version=str(self.version))
            self.store.put(KINDS[KIND_OF[type(obj)]], newer)

    def lose(self, obj: Object) -> None:
        self.version += 1
        gone = changed(obj, metadata__resource_version=str(self.version))
        self.store.drop(KINDS[KIND_OF[type(obj)]], gone)

    def places(self) -> dict[str, Place]:
        """What the kept scenery says; one that was kept nowhere must say the same."""
        view = self.store.freeze()
        kept = self.scenery.scene_of(view, TYPES)
        assert kept.places == scene_of(view, TYPES).places
        return {place.name: place for place in kept.places}

    def pods_on(self, name: str) -> list[str]:
        return [one.name for one in self.places()[name].pods]

    def used_on(self, name: str) -> dict[str, int]:
        return resources.total(requests_of(one) for one in self.places()[name].pods)


@pytest.mark.parametrize(
    "using",
    [
        pytest.param(WITH_VOLUME, id="T158"),  # T158
        pytest.param(WITH_PORT, id="T161"),  # T161
    ],
)
def test_what_a_pod_holds_is_still_there_after_its_node_has_changed(using: Pod) -> None:
    state = State(node("a"), csi_node("a", ebs=1), using)
    before = state.places()["a"]
    state.hear(node("a", labels={"new": "yes"}))
    after = state.places()["a"]

    assert after.labels["new"] == "yes"
    assert [one.spec for one in after.pods] == [using.spec]
    assert (after.pods, after.volume_room) == (before.pods, before.volume_room)


@pytest.mark.parametrize(
    "using",
    [
        pytest.param(WITH_VOLUME, id="T159"),  # T159
        pytest.param(WITH_PORT, id="host port"),
    ],
)
def test_what_a_pod_holds_is_still_there_after_its_machine_has_changed(using: Pod) -> None:
    state = State(node("a"), csi_node("a", ebs=1), using)
    before = state.places()["a"]
    state.hear(machine("m-a"))
    state.hear(machine("m-a", annotations={"new": "yes"}))

    assert state.places()["a"] == before


@pytest.mark.parametrize(
    "using",
    [
        pytest.param(WITH_VOLUME, id="T160"),  # T160
        pytest.param(WITH_PORT, id="host port"),
    ],
)
def test_a_pod_that_is_heard_of_again_holds_nothing_twice(using: Pod) -> None:
    """Although there is room for one of its kind only."""
    state = State(node("a"), csi_node("a", ebs=1), using)
    state.hear(using)
    state.hear(changed(using, metadata__annotations={"new": "yes"}))

    assert [one.spec for one in state.places()["a"].pods] == [using.spec]


def test_t177_a_pod_without_a_node_is_nowhere() -> None:
    assert State(node("a"), pod("new", on="")).pods_on("a") == []


def test_t178_a_pod_that_is_bound_is_on_its_node() -> None:
    state = State(node("a"), pod("new", on=""))
    state.hear(pod("new", on="a"))

    assert state.pods_on("a") == ["new"]


def test_t179_pods_that_were_bound_before_we_came_are_there() -> None:
    assert State(pod("one"), pod("two"), node("a")).pods_on("a") == ["one", "two"]


def test_t180_a_deleted_pod_holds_nothing() -> None:
    first, second = asking(pod("one"), cpu="1"), asking(pod("two"), cpu="2")
    state = State(node("a"), first, second)
    assert state.used_on("a") == {"cpu": 3000, "pods": 2}
    state.lose(first)

    assert state.used_on("a") == {"cpu": 2000, "pods": 1}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_t181_a_finished_pod_holds_nothing(phase: str) -> None:
    state = State(node("a"), asking(pod("one"), cpu="1"))
    state.hear(asking(pod("one", phase=phase), cpu="1"))

    assert state.used_on("a") == {}


def test_t182_a_deleted_node_is_forgotten() -> None:
    state = State(node("a"), node("b"))
    state.lose(node("a"))

    assert list(state.places()) == ["b"]
    assert state.scenery.kept == 1


def test_t183_a_pod_made_again_elsewhere_takes_its_share_along() -> None:
    """Nobody told us of the deletion in between."""
    state = State(node("a"), node("b"), asking(pod("db-0", uid="first"), cpu="1"))
    state.hear(asking(pod("db-0", uid="second", on="b"), cpu="1"))

    assert state.used_on("a") == {}
    assert state.used_on("b") == {"cpu": 1000, "pods": 1}


def test_t184_after_a_thousand_changes_the_sums_are_right() -> None:
    dice = random.Random(184)
    state = State(node("a"), node("b"))
    there: dict[str, Pod] = {}
    for number in range(1000):
        name = f"pod-{dice.randrange(40)}"
        gone = there.pop(name, None)
        if gone is not None:
            state.lose(gone)
        else:
            made = pod(name, uid=f"uid-{number}", on=dice.choice("ab"))
            there[name] = asking(made, cpu=f"{dice.randrange(1, 900)}m")
            state.hear(there[name])
        if number % 50 == 0:
            assert_sums(state, there)
    assert_sums(state, there)


def assert_sums(state: State, there: dict[str, Pod]) -> None:
    for name in "ab":
        wanted = resources.total(
            requests_of(one) for one in there.values() if one.node_name == name
        )
        assert state.used_on(name) == wanted


def test_t193_what_is_heard_in_the_wrong_order_comes_out_right() -> None:
    one, claimed = asking(pod("one"), cpu="1"), machine("m-a")
    state = State(one)
    assert state.places() == {}
    state.hear(node("a"))
    assert state.used_on("a") == {"cpu": 1000, "pods": 1}
    state.lose(node("a"))
    state.lose(one)
    state.hear(claimed, changed(node("a"), metadata__uid="uid-next"))

    assert state.used_on("a") == {}


def test_a_place_with_a_pod_that_cannot_be_read_offers_nothing() -> None:
    """Nobody knows how much of it is left."""
    state = State(node("a"), node("b"))
    broken = Broken(
        ref=PODS.ref("odd", "shop", "uid-odd"),
        problem="spec is a number",
        resource_version="9",
        node="a",
    )
    state.store.mark_broken(PODS, broken)

    assert state.places()["a"].allocatable == {}
    assert state.places()["b"].allocatable["cpu"] == 4000


# ------------------------------------------------------------------------------- who keeps apart


def web(name: str, **affinity: Any) -> Pod:
    """A pod that wants no other such pod on its node."""
    made = pod(name, on="", labels={"app": "web"})
    apart = PodAffinity(**affinity) if affinity else None
    return changed(made, spec__affinity=Affinity(pod_anti_affinity=apart))


TERM = PodAffinityTerm(
    topology_key=names.HOSTNAME, label_selector=LabelSelector(match_labels={"app": "web"})
)
SHY = changed(web("shy", required=(TERM,)), spec__node_name="a")


def against(state: State, newcomer: Pod) -> list[Constraint]:
    plan = solve(scene_of(state.store.freeze(), ()), [newcomer])
    return [one.constraint for one in plan.refused.get(newcomer.key, ())]


def test_t190_a_pod_that_must_be_apart_keeps_others_away() -> None:
    state = State(node("a"), SHY)

    assert against(state, web("new")) == [Constraint.POD_ANTI_AFFINITY]


def test_t191_a_pod_that_would_rather_be_apart_does_not() -> None:
    rather = (WeightedPodAffinityTerm(weight=1, pod_affinity_term=TERM),)
    state = State(node("a"), changed(web("shy", preferred=rather), spec__node_name="a"))

    assert against(state, web("new")) == []


def test_t192_when_it_is_gone_it_no_longer_does() -> None:
    state = State(node("a"), SHY)
    state.lose(SHY)

    assert against(state, web("new")) == []


# --------------------------------------------------------------------------------- what is kept


def test_a_place_that_did_not_change_is_kept() -> None:
    state = State(node("a"), node("b"), pod("one", on="a"), in_flight("m-c"))
    before = state.places()
    state.hear(pod("two", on="b"))
    after = state.places()

    assert [name for name in before if after[name] is before[name]] == ["a", "m-c"]


def test_a_place_that_was_left_out_is_kept() -> None:
    view = State(node("a"), node("b")).store.freeze()
    scenery = Scenery()
    before = scenery.scene_of(view, TYPES).places
    without = scenery.scene_of(view, TYPES, without=["a"]).places
    after = scenery.scene_of(view, TYPES).places

    assert [one.name for one in without] == ["b"]
    assert [one is other for one, other in zip(before, after, strict=True)] == [True, True]


def test_another_daemon_set_changes_every_place() -> None:
    state = State(node("a"), node("b"), in_flight("m-c"))
    state.places()
    state.hear(daemon_set("agent"))

    assert [place.reserved["cpu"] for place in state.places().values()] == [1000, 1000, 1000]
    state.hear(daemon_pod("agent-1", on="b"))
    assert [place.reserved.get("cpu") for place in state.places().values()] == [1000, None, 1000]


def test_the_same_question_gets_the_same_answer() -> None:
    objects: list[Any] = [node("b"), node("a"), pod("p", on="b"), daemon_set(), in_flight("m-z")]
    one, other = State(*objects), State(*reversed(objects))

    assert [place.name for place in one.places().values()] == ["a", "b", "m-z"]
    assert [(p.name, p.reserved) for p in one.places().values()] == [
        (p.name, p.reserved) for p in other.places().values()
    ]


# ---------------------------------------------------------------------- kept, and made from scratch


def anything(dice: random.Random, number: int) -> Object:
    """Some object of a small world, as it may be."""
    name = dice.choice("abc")
    match dice.randrange(11):
        case 9:
            return machine(f"m-{name}", is_new=True, labels={"number": str(dice.randrange(2))})
        case 10:
            cores = dice.choice((None, "0", "8", "a lot"))
            written = provisioner(name, weight=dice.choice((None, 1, 101)))
            limits = None if cores is None else Limits(resources={"cpu": cores})
            return changed(written, spec__limits=limits)
        case 0:
            gone = builders.NOW if dice.random() < 0.2 else None
            return node(name, deleted_at=gone, is_ready=dice.random() < 0.5)
        case 1:
            return uninitialized(name, labels={"number": str(number)})
        case 2:
            return machine(f"m-{name}", taints=(TAINT,) if dice.random() < 0.5 else ())
        case 3:
            return in_flight(f"m-{name}")
        case 4:
            return daemon_set(f"set-{name}", spec_of({"cpu": f"{dice.randrange(9)}"}))
        case 5:
            return csi_node(name, ebs=dice.randrange(9))
        case 6:
            return daemon_pod(f"daemon-{name}", on=dice.choice("abc"), owner=f"set-{name}")
        case _:
            phase = dice.choice(("Running", "Running", "Failed"))
            return pod(f"pod-{dice.randrange(6)}", on=dice.choice(("a", "b", "c", "")), phase=phase)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_kept_is_what_would_be_made_from_scratch(seed: int) -> None:
    dice, state = random.Random(seed), State()
    views = [state.store.freeze()]
    for number in range(60):
        obj = anything(dice, number)
        known = state.store.all(KINDS[KIND_OF[type(obj)]]).get(obj.key)
        if known is not None and dice.random() < 0.3:
            state.lose(known)
        else:
            state.hear(obj)
        views.append(state.store.freeze())
        # Mostly the latest, now and then an earlier one once more.
        view = views[-1] if dice.random() < 0.8 else dice.choice(views)
        without = dice.sample(["a", "b", "m-c"], dice.randrange(2))
        placing = set(dice.sample(sorted(view.all(PODS)), min(2, len(view.all(PODS)))))
        types = TYPES if dice.random() < 0.8 else (instance_type(is_available=False),)
        kept = state.scenery.scene_of(view, types, without=without, placing=placing)
        if dice.random() < 0.1:
            state.scenery.rest()

        assert kept == scene_of(view, types, without=without, placing=placing)


def test_after_a_failure_everything_is_made_again() -> None:
    """Nothing half done is used again."""
    state = State(node("a"), pod("one"))
    state.places()
    broken: Any = object()
    with pytest.raises(AttributeError):
        state.scenery.scene_of(broken, TYPES)
    state.hear(pod("two"))

    assert state.pods_on("a") == ["one", "two"]
