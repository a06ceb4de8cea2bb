"""Which settings does the program look at? The page of settings says so; here it is held to it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

import unmoor
from unmoor.model.settings import AT_START, NOT_YET, SETTINGS

SRC = Path(*unmoor.__path__)
DEFINITIONS = frozenset({SRC / "model/settings.py", SRC / "model/cadence.py"})
HOLDERS = {"": "settings", "aws": "aws", "cadence": "cadence"}
"""What values of a group are looked up in: the last word before the field, wherever it is used."""


def asked_for(sources: Iterable[str]) -> frozenset[str]:
    """The keys that these modules look up."""
    seen = {
        (_last_word(node.value), node.attr)
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
    }
    return frozenset(one.key for one in SETTINGS if (HOLDERS[one.group], one.attribute) in seen)


def _last_word(holder: ast.expr) -> str:
    return ast.unparse(holder).rpartition(".")[2].removesuffix("()").lstrip("_")


MODULES = {path: path.read_text() for path in sorted(SRC.rglob("*.py")) if path not in DEFINITIONS}
START = SRC / "app/process.py"


def test_what_nothing_asks_for_is_listed_and_nothing_else() -> None:
    assert {one.key for one in SETTINGS} - asked_for(MODULES.values()) == NOT_YET


def test_what_is_said_to_be_looked_at_once_is_looked_at_only_where_a_process_starts() -> None:
    while_it_runs = asked_for(text for path, text in MODULES.items() if path != START)

    assert asked_for([MODULES[START]]) - while_it_runs == AT_START


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        ("view.settings.cadence.resync_s", {"cadence.resync"}),
        ("cadence = read.cadence; x = cadence.resync_s", {"cadence.resync"}),
        ("read.aws.cluster_name", {"aws.clusterName"}),
        ("options.cluster_name", set()),
        ("settings.drain_deadline_s", {"unmoor.drainDeadline"}),
        ("self._cadence().watch_silence_s", {"cadence.watchSilence"}),
        ("Cadence().watch_silence_s", set()),
        ("request.tags", set()),
    ],
)
def test_how_a_value_is_looked_up(source: str, keys: set[str]) -> None:
    assert asked_for([source]) == keys
