"""What a rehearsal tells of unmoor, beside what the demo shows."""

from __future__ import annotations

from tests.app.test_metrics import HandClock
from tests.builders import moment
from unmoor.app.narrator import Line, Narrator
from unmoor.lifecycle.step import Step
from unmoor.runtime.story import Record


def test_a_crash_that_repeats_is_told_once_and_counted() -> None:
    said: list[Line] = []
    narrator = Narrator(HandClock(), {}, said.append)

    for crash in ("KeyError: 'a'", "KeyError: 'a'", "KeyError: 'b'"):
        narrator.hear(Record("garbage", "all", moment(), 1, Step(), crash=crash))

    told = [line.text.removeprefix("a step of garbage crashed: ") for line in said]
    assert told == ["KeyError: 'a'", "KeyError: 'b'"]
    assert narrator.counts["crashes"] == 3
