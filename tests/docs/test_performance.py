"""The benchmarks run, on a cluster of no size, and their page says what they found."""

from __future__ import annotations

import pytest

from tests.bench import page
from tests.bench.__main__ import number, shown
from tests.bench.engine import BENCHMARKS
from tests.bench.measuring import Benchmark, Figure, Size

TINY = Size(nodes=12, pods=300, rate=500, seconds=0.5, face_pods=20, placed_pods=100)
MEASURED = [one for one in BENCHMARKS if one.name != "parts"]
"""The parts are tests themselves."""


@pytest.mark.slow
@pytest.mark.parametrize("measured", MEASURED, ids=[one.name for one in MEASURED])
def test_a_benchmark_runs(measured: Benchmark) -> None:
    figures = {figure.name: figure for figure in measured.read(measured.run(TINY))}

    # What takes the same at every size has an exponent around 0, on either side.
    least = {name: -1.0 if name.startswith("exponent") else 0.0 for name in figures}
    assert [name for name, one in figures.items() if not one.value >= least[name]] == []
    if measured.name == "watch":
        assert figures["events a second"].value > 0
        assert figures["steps a second meanwhile"].value > 0
        assert figures["steps that crashed"].value == 0


@pytest.mark.parametrize(
    ("figure", "expected"),
    [
        (Figure("memory", 0.2471, "GiB", goal=0.6), ("0.247 GiB", "at most 0.6 GiB", "met")),
        (Figure("time", 6.514, "s", goal=6.0), ("6.51 s", "at most 6 s", "MISSED")),
        (
            Figure("events", 19_999.0, "/s", goal=20_000.0, is_most=False),
            ("19,999/s", "at least 20,000/s", "MISSED"),
        ),
        (Figure("steps", 1234.5, "/s"), ("1,234/s", "", "")),
    ],
)
def test_a_figure_is_held_against_its_goal(figure: Figure, expected: tuple[str, str, str]) -> None:
    assert shown(figure) == expected


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0 ms"), (0.0123, "0.0123 ms"), (99.96, "100 ms"), (100.4, "100 ms")]
)
def test_three_digits_count(value: float, text: str) -> None:
    assert number(value, "ms") == text


def test_the_page_says_what_was_kept() -> None:
    machine = dict.fromkeys(("processor", "memory", "system", "python"), "some")
    record = {
        "when": "2026-01-05 08:00 UTC",
        "load": 0.1,
        "machine": machine | {"unmoor": "0.1", "aiohttp": "3", "msgspec": "0"},
        "figures": [Figure("until all is known", 7.0, "s", goal=6.0)._asdict()],
        "raw": {"wall_s": 7.0, "weight pod.spec": 16.8, "weight key": 3.0},
    }
    text = "\n".join(page.lines({"sync": record}))

    assert "| until all is known | 7 s | at most 6 s | MISSED |" in text
    assert "20 MB in all: pod.spec 17 MB, key 3 MB." in text
    assert "2026-01-05 08:00 UTC" in text
    assert "face" not in text
