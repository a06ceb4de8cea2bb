"""Log lines are constant messages with fields, and the same thing is not said all the time."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
import structlog

from tests import builders
from tests.app.test_metrics import HandClock
from unmoor.app import logs
from unmoor.app.logs import LogObserver
from unmoor.lifecycle.effects import (
    AnyEffect,
    Create,
    Delete,
    Evict,
    Fact,
    Launch,
    Observe,
    Patch,
    Publish,
    Terminate,
)
from unmoor.lifecycle.step import Step
from unmoor.model.base import Ref
from unmoor.model.cadence import Cadence
from unmoor.model.instance import LaunchRequest
from unmoor.model.kinds import CONFIG_MAPS, PODS
from unmoor.model.moment import Moment
from unmoor.model.observation import Asked, Problem, ProblemKind
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View
from unmoor.policy.verdict import Method, Reason, Verdict
from unmoor.runtime.story import Outcome, Record, Story

NODE = Ref("Node", "a", uid="u1")
POD = Ref("Pod", "web-1", namespace="shop", uid="u2")
MACHINE = Ref("Machine", "m", uid="u3")
WALL = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def stream() -> io.StringIO:
    written = io.StringIO()
    logs.configure(level="debug", form="json", stream=written)
    return written


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def record(*outcomes: Outcome, at_s: float = 0.0, crash: str = "", **step: Any) -> Record:
    return Record("termination", "a", Moment(WALL, at_s), 1, Step(**step), outcomes, crash)


def waiting(message: str = "3 pods left", **more: Any) -> Verdict:
    return Verdict(
        subject=NODE, method=Method.TERMINATION, reason=Reason.PODS_LEFT, message=message, **more
    )


LAUNCHED = Patch(
    ref=MACHINE,
    body={"status": {"providerID": "sim:///z/i-1", "allocatable": {"cpu": "2"}}},
    subresource="status",
    facts=(Fact("machines_launched"),),
)
EFFECTS: list[tuple[AnyEffect, str, str]] = [
    (Patch(ref=NODE, body={"spec": {"unschedulable": True}}), "info", "cordoned node"),
    (Patch(ref=NODE, body={"spec": {"unschedulable": None}}), "info", "uncordoned node"),
    (Patch(ref=NODE, body={"metadata": {"finalizers": []}}), "info", "released node"),
    (Patch(ref=NODE, body={"metadata": {"labels": {"x": "y"}}}), "debug", "patched node"),
    (
        Patch(ref=MACHINE, body={"status": {}}, subresource="status"),
        "debug",
        "updated status of machine",
    ),
    (LAUNCHED, "info", "launched machine"),
    (
        Patch(ref=MACHINE, body={}, facts=(Fact("machines_registered"),)),
        "debug",
        "machine registered",
    ),
    (
        Patch(ref=MACHINE, body={}, facts=(Fact("machines_initialized"),)),
        "debug",
        "machine initialized",
    ),
    (Create(ref=Ref("Disruption", "d"), body={}), "info", "created disruption"),
    (Delete(ref=NODE), "info", "deleted node"),
    (Delete(ref=Ref("Lease", "a", namespace="kube-node-lease")), "debug", "deleted lease"),
    (Evict(ref=POD), "info", "evicted pod"),
    (
        Launch(machine=MACHINE, request=LaunchRequest(token="t", cluster="c", machine="m")),
        "debug",
        "asked the cloud for an instance",
    ),
    (Terminate(provider_id="sim:///z/i-1", machine=MACHINE), "info", "terminated instance"),
]


@pytest.mark.parametrize(("effect", "level", "message"), EFFECTS, ids=[m for _, _, m in EFFECTS])
def test_an_effect_has_its_line(
    effect: AnyEffect, level: str, message: str, stream: io.StringIO
) -> None:
    LogObserver(HandClock())(record(Outcome(effect)))

    (line,) = lines(stream)
    assert (line["level"], line["message"], line["controller"]) == (level, message, "termination")


def test_a_launch_names_the_instance(stream: io.StringIO) -> None:
    observer = LogObserver(HandClock())
    observer.view = View.of(builders.machine("m"))

    observer(record(Outcome(LAUNCHED)))

    (line,) = lines(stream)
    assert line["machine"] == "m"
    assert (line["instance-type"], line["zone"]) == ("m.large", "z1")
    assert line["capacity-type"] == "on-demand"
    assert line["provider-id"] == "sim:///z/i-1"
    assert line["allocatable"] == {"cpu": "2"}


@pytest.mark.parametrize(
    "effect",
    [
        Observe(asked=Asked.INSTANCE, subject="sim:///z/i-1"),
        Publish(regarding=NODE, reason="Evicted", message="gone"),
    ],
)
def test_questions_and_events_have_none(effect: AnyEffect, stream: io.StringIO) -> None:
    LogObserver(HandClock())(record(Outcome(effect)))

    assert lines(stream) == []


@pytest.mark.parametrize(
    ("kind", "level", "message"),
    [
        (ProblemKind.TOO_MANY_REQUESTS, "debug", "eviction must wait"),
        (ProblemKind.CONFLICT, "debug", "somebody else was first"),
        (ProblemKind.NOT_FOUND, "debug", "somebody else was first"),
        (ProblemKind.UNKNOWN, "warning", "effect without an answer"),
        (ProblemKind.FORBIDDEN, "error", "eviction failed"),
    ],
)
def test_a_problem_has_its_level(
    kind: ProblemKind, level: str, message: str, stream: io.StringIO
) -> None:
    LogObserver(HandClock())(record(Outcome(Evict(ref=POD), Problem(kind, "in their words"))))

    (line,) = lines(stream)
    assert (line["level"], line["message"]) == (level, message)
    assert line["error"] == "in their words"
    assert line["effect"] == "evict pod/shop/web-1"


def failed(effect: AnyEffect, words: str, at_s: float, row: str = "machine") -> Record:
    outcome = Outcome(effect, Problem(ProblemKind.INVALID, words))
    return Record(row, "m", Moment(WALL, at_s), 1, Step(), (outcome,))


def test_a_failure_is_told_once_until_it_changes(stream: io.StringIO) -> None:
    """Nonsense in ``karpenter.sh/linked`` makes the cloud refuse a question every ten seconds."""
    observer = LogObserver(HandClock())
    look = Observe(asked=Asked.INSTANCE, subject="nonsense")

    for at_s in range(0, 600, 10):
        observer(failed(look, "'nonsense' is no sim:///zone/name", at_s))
    observer(failed(look, "no such zone", 600))
    observer(record(Outcome(look)))
    observer(failed(look, "no such zone", 620))
    observer(failed(look, "no such zone", 620 + 24 * 3600))

    assert [line["error"] for line in lines(stream)] == [
        "'nonsense' is no sim:///zone/name",
        *["no such zone"] * 2,
    ]


def test_failures_that_take_turns_are_told_once_each(stream: io.StringIO) -> None:
    observer = LogObserver(HandClock())

    for at_s in range(10):
        observer(failed(LAUNCHED, "refused" if at_s % 2 else "timeout", at_s))

    assert [line["error"] for line in lines(stream)] == ["timeout", "refused"]


@pytest.mark.parametrize(
    "effect", [effect for effect, _, _ in EFFECTS], ids=[m for _, _, m in EFFECTS]
)
def test_each_effect_and_each_controller_fails_for_itself(
    effect: AnyEffect, stream: io.StringIO
) -> None:
    observer = LogObserver(HandClock())
    other = Delete(ref=Ref("Node", "other", uid="u9"))

    for one, row in [(effect, "machine"), (effect, "garbage"), (other, "machine")] * 2:
        observer(failed(one, "no", 1.0, row))

    assert len(lines(stream)) == 3


def test_how_soon_the_same_is_told_again_is_a_setting(stream: io.StringIO) -> None:
    observer = LogObserver(HandClock())
    observer.view = View.of(settings=Settings(cadence=Cadence(log_dedupe_s=60)))

    for at_s in (0, 59, 60):
        observer(failed(LAUNCHED, "no", at_s))
        observer(record(at_s=at_s, verdicts=(waiting(),)))

    assert len(lines(stream)) == 4


def test_a_crash_is_told_once_until_the_step_has_succeeded(stream: io.StringIO) -> None:
    observer = LogObserver(HandClock())

    for at_s, crash in enumerate(["KeyError: 1", "KeyError: 1", "KeyError: 2", "", "KeyError: 2"]):
        observer(record(at_s=at_s, crash=crash))

    assert [line["error"][-1] for line in lines(stream)] == ["1", "2", "2"]


def test_a_verdict_is_told_once_until_it_changes_or_a_day_has_passed(stream: io.StringIO) -> None:
    observer = LogObserver(HandClock())

    for at_s, message in [(0, "3 left"), (1, "3 left"), (2, "2 left"), (90_000, "2 left")]:
        observer(record(at_s=at_s, verdicts=(waiting(message),)))

    assert [line["because"] for line in lines(stream)] == ["3 left", "2 left", "2 left"]
    assert {line["message"] for line in lines(stream)} == {"waiting"}


def test_several_verdicts_of_one_reason_do_not_push_each_other_out(stream: io.StringIO) -> None:
    observer = LogObserver(HandClock())

    for at_s in range(3):
        observer(record(at_s=at_s, verdicts=(waiting("pod a is held"), waiting("pod b is held"))))
    observer(record(at_s=4, verdicts=(waiting("pod b is held"),)))

    assert [line["because"] for line in lines(stream)] == ["pod a is held", "pod b is held"]


def test_warnings_and_decisions_are_louder_than_waiting(stream: io.StringIO) -> None:
    observer = LogObserver(HandClock())

    observer(record(verdicts=(waiting("a"),)))
    observer(record(verdicts=(waiting("b", is_warning=True),)))
    observer(record(verdicts=(waiting("c", is_refusal=False),)))

    assert [(line["level"], line["message"]) for line in lines(stream)] == [
        ("debug", "waiting"),
        ("warning", "needs attention"),
        ("info", "decided"),
    ]


@pytest.mark.parametrize(
    ("reason", "is_warning", "level"),
    [
        pytest.param(Reason.UNPLACEABLE, True, "error", id="a pod cannot be scheduled"),
        pytest.param(Reason.UNPLACEABLE, False, "debug", id="its successor could not be"),
        pytest.param(Reason.TYPES_UNKNOWN, True, "error", id="nobody says what there is to buy"),
        pytest.param(Reason.INSUFFICIENT_CAPACITY, True, "error", id="the cloud has none"),
        pytest.param(Reason.INCONSISTENT, True, "error", id="a consistency check failed"),
        pytest.param(Reason.LAUNCH_FAILED, True, "warning", id="a launch failed: it is repeated"),
    ],
)
def test_errors(stream: io.StringIO, reason: Reason, *, is_warning: bool, level: str) -> None:
    """Spec 10.3, 6.1 and 6.3."""
    verdict = msgspec.structs.replace(waiting("a", is_warning=is_warning), reason=reason)
    LogObserver(HandClock())(record(verdicts=(verdict,)))

    assert [line["level"] for line in lines(stream)] == [level]


def test_a_crash_tells_its_story(stream: io.StringIO) -> None:
    observer, story = LogObserver(HandClock()), Story()
    observer.story = story
    before = record(Outcome(Evict(ref=POD)), verdicts=(waiting(),))
    crash = record(at_s=1.0, crash="Traceback\n  somewhere\nZeroDivisionError: a bug\n")

    for one in (before, crash):
        story(one)
        observer(one)

    line = lines(stream)[-1]
    assert line["level"] == "error"
    assert line["error"] == "ZeroDivisionError: a bug"
    assert "says  3 pods left" in line["story"]
    assert "does  evict pod/shop/web-1" in line["story"]
    assert "CRASH Traceback" in line["story"]


def test_a_refused_object_is_an_error_and_a_broken_watch_a_warning(stream: io.StringIO) -> None:
    observer = LogObserver(HandClock())

    observer.report(CONFIG_MAPS, "configmap/mine: data[batchMaxDuration] is 'x': it cannot be used")
    observer.report(PODS, "pod/shop/web-1 cannot be read: expected str")
    observer.report(PODS, "GET /api/v1/pods: ConnectionResetError")

    assert [(line["level"], line["message"]) for line in lines(stream)] == [
        ("error", "object refused"),
        ("error", "object refused"),
        ("warning", "watch interrupted"),
    ]


def test_a_server_that_is_away_does_not_fill_the_log(stream: io.StringIO) -> None:
    clock = HandClock()
    observer = LogObserver(clock)

    for _ in range(10):
        observer.report(PODS, "GET /api/v1/pods: refused")
        clock.mono += 9.0
    observer.report(PODS, "GET /api/v1/pods: 503")

    assert [line["error"].split()[-1] for line in lines(stream)] == ["refused", "refused", "503"]


def test_an_object_that_stays_refused_is_told_once(stream: io.StringIO) -> None:
    """A kubelet may write its unreadable node every ten seconds."""
    clock = HandClock()
    observer = LogObserver(clock)

    for _ in range(10):
        observer.report(PODS, "pod/shop/web-1 cannot be read: expected str")
        observer.report(PODS, "pod/shop/web-2 cannot be read: expected str")
        clock.mono += 600.0

    assert [line["error"].split()[0] for line in lines(stream)] == [
        "pod/shop/web-1",
        "pod/shop/web-2",
    ]


def test_the_lease_is_told_of_as_what_it_is(stream: io.StringIO) -> None:
    clock = HandClock()
    observer = LogObserver(clock)

    for _ in range(4):
        observer.lease_problem("lease/karpenter/unmoor is not held: 403 Forbidden")
        clock.mono += 25.0

    assert [line["message"] for line in lines(stream)] == ["lease neither taken nor renewed"] * 2


def test_a_clock_that_is_wrong_is_told_once_a_day(stream: io.StringIO) -> None:
    clock = HandClock()
    observer = LogObserver(clock)

    for hour in range(25):
        observer.clock_problem(f"our clock is at least {hour + 5} s behind")
        clock.mono += 3600.0

    assert [line["problem"] for line in lines(stream)] == [
        "our clock is at least 5 s behind",
        "our clock is at least 29 s behind",
    ]
    assert {line["level"] for line in lines(stream)} == {"warning"}


def test_a_setting_that_is_refused_is_told_by_whoever_applies_it(stream: io.StringIO) -> None:
    """The event on the ConfigMap is the row's; its line is that of ``report``."""
    refused = msgspec.structs.replace(waiting(), reason=Reason.SETTINGS_INVALID)

    LogObserver(HandClock())(record(verdicts=(refused,)))

    assert lines(stream) == []


def test_text_is_one_line_that_can_be_read_back(stream: io.StringIO) -> None:
    logs.configure(level="info", form="text", stream=stream)
    log = structlog.get_logger()

    log.debug("not shown")
    log.info("shown", plain="a", spaced="a b", quoted='say "x"', empty="", broken="a\nb")

    (line,) = stream.getvalue().splitlines()
    assert line.partition("Z ")[2] == (
        r'info    shown  plain=a spaced="a b" quoted="say \"x\"" empty="" broken="a\nb"'
    )


def test_what_strangers_wrote_is_cut_and_a_story_is_not(stream: io.StringIO) -> None:
    structlog.get_logger().info("shown", because="x" * 70_000, story="y" * 70_000)

    (line,) = lines(stream)
    assert line["because"] == "x" * logs.FIELD_CHARS_MAX + "... (70000 characters)"
    assert len(line["story"]) == 70_000
