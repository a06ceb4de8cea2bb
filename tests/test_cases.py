"""The table of upstream cases: each names a test that exists, or a code and a reason."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CASES = tomllib.loads((ROOT / "tests/cases.toml").read_text())["case"]
SENTENCES = tomllib.loads((ROOT / "tests/sentences.toml").read_text())["sentence"]
CODE = re.compile(r"excluded:(webhook|linking|go-internals|overridden-by-R\d+|step-\d+) \w+")
WANTED = {
    *(f"T{number:03}" for number in range(1, 384)),
    *("V405", "V407"),
}


def names_in(path: str) -> set[str]:
    module = ast.parse((ROOT / path).read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in module.body if isinstance(node, kinds)}


def test_every_named_test_exists() -> None:
    both = (*CASES, *SENTENCES)
    named = [one["status"].removeprefix("test:") for one in both if one["status"][:5] == "test:"]
    missing = [test for test in named if test.split("::")[1] not in names_in(test.split("::")[0])]

    assert missing == []


def test_every_named_test_names_its_case() -> None:
    """In its name, or, where it is a row of a table, beside the row."""
    silent = []
    for one in CASES:
        path, _, test = one["status"].removeprefix("test:").partition("::")
        if test and not test.startswith(f"test_{one['id'].lower()}_"):
            silent += [one["id"]] * (f"# {one['id']}\n" not in (ROOT / path).read_text())

    assert silent == []


def test_nine_of_ten_run() -> None:
    run = [one for one in CASES if one["status"].startswith("test:")]

    assert len(run) >= 0.9 * len(CASES)


def test_every_exclusion_has_a_code_and_a_reason() -> None:
    excluded = [one["status"] for one in CASES if one["status"][:5] != "test:"]

    assert [status for status in excluded if not CODE.match(status)] == []


def test_every_case_is_there_once_and_in_order() -> None:
    listed = [one["id"] for one in CASES]

    assert listed == sorted(set(listed))
    assert sorted(WANTED - set(listed)) == []


def test_every_case_says_what_it_is() -> None:
    assert [one["id"] for one in CASES if len(one["summary"].split()) < 3] == []


def test_every_sentence_has_its_place_and_a_test() -> None:
    listed = [one["at"] for one in SENTENCES]

    assert [at for at in listed if not re.fullmatch(r"00[1-4]:\d{1,3}", at)] == []
    assert listed == sorted(listed, key=lambda at: [int(part) for part in at.split(":")])
    assert [one["at"] for one in SENTENCES if not one["status"].startswith("test:")] == []
    assert len({one["summary"] for one in SENTENCES}) == len(SENTENCES)
