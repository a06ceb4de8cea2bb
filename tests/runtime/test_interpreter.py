"""Each effect against each answer: one problem kind, the answer folded, a look when in doubt."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.builders import NOW
from tests.runtime.bench import GONE_META, Bench, cordon
from tests.runtime.scripted import Lost, Planned, Slow, passes, refused
from unmoor.kube.answer import error_of
from unmoor.lifecycle.effects import (
    AnyEffect,
    Create,
    Delete,
    Evict,
    Observe,
    Patch,
)
from unmoor.model.base import JSON
from unmoor.model.kinds import DISRUPTIONS, NODES, PODS
from unmoor.model.observation import Asked, Problem, ProblemKind
from unmoor.runtime.ports import CloudError, PortError, Unreachable
from unmoor.runtime.problems import problem_of
from unmoor.sim.virtual import run

# -------------------------------------------------------------------------- theirs becomes ours

PROBLEMS: list[tuple[PortError, ProblemKind]] = [
    (refused(400, "BadRequest"), ProblemKind.INVALID),
    (refused(401, "Unauthorized"), ProblemKind.FORBIDDEN),
    (refused(403, "Forbidden"), ProblemKind.FORBIDDEN),
    (refused(404, "NotFound"), ProblemKind.FAILED),
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


def _answered(body: bytes) -> PortError:
    """A 404 of a real API server, which puts its audit id on every answer."""
    return error_of(404, {"Audit-Id": "a1"}, body, NOW)


def _status(**details: str) -> bytes:
    """A Status that says NotFound of what ``details`` name."""
    said = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}
    return json.dumps({**said, "message": "no", "details": details}).encode()


NOT_SERVED = {
    "a path that is not served": _answered(b"404 page not found\n"),
    "a resource that is not served": _answered(_status()),
    "another kind of the same name": _answered(_status(kind="namespaces", name="a")),
    "another name": _answered(_status(kind="nodes", name="b")),
    "odd details": _answered(b'{"kind":"Status","reason":"NotFound","code":404,"details":[]}'),
}
not_served = pytest.mark.parametrize("said", NOT_SERVED.values(), ids=NOT_SERVED.keys())


@not_served
def test_a_path_that_is_not_served_says_nothing_about_the_object(said: PortError) -> None:
    bench = Bench()
    bench.api.plan("patch", said)
    bench.api.plan("delete", said)

    assert bench.problem(cordon(bench.node, subresource="status")) is ProblemKind.FAILED
    assert bench.problem(Delete(ref=bench.node)) is ProblemKind.FAILED
    assert bench.held(bench.node) is not None
    assert bench.verbs() == [
        "patch node/a status",
        "get node/a",
        "delete node/a",
        "get node/a",
    ]


@not_served
def test_neither_does_a_kind_that_is_not_served(said: PortError) -> None:
    bench = Bench()
    bench.api.plan("patch", said)
    bench.api.plan("get", said)

    assert bench.problem(cordon(bench.node)) is ProblemKind.FAILED
    assert bench.held(bench.node) is not None


@not_served
def test_a_look_at_what_is_not_served_does_not_answer_that_it_is_gone(said: PortError) -> None:
    bench = Bench()
    bench.api.plan("get", said)
    look = Observe(asked=Asked.OBJECT, subject="node/a", ref=bench.node)

    assert bench.problem(look) is ProblemKind.FAILED
    answer = bench.store.answer(Asked.OBJECT, "node/a")
    assert answer is not None
    assert not answer.is_missing
    assert bench.held(bench.node) is not None


@not_served
def test_nor_a_list_of_pods_that_nobody_is_on_the_node(said: PortError) -> None:
    bench = Bench()
    bench.api.plan("list", said)

    assert bench.problem(Observe(asked=Asked.PODS, subject="a")) is ProblemKind.FAILED
    answer = bench.store.answer(Asked.PODS, "a")
    assert answer is not None
    assert not answer.is_missing


@not_served
def test_nor_is_a_creation_there_refused_for_an_absence(said: PortError) -> None:
    bench = Bench()
    bench.api.plan("create", said)
    bench.api.plan("get", said)

    assert bench.problem(Create(ref=COMMAND, body=COMMAND_BODY)) is ProblemKind.FAILED


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
        await passes(1)
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


def test_what_has_changed_is_not_deleted_but_looked_at() -> None:
    bench = Bench()
    ref = bench.see("Machine", "m", meta={"finalizers": ["x"]})
    version = bench.held(ref).metadata.resource_version
    bench.api.put("Machine", "m", meta={"labels": {"a": "b"}})

    assert bench.problem(Delete(ref=ref, resource_version=version)) is ProblemKind.CONFLICT
    assert not bench.held(ref).is_deleting
    assert bench.held(ref).metadata.labels == {"a": "b"}
    version = bench.held(ref).metadata.resource_version
    assert bench.problem(Delete(ref=ref, resource_version=version)) is None
    assert bench.held(ref).is_deleting


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
