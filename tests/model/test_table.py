"""A past says what its table said when it was made, whatever becomes of the table."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmoor.model.table import Past, Table

KEYS = st.sampled_from("abcd")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.integers(0, 3)),
        st.tuples(st.just("remove"), KEYS, st.just(0)),
        st.tuples(st.just("remember"), st.just(""), st.just(0)),
    ),
    max_size=30,
)


@given(STEPS)
def test_every_past_is_as_a_copy(steps: list[tuple[str, str, int]]) -> None:
    table: Table[str, int] = Table()
    pasts: list[tuple[Past[str, int], dict[str, int]]] = []
    for what, key, value in steps:
        match what:
            case "put":
                table.put(key, value)
            case "remove":
                assert table.get(key) == table.remove(key)
                assert key not in table
            case _:
                pasts.append((table.past(), dict(table)))

    for past, then in pasts:
        assert past == then
        assert len(past) == len(then)
        assert sorted(past) == sorted(past.keys()) == sorted(then)
        assert sorted(past.values()) == sorted(then.values())
        assert sorted(past.items()) == sorted(then.items())
        assert [past.get(key, "none") for key in "abcd"] == [then.get(k, "none") for k in "abcd"]
        assert [key in past for key in "abcd"] == [key in then for key in "abcd"]


@given(STEPS)
def test_a_past_knows_which_keys_may_differ_later(steps: list[tuple[str, str, int]]) -> None:
    table: Table[str, int] = Table()
    pasts: list[tuple[Past[str, int], dict[str, int]]] = [(table.past(), {})]
    for what, key, value in steps:
        match what:
            case "put":
                table.put(key, value)
            case "remove":
                table.remove(key)
            case _:
                pasts.append((table.past(), dict(table)))
    pasts.append((table.past(), dict(table)))

    for index, (then, old) in enumerate(pasts):
        for now, new in pasts[index:]:
            differ = {key for key in "abcd" if old.get(key) != new.get(key)}
            assert differ <= set(then.since(now) or ())
        assert set(then.since(table) or ()) == set(then.since(pasts[-1][0]) or ())
    assert not pasts[-1][0].since(table)


def test_of_another_table_nobody_knows() -> None:
    one: Table[str, int] = Table()
    other: Table[str, int] = Table()

    assert one.past().since(other) is None
    assert one.past().since(other.past()) is None


def test_what_was_not_there_is_an_error() -> None:
    table: Table[str, int] = Table()
    past = table.past()
    table.put("a", 1)

    with pytest.raises(KeyError):
        past["a"]


def test_a_past_that_nobody_keeps_is_gone() -> None:
    table: Table[str, int] = Table()
    table.put("a", 1)
    known = weakref.ref(table.past())
    gc.collect()
    table.put("a", 2)
    table.past()

    assert known() is None
    assert len(table._pasts) == 1


def test_it_can_be_read_while_another_thread_changes_the_table() -> None:
    table: Table[int, int] = Table()
    for key in range(20):
        table.put(key, 0)
    current = (table.past(), 0)
    wrong: list[object] = []
    has_ended = threading.Event()

    def read() -> None:
        while not has_ended.is_set():
            past, turn = current
            wrong.extend(value for key in range(20) if (value := past.get(key)) != turn)
            if set(past.values()) != {turn} or len(past) != 20:
                wrong.append("another whole")

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    reader = threading.Thread(target=read)
    reader.start()
    try:
        for turn in range(1, 6_000):
            for key in range(20):
                table.remove(key)
                table.put(key, turn)
            current = (table.past(), turn)
    finally:
        has_ended.set()
        reader.join()
        sys.setswitchinterval(before)

    assert wrong == []
