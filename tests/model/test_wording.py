"""How many of many things are named in a sentence."""

from __future__ import annotations

from unmoor.model.wording import JOINED_CHARS_MAX, joined


def test_a_short_list_is_given_in_full() -> None:
    assert joined(["a", "b", "c", "d"]) == "a, b, c, d"
    assert joined(["a", "b"], " or ") == "a or b"
    assert joined([]) == ""
    assert joined(["x" * JOINED_CHARS_MAX]) == "x" * JOINED_CHARS_MAX


def test_what_there_is_no_room_for_is_counted() -> None:
    listed = [f"{number:09}" for number in range(10_000)]

    text = joined(listed)

    assert text.startswith("000000000, 000000001, ")
    assert text.endswith("000000026 and 9,973 more")
    assert len(text.removesuffix(" and 9,973 more")) <= JOINED_CHARS_MAX


def test_one_that_is_too_long_itself_is_cut() -> None:
    cut = "x" * JOINED_CHARS_MAX + "..."

    assert joined(["x" * 1_000_000]) == cut
    assert joined(["x" * 1_000_000, "b", "c"]) == f"{cut} and 2 more"
