"""The story: bounded, quiet when nothing is new, and readable."""

from __future__ import annotations

import pytest

from tests.builders import moment, node, pod
from unmoor.lifecycle.effects import (
    AnyEffect,
    Create,
    Delete,
    Evict,
    Launch,
    Observe,
    Patch,
    Publish,
    Terminate,
)
from unmoor.lifecycle.step import Step
from unmoor.model.instance import LaunchRequest
from unmoor.model.kinds import MACHINES, ref_of
from unmoor.model.observation import Asked, Problem, ProblemKind
from unmoor.policy.verdict import Method, Reason, Verdict
from unmoor.runtime import story as story_module
from unmoor.runtime.story import KEYS_KEPT, RECORDS_KEPT, Outcome, Record, Story, describe, tell

NODE = ref_of(node("a"))
POD = ref_of(pod("web-1"))
MACHINE = MACHINES.ref("m", uid="u")
CORDON = Patch(ref=NODE, body={"spec": {"unschedulable": True}}, why="it goes")


def verdict(message: str) -> Verdict:
    return Verdict(subject=NODE, method=Method.DRAIN, reason=Reason.PODS_LEFT, message=message)


def record(key: str = "a", after_s: float = 0.0, **given: object) -> Record:
    verdicts = given.get("verdicts", ())
    effects = given.get("effects", ())
    assert isinstance(verdicts, tuple)
    assert isinstance(effects, tuple)
    step: Step[str] = Step(effects=effects, verdicts=verdicts, memory="much")
    crash = str(given.get("crash", ""))
    return Record("termination", key, moment(after_s), 7, step, (), crash)


def test_records_are_kept_in_order_without_the_memory() -> None:
    story = Story()
    story(record("b", 2, effects=(CORDON,)))
    story(record("a", 1, effects=(CORDON,)))
    story(record("a", 3, crash="Boom"))

    assert [r.moment for r in story.of("termination", "a")] == [moment(1), moment(3)]
    assert [r.key for r in story.all()] == ["a", "b", "a"]
    assert {r.step.memory for r in story.all()} == {None}
    assert story.of("termination", "gone") == ()


def test_what_says_nothing_new_is_not_kept() -> None:
    story = Story()
    waits, waits_less = (verdict("2 pods are left"),), (verdict("1 pod is left"),)
    for after_s, said in enumerate([(), waits, waits, waits_less, waits_less, (), ()]):
        story(record(after_s=after_s, verdicts=said))

    assert [r.moment for r in story.all()] == [moment(1), moment(3), moment(5)]


def test_a_crash_that_repeats_is_written_out_once() -> None:
    bug, other = "Traceback\n  line 7\nKeyError: 'a'\n", "Traceback\n  line 9\nKeyError: 'b'\n"
    told = tell(
        [record(after_s=at, crash=crash) for at, crash in enumerate([bug, other, bug, bug])]
    )

    assert told.count("line 7") == told.count("line 9") == 1
    assert told.count("CRASH as above: KeyError: 'a'") == 2


def test_what_fails_again_in_the_same_words_is_not_kept() -> None:
    """A refusal that is met every ten seconds must not push out how it came to that."""
    story = Story()
    looks = Observe(asked=Asked.INSTANCE, subject="nonsense")
    tried: list[tuple[AnyEffect, Problem | None]] = [
        (CORDON, None),
        (CORDON, None),
        (CORDON, Problem(ProblemKind.FORBIDDEN, "a webhook says no")),
        (CORDON, Problem(ProblemKind.FORBIDDEN, "a webhook says no")),
        (CORDON, Problem(ProblemKind.FORBIDDEN, "another says no")),
        (looks, None),
        (looks, None),
    ]
    for after_s, (effect, problem) in enumerate(tried):
        outcomes = (Outcome(effect, problem),)
        step: Step[str] = Step(effects=(effect,))
        story(Record("termination", "a", moment(after_s), 7, step, outcomes))

    assert [r.moment for r in story.all()] == [moment(s) for s in (0, 1, 2, 4, 5)]


def test_the_same_crash_is_kept_once() -> None:
    story = Story()
    for after_s in range(RECORDS_KEPT + 1):
        story(record(after_s=after_s, crash="Boom"))

    assert [r.moment for r in story.all()] == [moment()]


def test_keys_and_records_are_bounded() -> None:
    story = Story()
    for number in range(KEYS_KEPT + 10):
        story(record(f"{number}", number, effects=(CORDON,)))
    for after_s in range(RECORDS_KEPT + 10):
        story(record("busy", 10_000 + after_s, effects=(CORDON,)))

    assert story.of("termination", "9") == ()
    assert len(story.of("termination", "busy")) == RECORDS_KEPT
    assert len(story.all()) == KEYS_KEPT - 1 + RECORDS_KEPT


def test_the_whole_is_bounded_too() -> None:
    story = Story(records_max=100)
    for after_s in range(RECORDS_KEPT * 5):
        story(record(f"{after_s % 4}", after_s, effects=(CORDON,)))

    assert len(story.all()) <= 100


EFFECTS: list[tuple[AnyEffect, str]] = [
    (CORDON, 'patch node/a {"spec":{"unschedulable":true}}'),
    (
        Patch(ref=NODE, subresource="status", body={"status": {"x": "y" * 300}}),
        'patch node/a status {"status":{"x":"' + "y" * 141 + "...",
    ),
    (Create(ref=MACHINE, body={}), "create machine/m"),
    (Delete(ref=POD), "delete pod/shop/web-1"),
    (Evict(ref=POD), "evict pod/shop/web-1"),
    (
        Launch(machine=MACHINE, request=LaunchRequest(token="u-1", cluster="harbour", machine="m")),
        "launch u-1 for machine/m",
    ),
    (Terminate(provider_id="sim:///a"), "terminate sim:///a"),
    (Observe(asked=Asked.INSTANCE, subject="sim:///a"), "observe instance sim:///a"),
    (
        Publish(regarding=NODE, reason="Cordoned", message="no new pods"),
        "publish Cordoned on node/a: no new pods",
    ),
]


@pytest.mark.parametrize(("effect", "said"), EFFECTS, ids=[type(e).__name__ for e, _ in EFFECTS])
def test_effects_are_described_shortly(effect: AnyEffect, said: str) -> None:
    assert describe(effect) == said


def test_a_story_can_be_read() -> None:
    refusal = Problem(ProblemKind.CONFLICT, "modified")
    step: Step[None] = Step(effects=(CORDON,), verdicts=(verdict("2 pods are left"),))
    told = tell(
        [
            Record("termination", "a", moment(), 7, step, (Outcome(CORDON, refusal),)),
            Record("termination", "a", moment(1.5), 8, Step(), (), "ZeroDivisionError"),
        ]
    )

    assert told.splitlines() == [
        "12:00:00.000 termination a",
        "    says  2 pods are left",
        '    does  patch node/a {"spec":{"unschedulable":true}} (it goes) -> conflict: modified',
        "12:00:01.500 termination a",
        "    CRASH ZeroDivisionError",
    ]


def test_limits_are_named() -> None:
    assert story_module.RECORDS_MAX < KEYS_KEPT * RECORDS_KEPT
