"""The cloud, questions, and many effects at once: each has its outcome, and all have ended."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import instance
from tests.runtime.bench import REQUEST, Bench, ScriptedCloud, cordon
from tests.runtime.scripted import Slow, passes, refused
from unmoor.lifecycle.effects import (
    AnyEffect,
    Launch,
    Observe,
    Patch,
    Publish,
    Terminate,
)
from unmoor.model.cadence import Cadence
from unmoor.model.kinds import MACHINES, ref_of
from unmoor.model.observation import Asked, ProblemKind
from unmoor.model.settings import Settings
from unmoor.runtime.interpreter import (
    CONCURRENT_CLOUD_MAX,
    CONCURRENT_REQUESTS_MAX,
)
from unmoor.runtime.ports import CloudError, PortError, Unreachable
from unmoor.runtime.problems import problem_of
from unmoor.runtime.story import Outcome
from unmoor.sim.virtual import EPOCH, run

# --------------------------------------------------------------------------------------- the cloud

CLOUD_EFFECTS: list[tuple[AnyEffect, Asked | None, str]] = [
    (Launch(machine=MACHINES.ref("m", uid="u"), request=REQUEST), Asked.LAUNCH, "u-1"),
    (Terminate(provider_id="sim:///a"), Asked.TERMINATION, "sim:///a"),
    (Observe(asked=Asked.INSTANCE, subject="sim:///a"), Asked.INSTANCE, "sim:///a"),
    (Observe(asked=Asked.INSTANCES, subject="harbour"), Asked.INSTANCES, "harbour"),
]
BY_NAME = {"argnames": ("effect", "asked", "subject"), "argvalues": CLOUD_EFFECTS}


@pytest.mark.parametrize(**BY_NAME)  # type: ignore[arg-type]
def test_the_cloud_answers(effect: AnyEffect, asked: Asked | None, subject: str) -> None:
    bench = Bench(ScriptedCloud())

    assert bench.problem(effect) is None
    answer = bench.store.answer(asked, subject) if asked else None
    if asked is not None:
        assert answer is not None
        assert answer.at.mono == 1.0
        assert answer.problem is None
        assert answer.result in (True, instance("a"), (instance("a"),))


@pytest.mark.parametrize(**BY_NAME)  # type: ignore[arg-type]
@pytest.mark.parametrize(
    "error",
    [
        Unreachable("timeout"),
        CloudError("not-found", "no such instance"),
        CloudError("insufficient-capacity", "sold out"),
        CloudError("rate-limited", "slowly", retry_after_s=2.0),
        CloudError("invalid", "what?"),
        CloudError("failed", "no"),
    ],
)
def test_the_cloud_refuses(
    error: PortError, effect: AnyEffect, asked: Asked | None, subject: str
) -> None:
    cloud = ScriptedCloud()
    cloud.error = error
    bench = Bench(cloud)
    expected = problem_of(error)

    [outcome] = bench.do(effect)
    assert outcome.problem == expected
    if asked is not None:
        answer = bench.store.answer(asked, subject)
        assert answer is not None
        assert answer.problem == expected


@pytest.mark.parametrize(**BY_NAME)  # type: ignore[arg-type]
def test_without_a_cloud_nothing_is_known(
    effect: AnyEffect, asked: Asked | None, subject: str
) -> None:
    bench = Bench()
    [outcome] = bench.do(effect)

    assert outcome.problem is not None
    assert outcome.problem.kind is ProblemKind.UNKNOWN
    assert "no cloud provider is configured" in outcome.problem.message
    if asked is not None:
        answer = bench.store.answer(asked, subject)
        assert answer is not None
        assert not answer.is_missing


# ------------------------------------------------------------------------------ questions and words


@pytest.mark.parametrize("is_there", [True, False])
def test_the_server_itself_is_asked(*, is_there: bool) -> None:
    bench = Bench()
    if not is_there:
        bench.api.remove("Node", "a")
    effect = Observe(asked=Asked.OBJECT, subject=str(bench.node), ref=bench.node)

    assert bench.problem(effect) is (None if is_there else ProblemKind.NOT_FOUND)
    assert (bench.held(bench.node) is not None) == is_there
    answer = bench.store.answer(Asked.OBJECT, "node/a")
    assert answer is not None
    assert answer.is_missing != is_there


def test_not_everything_can_be_asked() -> None:
    [outcome] = Bench().do(Observe(asked=Asked.EVICTION, subject="u"))

    assert "answered by its own effect" in outcome.crash


def test_words_are_handed_to_the_recorder() -> None:
    bench = Bench()
    event = Publish(regarding=bench.node, reason="Drained", message="it is empty")

    assert bench.problem(event) is None
    assert bench.recorder.events == [event]
    assert bench.recorder.times == [EPOCH]


def test_how_soon_the_same_words_may_be_said_again_is_read_off_the_settings_each_time() -> None:
    bench = Bench()
    event = Publish(regarding=bench.node, reason="Drained", message="it is empty")
    bench.do(event)
    bench.store.configure(Settings(cadence=Cadence(event_dedupe_s=7)))
    bench.do(event)

    assert bench.recorder.repeats == [120, 7]


def test_r10_why_a_node_is_not_consolidated_is_said_again_after_a_quarter_of_an_hour() -> None:
    bench = Bench()

    bench.do(Publish(regarding=bench.node, reason="Unconsolidatable", message="it is full"))

    assert bench.recorder.repeats == [900]


# ------------------------------------------------------------------------------------- all together


def test_effects_run_side_by_side_and_a_failure_stops_no_other() -> None:
    bench = Bench()
    nodes = [bench.see("Node", f"n{number}") for number in range(20)]
    bench.api.plan("patch", *[Slow(1.0)] * 10, refused(409, "Conflict"))

    async def main() -> tuple[Outcome, ...]:
        outcomes = await bench.interpreter.execute(tuple(cordon(node) for node in nodes))
        assert asyncio.get_running_loop().time() == 1.0
        return outcomes

    outcomes = run(main())
    assert [o.effect.ref for o in outcomes if isinstance(o.effect, Patch)] == nodes
    assert [i for i, o in enumerate(outcomes) if o.problem is not None] == [10]


def test_a_bug_in_one_effect_waits_for_the_others() -> None:
    """Else the key would be stepped again while effects of it are still under way."""
    bench = Bench()
    other = bench.see("Node", "b")
    bench.api.plan("patch", ZeroDivisionError("ours"), Slow(5.0))

    first, second = bench.do(cordon(bench.node), cordon(other))
    assert first.problem is not None
    assert first.problem.kind is ProblemKind.UNKNOWN
    assert "ZeroDivisionError: ours" in first.crash
    assert second == Outcome(cordon(other))
    assert bench.held(other).is_cordoned


def test_nothing_is_begun_after_leadership_is_lost() -> None:
    bench = Bench()
    nodes = [bench.see("Node", f"n{number}") for number in range(CONCURRENT_REQUESTS_MAX + 5)]
    bench.api.plan("patch", *[Slow(1.0)] * CONCURRENT_REQUESTS_MAX)

    async def main() -> tuple[Outcome, ...]:
        loop = asyncio.get_running_loop()
        effects = tuple(cordon(node) for node in nodes)
        return await bench.interpreter.execute(effects, lambda: loop.time() < 0.5)

    outcomes = run(main())
    assert [o.problem.kind for o in outcomes if o.problem is not None] == [ProblemKind.FAILED] * 5
    assert len(bench.api.calls) == CONCURRENT_REQUESTS_MAX
    bench.do(Publish(regarding=nodes[0], reason="R", message="m"), may_act=lambda: False)
    assert bench.recorder.events == []


def test_a_slow_cloud_is_asked_little_at_once_and_holds_nobody_up() -> None:
    cloud = ScriptedCloud()
    bench = Bench(cloud)
    many = tuple(Terminate(provider_id=f"sim:///{n}") for n in range(3 * CONCURRENT_CLOUD_MAX))

    async def main() -> None:
        task = asyncio.create_task(bench.interpreter.execute(many))
        await bench.interpreter.execute((cordon(bench.node),))
        assert asyncio.get_running_loop().time() == 0.0
        await task

    run(main())
    assert cloud.most == CONCURRENT_CLOUD_MAX


def test_cancelling_leaves_nothing_running() -> None:
    bench = Bench()
    bench.api.plan("patch", Slow(60.0))

    async def main() -> None:
        task = asyncio.create_task(bench.interpreter.execute((cordon(bench.node),)))
        await passes(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(main())
    assert not bench.held(bench.node).is_cordoned
    assert ref_of(bench.held(bench.node)) == bench.node
