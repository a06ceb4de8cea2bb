"""List, then watch, for ever: whatever fails on the way, the sink ends up equal to the server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.scripted import Cut, Planned, ScriptedApi, Slow, gone, refused
from unmoor.model.kinds import NODES, PODS, Resource
from unmoor.runtime.informer import (
    GOOD_WATCH_S,
    LIST_AFTER_BROKEN_S,
    PAGE_SIZE,
    PAUSE_MAX_S,
    PAUSE_MIN_S,
    WATCH_FAILURES_MAX,
    Informer,
)
from unmoor.runtime.ports import ALL, Query, Unreachable
from unmoor.runtime.store import Store
from unmoor.sim.virtual import VirtualClock, run

CALM_S = 2 * PAUSE_MAX_S


class Followed:
    """A server, an informer that follows its nodes (and pods, if asked), and a store."""

    def __init__(self, jitter: float = 1.0) -> None:
        self.api = ScriptedApi()
        self.store = Store()
        self.reports: list[str] = []
        self.informer = Informer(
            self.api, self.store, VirtualClock(), jitter=lambda: jitter, report=self._report
        )

    def _report(self, resource: Resource[Any], problem: str) -> None:
        self.reports.append(f"{resource.plural}: {problem}")

    def names(self) -> list[str]:
        return [node.name for node in self.store.sorted(NODES)]

    def is_equal(self) -> bool:
        held = {key: obj.metadata.resource_version for key, obj in self.store.all(NODES).items()}
        there = self.api.objects["Node"].items()
        return held == {key: body["metadata"]["resourceVersion"] for key, body in there}

    def times(self, verb: str) -> list[float]:
        return [at for at, called, _ in self.api.calls if called == verb]


def follow(
    play: Callable[[Followed], Awaitable[None]],
    *,
    resources: tuple[Resource[Any], ...] = (NODES,),
    query: Query = ALL,
    jitter: float = 1.0,
    before: Callable[[Followed], None] = lambda _: None,
) -> Followed:
    """Run an informer while ``play`` plays."""
    followed = Followed(jitter)

    async def main() -> None:
        before(followed)
        queries = {resource.kind: query for resource in resources}
        task = asyncio.create_task(followed.informer.run(resources, queries))
        await play(followed)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    return followed


async def idle(_: Followed) -> None:
    await asyncio.sleep(CALM_S)


# ------------------------------------------------------------------------------------ good weather


def test_what_is_there_and_what_comes_is_followed() -> None:
    async def play(f: Followed) -> None:
        assert not f.informer.is_synced
        await f.informer.wait_synced()
        assert f.names() == ["a"]
        f.api.put("Node", "b")
        f.api.put("Node", "a", spec={"unschedulable": True})
        f.api.put("Node", "c")
        f.api.remove("Node", "b")
        await asyncio.sleep(0.1)
        assert f.names() == ["a", "c"]
        assert f.is_equal()

    def before(f: Followed) -> None:
        f.api.put("Node", "a")

    follow(play, before=before)


def test_a_long_list_comes_in_pages_of_one_version() -> None:
    def before(f: Followed) -> None:
        for number in range(2 * PAGE_SIZE + 1):
            f.api.put("Node", f"n{number}")

    followed = follow(idle, before=before)

    assert len(followed.names()) == 2 * PAGE_SIZE + 1
    assert len(followed.times("list")) == 3
    assert followed.times("watch") == [0.0]


def test_synced_means_every_kind_of_every_run() -> None:
    async def play(f: Followed) -> None:
        await asyncio.sleep(1.0)
        assert not f.informer.is_synced
        await f.informer.wait_synced()
        assert asyncio.get_running_loop().time() == 2.0

    follow(play, resources=(NODES, PODS), before=lambda f: f.api.plan("list", None, Slow(2.0)))


def test_following_nothing_is_synced_at_once() -> None:
    async def main() -> None:
        followed = Followed()
        await followed.informer.run(())
        assert followed.informer.is_synced

    run(main())


def test_a_query_narrows_what_is_followed() -> None:
    async def play(f: Followed) -> None:
        f.api.put("Node", "b")
        f.api.put("Node", "a")
        await asyncio.sleep(1)

    followed = follow(play, query=Query(fields="metadata.name=a"))

    assert followed.names() == ["a"]


# ------------------------------------------------------------------------------------- bad weather


def test_a_cut_watch_goes_on_where_it_was() -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        for name in "abcd":
            f.api.put("Node", name)
        await asyncio.sleep(CALM_S)

    followed = follow(
        play,
        before=lambda f: f.api.plan("watch", Cut(1, Unreachable("reset")), Cut(2), Cut(0)),
    )

    assert followed.is_equal()
    assert len(followed.times("list")) == 1
    versions = [what for _, verb, what in followed.api.calls if verb == "watch"]
    assert versions == ["Node 100", "Node 101", "Node 103", "Node 103"]
    assert followed.reports == ["nodes: reset"]


@pytest.mark.parametrize("how", ["opened", "running"])
def test_a_version_that_is_too_old_is_given_up_for_a_list(how: str) -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        await asyncio.sleep(1)
        f.api.put("Node", "late")
        f.api.objects["Node"].pop(("", "a"))  # nobody is told
        f.api.forget_history()
        await asyncio.sleep(CALM_S)

    def before(f: Followed) -> None:
        f.api.put("Node", "a")
        f.api.plan("watch", Slow(5.0) if how == "opened" else None)

    followed = follow(play, before=before)

    assert followed.names() == ["late"]
    assert len(followed.times("list")) == 2


def test_a_storm_of_410_does_not_become_a_storm_of_lists() -> None:
    followed = follow(
        lambda _: asyncio.sleep(60.0), before=lambda f: f.api.plan("watch", *[gone()] * 1000)
    )
    gaps = [later - at for at, later in pairwise(followed.times("list"))]

    assert gaps[:4] == pytest.approx([0.2, 0.4, 0.8, 1.6])
    assert gaps[-1] == pytest.approx(PAUSE_MAX_S)


def test_an_error_in_the_middle_of_a_list_begins_it_again() -> None:
    def before(f: Followed) -> None:
        for number in range(PAGE_SIZE + 1):
            f.api.put("Node", f"n{number}")
        f.api.plan("list", None, refused(500, "InternalError"))

    async def play(f: Followed) -> None:
        await asyncio.sleep(0.1)
        assert f.names() == []
        assert not f.informer.is_synced
        await asyncio.sleep(1)
        assert f.is_equal()

    follow(play, before=before)


def test_pages_that_expired_are_had_in_one_answer() -> None:
    def before(f: Followed) -> None:
        for number in range(PAGE_SIZE + 1):
            f.api.put("Node", f"n{number}")
        f.api.plan("list", None, gone())

    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        assert asyncio.get_running_loop().time() == 0.0
        assert f.is_equal()

    follow(play, before=before)


def test_bookmarks_move_the_version_on() -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        f.api.bookmark("Node")
        await asyncio.sleep(CALM_S)

    followed = follow(play, before=lambda f: f.api.plan("watch", Cut(1)))

    versions = [what for _, verb, what in followed.api.calls if verb == "watch"]
    assert versions == ["Node 100", "Node 110"]


def test_a_watch_that_ends_at_once_again_and_again_is_not_hammered() -> None:
    followed = follow(
        lambda _: asyncio.sleep(60.0), before=lambda f: f.api.plan("watch", *[Cut(0)] * 1000)
    )
    gaps = [later - at for at, later in pairwise(followed.times("watch"))]

    assert gaps[:4] == pytest.approx([0.2, 0.4, 0.8, 1.6])
    assert max(gaps) == pytest.approx(PAUSE_MAX_S)
    assert followed.reports == []


def test_a_quiet_watch_that_the_server_closes_is_reopened_at_once() -> None:
    ends = [Cut(0, after_s=GOOD_WATCH_S)] * 3
    followed = follow(idle, before=lambda f: f.api.plan("watch", *ends))

    assert followed.times("watch") == [0.0, 5.0, 10.0, 15.0]
    assert len(followed.times("list")) == 1


def test_a_version_that_no_watch_accepts_is_given_up_for_a_list() -> None:
    """As after a restore from a backup: the server has not come as far as we have."""
    refusals = [refused(504, "Timeout", "Too large resource version")] * WATCH_FAILURES_MAX
    followed = follow(idle, before=lambda f: f.api.plan("watch", *refusals))

    assert len(followed.times("list")) == 2
    assert followed.informer.is_synced


@pytest.mark.parametrize(("jitter", "pause"), [(0.0, PAUSE_MIN_S / 2), (1.0, PAUSE_MIN_S)])
def test_pauses_are_spread(jitter: float, pause: float) -> None:
    followed = follow(idle, jitter=jitter, before=lambda f: f.api.plan("list", Unreachable("down")))

    assert followed.times("list") == [0.0, pause]


# ---------------------------------------------------------------------------------- broken objects


def test_a_broken_object_does_not_blind_us_to_the_rest() -> None:
    def before(f: Followed) -> None:
        f.api.unreadable.add(("Node", ("", "odd")))
        f.api.put("Node", "odd")
        f.api.put("Node", "a")

    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        assert f.names() == ["a"]
        assert dict(f.store.broken(NODES)) == {("", "odd"): "odd"}
        f.api.put("Node", "odd")
        f.api.put("Node", "b")
        await asyncio.sleep(1)
        assert f.names() == ["a", "b"]
        f.api.unreadable.clear()
        f.api.put("Node", "odd")
        await asyncio.sleep(1)
        assert f.names() == ["a", "b", "odd"]
        assert dict(f.store.broken(NODES)) == {}

    followed = follow(play, before=before)

    assert followed.reports == ["nodes: node/odd cannot be read: odd"] * 2
    assert len(followed.times("watch")) == 1


@pytest.mark.parametrize("weather", ["good", "bad"])
def test_a_deletion_that_cannot_be_read_is_noticed_soon(weather: str) -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        f.api.unreadable.add(("Node", ("", "a")))
        f.api.remove("Node", "a")
        await asyncio.sleep(1)
        assert f.names() == ["a", "b"]
        assert dict(f.store.broken(NODES)) == {("", "a"): "odd"}
        await asyncio.sleep(LIST_AFTER_BROKEN_S)
        assert f.names() == ["b"]
        assert dict(f.store.broken(NODES)) == {}

    def before(f: Followed) -> None:
        f.api.put("Node", "a")
        f.api.put("Node", "b")
        if weather == "bad":
            f.api.plan("watch", Cut(1), Cut(0), Cut(0, Unreachable("reset")))

    followed = follow(play, before=before)
    assert len(followed.times("list")) == 2


# ------------------------------------------------------------------------------------- any weather

HAPPENINGS: list[Planned] = [
    None,
    gone(),
    refused(500, "InternalError"),
    refused(429, "TooManyRequests"),
    Unreachable("reset"),
    Slow(3.0),
]
CUTS: list[Planned] = [*HAPPENINGS, Cut(0), Cut(1), Cut(2, Unreachable("reset")), Cut(1, gone())]
DOINGS = st.sampled_from(
    [
        "put a",
        "put b",
        "put c",
        "remove a",
        "remove b",
        "forget",
        "bookmark",
        "odd a",
        "fine",
        "wait",
    ]
)


def do(f: Followed, doing: str) -> float:
    """Do something on the server; return how long to wait then."""
    verb, _, name = doing.partition(" ")
    match verb:
        case "put":
            f.api.put("Node", name)
        case "remove" if ("", name) in f.api.objects["Node"]:
            f.api.remove("Node", name)
        case "forget":
            f.api.forget_history()
        case "bookmark":
            f.api.bookmark("Node")
        case "odd":
            f.api.unreadable.add(("Node", ("", name)))
        case "fine":
            f.api.unreadable.clear()
        case _:
            return 2.0
    return 0.0


@given(
    lists=st.lists(st.sampled_from(HAPPENINGS), max_size=5),
    watches=st.lists(st.sampled_from(CUTS), max_size=8),
    doings=st.lists(DOINGS, max_size=25),
)
def test_once_it_is_calm_the_sink_is_equal_to_the_server(
    lists: list[Planned], watches: list[Planned], doings: list[str]
) -> None:
    async def play(f: Followed) -> None:
        for doing in doings:
            await asyncio.sleep(do(f, doing))
        f.api.calm()
        mended = sorted(f.api.unreadable)
        f.api.unreadable.clear()
        for kind, (_, name) in mended:
            if ("", name) in f.api.objects[kind]:
                f.api.put(kind, name)
        await asyncio.sleep(LIST_AFTER_BROKEN_S + CALM_S)
        assert f.is_equal()
        assert dict(f.store.broken(NODES)) == {}

    def before(f: Followed) -> None:
        f.api.plan("list", *lists)
        f.api.plan("watch", *watches)

    follow(play, before=before)
