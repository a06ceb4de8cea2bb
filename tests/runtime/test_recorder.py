"""Events: the same words are counted, too many are dropped, and nothing ever waits or fails."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from tests.kube.server import START, ManualClock, Server, cuts, refuses, says, status
from unmoor.kube.client import KubeApi
from unmoor.lifecycle.effects import Publish
from unmoor.model.base import Ref
from unmoor.model.kinds import MACHINES, NODES, PODS
from unmoor.runtime.recorder import LOGGED_AGAIN_S, EventLimits, EventRecorder

NODE = NODES.ref("a", uid="u-a")
MINUTE = timedelta(minutes=1)


class EventStore:
    """As much of an API server as events need."""

    def __init__(self) -> None:
        self.events: dict[str, dict[str, Any]] = {}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            body = await request.json()
            path = f"{request.path}/{body['metadata']['name']}"
            if path in self.events:
                return web.json_response(status(409, "AlreadyExists"), status=409)
            self.events[path] = body
            return web.json_response(body, status=201)
        if request.path not in self.events:
            return web.json_response(status(404, "NotFound"), status=404)
        if request.method == "PATCH":
            self.events[request.path] |= await request.json()
        return web.json_response(self.events[request.path])

    @property
    def only(self) -> dict[str, Any]:
        (event,) = self.events.values()
        return event


class Stage:
    """A recorder, its clock, and the server that it speaks to."""

    def __init__(self, server: Server, api: KubeApi, clock: ManualClock) -> None:
        self.server, self.api, self.clock = server, api, clock
        self.store = EventStore()
        server.otherwise = self.store.handle

    def recorder(self, component: str = "unmoor", **limits: Any) -> EventRecorder:
        return EventRecorder(
            self.api, self.clock, component=component, instance="i-0", limits=EventLimits(**limits)
        )


@pytest.fixture
async def stage() -> Any:
    clock = ManualClock()
    async with Server() as server, server.api(clock=clock) as api:
        yield Stage(server, api, clock)


def say(
    message: str = "no room",
    *,
    on: Ref = NODE,
    is_warning: bool = False,
    reason: str = "Unconsolidatable",
) -> Publish:
    return Publish(
        regarding=on,
        reason=reason,
        message=message,
        is_warning=is_warning,
    )


async def test_an_event_as_kubectl_describe_shows_it(stage: Stage) -> None:
    recorder = stage.recorder("karpenter")
    recorder.publish(say(is_warning=True), START)
    await recorder.flush()

    ((path, event),) = stage.store.events.items()
    name = event["metadata"]["name"]
    assert path == f"/api/v1/namespaces/default/events/{name}"
    assert name.startswith("a.")
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": {"kind": "Node", "apiVersion": "v1", "name": "a", "uid": "u-a"},
        "type": "Warning",
        "reason": "Unconsolidatable",
        "message": "no room",
        "count": 1,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "source": {"component": "karpenter"},
        "reportingComponent": "karpenter",
        "reportingInstance": "i-0",
    }


async def test_an_event_lives_where_its_object_lives(stage: Stage) -> None:
    recorder = stage.recorder()
    recorder.publish(say(on=PODS.ref("cart-0", "shop")), START)
    recorder.publish(say(on=MACHINES.ref("m-1")), START)
    await recorder.flush()

    pod, machine = stage.store.events.values()
    assert pod["metadata"]["namespace"] == "shop"
    assert pod["involvedObject"] == {
        "kind": "Pod",
        "apiVersion": "v1",
        "namespace": "shop",
        "name": "cart-0",
    }
    assert machine["metadata"]["namespace"] == "default"
    assert machine["involvedObject"]["apiVersion"] == "karpenter.sh/v1alpha5"


async def test_the_same_words_are_counted(stage: Stage) -> None:
    """001: x3 over 30m."""
    recorder = stage.recorder()
    for round_ in range(3):
        recorder.publish(say(), START + 15 * round_ * MINUTE)
        await recorder.flush()

    event = stage.store.only
    assert event["count"] == 3
    assert event["firstTimestamp"] == "2026-01-01T00:00:00Z"
    assert event["lastTimestamp"] == "2026-01-01T00:30:00Z"
    assert [seen.method for seen in stage.server.seen] == ["POST", "PATCH", "PATCH"]


async def test_other_words_are_another_event(stage: Stage) -> None:
    recorder = stage.recorder()
    recorder.publish(say("one"), START)
    recorder.publish(say("two"), START)
    recorder.publish(say("one", is_warning=True), START)
    recorder.publish(say("one", on=NODES.ref("b", uid="u-b")), START)
    recorder.publish(say("one", on=NODES.ref("a", uid="u-reborn")), START)
    await recorder.flush()

    assert len(stage.store.events) == 5


@pytest.mark.parametrize("soon_s", [120, 10])  # T376
async def test_the_same_words_too_soon_are_not_said_again(stage: Stage, soon_s: float) -> None:
    recorder = stage.recorder()
    for second in (0, 1, soon_s - 1, soon_s, soon_s + 9):
        recorder.publish(say(), START + timedelta(seconds=second), soon_s)
    await recorder.flush()

    assert stage.store.only["count"] == 2
    assert (recorder.sent, recorder.repeated, dict(recorder.dropped)) == (2, 3, {})


async def test_a_wall_clock_that_went_back_does_not_silence_us(stage: Stage) -> None:
    recorder = stage.recorder()
    recorder.publish(say(), START)
    recorder.publish(say(), START - 60 * MINUTE)

    assert recorder.pending == 2


async def test_many_words_for_one_reason_are_combined_and_leave_room_for_others(
    stage: Stage,
) -> None:
    """A drain that says at each step how many pods are left."""
    recorder = stage.recorder()
    for left in range(100, 0, -1):
        recorder.publish(say(f"{left} pods still to go"), START + (100 - left) * MINUTE / 10)
        await recorder.flush()
    recorder.publish(say("done", reason="Drained"), START + 10 * MINUTE)
    await recorder.flush()

    told = {event["message"]: event["count"] for event in stage.store.events.values()}
    combined = "(combined from similar events): 11 pods still to go"
    assert told == {
        **{f"{left} pods still to go": 1 for left in range(100, 91, -1)},
        combined: 5,
        "done": 1,
    }
    assert dict(recorder.dropped) == {}
    assert recorder.repeated == 100 - 9 - 5


async def test_what_was_said_before_goes_on_by_itself(stage: Stage) -> None:
    recorder = stage.recorder()
    for number in range(12):
        recorder.publish(say(f"words {number}", on=NODES.ref("b")), START)
    recorder.publish(say("words 0", on=NODES.ref("b")), START + 5 * MINUTE)
    await recorder.flush()

    told = {event["message"]: event["count"] for event in stage.store.events.values()}
    assert told["words 0"] == 2
    assert sum(message.startswith("(combined") for message in told) == 1


async def test_after_a_pause_words_are_single_again(stage: Stage) -> None:
    recorder = stage.recorder()
    for number in range(10):
        recorder.publish(say(f"words {number}"), START)
    recorder.publish(say("much later"), START + 11 * MINUTE)
    await recorder.flush()

    said = [event["message"] for event in stage.store.events.values()]
    assert said[-2:] == ["(combined from similar events): words 9", "much later"]


async def test_after_a_restart_the_count_goes_on(stage: Stage) -> None:
    for round_ in range(3):
        recorder = stage.recorder()
        recorder.publish(say(), START + round_ * MINUTE)
        await recorder.flush()

    assert stage.store.only["count"] == 3
    assert stage.store.only["firstTimestamp"] == "2026-01-01T00:00:00Z"


async def test_an_event_that_the_server_has_forgotten_begins_anew(stage: Stage) -> None:
    recorder = stage.recorder()
    recorder.publish(say(), START)
    await recorder.flush()
    stage.store.events.clear()

    recorder.publish(say(), START + 70 * MINUTE)
    await recorder.flush()

    assert stage.store.only["count"] == 1
    assert stage.store.only["firstTimestamp"] == "2026-01-01T01:10:00Z"


async def test_two_components_do_not_count_for_each_other(stage: Stage) -> None:
    for component in ("unmoor", "karpenter"):
        recorder = stage.recorder(component)
        recorder.publish(say(), START)
        await recorder.flush()

    assert [event["count"] for event in stage.store.events.values()] == [1, 1]


@pytest.mark.parametrize("name", ["n" * 253, "n" * 236 + ".x", "a.b"])
async def test_a_name_fits_whatever_the_object_is_called(stage: Stage, name: str) -> None:
    recorder = stage.recorder()
    recorder.publish(say(on=NODES.ref(name)), START)
    await recorder.flush()

    made: str = stage.store.only["metadata"]["name"]
    assert len(made) <= 253
    assert ".." not in made
    assert "-." not in made


async def test_a_long_message_is_cut(stage: Stage) -> None:
    recorder = stage.recorder()
    recorder.publish(say("x" * 5000), START)
    await recorder.flush()

    assert stage.store.only["message"] == "x" * 1021 + "..."


# ------------------------------------------------------------------------------------------ limits


async def test_one_object_has_a_burst_and_then_one_in_five_minutes(stage: Stage) -> None:
    recorder = stage.recorder()
    for number in range(30):
        recorder.publish(say(reason=f"Reason{number}"), START)
    recorder.publish(say(on=NODES.ref("b")), START)

    assert recorder.dropped == {"rate-limited": 5}
    assert recorder.pending == 26

    recorder.publish(say("later"), START + 5 * MINUTE)
    recorder.publish(say("at once again"), START + 5 * MINUTE)
    assert recorder.dropped == {"rate-limited": 6}


async def test_a_full_queue_drops_and_counts(stage: Stage) -> None:
    recorder = stage.recorder(queue_max=2)
    for name in "abcd":
        recorder.publish(say(on=NODES.ref(name)), START)

    assert (recorder.pending, recorder.dropped) == (2, {"queue-full": 2})


async def test_what_was_dropped_may_be_said_again(stage: Stage) -> None:
    recorder = stage.recorder(queue_max=1)
    recorder.publish(say("one"), START)
    recorder.publish(say("two"), START)
    await recorder.flush()

    recorder.publish(say("two"), START)

    assert recorder.pending == 1


async def test_memory_is_bounded(stage: Stage) -> None:
    recorder = stage.recorder(queue_max=10_000, words_max=100, objects_max=50)
    for number in range(1000):
        recorder.publish(say(on=NODES.ref(f"n{number}")), START)

    known = (len(recorder._words), len(recorder._buckets), len(recorder._similar))
    assert known == (100, 50, 50)


# ---------------------------------------------------------------------------------------- failures


async def test_trouble_is_tried_again_after_a_pause(stage: Stage) -> None:
    busy = says(429, status(429, "TooManyRequests"), headers={"Retry-After": "7"})
    stage.server.answers.extend([busy, refuses(500, "InternalError")])
    recorder = stage.recorder()
    recorder.publish(say(), START)
    await recorder.flush()

    assert stage.store.only["count"] == 1
    assert stage.clock.naps == [7, 2]
    assert (recorder.sent, dict(recorder.dropped)) == (1, {})


async def test_trouble_that_stays_is_given_up(stage: Stage) -> None:
    stage.server.answers.extend([cuts()] * 3)
    recorder = stage.recorder()
    recorder.publish(say("lost"), START)
    recorder.publish(say("next"), START)
    await recorder.flush()

    assert stage.store.only["message"] == "next"
    assert (recorder.sent, dict(recorder.dropped)) == (1, {"failed": 1})
    recorder.publish(say("lost"), START)
    assert recorder.pending == 1


@pytest.mark.parametrize(
    ("code", "reason"), [(403, "Forbidden"), (404, "NotFound"), (422, "Invalid")]
)
async def test_a_refusal_is_final(stage: Stage, code: int, reason: str) -> None:
    stage.server.answers.append(refuses(code, reason))
    recorder = stage.recorder()
    recorder.publish(say(), START)
    await recorder.flush()

    assert (recorder.sent, dict(recorder.dropped)) == (0, {"refused": 1})
    assert stage.clock.naps == []


async def test_where_no_event_arrives_the_log_is_not_filled(stage: Stage) -> None:
    recorder = stage.recorder()
    with capture_logs() as logged:
        for minute in range(2):
            stage.server.answers.extend([refuses(403, "Forbidden")] * 10)
            for number in range(10):
                recorder.publish(say(f"{number}", on=NODES.ref(f"n{number}-{minute}")), START)
            await recorder.flush()
            await stage.clock.sleep(LOGGED_AGAIN_S)

    assert [(line["event"], line["others"]) for line in logged] == [
        ("event not sent", 0),
        ("event not sent", 9),
    ]
    assert "403" in logged[0]["error"]
    assert dict(recorder.dropped) == {"refused": 20}


async def test_run_sends_what_is_published_until_it_is_cancelled(stage: Stage) -> None:
    arrived = asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        response = await stage.store.handle(request)
        arrived.set()
        return response

    stage.server.otherwise = handle
    recorder = stage.recorder()
    task = asyncio.create_task(recorder.run())
    for message in ("one", "two"):
        recorder.publish(say(message), START)
        await arrived.wait()
        arrived.clear()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(stage.store.events) == 2
