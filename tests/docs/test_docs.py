"""The documentation is true where a machine can tell: pages fresh, commands real, rulings found."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack import docs, reasons
from hack.docs import Page
from tests.tidy import tree
from unmoor.app.cli import COMMANDS

FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
SHELL = {"sh", "bash", "console"}
TARGET = re.compile(r"^([a-z0-9-]+):", re.MULTILINE)
RULING = re.compile(r"\bR[0-9]{1,2}\b")
REPORT = re.compile(r"\b[CENT][0-9]{2}\b")


def hand_written() -> list[Path]:
    made = {page.path for page in docs.PAGES if page.path.startswith("docs/")}
    return [f for f in tree.files() if f.suffix == ".md" and tree.relative(f) not in made]


def commands_on(page: Path) -> Iterator[str]:
    """What a reader could type: the lines of shell blocks, and what stands between backticks."""
    text = page.read_text()
    for language, block in FENCE.findall(text):
        if language in SHELL:
            yield from (line.strip().removeprefix("$ ") for line in block.splitlines())
    yield from INLINE.findall(FENCE.sub("", text))


def called(program: str) -> list[tuple[str, str]]:
    """(page, first word after the program) for each time that hand-written pages call it."""
    found = []
    for page in hand_written():
        for line in commands_on(page):
            match = re.search(rf"(?:^|[|&;] *){program} +([a-z][\w-]*)", line)
            if match:
                found.append((tree.relative(page), match[1]))
    return found


@pytest.mark.parametrize("page", docs.PAGES, ids=lambda page: page.path)
def test_a_generated_page_is_fresh(page: Page) -> None:
    assert [found.path for found, _, _ in docs.stale([page])] == [], "run `make docs`"


def test_a_stale_page_is_found() -> None:
    page = Page("docs/no-such-page.md", lambda: "text\n")

    assert [found for found, _, _ in docs.stale([page])] == [page]


def test_no_reference_page_is_left_over() -> None:
    there = {tree.relative(f) for f in tree.files() if f.parent.name == "reference"}

    made = {page.path for page in docs.PAGES if "/reference/" in page.path}
    assert there == made, "nothing makes it: delete it, or add a Page to hack/docs.py"


def test_every_reason_that_is_given_has_words() -> None:
    rows = [row for _, rows in reasons.sections() for row in rows]

    silent = [row.reason for row in rows if row.modules and not any(row.words)]
    assert silent == [], "its sentence stands in pieces: say in policy/verdict.py what it means"


def test_make_targets_exist() -> None:
    targets = set(TARGET.findall((tree.ROOT / "Makefile").read_text()))

    lost = [call for call in called("make") if call[1] not in targets]
    assert lost == [], "the Makefile has no such target"


def test_commands_exist() -> None:
    lost = [call for call in called("unmoor") if call[1] not in COMMANDS]
    assert lost == [], "unmoor has no such command"


def test_calls_are_found() -> None:
    assert ("CONTRIBUTING.md", "check") in called("make")
    assert ("README.md", "drain") in called("unmoor")


@pytest.mark.parametrize("pattern", [RULING, REPORT], ids=["rulings", "bug reports"])
def test_what_is_cited_can_be_looked_up(pattern: re.Pattern[str]) -> None:
    pages = [(tree.ROOT / "docs" / name).read_text() for name in ("rulings.md", "cases.md")]
    listed = set(re.findall(r"^\| ([A-Z][0-9]{1,2}) \|", "\n".join(pages), re.MULTILINE))
    cited = {
        number: source.path for source in tree.sources() for number in pattern.findall(source.text)
    }

    lost = {number: path for number, path in cited.items() if number not in listed}
    assert lost == {}, (
        "docs/rulings.md and tests/reports.toml have no such row: add it, or cite another"
    )
