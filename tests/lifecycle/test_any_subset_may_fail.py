"""Effects of one step are unordered, any subset may fail, and the end is the same.

"A crash between any two effects" is a finite list: here it is gone through, for the termination of
a node, an emptiness command, a command with a replacement, a launch, and machines for pods that
wait. Each step in turn loses
each subset of its effects: the requests, or only the answers; once with the process living on, once
with everything droppable lost.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, combinations
from typing import Any, NamedTuple

import msgspec
import pytest

from tests import builders
from tests.builders import budget, daemon_pod, instance, machine, node, pod, provisioner
from tests.lifecycle import pending
from tests.lifecycle.driver import Row, World
from tests.lifecycle.rows import CONDITIONS, DEPROVISIONING, MACHINE, PROVISIONING, TERMINATION
from tests.lifecycle.test_deprovisioning import empties
from tests.policy import underused
from unmoor.lifecycle.effects import AnyEffect, Evict, Launch, Publish
from unmoor.lifecycle.step import Step
from unmoor.model import names
from unmoor.model.cadence import Cadence
from unmoor.model.kinds import NODES
from unmoor.model.moment import Moment
from unmoor.model.observation import Problem
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View
from unmoor.model.static_hash import hash_of
from unmoor.policy import made_from

ROWS = (DEPROVISIONING, TERMINATION, MACHINE, CONDITIONS)
BUYING_ROWS = (PROVISIONING, MACHINE)
OLD_S = 600
KEPT_TO_BE_QUICK = ("scenery", "solver", "simulator")
"""Fields of a memory that say nothing: two steps never have the same."""


class Loss(NamedTuple):
    """Which effects of which step are lost; ``is_done``: carried out, only the answer is lost."""

    step: int = -1
    effects: frozenset[int] = frozenset()
    is_done: bool = False
    restarts: bool = False


def _said(step: Step[Any]) -> Step[Any]:
    """The step without what its memory keeps only to be quick, as that is never the same object."""
    if not isinstance(step.memory, msgspec.Struct):
        return step
    memory = msgspec.structs.asdict(step.memory) | dict.fromkeys(KEPT_TO_BE_QUICK)
    return msgspec.structs.replace(step, memory=memory)


class Counted:
    """Wraps rows: counts the steps that act, and lets chosen effects of one of them fail."""

    def __init__(self, world: World, loss: Loss) -> None:
        self.sizes: list[int] = []
        self.loss = loss
        self._doomed: tuple[AnyEffect, ...] = ()
        if loss.is_done:
            world.forgets = self._is_doomed
        else:
            world.fails = self._is_doomed

    def _is_doomed(self, effect: AnyEffect) -> bool:
        return any(effect is one for one in self._doomed)

    def wrap(self, row: Row) -> Row:
        def step(view: View, key: Any, memory: Any, moment: Moment) -> Step[Any]:
            taken = row.step(view, key, memory, moment)
            again = row.step(view, key, memory, moment)
            assert _said(taken) == _said(again)  # a step is a function
            acting = [one for one in taken.effects if not isinstance(one, Publish)]
            if acting:
                chosen = len(self.sizes) == self.loss.step
                self._doomed = tuple(acting[n] for n in self.loss.effects) if chosen else ()
                self.sizes.append(len(acting))
            return taken

        return Row(row.name, step, row.keys)


def terminating() -> World:
    """A deleted node with a pod to evict, one under a budget, a critical one and a daemon's."""
    return World(
        node(deleted_at=builders.NOW),
        machine(),
        provisioner(),
        pod("web-1", grace_s=2),
        pod("held-1", grace_s=2, labels={"app": "held"}),
        pod("dns-1", grace_s=2, priority_class="system-cluster-critical"),
        daemon_pod(),
        budget("held", selector={"app": "held"}, allowed=1),
        instances=[instance()],
    )


def emptying() -> World:
    """Two empty nodes, of which one gets a pod in the middle."""
    world = empties("ab")
    world.settle(DEPROVISIONING)
    world.put(pod(on="a", grace_s=1))
    return world


def launching() -> World:
    """A new machine, and a node that joins for it."""
    world = World(machine(is_new=True), provisioner())
    world.put(node("a", is_joined=False, provider_id="sim:///i-0"))
    return world


class Living(World):
    """A world in which a node joins for each instance, and an evicted pod has a successor there."""

    def _launch(self, effect: Launch) -> Problem | None:
        problem = super()._launch(effect)
        for one in self.cloud.values():
            if one.token == effect.request.token and self.view.node("new") is None:
                now = self.moment.wall
                self.put(node("new", is_joined=False, provider_id=one.provider_id, created_at=now))
        return problem

    def _evict(self, effect: Evict) -> Problem | None:
        problem = super()._evict(effect)
        if problem is None:
            self.put(underused.pod("web-2", "new"))
        return problem


def replacing() -> World:
    """A node is replaced by a cheaper one."""
    world = Living(
        underused.consolidated(),
        *underused.node("a"),
        underused.pod("web-1", "a"),
        instances=[instance("a")],
        settings=Settings(cadence=Cadence(consolidation_validation_s=1, cordon_quiet_s=1)),
    )
    world.types = underused.TYPES
    return world


def expiring() -> World:
    """A node that is too old is replaced by one as dear."""
    return _renewing(ttlSecondsUntilExpired=OLD_S)


def drifting() -> World:
    """A node that was made without a label is replaced by one as dear."""
    return _renewing(labels={"edition": "2"})


