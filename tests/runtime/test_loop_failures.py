"""What fails, crashes, loses the lead or is stopped: the rest goes on, and nothing is left over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.runtime.scripted import Lost, Slow, passes, refused
from tests.runtime.world import (
    ON_NODES,
    World,
    mark,
    nothing,
)
from unmoor.lifecycle.effects import AnyEffect, Create, Observe, Publish, Terminate
from unmoor.lifecycle.step import Step
from unmoor.model.base import Ref
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.moment import Moment
from unmoor.model.observation import Asked, ProblemKind
from unmoor.model.snapshot import View
from unmoor.runtime.loop import (
    MEMORIES_KEPT,
    NOT_LEADING_POLL_S,
    InlineExecutor,
)
from unmoor.runtime.queue import BACK_OFF_MAX_S
from unmoor.runtime.reconciler import Key, Wake, Where
from unmoor.runtime.story import Record

# ----------------------------------------------------------------------------- failures and answers


def test_a_failing_effect_is_tried_again_less_and_less_often() -> None:
    world = World()
    ref = world.see("Node", "a")
    world.api.plan("patch", *[refused(500, "InternalError")] * 100)

    def step(_view: View, _key: Any, _memory: Any, moment: Moment) -> Step[Any]:
        return Step(effects=(mark(ref, "x"),), wake_at=moment.mono)

    world.play([world.row(step, wakes=ON_NODES)], 60.0)
    assert world.times("a")[:5] == pytest.approx([0.0, 0.1, 0.3, 0.7, 1.5])
    assert world.times("a")[-1] - world.times("a")[-2] == pytest.approx(BACK_OFF_MAX_S)
    outcome = world.story.all()[0].outcomes[0]
    assert outcome.problem is not None
    assert outcome.problem.kind is ProblemKind.FAILED


def test_the_pause_that_the_server_asks_for_is_kept() -> None:
    world = World()
    ref = world.see("Node", "a")
    world.api.plan("patch", refused(429, "TooManyRequests", retry_after_s=7.0))

    def step(view: View, key: Any, _memory: Any, _moment: Moment) -> Step[Any]:
        node = view.node(key)
        is_done = node is not None and node.metadata.labels
        return Step() if is_done else Step(effects=(mark(ref, "x"),))

    world.play([world.row(step, wakes=ON_NODES)], 20.0)
    assert world.times("a") == [0.0, 7.0, 7.0]


@pytest.mark.parametrize(
    ("effect", "is_tried_again"),
    [
        (mark(Ref("Node", "gone", uid="u"), "x"), False),
        (Create(ref=DISRUPTIONS.ref("d"), body={}), True),
        (Publish(regarding=Ref("Node", "a"), reason="R", message="m"), False),
    ],
    ids=["patch", "create", "publish"],
)
def test_what_is_not_there_is_no_failure_unless_it_should_be(
    effect: AnyEffect, *, is_tried_again: bool
) -> None:
    world = World()
    world.api.plan("create", *[refused(404, "NotFound", "namespace not found")] * 9)
    world.play([world.row(lambda *_: Step(effects=(effect,)), is_single=True)], 1.0)

    assert (len(world.steps) > 1) == is_tried_again


def test_an_answer_is_looked_at_at_once() -> None:
    world = World()
    ref = world.see("Node", "a")

    def step(view: View, key: Any, _memory: Any, _moment: Moment) -> Step[Any]:
        if view.answer(Asked.OBJECT, key) is not None:
            return Step()
        return Step(effects=(Observe(asked=Asked.OBJECT, subject=key, ref=ref),))

    world.play([world.row(step, wakes=ON_NODES)])
    assert world.times("a") == [0.0, 0.0]


def test_an_unknown_answer_is_asked_for_again_later() -> None:
    world = World()
    world.play([world.row(lambda *_: Step(effects=(Terminate(provider_id="x"),)), is_single=True)])

    assert world.times()[:4] == pytest.approx([0.0, 0.1, 0.3, 0.7])


def test_an_outcome_in_doubt_is_seen_as_it_really_is() -> None:
    world = World()
    ref = world.see("Node", "a")
    world.api.plan("patch", Lost())
    seen: list[bool] = []

    def step(view: View, key: Any, _memory: Any, _moment: Moment) -> Step[Any]:
        node = view.node(key)
        assert node is not None
        seen.append(bool(node.metadata.labels))
        return Step() if seen[-1] else Step(effects=(mark(ref, "x"),))

    world.play([world.row(step, wakes=ON_NODES)])
    assert set(seen[1:]) == {True}
    assert [verb for _, verb, _ in world.api.calls] == ["patch", "get"]


# ---------------------------------------------------------------------------------- bugs of our own


def boom(_view: View, key: Any, _memory: Any, _moment: Moment) -> Step[Any]:
    if key == "bad":
        raise ZeroDivisionError(f"stepping {key}")
    return Step()


@pytest.mark.parametrize("where", list(Where))
def test_a_crash_keeps_its_story_and_stops_nothing_else(where: Where) -> None:
    world = World()
    for name in ("bad", "good"):
        world.see("Node", name)

    async def scene() -> None:
        await passes(5)
        world.see("Node", "good", spec={"unschedulable": True})
        await passes(5)

    rows = [
        world.row(boom, "crashing", wakes=ON_NODES, where=where),
        world.row(nothing, "other", is_single=True, every_s=lambda _: 4.0),
    ]
    world.play(rows, scene)
    assert world.times("bad")[:4] == pytest.approx([0.0, 0.1, 0.3, 0.7])
    assert world.times("good") == [0.0, 5.0]
    assert world.times() == [0.0, 4.0, 8.0]
    assert set(world.crashes()) == {"ZeroDivisionError: stepping bad"}
    assert "in boom" in world.story.of("crashing", "bad")[0].crash


def test_a_crash_loses_the_memory_of_its_key_only() -> None:
    world = World()
    world.see("Node", "a")
    world.see("Node", "b")
    memories: list[tuple[Key, Any]] = []

    def step(_view: View, key: Any, memory: Any, moment: Moment) -> Step[Any]:
        memories.append((key, memory))
        if key == "a" and memory == 1:
            raise ValueError
        return Step(memory=(memory or 0) + 1, wake_at=moment.after(1.0))

    world.play([world.row(step, wakes=ON_NODES)], 2.5)
    assert [memory for key, memory in memories if key == "b"] == [None, 1, 2]
    assert [memory for key, memory in memories if key == "a"] == [None, 1, None, 1, None]


def test_an_effect_that_crashes_is_a_crash_with_all_outcomes() -> None:
    world = World()
    ref, other = world.see("Node", "a"), world.see("Node", "b")
    world.api.plan("patch", KeyError("ours"))
    wakes = (Wake("Node", lambda _view, _old, _new: ["both"]),)

    memories: list[Any] = []

    def step(view: View, _key: Any, memory: Any, _moment: Moment) -> Step[Any]:
        memories.append(memory)
        node = view.node("a")
        is_done = node is not None and node.metadata.labels
        return Step() if is_done else Step(effects=(mark(ref, "x"), mark(other, "x")), memory=1)

    world.play([world.row(step, wakes=wakes)])
    [first, second] = world.story.all()
    assert memories == [None, None, 1]
    assert "KeyError: 'ours'" in first.crash
    assert [outcome.problem is None for outcome in first.outcomes] == [False, True]
    assert [outcome.problem is None for outcome in second.outcomes] == [True, True]


def test_a_key_function_that_crashes_is_told_and_blinds_us_to_nothing_else() -> None:
    world = World()

    def keys(_view: View, _old: Any, new: Any) -> list[str]:
        return [{"a": "fine"}[new.name]]

    async def scene() -> None:
        world.see("Node", "odd")
        world.see("Node", "a")
        await passes(1)

    world.play([world.row(nothing, wakes=(Wake("Node", keys),))], scene)
    assert world.keys() == ["fine"]
    assert world.crashes() == ["KeyError: 'odd'"]
    assert len(world.story.of("row", "node/odd")) == 1


def test_an_observer_that_crashes_is_told_and_stops_nothing() -> None:
    def observer(_record: Record) -> None:
        raise RuntimeError("no metrics today")

    world = World(observer)
    world.see("Node", "a")
    world.play([world.row(nothing, wakes=ON_NODES, every_s=lambda _: 4.0)])

    assert world.times("a") == [0.0, 4.0, 8.0]
    assert set(world.crashes()) == {"RuntimeError: no metrics today"}


# ------------------------------------------------------------------------------- who may act at all


def test_without_leading_nothing_is_done_and_with_it_everything_is_looked_at() -> None:
    world = World()
    world.is_leading = False
    world.see("Node", "a")

    async def scene() -> None:
        await passes(30)
        world.see("Node", "b")
        await passes(30)
        assert world.steps == []
        world.is_leading = True
        world.loop.lead()
        await passes(1)
        assert world.keys() == ["a", "b"]
        world.is_leading = False
        world.see("Node", "a", spec={"unschedulable": True})
        await passes(30)
        assert len(world.steps) == 2
        world.is_leading = True
        world.loop.lead()
        await passes(1)
        assert world.keys() == ["a", "b", "a", "b"]

    world.play([world.row(nothing, wakes=ON_NODES)], scene)


def test_leading_is_noticed_even_if_nobody_tells() -> None:
    world = World()
    world.is_leading = False
    world.see("Node", "a")

    async def scene() -> None:
        await passes(NOT_LEADING_POLL_S + 0.5)
        world.is_leading = True
        await passes(2 * NOT_LEADING_POLL_S)

    world.play([world.row(nothing, wakes=ON_NODES)], scene)
    assert world.times("a") == [2 * NOT_LEADING_POLL_S]


def test_what_a_pass_found_is_not_done_after_leadership_was_lost() -> None:
    async def delay() -> None:
        await passes(5.0)

    world = World(executor=InlineExecutor(delay))
    ref = world.see("Node", "a")

    async def scene() -> None:
        await passes(2.0)
        world.is_leading = False
        await passes(20.0)

    row = world.row(lambda *_: Step(effects=(mark(ref, "x"),)), where=Where.WORKER, is_single=True)
    world.play([row], scene)
    assert world.api.calls == []
    assert world.story.all()[0].outcomes[0].problem is not None
    assert len(world.steps) == 1


def test_memory_may_be_lost_at_any_moment() -> None:
    world = World()
    world.see("Node", "a")
    memories: list[Any] = []

    def step(_view: View, _key: Any, memory: Any, moment: Moment) -> Step[Any]:
        memories.append(memory)
        return Step(memory=(memory or 0) + 1, wake_at=moment.after(1.0))

    async def scene() -> None:
        await passes(2.5)
        world.loop.forget()
        await passes(2.0)
        world.loop.lead()
        await passes(0.1)

    world.play([world.row(step, wakes=ON_NODES)], scene)
    assert memories == [None, 1, 2, None, 1, None]


def test_memories_are_bounded() -> None:
    world = World()
    row = world.row(lambda *_: Step(memory="much"), wakes=(Wake("Node", lambda *_: []),))

    async def scene() -> None:
        await asyncio.sleep(0)
        for number in range(MEMORIES_KEPT + 10):
            world.loop._rows[0].queue.add(f"{number}")
        world.loop.wake_all()
        await passes(1)
        assert len(world.loop._rows[0].memories) == MEMORIES_KEPT
        assert world.loop.is_idle

    world.play([row], scene)


# ------------------------------------------------------------------------------------------ the end


@pytest.mark.parametrize("where", list(Where))
def test_a_stop_in_the_middle_leaves_nothing_running(where: Where) -> None:
    async def delay() -> None:
        await passes(1.0)

    world = World(executor=InlineExecutor(delay))
    refs = {name: world.see("Node", name) for name in "abc"}
    world.api.plan("patch", *[Slow(60.0)] * 3)

    def step(_view: View, key: Any, _memory: Any, _moment: Moment) -> Step[Any]:
        return Step(effects=(mark(refs[key], "x"),))

    world.play([world.row(step, wakes=ON_NODES, where=where)], 5.0)
    assert len(world.api.calls) == 3
    assert world.story.all() == []
