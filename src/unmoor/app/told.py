"""What was said already? A log is read by people: the same thing is told once, until it changes.

Whoever looks every second finds the same thing every second. What is remembered is bounded, and of
the droppable kind: without it something is told once more.

Must not: decide what is worth telling, or write it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence

ABOUT_MAX = 20_000
"""Of so many things is remembered what was said of them; the longest unmentioned are forgotten."""


class Told:
    """What was said of whom, in which words, and when (monotonic seconds)."""

    def __init__(self, others_kept: int = 0) -> None:
        """``others_kept``: so many earlier words of a thing are still known when others are said.

        Words that take turns are then told once each. Without it, coming back is a change.
        """
        self._others_kept = others_kept
        self._said: OrderedDict[Hashable, dict[str, float]] = OrderedDict()

    def news(
        self, about: Hashable, words: Sequence[str], *, now_s: float, again_s: float
    ) -> list[str]:
        """Take what is said of ``about`` now; return what was not said within ``again_s``."""
        known = self._said.get(about, {})
        new = [one for one in words if one not in known or now_s - known[one] >= again_s]
        said = {one: now_s if one in new else known[one] for one in words}
        others = [one for one in known if one not in said]
        kept = others[max(len(others) - self._others_kept, 0) :]
        self._said[about] = {one: known[one] for one in kept} | said
        self._said.move_to_end(about)
        while len(self._said) > ABOUT_MAX:
            self._said.popitem(last=False)
        return new

    def forget(self, about: Hashable) -> None:
        """It is over: if it comes again, that is news."""
        self._said.pop(about, None)
