"""Each effect against each answer: one problem kind, the answer folded, a look when in doubt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tests.builders import instance
from tests.runtime.scripted import Lost, Planned, ScriptedApi, Slow, refused
from unmoor.lifecycle.effects import (
    AnyEffect,
    Create,
    Delete,
    Evict,
    Launch,
    Observe,
    Patch,
    Publish,
    TagInstance,
    Terminate,
)
from unmoor.model.base import JSON, Ref
from unmoor.model.instance import CloudInstance, InstanceType, LaunchRequest
from unmoor.model.kinds import DISRUPTIONS, MACHINES, NODES, PODS, ref_of
from unmoor.model.observation import Asked, Problem, ProblemKind
from unmoor.runtime.interpreter import (
    CONCURRENT_CLOUD_MAX,
    CONCURRENT_REQUESTS_MAX,
    Interpreter,
    problem_of,
)
from unmoor.runtime.ports import CloudError, PortError, Unreachable
from unmoor.runtime.store import Store
from unmoor.runtime.story import Outcome
from unmoor.sim.virtual import EPOCH, VirtualClock, run

REQUEST = LaunchRequest(token="u-1", cluster="harbour", machine="m")
GONE_META = {"deletionTimestamp": "2026-01-05T08:00:00Z"}


class ScriptedCloud:
    """A cloud that knows nothing but what the script says."""

    scheme = "sim"

    def __init__(self) -> None:
        self.error: PortError | None = None
        self.running = 0
        self.most = 0
        self.asked: list[object] = []

    async def _answer(self, *about: object) -> CloudInstance:
        self.asked += about
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(1)
        self.running -= 1
        if self.error is not None:
            raise self.error
        return instance("a")

    async def create(self, request: LaunchRequest) -> CloudInstance:
        return await self._answer(request)

    async def get(self, provider_id: str) -> CloudInstance:
        return await self._answer(provider_id)

    async def list(self, cluster: str) -> tuple[CloudInstance, ...]:
        return (await self._answer(cluster),)

    async def terminate(self, provider_id: str) -> None:
        await self._answer(provider_id)

    async def tag(self, provider_id: str, tags: dict[str, str]) -> None:
        await self._answer(provider_id, tags)

    async def instance_types(self) -> tuple[InstanceType, ...]:
        return ()


class Published:
    """A recorder that remembers."""

    def __init__(self) -> None:
        self.events: list[Publish] = []
        self.times: list[datetime] = []

    def publish(self, event: Publish, now: datetime) -> None:
        self.events.append(event)
        self.times.append(now)


class Bench:
    """An interpreter between a store that knows a node and a pod, and a server that has them."""

    def __init__(self, cloud: ScriptedCloud | None = None) -> None:
        self.api = ScriptedApi()
        self.cloud = cloud
        self.store = Store()
        self.recorder = Published()
        self.interpreter = Interpreter(
            self.api, self.store, VirtualClock(), cloud=cloud, recorder=self.recorder
        )
        self.node = self.see("Node", "a", meta={"labels": {"zone": "z1"}})
        self.pod = self.see("Pod", "web-1", "shop")

    def see(self, kind: str, name: str, namespace: str = "", **fields: Any) -> Ref:
        """The server has an object, and the store has seen it."""
        body = self.api.put(kind, name, namespace, **fields)
        self.store.fold(kind, body)
        return Ref(kind, name, namespace=namespace, uid=body["metadata"]["uid"])

    def held(self, ref: Ref) -> Any:
        return self.store.find(ref)

    def verbs(self) -> list[str]:
        return [f"{verb} {what}" for _, verb, what in self.api.calls]

    def do(self, *effects: AnyEffect, may_act: Callable[[], bool] = lambda: True) -> list[Outcome]:
        async def main() -> list[Outcome]:
            return list(await self.interpreter.execute(effects, may_act))

        return run(main())

    def problem(self, effect: AnyEffect) -> ProblemKind | None:
        """What came of one effect."""
        [outcome] = self.do(effect)
        assert outcome.crash == ""
        return None if outcome.problem is None else outcome.problem.kind


def cordon(ref: Ref, **given: Any) -> Patch:
    return Patch(ref=ref, body={"spec": {"unschedulable": True}}, **given)


# -------------------------------------------------------------------------- theirs becomes ours

PROBLEMS: list[tuple[PortError, ProblemKind]] = [
    (refused(400, "BadRequest"), ProblemKind.INVALID),
    (refused(401, "Unauthorized"), ProblemKind.FORBIDDEN),
    (refused(403, "Forbidden"), ProblemKind.FORBIDDEN),
    (refused(404, "NotFound"), ProblemKind.NOT_FOUND),
    (refused(408, "Timeout"), ProblemKind.UNKNOWN),
    (refused(409, "Conflict"), ProblemKind.CONFLICT),
    (refused(422, "Invalid"), ProblemKind.INVALID),
    (refused(429, "TooManyRequests"), ProblemKind.TOO_MANY_REQUESTS),
    (refused(500, "InternalError"), ProblemKind.FAILED),
    (refused(500, "ServerTimeout"), ProblemKind.UNKNOWN),
    (refused(502, "InternalError"), ProblemKind.UNKNOWN),
    (refused(503, "ServiceUnavailable"), ProblemKind.UNKNOWN),
    (refused(504, "Timeout"), ProblemKind.UNKNOWN),
    (Unreachable("reset"), ProblemKind.UNKNOWN),
    (CloudError("not-found", "no"), ProblemKind.NOT_FOUND),
    (CloudError("insufficient-capacity", "no"), ProblemKind.INSUFFICIENT_CAPACITY),
    (CloudError("rate-limited", "no"), ProblemKind.TOO_MANY_REQUESTS),
    (CloudError("invalid", "no"), ProblemKind.INVALID),
    (CloudError("failed", "no"), ProblemKind.FAILED),
]


@pytest.mark.parametrize(("error", "kind"), PROBLEMS, ids=[str(error) for error, _ in PROBLEMS])
def test_each_port_error_is_one_problem(error: PortError, kind: ProblemKind) -> None:
    assert problem_of(error).kind is kind


def test_a_problem_says_what_the_other_side_said() -> None:
    api = problem_of(refused(429, "TooManyRequests", "slowly", retry_after_s=3.0))
    cloud = problem_of(CloudError("rate-limited", "slowly", retry_after_s=4.0))

    assert api == Problem(ProblemKind.TOO_MANY_REQUESTS, "slowly", 429, 3.0)
    assert cloud == Problem(ProblemKind.TOO_MANY_REQUESTS, "slowly", 0, 4.0)
    assert problem_of(Unreachable()).message == "Unreachable"


# ------------------------------------------------------------------------------------------- patch


def test_a_patch_is_seen_at_once() -> None:
    bench = Bench()

    assert bench.problem(cordon(bench.node)) is None
    assert bench.held(bench.node).is_cordoned
    assert bench.verbs() == ["patch node/a"]


def test_the_last_finalizer_takes_the_object_with_it() -> None:
    bench = Bench()
    ref = bench.see("Machine", "m", meta={**GONE_META, "finalizers": ["x"]})

    assert bench.problem(Patch(ref=ref, body={"metadata": {"finalizers": []}})) is None
    assert bench.store.machine("m") is None


def test_a_patch_of_another_version_is_a_conflict_and_is_looked_at() -> None:
    bench = Bench()
    bench.api.put("Node", "a", meta={"labels": {"zone": "z2"}})

    assert bench.problem(cordon(bench.node, resource_version="1")) is ProblemKind.CONFLICT
    assert bench.held(bench.node).metadata.labels == {"zone": "z2"}
    assert bench.verbs() == ["patch node/a", "get node/a"]


def test_a_successor_is_never_touched_but_seen() -> None:
    bench = Bench()
    bench.api.remove("Node", "a")
    bench.api.put("Node", "a")

    assert bench.problem(cordon(bench.node)) is ProblemKind.CONFLICT
    assert bench.held(bench.node) is None
    successor = bench.store.node("a")
    assert successor is not None
    assert not successor.is_cordoned


def test_what_is_not_there_is_forgotten() -> None:
    bench = Bench()
    bench.api.remove("Node", "a")

    assert bench.problem(cordon(bench.node)) is ProblemKind.NOT_FOUND
    assert bench.store.node("a") is None
    assert bench.verbs() == ["patch node/a"]


NO_PAGE: JSON = {"details": {}}


@pytest.mark.parametrize("reason", ["NotFound", "", "404 page not found"])
def test_a_path_that_is_not_served_says_nothing_about_the_object(reason: str) -> None:
    bench = Bench()
    bench.api.plan("patch", refused(404, reason, status=NO_PAGE))

    assert bench.problem(cordon(bench.node, subresource="status")) is ProblemKind.FAILED
    assert bench.held(bench.node) is not None
    assert bench.verbs() == ["patch node/a status", "get node/a"]


def test_neither_does_a_kind_that_is_not_served() -> None:
    bench = Bench()
    bench.api.plan("patch", refused(404, "NotFound", status=NO_PAGE))
    bench.api.plan("get", refused(404, "NotFound", status=NO_PAGE))

    assert bench.problem(cordon(bench.node)) is ProblemKind.NOT_FOUND
    assert bench.held(bench.node) is not None


@pytest.mark.parametrize(
    ("happening", "kind", "is_done"),
    [
        (Lost(), ProblemKind.UNKNOWN, True),
        (Unreachable("timeout"), ProblemKind.UNKNOWN, False),
        (refused(503, "ServiceUnavailable"), ProblemKind.UNKNOWN, False),
        (refused(500, "InternalError"), ProblemKind.FAILED, False),
        (refused(422, "Invalid"), ProblemKind.INVALID, False),
        (refused(403, "Forbidden"), ProblemKind.FORBIDDEN, False),
    ],
)
def test_after_doubt_or_refusal_the_server_itself_is_asked(
    happening: Planned, kind: ProblemKind, *, is_done: bool
) -> None:
    bench = Bench()
    bench.api.put("Node", "a", meta={"labels": {"zone": "z2"}})
    bench.api.plan("patch", happening)

    assert bench.problem(cordon(bench.node)) is kind
    assert bench.verbs() == ["patch node/a", "get node/a"]
    assert bench.held(bench.node).metadata.labels == {"zone": "z2"}
    assert bench.held(bench.node).is_cordoned == is_done


def test_a_server_that_has_too_much_to_do_is_not_asked_more() -> None:
    bench = Bench()
    bench.api.plan("patch", refused(429, "TooManyRequests", retry_after_s=1.0))

    assert bench.problem(cordon(bench.node)) is ProblemKind.TOO_MANY_REQUESTS
    assert bench.verbs() == ["patch node/a"]


def test_a_look_that_fails_leaves_the_view_as_it_was() -> None:
    bench = Bench()
    bench.api.plan("patch", Unreachable("reset"))
    bench.api.plan("get", Unreachable("reset"))

    assert bench.problem(cordon(bench.node)) is ProblemKind.UNKNOWN
    assert bench.held(bench.node) is not None


@pytest.mark.parametrize("effect", [cordon(NODES.ref("a")), Delete(ref=NODES.ref("a"))])
def test_an_effect_without_a_uid_is_a_bug(effect: AnyEffect) -> None:
    bench = Bench()
    [outcome] = bench.do(effect)

    assert "has no uid" in outcome.crash
    assert bench.verbs() == []


# ------------------------------------------------------------------------------------------ create

COMMAND = DISRUPTIONS.ref("expire-a")
COMMAND_BODY: JSON = {
    "spec": {"method": "expiration", "nodes": []},
}


def test_what_was_created_is_seen_at_once() -> None:
    bench = Bench()

    assert bench.problem(Create(ref=COMMAND, body=COMMAND_BODY)) is None
    assert bench.store.disruption("expire-a") is not None
    assert bench.verbs() == ["create disruption/expire-a"]


def test_what_exists_already_is_done_and_seen() -> None:
    bench = Bench()
    bench.api.put("Disruption", "expire-a", **COMMAND_BODY)

    assert bench.problem(Create(ref=COMMAND, body=COMMAND_BODY)) is None
    assert bench.store.disruption("expire-a") is not None


def test_what_exists_already_but_cannot_be_seen_is_not_done() -> None:
    bench = Bench()
    bench.api.put("Disruption", "expire-a", **COMMAND_BODY)
    bench.api.plan("get", Unreachable("reset"))

    assert bench.problem(Create(ref=COMMAND, body=COMMAND_BODY)) is ProblemKind.UNKNOWN


def test_a_creation_in_doubt_is_settled_by_a_look() -> None:
    bench = Bench()
    bench.api.plan("create", Lost(), Unreachable("reset"))
    effect = Create(ref=COMMAND, body=COMMAND_BODY)
    other = Create(ref=DISRUPTIONS.ref("other"), body=COMMAND_BODY)

    assert bench.problem(effect) is None
    assert bench.problem(other) is ProblemKind.UNKNOWN
    assert bench.store.disruption("expire-a") is not None
    assert bench.store.disruption("other") is None


def test_a_look_does_not_forget_who_came_while_it_was_under_way() -> None:
    """The GET was answered before the object came, its answer arrives after the watch told."""
    bench = Bench()

    async def main() -> None:
        bench.api.plan("get", Slow(5.0))
        task = asyncio.create_task(
            bench.interpreter.execute((Observe(asked=Asked.OBJECT, subject="x", ref=COMMAND),))
        )
        await asyncio.sleep(1)
        bench.store.fold("Disruption", bench.api.put("Disruption", "expire-a", **COMMAND_BODY))
        bench.api.objects["Disruption"].clear()  # as it was when the question came
        await task

    run(main())
    assert bench.store.disruption("expire-a") is not None


# -------------------------------------------------------------------------------- delete and evict


def test_what_goes_at_once_is_forgotten_at_once() -> None:
    bench = Bench()

    assert bench.problem(Delete(ref=bench.pod)) is None
    assert bench.held(bench.pod) is None


def test_what_has_finalizers_is_seen_going() -> None:
    bench = Bench()
    ref = bench.see("Machine", "m", meta={"finalizers": ["x"]})

    assert bench.problem(Delete(ref=ref)) is None
    assert bench.held(ref).is_deleting


@pytest.mark.parametrize("what", ["delete", "eviction"])
def test_a_pod_that_is_gone_already_is_forgotten(what: str) -> None:
    bench = Bench()
    bench.api.remove("Pod", "web-1", "shop")
    effect = Delete(ref=bench.pod) if what == "delete" else Evict(ref=bench.pod)

    assert bench.problem(effect) is ProblemKind.NOT_FOUND
    assert bench.held(bench.pod) is None
    assert bench.verbs() == [f"{what} pod/shop/web-1"]


@pytest.mark.parametrize("what", ["delete", "eviction"])
def test_a_pod_of_the_same_name_is_left_alone(what: str) -> None:
    bench = Bench()
    bench.api.remove("Pod", "web-1", "shop")
    bench.api.put("Pod", "web-1", "shop")
    effect = Delete(ref=bench.pod) if what == "delete" else Evict(ref=bench.pod)

    assert bench.problem(effect) is ProblemKind.CONFLICT
    assert bench.held(bench.pod) is None
    assert bench.store.get(PODS, "web-1", "shop") is not None
    assert bench.api.objects["Pod"]


@pytest.mark.parametrize(
    ("happening", "kind", "is_looked_at"),
    [
        (None, None, False),
        (refused(429, "TooManyRequests", retry_after_s=10), ProblemKind.TOO_MANY_REQUESTS, False),
        (refused(500, "InternalError", "two budgets"), ProblemKind.FAILED, True),
        (Lost(), ProblemKind.UNKNOWN, True),
    ],
)
def test_what_came_of_an_eviction_is_in_the_view(
    happening: Planned, kind: ProblemKind | None, *, is_looked_at: bool
) -> None:
    bench = Bench()
    bench.api.plan("eviction", happening)

    assert bench.problem(Evict(ref=bench.pod)) is kind
    answer = bench.store.answer(Asked.EVICTION, bench.pod.uid)
    assert answer is not None
    assert (answer.result, answer.problem and answer.problem.kind) == (
        True if kind is None else None,
        kind,
    )
    assert ("get pod/shop/web-1" in bench.verbs()) == is_looked_at
    if isinstance(happening, Lost):
        assert bench.held(bench.pod).is_deleting


# --------------------------------------------------------------------------------------- the cloud

CLOUD_EFFECTS: list[tuple[AnyEffect, Asked | None, str]] = [
    (Launch(machine=MACHINES.ref("m", uid="u"), request=REQUEST), Asked.LAUNCH, "u-1"),
    (Terminate(provider_id="sim:///a"), Asked.TERMINATION, "sim:///a"),
    (TagInstance(provider_id="sim:///a", tags={"a": "b"}), None, ""),
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
    is_done = isinstance(effect, Terminate) and problem_of(error).kind is ProblemKind.NOT_FOUND
    expected = None if is_done else problem_of(error)

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
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(main())
    assert not bench.held(bench.node).is_cordoned
    assert ref_of(bench.held(bench.node)) == bench.node
