"""A list of many objects: in pages from the server, and in turns into the store."""

from __future__ import annotations

import asyncio

import pytest

from tests.runtime.followed import Followed, follow, idle
from tests.runtime.scripted import gone, refused
from unmoor.model.cadence import Cadence
from unmoor.runtime.informer import PAGE_FAILURES_MAX, PAGE_SIZE
from unmoor.runtime.ports import Unreachable
from unmoor.runtime.store import TURN

RETRY_S = Cadence().watch_retry_s


def fill(f: Followed, count: int) -> None:
    for number in range(count):
        f.api.put("Node", f"n{number}")


def test_a_long_list_comes_in_pages_of_one_version() -> None:
    def before(f: Followed) -> None:
        fill(f, 2 * PAGE_SIZE + 1)

    followed = follow(idle, before=before)

    assert len(followed.names()) == 2 * PAGE_SIZE + 1
    assert len(followed.times("list")) == 3
    assert followed.times("watch") == [0.0]


def test_a_page_that_fails_is_asked_for_again_and_not_those_before_it() -> None:
    asked_s = 3.0
    throttled = refused(429, "TooManyRequests", retry_after_s=asked_s)

    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        assert asyncio.get_running_loop().time() == pytest.approx(RETRY_S + asked_s)
        assert f.is_equal()

    def before(f: Followed) -> None:
        fill(f, 2 * PAGE_SIZE + 1)
        f.api.plan("list", None, None, Unreachable("reset"), throttled)

    followed = follow(play, before=before)

    assert len(followed.times("list")) == 5
    assert followed.reports == ["nodes: reset", f"nodes: {throttled}"]


def test_a_page_that_fails_again_and_again_begins_the_list_again() -> None:
    def before(f: Followed) -> None:
        fill(f, PAGE_SIZE + 1)
        f.api.plan("list", None, *[refused(500, "InternalError")] * PAGE_FAILURES_MAX)

    followed = follow(idle, before=before)

    assert followed.is_equal()
    assert len(followed.times("list")) == 1 + PAGE_FAILURES_MAX + 2


def test_pages_of_two_versions_are_no_list() -> None:
    def before(f: Followed) -> None:
        fill(f, 2 * PAGE_SIZE)
        f.api.mixes_pages = 2

    followed = follow(idle, before=before)

    assert followed.is_equal()
    said = "nodes: the list of nodes has pages of version 1100 and of 1101"
    assert followed.reports == [said, said]


def test_pages_that_expired_are_had_in_one_answer() -> None:
    def before(f: Followed) -> None:
        fill(f, PAGE_SIZE + 1)
        f.api.plan("list", None, gone())

    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        assert asyncio.get_running_loop().time() == 0.0
        assert f.is_equal()

    follow(play, before=before)


def test_a_page_that_comes_again_and_again_is_not_taken_for_a_list() -> None:
    def before(f: Followed) -> None:
        fill(f, 2 * PAGE_SIZE)
        f.api.repeats_pages = 3

    followed = follow(idle, before=before)

    assert followed.is_equal()
    assert set(followed.reports) == {"nodes: the list of nodes has the same page again and again"}


def test_others_have_a_turn_while_a_long_list_is_taken() -> None:
    sizes: list[int] = []

    async def play(f: Followed) -> None:
        while not f.informer.is_synced:
            await asyncio.sleep(0)
            sizes.append(len(f.names()))

    def before(f: Followed) -> None:
        fill(f, 4 * TURN)

    follow(play, before=before)

    assert {TURN, 2 * TURN, 3 * TURN} <= set(sizes)
