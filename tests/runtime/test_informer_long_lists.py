"""A list of many objects: in pages from the server, and in turns into the store."""

from __future__ import annotations

import asyncio

from tests.runtime.followed import Followed, follow, idle
from unmoor.runtime.informer import PAGE_SIZE
from unmoor.runtime.store import TURN


def test_a_long_list_comes_in_pages_of_one_version() -> None:
    def before(f: Followed) -> None:
        for number in range(2 * PAGE_SIZE + 1):
            f.api.put("Node", f"n{number}")

    followed = follow(idle, before=before)

    assert len(followed.names()) == 2 * PAGE_SIZE + 1
    assert len(followed.times("list")) == 3
    assert followed.times("watch") == [0.0]


def test_others_have_a_turn_while_a_long_list_is_taken() -> None:
    sizes: list[int] = []

    async def play(f: Followed) -> None:
        while not f.informer.is_synced:
            await asyncio.sleep(0)
            sizes.append(len(f.names()))

    def before(f: Followed) -> None:
        for number in range(4 * TURN):
            f.api.put("Node", f"n{number}")

    follow(play, before=before)

    assert {TURN, 2 * TURN, 3 * TURN} <= set(sizes)
