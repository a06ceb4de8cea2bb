"""The direct face: decoding, sharing, bookmarks, and how a watch ends."""

import asyncio

import pytest

from tests.sim.apiserver.cast import add_node, add_pod, label
from unmoor.model.kinds import MACHINES, NODES, PODS
from unmoor.model.taint import Taint
from unmoor.runtime.ports import ApiError, Bookmark, Broken, Change
from unmoor.sim import virtual
from unmoor.sim.apiserver import Server
from unmoor.sim.direct import Decoder, DirectApi, send_bookmarks
from unmoor.sim.virtual import VirtualClock


def test_decoded_objects_are_shared_by_version(server: Server) -> None:
    ref = add_pod(server, "p")
    decoder = Decoder()
    first = decoder.decode(PODS, server.get(ref))

    assert decoder.decode(PODS, server.get(ref)) is first
    label(server, ref, "x")
    assert decoder.decode(PODS, server.get(ref)) is not first


async def test_an_object_that_does_not_decode_is_broken(server: Server) -> None:
    node = server.create(
        NODES.ref("a"), {"metadata": {"name": "a"}, "spec": {"unschedulable": "perhaps"}}
    )
    page = await DirectApi(server).list(NODES)
    [broken] = page.broken

    assert page.items == ()
    assert broken.ref == NODES.ref("a", uid=node["metadata"]["uid"])
    assert "unschedulable" in broken.problem


async def test_a_body_may_hold_structs(server: Server) -> None:
    """A wire would not notice either."""
    taint = Taint(key="a", effect="NoSchedule")
    body = {"metadata": {"name": "a"}, "spec": {"taints": (taint,)}}
    node = await DirectApi(server).create(NODES.ref("a"), body)

    assert node["spec"]["taints"][0] == {"key": "a", "effect": "NoSchedule"}


async def test_a_broken_object_does_not_end_a_watch(server: Server) -> None:
    api = DirectApi(server)
    since = server.version
    server.create(NODES.ref("a"), {"metadata": {"name": "a"}, "spec": {"unschedulable": "perhaps"}})
    add_node(server, "b")
    events = api.watch(NODES, since=since)

    assert isinstance(await anext(events), Broken)
    assert isinstance(await anext(events), Change)


async def test_bookmarks_tell_the_version(server: Server) -> None:
    api = DirectApi(server)
    events = api.watch(NODES, since=server.version)
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    add_pod(server, "p")
    server.send_bookmarks()

    assert await waiting == Bookmark(server.version)


def test_bookmarks_come_from_time_to_time() -> None:
    async def play() -> tuple[object, float]:
        clock = VirtualClock()
        server = Server(clock.wall)
        task = asyncio.create_task(send_bookmarks(server, clock, every_s=60.0))
        event = await anext(DirectApi(server).watch(NODES, since=server.version))
        task.cancel()
        return event, clock.now().mono

    assert virtual.run(play()) == (Bookmark("5"), 60.0)


async def test_a_bookmark_never_skips_what_is_not_told_yet(server: Server) -> None:
    api = DirectApi(server)
    events = api.watch(NODES, since=server.version)
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    add_node(server, "a")
    told = server.version
    server.send_bookmarks()
    add_node(server, "b")
    first = await waiting

    assert isinstance(first, Change)
    second = await anext(events)
    assert isinstance(second, Change)
    assert second.object.name == "b"
    mark = await anext(events)
    assert isinstance(mark, Bookmark)
    assert int(mark.resource_version) > int(told)


@pytest.mark.parametrize("error", [None, ApiError(410, "Expired", "too old")])
async def test_the_server_may_end_a_watch(server: Server, error: ApiError | None) -> None:
    api = DirectApi(server)
    events = api.watch(NODES, since=server.version)
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    server.close_watches("Node", error)

    with pytest.raises(StopAsyncIteration if error is None else ApiError):
        await waiting


async def test_closing_one_kind_leaves_the_others(server: Server) -> None:
    api = DirectApi(server)
    events = api.watch(MACHINES, since=server.version)
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    server.close_watches("Node")
    server.create(MACHINES.ref("m"), {"metadata": {"name": "m"}, "spec": {}})

    assert isinstance(await waiting, Change)
