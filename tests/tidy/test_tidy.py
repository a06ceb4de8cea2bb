"""The house is tidy: sizes, names, bans, links; every exception has a reason and is needed."""

import ast
import tomllib
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

import pytest

from tests.tidy import markdown, rules, tree
from tests.tidy.rules import Measure
from tests.tidy.tree import Source
from unmoor.model.disruption import DisruptionPhase
from unmoor.policy.verdict import Reason

LIST = "tests/tidy/exceptions.toml"
EXCEPTIONS = tomllib.loads((tree.ROOT / LIST).read_text())
REASON_WORDS = 3

Rule = Callable[[Source], Iterator[Measure]]

LIMITS: dict[str, tuple[Rule, int]] = {
    "module_lines": (rules.module_lines, rules.MODULE_LINES),
    "function_lines": (rules.function_lines, rules.FUNCTION_LINES),
    "parameters": (rules.parameters, rules.PARAMETERS),
}


def measured(rule: str) -> dict[str, int]:
    """Everything over the limit, in the whole tree."""
    measure, limit = LIMITS[rule]
    return {key: size for source in tree.sources() for key, size in measure(source) if size > limit}


def sleeping() -> set[str]:
    return {
        key
        for source in tree.sources()
        if source.path.startswith("tests/")
        for key in rules.sleeps(source)
    }


# ------------------------------------------------------------------------------- the tree as it is


@pytest.mark.parametrize("rule", LIMITS)
def test_nothing_is_too_big_without_a_reason(rule: str) -> None:
    allowed = {key: entry["at_most"] for key, entry in EXCEPTIONS[rule].items()}

    over = {k: size for k, size in measured(rule).items() if size > allowed.get(k, 0)}
    assert over == {}, f"at most {LIMITS[rule][1]}: split it, or add a line with a reason to {LIST}"


@pytest.mark.parametrize("rule", LIMITS)
def test_every_exception_is_still_needed(rule: str) -> None:
    unneeded = sorted(EXCEPTIONS[rule].keys() - measured(rule).keys())
    assert unneeded == [], f"not over {LIMITS[rule][1]} any more: remove them from {LIST}"


def test_every_exception_has_a_reason() -> None:
    entries = [(key, entry) for rule in EXCEPTIONS.values() for key, entry in rule.items()]

    silent = [key for key, entry in entries if len(entry.get("reason", "").split()) < REASON_WORDS]
    assert silent == [], f"say why, in {REASON_WORDS} words or more, in {LIST}"


def test_exceptions_name_known_rules() -> None:
    assert sorted(EXCEPTIONS) == sorted([*LIMITS, "sleeps"]), f"{LIST} has other sections"


def test_no_test_sleeps_without_a_reason() -> None:
    listed = EXCEPTIONS["sleeps"].keys()
    remedy = "wait for what happens, or run in virtual time; else give a reason in"
    assert sorted(sleeping() - listed) == [], f"no fixed sleeps: {remedy} {LIST}"
    assert sorted(listed - sleeping()) == [], f"they do not sleep: remove them from {LIST}"


def test_every_name_answers_a_question() -> None:
    found = [path for f in tree.files() for path in rules.empty_names(tree.relative(f))]
    assert found == [], "name it after the question that it answers"


def test_every_module_opens_with_what_it_answers() -> None:
    silent = [
        source.path
        for source in tree.sources()
        if source.path.startswith("src/") and not ast.get_docstring(source.module)
    ]

    assert silent == [], "begin with a docstring: what it answers, and what it must not do"


@pytest.mark.parametrize(
    ("home", "values"),
    [("policy/verdict.py", Reason), ("model/disruption.py", DisruptionPhase)],
)
def test_every_word_of_a_closed_list_is_used(home: str, values: type[StrEnum]) -> None:
    text = "\n".join(
        source.text
        for source in tree.sources()
        if source.path.startswith("src/") and not source.path.endswith(home)
    )

    unused = [one.name for one in values if f"{values.__name__}.{one.name}" not in text]
    assert unused == [], f"nobody gives them: use them, or remove them from {home}"


def test_nothing_is_mocked() -> None:
    found = [place for source in tree.sources() for place in rules.mocks(source)]
    assert found == [], "a double is a server, or a class that fulfils the port"


@pytest.mark.parametrize(
    "words", [rules.WORKPLACE, rules.REGISTRIES], ids=["workplace", "registry"]
)
def test_nothing_points_outside(words: tuple[str, ...]) -> None:
    found = [line for text in tree.texts() for line in rules.mentions(*text, words)]
    assert found == [], "the project speaks of itself alone: remove these words"


def test_links_lead_somewhere() -> None:
    broken = [
        f"{tree.relative(page)}: {target}"
        for page in tree.files()
        if page.suffix == ".md"
        for target in markdown.broken_links(page, tree.ROOT)
    ]

    assert broken == [], "neither a file of this repository nor a heading in one"


# ----------------------------------------------------------------------- the rules find what is bad


def source(text: str) -> Source:
    return Source("tests/bad.py", text)


def test_sizes_are_measured() -> None:
    body = "    pass\n" * rules.FUNCTION_LINES
    bad = source(f"class A:\n  def f(self, a, /, b, *c, d, e, f, **g):\n{body}")

    assert list(rules.module_lines(bad)) == [Measure("tests/bad.py", 62)]
    assert list(rules.function_lines(bad)) == [Measure("tests/bad.py::A.f", 61)]
    assert list(rules.parameters(bad)) == [Measure("tests/bad.py::A.f", 7)]


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("time.sleep(1)", True),
        ("asyncio.sleep(0.1)", True),
        ("sleep(2, None)", True),
        ("asyncio.sleep(0)", False),
        ("asyncio.sleep(until - now)", False),
    ],
)
def test_fixed_sleeps_are_found(call: str, *, found: bool) -> None:
    bad = source(f"async def f():\n    {call}\n")

    assert list(rules.sleeps(bad)) == (["tests/bad.py::f"] if found else [])


@pytest.mark.parametrize(
    "line",
    [
        "from unittest import mock",
        "from unittest.mock import patch",
        "import unittest.mock",
        "import mock",
        "def test(mocker): ...",
        "monkeypatch.setattr(time, 'time', lambda: 0)",
    ],
)
def test_mocks_are_found(line: str) -> None:
    assert list(rules.mocks(source(line))) == ["tests/bad.py:1"]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("src/unmoor/utils/a.py", True),
        ("tests/helpers.py", True),
        ("deploy/Manager.yaml", True),
        ("src/unmoor/model/commonality.py", False),
    ],
)
def test_empty_names_are_found(path: str, *, found: bool) -> None:
    assert list(rules.empty_names(path)) == ([path] if found else [])


def test_mentions_are_found_with_their_line() -> None:
    word = rules.REGISTRIES[0]

    assert list(rules.mentions("a", f"x\nsee {word}\n", rules.REGISTRIES)) == [f"a:2: see {word}"]


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A `b`, c\n\n# Twice\n\n# Twice\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md) [b](there.md#a-b-c) [c](there.md#twice-1) [d](#here) [e](https://example.org)\n"
        "[f](gone.md) [g](there.md#gone) ![h](gone.png) `[i](code.md)` [j](../outside.md)\n"
        "# Here\n```\n[k](fenced.md)\n```\n[l]: gone.txt\n"
    )

    assert sorted(markdown.broken_links(page, tmp_path)) == [
        "../outside.md",
        "gone.md",
        "gone.png",
        "gone.txt",
        "there.md#gone",
    ]
