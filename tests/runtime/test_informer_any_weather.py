"""Whatever fails on the way, the sink ends up equal to the server."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.followed import CALM_S, Followed, follow
from tests.runtime.scripted import Cut, Planned, Slow, gone, passes, refused
from unmoor.model.kinds import NODES
from unmoor.runtime.informer import (
    LIST_AFTER_BROKEN_S,
)
from unmoor.runtime.ports import Unreachable

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
            mend(f)
        case _:
            return 2.0
    return 0.0


def mend(f: Followed) -> None:
    """Somebody writes what was odd anew, and well."""
    mended = sorted(f.api.unreadable)
    f.api.unreadable.clear()
    for kind, (_, name) in mended:
        if ("", name) in f.api.objects[kind]:
            f.api.put(kind, name)


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
            await passes(do(f, doing))
        f.api.calm()
        mend(f)
        await passes(LIST_AFTER_BROKEN_S + CALM_S)
        assert f.is_equal()
        assert dict(f.store.broken(NODES)) == {}

    def before(f: Followed) -> None:
        f.api.plan("list", *lists)
        f.api.plan("watch", *watches)

    follow(play, before=before)
