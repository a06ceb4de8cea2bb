"""What a person has paused, who said so, and until when."""

from __future__ import annotations

import pytest

from tests.builders import at, moment
from tests.policy.underused import consolidated, look, node, pod
from unmoor.model import names
from unmoor.model.settings import Settings
from unmoor.policy import consolidation, pause
from unmoor.policy.verdict import Reason

SOON = "2024-05-01T12:01:00Z"
DOUBT = "until=tomorrow is no time, so it has no end; write 2026-12-01T18:00:00Z"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("true", "paused"),
        ("by=anna", "paused by anna"),
        (f"until={SOON}", f"paused until {SOON}"),
        ("reason=the database moves, slowly", "paused: the database moves, slowly"),
        (f"by=anna, until={SOON}, reason=a, b", f"paused by anna until {SOON}: a, b"),
        ("we look at it", "paused: we look at it"),
        ("by=anna, we look at it", "paused by anna: we look at it"),
        (
            "until=tomorrow",
            "paused (until=tomorrow is no time, so it has no end; write 2026-12-01T18:00:00Z)",
        ),
    ],
)
def test_what_is_written(text: str, said: str) -> None:
    assert str(pause.read(text)) == said


@pytest.mark.parametrize("text", ["", "false", " "])
def test_what_is_no_pause(text: str) -> None:
    assert pause.read(text) is None


@pytest.mark.parametrize(
    "where",
    ["node", "provisioner", "cluster"],
)
@pytest.mark.parametrize(("after_s", "goes"), [(59.0, False), (60.0, True)])
def test_nothing_goes_until_it_is_over(where: str, after_s: float, *, goes: bool) -> None:
    text = f"by=anna, until={SOON}, reason=we look at it"
    marked = {names.PAUSED: text}
    of_node = node("a", annotations=marked if where == "node" else {})
    settings = Settings(paused=text if where == "cluster" else "")
    maker = consolidated(annotations={})
    if where == "provisioner":
        maker.metadata.annotations.update(marked)

    proposal = consolidation.propose(
        look(maker, of_node, pod("web-1", "a"), settings=settings, after_s=after_s)
    )

    assert (proposal.command is not None) is goes
    if not goes:
        [verdict] = proposal.verdicts
        assert verdict.reason is Reason.PAUSED
        assert "paused by anna until" in verdict.message
        assert "remove" in verdict.message


def test_a_time_without_a_zone_is_utc() -> None:
    found = pause.read("until=2024-05-01T12:00:30")

    assert found is not None
    assert found.until == at(30)
    assert found.is_over(moment(30))
    assert not found.is_over(moment(29))
