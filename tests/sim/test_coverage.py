"""What worlds have met, and what they have not."""

from collections.abc import Iterator

import pytest

from tests.sim import sabotage
from unmoor.sim import coverage, draws, methods


def test_every_method_phase_and_fault_is_expected() -> None:
    expected = coverage.expected()

    assert set(draws.KINDS_OF_FAULTS) < set(expected)
    assert {one.partition("/")[0] for one in expected} >= set(methods.METHODS)
    assert "consolidation/replace Launching" in expected
    assert "emptiness/replace Launching" not in expected, "what is empty is not replaced"


def test_what_was_never_met_is_named() -> None:
    met = dict.fromkeys(coverage.expected(), 1)
    assert coverage.never_met(met) == []

    met["two instances"] = 0
    del met["emptiness/delete Settling"]
    assert coverage.never_met(met) == ["emptiness/delete Settling", "two instances"]


def test_each_kind_of_command_has_a_line() -> None:
    met = {"emptiness/delete Pending": 1200, "emptiness/delete Cancelled": 3, "kill": 2}
    told = list(coverage.lines(met))

    expected = "emptiness/delete: Pending 1,200, Deleting 0, Settling 0, Succeeded 0, Cancelled 3"
    assert expected in told
    assert told[-1].startswith("faults: api lost_request 0, ")
    assert "kill 2, " in told[-1]


@pytest.mark.slow
def test_a_world_counts_what_it_has_met() -> None:
    result = sabotage.play(5, 0.5)
    begun = {what: n for what, n in _commands(result.met) if what.endswith(" Pending")}

    assert sum(begun.values()) > 0
    assert result.met.keys() <= set(coverage.expected())


def _commands(met: dict[str, int]) -> Iterator[tuple[str, int]]:
    yield from ((what, n) for what, n in met.items() if "/" in what)
