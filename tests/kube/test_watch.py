"""A watch brings every change or says that it may have missed one."""

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from tests.kube.server import (
    IMPATIENT,
    ManualClock,
    Server,
    cuts,
    event,
    hangs,
    node,
    refuses,
    says,
    sends,
    status,
)
from unmoor.kube.client import ClientSettings, KubeApi
from unmoor.model.kinds import NODES
from unmoor.runtime.ports import ApiError, Bookmark, Broken, Change, Query, Unreachable

A, B = event("ADDED", node("a", "2")), event("MODIFIED", node("b", "3"))


async def seen(api: KubeApi) -> list[str]:
    """The names in a watch that ends well."""
    return [names(e) async for e in api.watch(NODES, since="1")]


def names(one: Any) -> str:
    match one:
        case Change():
            return f"{one.type} {one.object.name}"
        case Bookmark():
            return f"BOOKMARK {one.resource_version}"
        case Broken():
            return f"BROKEN {one.ref.name}"
        case _:
            raise AssertionError(one)


async def test_the_request_asks_for_bookmarks_and_an_end() -> None:
    async with Server(sends()) as server, server.api() as api:
        query = Query(labels="app=web")
        async for _ in api.watch(NODES, query, since="41"):
            pass

    (asked,) = server.seen
    seconds = int(asked.query.pop("timeoutSeconds"))
    assert 300 <= seconds <= 600
    assert asked.path == "/api/v1/nodes"
    assert asked.query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "41",
        "labelSelector": "app=web",
    }


