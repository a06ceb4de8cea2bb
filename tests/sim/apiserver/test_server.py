"""The embedded API server's own affairs: versions, history, snapshots, determinism, sharing."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import CONFIG_MAPS, MACHINES, NAMESPACES, NODES, PODS, Resource
from unmoor.model.taint import Taint
from unmoor.runtime.ports import ApiError, Bookmark, Broken, Change, DeleteOptions, Query
from unmoor.sim import virtual
from unmoor.sim.apiserver import Entry, Server, Watch
from unmoor.sim.apiserver.server import SNAPSHOTS_LIMIT
from unmoor.sim.apiserver.storage import HISTORY_LIMIT_ENTRIES
from unmoor.sim.direct import Decoder, DirectApi, send_bookmarks
from unmoor.sim.virtual import VirtualClock

START = datetime(2026, 1, 1, tzinfo=UTC)
CONTAINER: JSON = {"name": "main", "image": "img:1"}


class Clock:
    """A wall clock that a test sets."""

    def __init__(self) -> None:
        self.wall = START

    def __call__(self) -> datetime:
        return self.wall


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(clock: Clock) -> Server:
    return Server(clock, seed=1)


def add_node(server: Server, name: str, **parts: Any) -> Ref:
    server.create(NODES.ref(name), {"metadata": {"name": name}, **parts})
    return NODES.ref(name)


def add_pod(server: Server, name: str, node: str = "") -> Ref:
    ref = PODS.ref(name, "default")
    spec: JSON = {"containers": [CONTAINER]}
    if node:
        spec["nodeName"] = node
    server.create(ref, {"metadata": {"name": name}, "spec": spec})
    return ref


def label(server: Server, ref: Ref, value: str) -> JSON:
    return server.patch(ref, {"metadata": {"labels": {"l": value}}})


def drain(watch: Watch) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    while (told := watch.next()) is not None:
        found.append((told[0], told[1]["metadata"]["name"]))
    return found


def code_of(call: Callable[[], object]) -> int:
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value.code


# ---------------------------------------------------------------------------------------- same seed


def a_life(seed: int) -> list[tuple[str, JSON]]:
    """Some writes, and everything that was told of them."""
    server = Server(Clock(), seed)
    written: list[tuple[str, JSON]] = []
    server.observers.append(lambda _, entry: written.append((entry.type, entry.obj)))
    for _ in range(3):
        server.create(CONFIG_MAPS.ref("", "default"), {"metadata": {"generateName": "c-"}})
    add_node(server, "a", metadata={"name": "a", "finalizers": ["a.b/c"]})
    server.delete(NODES.ref("a"))
    server.patch(NODES.ref("a"), {"metadata": {"finalizers": None}})
    return written


def test_same_seed_same_story() -> None:
    assert a_life(7) == a_life(7)


def test_another_seed_has_other_uids() -> None:
    uids = [{obj["metadata"]["uid"] for _, obj in a_life(seed)} for seed in (7, 8)]

    assert not uids[0] & uids[1]


def test_the_version_counts_writes_of_every_kind(server: Server) -> None:
    before = int(server.version)
    add_node(server, "a")
    add_pod(server, "p")

    assert int(server.version) == before + 2


# ------------------------------------------------------------------------------------------ sharing


def test_a_write_shares_what_it_does_not_change(server: Server) -> None:
    ref = add_pod(server, "p")
    before = server.get(ref)
    after = label(server, ref, "x")

    assert after is server.get(ref)
    assert after is not before
    assert after["spec"] is before["spec"]
    assert after["status"] is before["status"]
    assert "labels" not in before["metadata"]


def test_a_refused_write_leaves_no_trace(server: Server) -> None:
    ref = add_node(server, "a")
    before, version = server.get(ref), server.version
    bad = {
        "spec": {"taints": [{"key": "a", "effect": "Never"}]},
        "metadata": {"labels": {"a": "b"}},
    }

    assert code_of(lambda: server.patch(ref, bad)) == 422
    assert server.get(ref) is before
    assert server.version == version


def test_the_body_of_a_create_is_not_written_to(server: Server) -> None:
    body: JSON = {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER]}}
    server.create(PODS.ref("p", "default"), body)

    assert body == {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER]}}


def test_observers_see_every_write_with_what_was_before(server: Server) -> None:
    seen: list[tuple[str, str, bool]] = []

    def observe(resource: Resource[Any], entry: Entry) -> None:
        seen.append((resource.kind, entry.type, entry.old is None))

    server.observers.append(observe)
    ref = add_node(server, "a")
    label(server, ref, "x")
    server.delete(ref)

    assert seen == [
        ("Node", "ADDED", True),
        ("Node", "MODIFIED", False),
        ("Node", "DELETED", False),
    ]


# ------------------------------------------------------------------------------------------ history


def test_history_is_bounded_and_what_is_older_is_expired(server: Server) -> None:
    ref = add_node(server, "a")
    first = server.version
    for number in range(2 * HISTORY_LIMIT_ENTRIES):
        label(server, ref, str(number))
    recent = str(int(server.version) - HISTORY_LIMIT_ENTRIES // 2)

    assert code_of(lambda: server.watch(NODES, since=first)) == 410
    assert len(drain(server.watch(NODES, since=recent))) == HISTORY_LIMIT_ENTRIES // 2


def test_a_watch_that_sleeps_too_long_is_cut(server: Server) -> None:
    ref = add_node(server, "a")
    watch = server.watch(NODES, since=server.version)
    for number in range(2 * HISTORY_LIMIT_ENTRIES + 1):
        label(server, ref, str(number))

    assert watch.next() is None
    assert not watch.is_open


def test_writes_of_other_kinds_do_not_expire_a_watch(server: Server) -> None:
    add_node(server, "a")
    since = server.version
    ref = add_pod(server, "p")
    for number in range(2 * HISTORY_LIMIT_ENTRIES):
        label(server, ref, str(number))

    assert drain(server.watch(NODES, since=since)) == []


def test_compaction_expires_everything_older(server: Server) -> None:
    add_node(server, "a")
    since = server.version
    add_node(server, "b")
    server.compact()
    with pytest.raises(ApiError) as caught:
        server.watch(NODES, since=since)

    assert (caught.value.code, caught.value.reason) == (410, "Expired")
    assert caught.value.message == f"too old resource version: {since} ({server.version})"
    assert drain(server.watch(NODES, since=server.version)) == []


def test_an_open_watch_survives_a_compaction_that_it_has_seen(server: Server) -> None:
    watch = server.watch(NODES, since=server.version)
    add_node(server, "a")
    seen = drain(watch)
    server.compact()
    add_node(server, "b")

    assert seen + drain(watch) == [("ADDED", "a"), ("ADDED", "b")]


# -------------------------------------------------------------------------------------------- pages


def test_a_page_of_a_forgotten_list_is_expired(server: Server) -> None:
    for name in "abc":
        add_node(server, name)
    first = server.list(NODES, limit=1)
    server.compact()
    with pytest.raises(ApiError) as caught:
        server.list(NODES, limit=1, after=first.next)

    assert (caught.value.code, caught.value.reason) == (410, "Expired")


def test_snapshots_are_bounded(server: Server) -> None:
    for name in "ab":
        add_node(server, name)
    tokens = []
    for number in range(SNAPSHOTS_LIMIT + 1):
        tokens.append(server.list(NODES, limit=1).next)
        label(server, NODES.ref("a"), str(number))

    assert code_of(lambda: server.list(NODES, limit=1, after=tokens[0])) == 410
    assert len(server.list(NODES, limit=1, after=tokens[1]).items) == 1


def test_a_page_can_be_asked_for_twice(server: Server) -> None:
    for name in "abc":
        add_node(server, name)
    first = server.list(NODES, limit=1)
    pages = [server.list(NODES, limit=1, after=first.next) for _ in range(2)]

    assert pages[0] == pages[1]
    assert (pages[0].remaining, pages[0].items[0]["metadata"]["name"]) == (1, "b")


# ---------------------------------------------------------------------------------- other behaviour


def test_delete_collection(server: Server) -> None:
    for name, node in (("a", "n"), ("b", ""), ("c", "n")):
        add_pod(server, name, node)
    deleted = server.delete_collection(PODS, Query(fields="spec.nodeName=n"))

    assert [one["metadata"]["name"] for one in deleted] == ["a", "c"]
    ends = [one["metadata"].get("deletionTimestamp") for one in server.list(PODS).items]
    assert ends == ["2026-01-01T00:00:30Z", None, "2026-01-01T00:00:30Z"]


def test_shortening_counts_from_the_first_deletion(server: Server, clock: Clock) -> None:
    ref = add_pod(server, "p", "n")
    server.delete(ref)
    clock.wall += timedelta(seconds=20)
    server.delete(ref, DeleteOptions(grace_s=5))

    assert server.get(ref)["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:05Z"


def test_a_namespace_goes_when_it_is_finalized(server: Server) -> None:
    ref = NAMESPACES.ref("shop")
    server.create(ref, {"metadata": {"name": "shop"}})
    server.delete(ref)
    going = server.get(ref)
    server.replace(ref, {**going, "spec": {"finalizers": []}}, subresource="finalize")

    assert going["status"]["phase"] == "Terminating"
    assert code_of(lambda: server.get(ref)) == 404


def test_an_unknown_kind_is_not_found(clock: Clock) -> None:
    server = Server(clock, resources=[NODES, NAMESPACES])

    assert code_of(lambda: server.get(PODS.ref("p", "default"))) == 404


# ---------------------------------------------------------------------------------- the direct face


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
