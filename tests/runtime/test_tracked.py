"""Once it is synced, everything that the server has is looked at; before, it is not synced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.followed import Followed, follow
from tests.runtime.scripted import Slow, passes
from unmoor.engine.scenery import scene_of
from unmoor.model.kinds import MACHINES, NODES, Resource

Before = Callable[[Followed], Any]


def node(name: str, provider_id: str = "") -> Before:
    spec = {"providerID": provider_id} if provider_id else {}
    return lambda f: f.api.put("Node", name, spec=spec)


def machine(name: str, provider_id: str) -> Before:
    return lambda f: f.api.put("Machine", name, status={"providerID": provider_id})


def all_of(*parts: Before) -> Before:
    def before(f: Followed) -> None:
        for part in parts:
            part(f)

    return before


def second_list_is_slow(f: Followed) -> None:
    f.api.plan("list", None, Slow(2.0))


def places(f: Followed) -> list[str]:
    return [place.name for place in scene_of(f.store.freeze(), ()).places]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        pytest.param(  # T195
            all_of(node("a", "sim:///a"), node("b", "sim:///b")), ["a", "b"], id="T195"
        ),
        pytest.param(all_of(node("a"), node("b")), ["a", "b"], id="T196"),  # T196
        pytest.param(  # T198
            all_of(machine("m-a", "sim:///a"), machine("m-b", "sim:///b")),
            ["m-a", "m-b"],
            id="T198",
        ),
        pytest.param(  # T199
            all_of(node("a", "sim:///a"), node("b"), machine("m-c", "sim:///c")),
            ["a", "b", "m-c"],
            id="T199",
        ),
        pytest.param(  # T200
            all_of(node("a", "sim:///a"), machine("m-a", "sim:///a")), ["a"], id="T200"
        ),
    ],
)
def test_synced_it_knows_every_node_and_machine(before: Before, expected: list[str]) -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        assert sorted(places(f)) == expected

    follow(play, resources=(NODES, MACHINES), before=before)


def test_t197_it_stays_synced_while_nodes_get_their_provider_ids() -> None:
    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        node("a", "sim:///a")(f)
        await passes(0.1)
        assert f.informer.is_synced
        assert places(f) == ["a"]

    before = all_of(node("a"), machine("m-a", "sim:///a"))
    follow(play, resources=(NODES, MACHINES), before=before)


def test_it_is_synced_though_a_machine_has_no_provider_id() -> None:
    """R39, instead of T201. It is among those that are to come, and no place yet."""

    async def play(f: Followed) -> None:
        await f.informer.wait_synced()
        assert [key[1] for key in f.store.all(MACHINES)] == ["m-b"]
        assert places(f) == ["a"]

    before = all_of(node("a", "sim:///a"), machine("m-b", ""))
    follow(play, resources=(NODES, MACHINES), before=before)


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param((NODES, MACHINES), id="T202"),  # T202
        pytest.param((MACHINES, NODES), id="T203"),  # T203
    ],
)
def test_it_is_not_synced_while_one_of_them_is_unknown(
    resources: tuple[Resource[Any], ...],
) -> None:
    """The first kind is listed at once, the second only two seconds later."""

    async def play(f: Followed) -> None:
        await passes(1.0)
        first, second = resources
        assert (len(f.store.all(first)), len(f.store.all(second))) == (1, 0)
        assert not f.informer.is_synced
        await f.informer.wait_synced()
        assert places(f) == ["a"]

    there = all_of(node("a", "sim:///a"), machine("m-a", "sim:///a"))
    follow(play, resources=resources, before=all_of(there, second_list_is_slow))