def _renewing(**now: Any) -> World:
    before: Any = underused.consolidated(consolidation=None)
    owner: Any = underused.consolidated(consolidation=None, **now)
    stamps = made_from.stamps(View(), before)
    up, made = underused.node("a")
    born = builders.at(-OLD_S)
    marks = {**made.metadata.annotations, names.LAUNCH_ATTEMPT: "1", **stamps}
    hashed = {names.PROVISIONER_HASH: hash_of(owner)}
    world = Living(
        builders.changed(owner, metadata__annotations=hashed),
        up,
        builders.changed(made, metadata__annotations=marks, metadata__creation_timestamp=born),
        underused.pod("web-1", "a"),
        instances=[instance("a")],
        settings=Settings(cadence=Cadence(consolidation_validation_s=1, cordon_quiet_s=1)),
    )
    world.types = underused.TYPES
    return world


def buying() -> World:
    """Two pods that share no node wait for one; a third comes a little later."""
    apart = {"affinity": pending.APART}
    world = pending.wanting(*(pending.waiting(name, spec=apart) for name in ("web-1", "web-2")))
    world.put(pending.waiting("web-3", cpu="500m", labels={"app": "other"}))
    return world


def end_of(world: World) -> dict[str, Any]:
    """What the end looks like, without versions and times."""
    return {
        "nodes": [
            (one.name, one.is_cordoned, one.disruption, sorted(one.metadata.labels))
            for one in world.view.sorted(NODES)
        ],
        "machines": [
            (
                name,
                one.provider_id,
                sorted((c.type, c.status) for c in one.status.conditions),
                one.metadata.finalizers,
            )
            for name, one in sorted(
                (one.name, one) for one in world.view._objects["Machine"].values()
            )
        ],
        "commands": sorted(
            (tuple(n.name for n in one.spec.nodes), str(one.phase), tuple(one.status.left_out))
            for one in world.view._objects["Disruption"].values()
        ),
        "pods": world.names("Pod"),
        "instances": sorted((one.provider_id, str(one.state)) for one in world.cloud.values()),
        "counted": sorted((fact.name, tuple(sorted(fact.labels.items()))) for fact in world.facts),
    }


def run(
    make: Callable[[], World], loss: Loss = Loss(), those: tuple[Row, ...] = ROWS, for_s: int = 60
) -> tuple[dict[str, Any], list[int]]:
    world = make()
    counted = Counted(world, loss)
    rows = tuple(counted.wrap(row) for row in those)
    restarts = loss.restarts
    for _ in range(for_s):
        world.settle(*rows)
        if restarts and len(counted.sizes) > loss.step:
            world.restart()
            restarts = False
        world.wait(1)
    return end_of(world), counted.sizes


def subsets(size: int) -> list[frozenset[int]]:
    numbers = range(size)
    found = chain.from_iterable(combinations(numbers, count) for count in range(1, size + 1))
    return [frozenset(one) for one in found]


@pytest.mark.parametrize("restarts", [False, True], ids=["lives-on", "restarts"])
@pytest.mark.parametrize("is_done", [False, True], ids=["request", "answer"])
@pytest.mark.parametrize(
    "make",
    [terminating, emptying, launching, replacing, expiring, drifting],
    ids=lambda make: make.__name__,
)
def test_any_subset_of_any_step_may_fail(
    make: Callable[[], World], *, is_done: bool, restarts: bool
) -> None:
    expected, sizes = run(make)

    assert sizes
    for step, size in enumerate(sizes):
        for lost in subsets(size):
            end, _ = run(make, Loss(step, lost, is_done, restarts))
            if is_done:  # nobody can count what nobody knows
                del end["counted"]
            assert end == {key: expected[key] for key in end}, (
                f"step {step} lost {sorted(lost)} of {size}"
            )


@pytest.mark.parametrize("restarts", [False, True], ids=["lives-on", "restarts"])
@pytest.mark.parametrize("is_done", [False, True], ids=["request", "answer"])
def test_whatever_fails_nothing_is_bought_twice(*, is_done: bool, restarts: bool) -> None:
    """Which pod shares its machine with the third may differ, not how many there are."""
    _, sizes = run(buying, those=BUYING_ROWS, for_s=20)

    assert sizes
    for step, size in enumerate(sizes):
        for lost in subsets(size):
            end, _ = run(buying, Loss(step, lost, is_done, restarts), BUYING_ROWS, for_s=20)
            bought = (len(end["machines"]), len(end["instances"]))
            assert bought == (2, 2), f"step {step} lost {sorted(lost)} of {size}"


def test_the_ends_are_the_right_ones() -> None:
    gone, _ = run(terminating)
    assert (gone["nodes"], gone["machines"], gone["pods"]) == ([], [], ["agent-1"])

    left, _ = run(emptying)
    assert [one[:3] for one in left["nodes"]] == [("a", False, "")]
    assert left["commands"] == [(("a", "b"), "Succeeded", ("a",))]

    for make in (replacing, expiring, drifting):
        replaced, _ = run(make)
        assert [one[:3] for one in replaced["nodes"]] == [("new", False, "")]
        assert (len(replaced["machines"]), replaced["pods"]) == (1, ["web-2"])
        assert replaced["commands"] == [(("a",), "Succeeded", ())]

    bought, _ = run(buying, those=BUYING_ROWS)
    assert (len(bought["machines"]), len(bought["instances"])) == (2, 2)

    up, _ = run(launching)
    assert len(up["instances"]) == 1
    assert ("MachineInitialized", "True") in up["machines"][0][2]
