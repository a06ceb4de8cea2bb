"""When the outside may be asked again."""

from __future__ import annotations

import pytest

from tests.builders import moment
from unmoor.model.observation import ASKED_PAUSE_MAX_S, Answer, Problem, ProblemKind


@pytest.mark.parametrize(
    ("asked_s", "waited_s"), [(None, 5.0), (1.0, 5.0), (20.0, 20.0), (9e9, ASKED_PAUSE_MAX_S)]
)
def test_it_is_asked_again_after_a_pause_or_when_it_wants_to_be(
    asked_s: float | None, waited_s: float
) -> None:
    busy = Problem(ProblemKind.TOO_MANY_REQUESTS, retry_after_s=asked_s)
    answer: Answer[bool] = Answer(moment(), None, busy)

    assert answer.again_at(5.0) == moment(waited_s).mono


def test_a_good_answer_lasts_for_the_pause() -> None:
    assert Answer(moment(), True).again_at(5.0) == moment(5.0).mono
