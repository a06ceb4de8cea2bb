"""What was said is known for a while, of so many things and no more."""

from __future__ import annotations

import pytest

from unmoor.app import told
from unmoor.app.told import Told


def test_what_is_said_with_something_else_is_not_pushed_out() -> None:
    memory = Told()

    assert memory.news("a", ("x", "y"), now_s=0, again_s=60) == ["x", "y"]
    assert memory.news("a", ("y", "x"), now_s=1, again_s=60) == []
    assert memory.news("b", ("x",), now_s=1, again_s=60) == ["x"]


@pytest.mark.parametrize(("kept", "news"), [(0, ["x"]), (1, [])])
def test_coming_back_is_news_unless_the_others_are_kept(kept: int, news: list[str]) -> None:
    memory = Told(kept)
    for at_s, words in enumerate("xyxy"):
        memory.news("a", (words,), now_s=at_s, again_s=60)

    assert memory.news("a", ("x",), now_s=5, again_s=60) == news


def test_no_more_than_a_few_are_kept() -> None:
    memory = Told(2)
    for at_s, words in enumerate("wxyz"):
        memory.news("a", (words,), now_s=at_s, again_s=60)

    assert memory.news("a", ("x",), now_s=5, again_s=60) == []
    assert memory.news("a", ("w",), now_s=5, again_s=60) == ["w"]


def test_what_is_over_is_news_when_it_comes_again() -> None:
    memory = Told(4)
    memory.news("a", ("x",), now_s=0, again_s=60)
    memory.forget("a")
    memory.forget("never said")

    assert memory.news("a", ("x",), now_s=1, again_s=60) == ["x"]


def test_of_the_thing_unmentioned_for_longest_nothing_is_known() -> None:
    memory = Told()
    for number in range(told.ABOUT_MAX + 1):
        memory.news(number, ("x",), now_s=0, again_s=60)

    assert memory.news(0, ("x",), now_s=1, again_s=60) == ["x"]
    assert memory.news(told.ABOUT_MAX, ("x",), now_s=1, again_s=60) == []
