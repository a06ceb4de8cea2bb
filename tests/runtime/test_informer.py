"""List, then watch, for ever: what fails on the way leaves no gap, and is not hammered."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.runtime.followed import CALM_S, Followed, follow, idle
from tests.runtime.scripted import Cut, Slow, gone, passes, refused
from unmoor.model.base import JSON, Key
from unmoor.model.cadence import Cadence
from unmoor.model.kinds import NODES, PODS
from unmoor.model.observation import ASKED_PAUSE_MAX_S
from unmoor.runtime.informer import (
    GOOD_WATCH_S,
    LIST_AFTER_BROKEN_S,
    WATCH_FAILURES_MAX,
)
from unmoor.runtime.ports import Query, Unreachable
from unmoor.sim.virtual import run

RETRY_S = Cadence().watch_retry_s
RETRY_MOST_S = Cadence().watch_retry_most_s
SILENCE_S = Cadence().watch_silence_s

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
        await passes(0.1)
        assert f.names() == ["a", "c"]
        assert f.is_equal()

    def before(f: Followed) -> None:
        f.api.put("Node", "a")

    follow(play, before=before)


def test_synced_means_every_kind_of_every_run() -> None:
    async def play(f: Followed) -> None:
        await passes(1.0)
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
        await passes(1)

    followed = follow(play, query=Query(fields="metadata.name=a"))

    assert followed.names() == ["a"]


# ------------------------------------------------------------------------------------- bad weather


def test_a_cut_watch_goes_on_where_it_was() -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        for name in "abcd":
            f.api.put("Node", name)
        await passes(CALM_S)

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
        await passes(1)
        f.api.put("Node", "late")
        f.api.objects["Node"].pop(("", "a"))  # nobody is told
        f.api.forget_history()
        await passes(CALM_S)

    def before(f: Followed) -> None:
        f.api.put("Node", "a")
        f.api.plan("watch", Slow(5.0) if how == "opened" else None)

    followed = follow(play, before=before)

    assert followed.names() == ["late"]
    assert len(followed.times("list")) == 2


def test_a_storm_of_410_does_not_become_a_storm_of_lists() -> None:
    followed = follow(
        lambda _: passes(60.0), before=lambda f: f.api.plan("watch", *[gone()] * 1000)
    )
    gaps = [later - at for at, later in pairwise(followed.times("list"))]

    assert gaps[:4] == pytest.approx([0.2, 0.4, 0.8, 1.6])
    assert gaps[-1] == pytest.approx(RETRY_MOST_S)


def test_bookmarks_move_the_version_on() -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        f.api.bookmark("Node")
        await passes(CALM_S)

    followed = follow(play, before=lambda f: f.api.plan("watch", Cut(1)))

    versions = [what for _, verb, what in followed.api.calls if verb == "watch"]
    assert versions == ["Node 100", "Node 110"]


def test_a_watch_that_ends_at_once_again_and_again_is_not_hammered() -> None:
    followed = follow(
        lambda _: passes(60.0), before=lambda f: f.api.plan("watch", *[Cut(0)] * 1000)
    )
    gaps = [later - at for at, later in pairwise(followed.times("watch"))]

    assert gaps[:4] == pytest.approx([0.2, 0.4, 0.8, 1.6])
    assert max(gaps) == pytest.approx(RETRY_MOST_S)
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


def test_a_server_that_has_gone_back_in_time_is_followed_from_there() -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        f.api.put("Node", "b")
        await passes(0.1)
        assert f.names() == ["a", "b"]
        f.api.restore(backup)
        await passes(CALM_S)
        assert f.names() == ["a"]
        f.api.put("Node", "a")
        f.api.put("Node", "c")
        await passes(CALM_S)
        assert f.is_equal()

    backup: dict[Key, JSON] = {}

    def before(f: Followed) -> None:
        f.api.put("Node", "a")
        backup.update(f.api.objects["Node"])
        f.api.plan("watch", Cut(1), *[refused(504, "Timeout")] * WATCH_FAILURES_MAX)

    followed = follow(play, before=before)
    assert len(followed.times("list")) == 2


@pytest.mark.parametrize(("jitter", "pause"), [(0.0, RETRY_S / 2), (1.0, RETRY_S)])
def test_pauses_are_spread(jitter: float, pause: float) -> None:
    followed = follow(idle, jitter=jitter, before=lambda f: f.api.plan("list", Unreachable("down")))

    assert followed.times("list") == [0.0, pause]


@pytest.mark.parametrize(
    ("asked_s", "pause_s"), [(0.0, RETRY_S), (3.0, 3.0), (3600.0, ASKED_PAUSE_MAX_S)]
)
@pytest.mark.parametrize("verb", ["list", "watch"])
def test_a_server_that_names_a_time_is_left_alone_until_then(
    verb: str, asked_s: float, pause_s: float
) -> None:
    busy = refused(429, "TooManyRequests", retry_after_s=asked_s)
    followed = follow(
        lambda _: passes(2 * ASKED_PAUSE_MAX_S), before=lambda f: f.api.plan(verb, busy)
    )

    assert followed.times(verb) == [0.0, pytest.approx(pause_s)]


# ----------------------------------------------------------------------------------------- silence

HUNG = Cut(0, after_s=1e9)


def test_a_watch_that_says_nothing_is_opened_again() -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        f.api.put("Node", "a")
        await passes(SILENCE_S + 1)
        assert f.names() == ["a"]

    followed = follow(play, before=lambda f: f.api.plan("watch", HUNG))

    assert followed.times("watch") == [0.0, SILENCE_S]
    assert len(followed.times("list")) == 1


def test_a_watch_that_falls_silent_is_opened_again() -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        await passes(100.0)
        f.api.put("Node", "a")
        await passes(1.0)
        f.api.put("Node", "b")
        await passes(SILENCE_S)
        assert f.names() == ["a", "b"]

    followed = follow(play, before=lambda f: f.api.plan("watch", Cut(1, after_s=1e9)))

    assert followed.times("watch") == [0.0, 100.0 + SILENCE_S]


def test_after_two_watches_that_say_nothing_a_list_is_made() -> None:
    """Something on the way may hold back whatever it is given until the stream ends."""
    followed = follow(
        lambda _: passes(4.5 * SILENCE_S), before=lambda f: f.api.plan("watch", *[HUNG] * 9)
    )

    assert [at / SILENCE_S for at in followed.times("watch")] == [0, 1, 2, 3, 4]
    assert [at / SILENCE_S for at in followed.times("list")] == [0, 2, 4]


def test_bookmarks_are_no_silence() -> None:
    async def play(f: Followed) -> None:
        for _ in range(10):
            await passes(SILENCE_S - 1)
            f.api.bookmark("Node")

    followed = follow(play)

    assert followed.times("watch") == [0.0]


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
        await passes(1)
        assert f.names() == ["a", "b"]
        f.api.unreadable.clear()
        f.api.put("Node", "odd")
        await passes(1)
        assert f.names() == ["a", "b", "odd"]
        assert dict(f.store.broken(NODES)) == {}

    followed = follow(play, before=before)

    assert followed.reports == ["nodes: node/odd cannot be read: odd"] * 2
    assert len(followed.times("watch")) == 1


def test_a_deletion_that_cannot_be_read_is_a_deletion() -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        f.api.unreadable.add(("Node", ("", "a")))
        f.api.put("Node", "a")
        await passes(1)
        assert dict(f.store.broken(NODES)) == {("", "a"): "odd"}
        f.api.remove("Node", "a")
        await passes(1)
        assert f.names() == ["b"]
        assert dict(f.store.broken(NODES)) == {}

    def before(f: Followed) -> None:
        f.api.put("Node", "a")
        f.api.put("Node", "b")

    followed = follow(play, before=before)
    assert len(followed.times("list")) == 1


@pytest.mark.parametrize("weather", ["good", "bad"])
def test_a_deletion_of_nobody_knows_whom_is_noticed_soon(weather: str) -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        f.api.hides_uids = True
        f.api.unreadable.add(("Node", ("", "a")))
        f.api.remove("Node", "a")
        await passes(1)
        assert f.names() == ["a", "b"]
        assert dict(f.store.broken(NODES)) == {("", "a"): "odd"}
        await passes(LIST_AFTER_BROKEN_S)
        assert f.names() == ["b"]
        assert dict(f.store.broken(NODES)) == {}

    def before(f: Followed) -> None:
        f.api.put("Node", "a")
        f.api.put("Node", "b")
        if weather == "bad":
            f.api.plan("watch", Cut(1), Cut(0), Cut(0, Unreachable("reset")))

    followed = follow(play, before=before)
    assert len(followed.times("list")) == 2
