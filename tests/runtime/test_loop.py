"""key -> view -> step -> effects -> wake: one key at a time, nothing lost, nothing spins."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.scripted import Slow, passes
from tests.runtime.world import (
    ON_BOTH,
    ON_NODES,
    StepOf,
    World,
    both_nodes,
    mark,
    node_name,
    nothing,
)
from unmoor.lifecycle.effects import Observe, Patch
from unmoor.lifecycle.step import Step
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.moment import Moment
from unmoor.model.observation import Asked, ProblemKind
from unmoor.model.snapshot import View
from unmoor.runtime.loop import (
    CONCURRENT_KEYS_MAX,
    KNOWN_KEYS_FOR_S,
    LOOKS,
    InlineExecutor,
)
from unmoor.runtime.queue import SPINS_MAX
from unmoor.runtime.reconciler import ONE, Wake, Where, either

# --------------------------------------------------------------------------------------- what wakes


def test_what_is_there_is_stepped_at_the_start_in_order_of_names() -> None:
    world = World()
    for name in ("c", "a", "b"):
        world.see("Node", name)
    world.play([world.row(nothing, wakes=ON_NODES)])

    assert world.steps == [(0.0, "a"), (0.0, "b"), (0.0, "c")]


def test_of_many_objects_the_first_are_stepped_before_the_last_are_looked_at() -> None:
    world = World()
    count = 3 * LOOKS
    for number in range(count):
        world.see("Node", f"n{number:04}")
    looked: list[str] = []

    def look(view: View, old: Any, new: Any) -> list[str]:
        looked.append(either(old, new).name)
        return node_name(view, old, new)

    def step(view: View, key: Any, memory: Any, moment: Moment) -> Step[Any]:
        if key == "n0000":
            assert not world.loop.is_idle
            assert len(looked) < count
        return nothing(view, key, memory, moment)

    world.play([world.row(step, wakes=(Wake("Node", look),))])

    assert world.keys() == [f"n{number:04}" for number in range(count)]
    assert world.crashes() == []


def test_whoever_begins_to_lead_while_looking_looks_at_everything_again() -> None:
    world = World()
    names = [f"n{number:04}" for number in range(3 * LOOKS)]
    for name in names:
        world.see("Node", name)
    has_led: list[bool] = []

    def step(view: View, key: Any, memory: Any, moment: Moment) -> Step[Any]:
        if not has_led:
            has_led.append(True)
            world.loop.lead()
        return nothing(view, key, memory, moment)

    world.play([world.row(step, wakes=ON_NODES)])

    assert set(world.keys()) == set(names)
    assert world.loop.is_idle


def test_kinds_that_say_nothing_new_are_not_gone_through_at_the_start() -> None:
    world = World()
    world.see("Node", "a")
    world.see("Pod", "web-1", "shop", spec={"nodeName": "b"})

    async def scene() -> None:
        await passes(1)
        assert world.keys() == ["a"]
        world.see("Pod", "web-1", "shop", spec={"nodeName": "c"})
        await passes(1)
        assert world.keys() == ["a", "b", "c"]

    row = world.row(nothing, wakes=(*ON_NODES, Wake("Pod", both_nodes, at_start=False)))
    world.play([row], scene)


def test_a_change_wakes_the_old_key_and_the_new() -> None:
    world = World()
    world.see("Pod", "web-1", "shop", spec={"nodeName": "a"})

    async def scene() -> None:
        await passes(1)
        world.steps.clear()
        world.see("Pod", "web-1", "shop", spec={"nodeName": "b"})
        await passes(1)
        assert world.keys() == ["a", "b"]

    world.play([world.row(nothing, wakes=ON_BOTH)], scene)


def test_a_deletion_wakes_and_other_kinds_do_not() -> None:
    world = World()
    ref = world.see("Node", "a")

    async def scene() -> None:
        await passes(1)
        world.see("Machine", "m")
        await passes(1)
        world.lose(ref)
        await passes(1)

    world.play([world.row(nothing, wakes=ON_NODES)], scene)
    assert world.steps == [(0.0, "a"), (2.0, "a")]


def test_a_step_says_when_to_look_again() -> None:
    world = World()
    world.see("Node", "a")

    def step(_view: View, _key: Any, _memory: Any, moment: Moment) -> Step[Any]:
        return Step(wake_at=moment.after(0.1) if moment.mono < 0.25 else None)

    world.play([world.row(step, wakes=ON_NODES)])
    assert world.times("a") == [0.0, 0.1, 0.2, pytest.approx(0.3)]


def test_a_row_with_one_key_keeps_its_cadence_from_step_to_step() -> None:
    world = World()
    row = world.row(nothing, is_single=True, every_s=lambda view: view.settings.cadence.resync_s)
    world.play([row], 200.0)

    assert world.times() == [0.0, 60.0, 120.0, 180.0]


def test_a_cadence_ends_with_the_object() -> None:
    world = World()
    world.see("Node", "stays")
    goes = world.see("Node", "goes")

    async def scene() -> None:
        await passes(100.0)
        world.see("Node", "comes")
        world.lose(goes)
        await passes(3 * KNOWN_KEYS_FOR_S)

    world.play([world.row(nothing, wakes=ON_NODES, every_s=lambda _: 50.0)], scene)
    assert max(world.times("goes")) <= 100.0 + KNOWN_KEYS_FOR_S
    assert len(world.times("stays")) == len(range(0, int(3 * KNOWN_KEYS_FOR_S) + 100, 50))
    assert world.times("comes") == [100.0 + 50.0 * n for n in range(37)]


def test_rows_do_not_wait_for_each_other() -> None:
    world = World()
    ref = world.see("Node", "a")
    world.api.plan("patch", Slow(5.0))

    def slow(view: View, key: Any, _memory: Any, _moment: Moment) -> Step[Any]:
        node = view.node(key)
        is_done = node is not None and node.metadata.labels
        return Step() if is_done else Step(effects=(mark(ref, "x"),))

    rows = [world.row(slow, "slow", wakes=ON_NODES), world.row(nothing, "quick", wakes=ON_NODES)]
    world.play(rows)

    assert world.times("a") == [0.0, 0.0, 5.0, 5.0]


# -------------------------------------------------------------------------------- one key at a time


def test_a_key_is_not_stepped_while_its_effects_are_under_way() -> None:
    world = World()
    ref = world.see("Node", "a")
    world.api.plan("patch", Slow(3.0), Slow(3.0))

    def step(_view: View, _key: Any, memory: Any, _moment: Moment) -> Step[Any]:
        turn = memory or 0
        effects = (mark(ref, f"{turn}"),) if turn < 2 else ()
        return Step(effects=effects, memory=turn + 1)

    async def scene() -> None:
        for _ in range(10):
            await passes(0.5)
            world.see("Pod", "web-1", "shop", spec={"nodeName": "a"})
        await passes(5)

    world.play([world.row(step, wakes=ON_BOTH)], scene)
    assert world.times("a") == [0.0, 3.0, 6.0]


def test_the_next_step_reads_our_own_writes() -> None:
    world = World()
    ref = world.see("Node", "a")
    seen: list[dict[str, str]] = []

    def step(view: View, key: Any, _memory: Any, _moment: Moment) -> Step[Any]:
        node = view.node(key)
        assert node is not None
        seen.append(node.metadata.labels)
        return Step() if node.metadata.labels else Step(effects=(mark(ref, "x"),))

    world.play([world.row(step, wakes=ON_NODES)])
    assert seen == [{}, {"mark": "x"}]


def test_a_row_that_is_full_waits_although_something_is_due() -> None:
    world = World()
    names = [f"n{number}" for number in range(CONCURRENT_KEYS_MAX)]
    refs = {ref.name: ref for ref in (world.see("Node", name) for name in ("a", *names))}
    world.api.plan("patch", *[Slow(60.0)] * CONCURRENT_KEYS_MAX)

    def step(_view: View, key: Any, memory: Any, moment: Moment) -> Step[Any]:
        if key == "a":
            return Step(wake_at=moment.after(0.5))
        return Step(memory=1, effects=() if memory else (mark(refs[key], "x"),))

    world.play([world.row(step, wakes=ON_NODES)], 61.0)
    assert world.times("a")[:2] == [0.0, 60.0]


def test_no_more_keys_than_allowed_are_under_way() -> None:
    world = World()
    count = 2 * CONCURRENT_KEYS_MAX + 5
    refs = {ref.name: ref for ref in (world.see("Node", f"n{n:03}") for n in range(count))}
    world.api.plan("patch", *[Slow(1.0)] * count)

    def step(view: View, key: Any, _memory: Any, moment: Moment) -> Step[Any]:
        node = view.node(key)
        assert node is not None
        if node.metadata.labels:
            return Step(wake_at=moment.mono + 0.1)  # so that something is due all the time
        return Step(effects=(mark(refs[key], "x"),))

    async def scene() -> None:
        await passes(0.5)
        assert len(world.steps) == CONCURRENT_KEYS_MAX
        await passes(1.0)
        assert {key for _, key in world.steps} == set(sorted(refs)[: 2 * CONCURRENT_KEYS_MAX])
        await passes(2.0)
        assert {key for _, key in world.steps} == set(refs)

    world.play([world.row(step, wakes=ON_NODES)], scene)


# ------------------------------------------------------------------------------------ spinning keys


def asks_for_ever(_view: View, _key: Any, _memory: Any, _moment: Moment) -> Step[Any]:
    return Step(effects=(Observe(asked=Asked.OBJECT, subject="x", ref=DISRUPTIONS.ref("d")),))


def wakes_at_once(_view: View, _key: Any, _memory: Any, moment: Moment) -> Step[Any]:
    return Step(wake_at=moment.mono)


@pytest.mark.parametrize("step", [asks_for_ever, wakes_at_once])
def test_a_spinning_key_is_slowed_down_and_the_others_are_not(step: StepOf) -> None:
    world = World()
    row = world.row(step, "spinning", is_single=True)
    other = world.row(
        lambda _view, _key, _memory, moment: Step(wake_at=moment.after(0.1)), wakes=ON_NODES
    )
    world.see("Node", "a")
    world.play([row, other], 9.95)

    assert len(world.times()) == 10 * SPINS_MAX
    assert len(world.times("a")) == 100


def test_a_key_that_changes_its_own_object_for_ever_is_slowed_down() -> None:
    world = World()
    ref = world.see("Node", "a")

    def step(_view: View, _key: Any, memory: Any, _moment: Moment) -> Step[Any]:
        turn = (memory or 0) + 1
        return Step(effects=(mark(ref, f"{turn}"),), memory=turn)

    world.play([world.row(step, wakes=ON_NODES)], 9.5)
    assert len(world.times("a")) == 10 * SPINS_MAX


def test_a_quiet_loop_does_nothing_at_all() -> None:
    world = World()
    world.see("Node", "a")
    world.play([world.row(nothing, wakes=ON_NODES)], 1e6)

    assert world.times("a") == [0.0]


# ----------------------------------------------------------------------------- passes, off the loop


def test_a_pass_sees_a_frozen_world_and_holds_nobody_up() -> None:
    async def delay() -> None:
        await passes(5.0)

    world = World(executor=InlineExecutor(delay))
    views: list[View] = []

    def step(view: View, _key: Any, _memory: Any, _moment: Moment) -> Step[Any]:
        views.append(view)
        return Step()

    async def scene() -> None:
        await passes(2.0)
        world.see("Node", "late")
        await passes(10.0)

    rows = [
        world.row(
            step,
            "pass",
            where=Where.WORKER,
            is_single=True,
            wakes=(Wake("Node", lambda *_: [ONE]),),
        ),
        world.row(nothing, "quick", wakes=ON_NODES),
    ]
    world.play(rows, scene)
    assert world.times("late") == [2.0]
    assert world.times() == [0.0, 5.0]
    assert [view.node("late") is not None for view in views] == [False, True]
    assert world.store not in views


def test_a_pass_acts_on_the_world_as_it_is_by_its_preconditions() -> None:
    async def delay() -> None:
        await passes(5.0)

    world = World(executor=InlineExecutor(delay))
    ref = world.see("Node", "a")

    def step(view: View, _key: Any, _memory: Any, _moment: Moment) -> Step[Any]:
        node = view.node("a")
        assert node is not None
        version = node.metadata.resource_version
        patch = Patch(ref=ref, body={"spec": {"unschedulable": True}}, resource_version=version)
        return Step() if node.is_cordoned else Step(effects=(patch,))

    async def scene() -> None:
        await passes(2.0)
        world.see("Node", "a", meta={"labels": {"somebody": "else"}})
        await passes(20.0)

    world.play([world.row(step, where=Where.WORKER, is_single=True)], scene)
    first, second, *_ = world.story.all()
    assert first.outcomes[0].problem is not None
    assert first.outcomes[0].problem.kind is ProblemKind.CONFLICT
    assert second.outcomes[0].problem is None
    assert first.version < second.version
    assert world.times()[:2] == pytest.approx([0.0, 5.1])