async def test_watches_end_at_different_times() -> None:
    async with Server() as server, server.api() as api:
        server.otherwise = sends()
        for _ in range(5):
            await seen(api)

    assert len({asked.query["timeoutSeconds"] for asked in server.seen}) > 1


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
async def test_events_come_out_however_the_stream_is_cut(size: int) -> None:
    mark = event("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
    broken = event("MODIFIED", node("odd") | {"spec": 7})
    stream = A + b"\n" + B + broken + mark + event("DELETED", node("a", "4"))
    pieces = [stream[i : i + size] for i in range(0, len(stream), size)]
    async with Server(sends(*pieces)) as server, server.api() as api:
        events = await seen(api)

    assert events == ["ADDED a", "MODIFIED b", "BROKEN odd", "BOOKMARK 9", "DELETED a"]


async def test_a_line_of_five_megabytes() -> None:
    big = event("ADDED", node("big") | {"data": "x" * 5 * 2**20})
    async with Server(sends(A, big, B)) as server, server.api() as api:
        events = await seen(api)

    assert events == ["ADDED a", "ADDED big", "MODIFIED b"]


async def test_the_last_line_needs_no_newline_when_it_is_whole() -> None:
    async with Server(sends(A.rstrip())) as server, server.api() as api:
        assert await seen(api) == ["ADDED a"]


BREAKS = {
    "malformed": sends(A, b'{"type":ADDED}\n'),
    "HTML": sends(A, b"<html>gateway timeout</html>\n"),
    "truncated line": sends(A, B[:30]),
    "truncated line and reset": sends(A, B[:30], then="cut"),
    "reset between lines": sends(A, then="cut"),
    "unknown type": sends(A, event("NEWS", node("b"))),
    "no object": sends(A, b'{"type":"ADDED"}\n'),
    "invalid UTF-8": sends(A, b'{"type":"\xff"}\n'),
    "silence": sends(A, then="hang"),
}


@pytest.mark.parametrize("case", BREAKS)
async def test_what_came_before_a_break_is_delivered(case: str) -> None:
    # Long enough for a crowded machine to deliver the first event.
    settings = ClientSettings(watch_s=0.5, watch_grace_s=0.0)
    async with Server(BREAKS[case]) as server, server.api(settings=settings) as api:
        events = api.watch(NODES, since="1")

        assert names(await anext(events)) == "ADDED a"
        with pytest.raises(Unreachable, match="GET /api/v1/nodes: "):
            await anext(events)


@pytest.mark.parametrize("case", ["reset", "no answer"])
async def test_a_watch_that_does_not_begin(case: str) -> None:
    answer = {"reset": cuts(), "no answer": hangs()}[case]
    async with Server(answer, answer) as server, server.api(settings=IMPATIENT) as api:
        with pytest.raises(Unreachable):
            await seen(api)


@pytest.mark.parametrize("how", ["answer", "event"])
async def test_too_old_a_version_is_said_in_two_ways(how: str) -> None:
    old = status(410, "Expired", "too old resource version: 1 (9)")
    answer = says(410, old) if how == "answer" else sends(event("ERROR", old))
    async with Server(answer) as server, server.api() as api:
        with pytest.raises(ApiError) as failed:
            await seen(api)

    assert (failed.value.code, failed.value.reason) == (410, "Expired")
    assert failed.value.message == "too old resource version: 1 (9)"


async def test_an_error_event_without_a_code_is_the_servers_trouble() -> None:
    async with Server(sends(event("ERROR", {"kind": "Status"}))) as server, server.api() as api:
        with pytest.raises(ApiError, match="500 InternalError"):
            await seen(api)


async def test_no_right_to_watch() -> None:
    async with Server(refuses(403, "Forbidden")) as server, server.api() as api:
        with pytest.raises(ApiError, match="403 Forbidden"):
            await seen(api)


async def test_a_quiet_watch_lasts_longer_than_a_request_may() -> None:
    """The time limit of requests is for the first word of a watch, not for its silence."""
    settings = ClientSettings(timeout_s=0.5, watch_s=30)
    go_on = asyncio.Event()

    async with Server() as server, server.api(settings=settings) as api:
        server.otherwise = _in_two_parts(go_on)
        events = api.watch(NODES, since="1")

        assert names(await anext(events)) == "ADDED a"
        asyncio.get_running_loop().call_later(0.6, go_on.set)
        assert names(await anext(events)) == "MODIFIED b"
        await events.aclose()


def _in_two_parts(go_on: asyncio.Event) -> Any:
    async def answer(request: Any) -> Any:
        response = await sends(A)(request)
        await go_on.wait()
        await response.write(B)
        return response

    return answer


async def test_leaving_a_watch_closes_its_connection() -> None:
    async with Server(sends(A, then="hang")) as server, server.api() as api:
        events = api.watch(NODES, since="1")
        await anext(events)
        await events.aclose()
        server.otherwise = says(200, node("a"))

        assert await api.get(NODES.ref("a")) == node("a")
        assert api._session is not None
        assert api._session.connector is not None
        assert len(api._session.connector._acquired) == 0


async def test_a_watch_waits_for_its_turn_like_everybody() -> None:
    clock, settings = ManualClock(), ClientSettings(rate_per_s=10, burst=1)
    async with Server() as server, server.api(clock=clock, settings=settings) as api:
        server.otherwise = sends()
        await seen(api)
        await seen(api)

    assert clock.naps == [pytest.approx(0.1)]


def test_an_event_line_is_what_the_server_writes() -> None:
    assert json.loads(A)["type"] == "ADDED"


async def test_a_slow_reader_slows_the_sender() -> None:
    """What is not read stays on the other side: memory does not grow with what is behind."""
    line, count, sent = event("MODIFIED", node("big") | {"data": "x" * 2**16}), 1_000, 0

    async def pour(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        for sent in range(1, count + 1):  # noqa: B007 - told as it goes
            await response.write(line)
        return response

    async with Server(pour) as server, server.api() as api:
        events = api.watch(NODES, since="1")
        await anext(events)
        idle_turns, before = 0, 0
        while idle_turns < 1_000:
            await asyncio.sleep(0)
            idle_turns, before = idle_turns + 1 if sent == before else 0, sent
        sent_meanwhile = sent
        read = 1 + len([one async for one in events])

    assert sent_meanwhile * len(line) < 16 * 2**20
    assert read == count
