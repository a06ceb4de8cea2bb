"""CONTRIBUTING names files and numbers: the files are there, the numbers are those that hold."""

import re
from itertools import chain

import pytest

from tests.tidy import rules, tree
from unmoor.policy.methods import METHODS
from unmoor.policy.verdict import Method

PAGE = tree.ROOT / "CONTRIBUTING.md"
LINES_MOST = 100
PATH = re.compile(r"`([\w.<>/-]+/[\w.<>/-]*|[\w<>-]+\.(?:py|toml|md))`")
EXAMPLES = {"<method>": "emptiness", "<actor>": "budgets"}
"""What the placeholders stand for in a file that exists."""
LIST = "## A new disruption method touches"


def named(text: str) -> list[str]:
    return PATH.findall(text)


def section(title: str) -> str:
    return PAGE.read_text().partition(title)[2].partition("\n## ")[0]


def resolved(path: str, **instead: str) -> str:
    for placeholder, example in EXAMPLES.items():
        path = path.replace(placeholder, instead.get(placeholder.strip("<>"), example))
    return path


@pytest.mark.parametrize("path", named(PAGE.read_text()))
def test_each_named_file_exists(path: str) -> None:
    places = [tree.ROOT / resolved(path), tree.ROOT / "src/unmoor" / resolved(path)]

    assert [place for place in places if place.exists()] != [], f"{path} is not there"


def test_each_placeholder_has_an_example_that_is_used() -> None:
    used = set(chain.from_iterable(re.findall("<[^>]*>", path) for path in named(PAGE.read_text())))

    assert used == set(EXAMPLES), "name in EXAMPLES what each placeholder may stand for"


@pytest.mark.parametrize("method", [row.method for row in METHODS])
def test_every_module_that_names_a_method_is_on_the_list(method: Method) -> None:
    module = str(method).replace("-", "_")
    listed = {f"src/unmoor/{resolved(path, method=module)}" for path in named(section(LIST))}
    # As a key with more in it, or a field of a row, it is the Provisioner's of the same name.
    word = rf"(?<!PROVISIONER, )\"{method}\"(?!: {{)"
    says = re.compile(rf"\bMethod\.{method.name}\b|{word}|\bimport .*\b{module}\b")
    naming = {
        source.path
        for source in tree.sources()
        if source.path.startswith("src/") and says.search(source.text)
    }

    assert {f"src/unmoor/policy/{module}.py", "src/unmoor/policy/methods.py"} <= naming
    assert naming - listed == set(), "a new method would have to touch them, too"


def test_the_numbers_of_the_house_rules_are_those_that_are_held() -> None:
    numbers = [int(word) for word in re.findall(r"\d+", section("## House rules"))]
    words = section("## House rules")

    assert numbers == [rules.MODULE_LINES, rules.FUNCTION_LINES], "see tests/tidy/rules.py"
    assert rules.PARAMETERS == 6
    assert "six parameters" in words


def test_it_stays_short() -> None:
    lines = PAGE.read_text().count("\n")

    assert lines <= LINES_MOST, f"at most {LINES_MOST} lines: say it shorter, or elsewhere"
