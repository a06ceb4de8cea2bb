"""CONTRIBUTING names files; each of them is there."""

import re

import pytest

from tests.tidy import tree

PAGE = tree.ROOT / "CONTRIBUTING.md"
PATH = re.compile(r"`([\w.<>/-]+/[\w.<>/-]*|[\w<>-]+\.(?:py|toml|md))`")
EXAMPLES = {"<method>": "emptiness", "<state machine>": "termination", "<actor>": "kubelet"}
"""What the placeholders stand for in a file that exists."""


def named() -> list[str]:
    return PATH.findall(PAGE.read_text())


def resolved(path: str) -> str:
    for placeholder, example in EXAMPLES.items():
        path = path.replace(placeholder, example)
    return path


@pytest.mark.parametrize("path", named())
def test_each_named_file_exists(path: str) -> None:
    places = [tree.ROOT / resolved(path), tree.ROOT / "src/unmoor" / resolved(path)]

    assert [place for place in places if place.exists()] != [], f"{path} is not there"


def test_the_files_of_a_new_method_are_named() -> None:
    assert {"policy/<method>.py", "policy/methods.py", "tests/policy/test_<method>.py"} <= set(
        named()
    )
    assert {"tests/cases.toml", "policy/verdict.py"} <= set(named())


def test_it_fits_on_one_screen() -> None:
    assert PAGE.read_text().count("\n") <= 100
