"""The benchmarks run, on a cluster of no size, and their page says what they found."""

from __future__ import annotations

import json
from pathlib import Path

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


MADE = {
    "when": "2026-01-05 08:00 UTC",
    "load": 0.1,
    "machine": dict.fromkeys(("processor", "memory", "system", "python"), "some")
    | {"unmoor": "0.1", "aiohttp": "3", "msgspec": "0"},
}
KEPT = {"watch": {"figures": [Figure("start: longest pause", 68.8, "ms", goal=50.0)._asdict()]}}


def test_the_summary_counts_goals_and_says_why_one_is_missed() -> None:
    more = {"sync": {"figures": [Figure("until all is known", 3.0, "s", goal=6.0)._asdict()]}}
    text = "\n".join(page.summary(KEPT | more))

    assert "| all of a big cluster is known | at most 6 s | 3 s | met |" in text
    assert "Of all 2 goals below, 1 are met." in text
    why = page.WHY["watch", "start: longest pause"]
    assert f"start: longest pause: 68.8 ms, goal at most 50 ms. {why[0].upper()}{why[1:]}." in text


def test_a_goal_that_is_missed_without_a_reason_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "measured.json"
    missed = Figure("start: processor time", 9.0, "s", goal=5.0)._asdict()
    kept.write_text(json.dumps({"watch": {"figures": [missed], "raw": {}} | MADE}))

    assert page.write(kept, tmp_path / "page.md") == 1
    assert "watch: start: processor time" in capsys.readouterr().err
    assert page.UNKNOWN.capitalize() in (tmp_path / "page.md").read_text()


def test_whatever_the_summary_names_is_on_the_page() -> None:
    rows = page.PAGE.read_text()
    named = [name for _, name, _ in page.MAIN] + [name for _, name in page.WHY]

    assert [name for name in named if f"| {name} |" not in rows] == []


def test_the_page_says_what_was_kept() -> None:
    record = MADE | {
        "figures": [Figure("until all is known", 7.0, "s", goal=6.0)._asdict()],
        "raw": {"wall_s": 7.0, "weight pod.spec": 16.8, "weight key": 3.0},
    }
    text = "\n".join(page.lines({"sync": record}))

    assert "| until all is known | 7 s | at most 6 s | MISSED |" in text
    assert "20 MB in all: pod.spec 17 MB, key 3 MB." in text
    assert "2026-01-05 08:00 UTC" in text
    assert "face" not in text
