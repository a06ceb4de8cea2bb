"""Public bug reports, and what may fail (spec 4.2): each names a test that names it, or why not."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LISTED = tomllib.loads((ROOT / "tests/reports.toml").read_text())
REPORTS, FAILURES = _LISTED["report"], _LISTED["failure"]
RULINGS = (ROOT / "docs/rulings.md").read_text()
OVERRIDDEN = re.compile(r"overridden-by-(R\d+)")
NOT_YET = re.compile(r"not-yet:(interruption|plan|repair|shutdown) \w+")
NUMBERS = {
    "C": (1, 3, 6, 8, 9, 10, 13, 15, 17, 18, 20, 23, 25, 27),
    "W": (1, 3, 5, 6, 8, 10, 12, 13),
    "E": (1, 5, 7, 8, 10, 12, 15, 16, 17, 20, 22, 23),
    "D": (1, 3, 7, 8, 9, 11, 13, 15),
    "N": (2, 3, 7, 8, 10, 11, 15, 16, 18, 19, 21, 22),
    "I": (1, 3, 5, 8, 9, 11),
    "T": (3, 5, 7, 9),
    "S": (1, 3, 5, 6, 8, 10),
    "F": (1, 3, 5),
    "R": (1, 3, 5),
}
"""Consolidation, windows, evictions, drift, new machines, interruption, termination, shutdown,
storage and rehearsals. What is missing was not usable as a case, or another report says the same.
"""
MENDED = 0.9
"""At least this share of those about what is built is a test."""


def source_of(test: str) -> str:
    """The source of a test, with its rows, "" when there is none."""
    path, _, name = test.partition("::")
    source = (ROOT / path).read_text()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    for one in ast.parse(source).body:
        if isinstance(one, kinds) and one.name == name:
            first = min([one.lineno, *(row.lineno for row in one.decorator_list)])
            return "\n".join(source.splitlines()[first - 1 : one.end_lineno])
    return ""


def test_every_report_is_there_once_and_in_order() -> None:
    wanted = [f"{letter}{number:02}" for letter, those in NUMBERS.items() for number in those]

    assert [one["id"] for one in REPORTS] == wanted


def test_every_named_test_exists_and_names_its_report() -> None:
    named = {
        one["id"]: source_of(one["status"].removeprefix("test:"))
        for one in REPORTS
        if one["status"].startswith("test:")
    }

    silent = [report for report, source in named.items() if report.lower() not in source.lower()]
    assert silent == []


def test_what_is_no_test_is_overridden_by_a_ruling_or_says_why_not() -> None:
    others = [one["status"] for one in REPORTS if not one["status"].startswith("test:")]
    rulings = [found[1] for one in others if (found := OVERRIDDEN.fullmatch(one))]

    assert [one for one in rulings if f"| {one} |" not in RULINGS] == []
    assert [one for one in others if not (OVERRIDDEN.fullmatch(one) or NOT_YET.match(one))] == []


def test_most_of_what_is_built_is_tested() -> None:
    built = [one for one in REPORTS if not one["status"].startswith("not-yet:")]
    tested = [one for one in built if one["status"].startswith("test:")]

    assert len(tested) >= MENDED * len(built)


def test_every_report_says_where_it_is_and_what_is_right() -> None:
    for one in REPORTS:
        assert one["where"], one["id"]
        assert len(one["summary"].split()) > 2, one["id"]


def test_every_row_of_what_fails_has_a_test_that_names_it() -> None:
    assert [one["at"] for one in FAILURES] == [f"4.2.{row}" for row in range(1, 11)]

    for one in FAILURES:
        source = source_of(one["status"].removeprefix("test:"))
        assert re.search(rf"\b{re.escape(one['at'])}\b(?!\d)", source), one["at"]
