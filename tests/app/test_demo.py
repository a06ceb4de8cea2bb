"""``unmoor demo``: the shipped story holds, any folder plays, and a bad one is explained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from unmoor.app.cli import main

QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart"


def play(*args: str) -> Result:
    """Run ``unmoor demo``."""
    return CliRunner().invoke(main, ["demo", *args])


def ending_of(result: Result) -> dict[str, Any]:
    """The JSON that it ends with."""
    ending: dict[str, Any] = json.loads(result.stdout)
    return ending


def test_the_shipped_story_holds_and_tells_what_it_cost() -> None:
    """One node is drained under its budget, another goes when it has been empty long enough."""
    result = play("-o", "json")
    ending = ending_of(result)

    assert result.exit_code == 0, result.output
    assert all(check["held"] for check in ending["checks"])
    assert len(ending["nodes_removed"]) == 2
    assert ending["evictions"] == 2
    assert ending["refusals"] > 0, "the budget had to hold something back"
    assert 0 < ending["usd_per_h_after"] < ending["usd_per_h_before"]
    assert ending["spent_usd"] > 0


def test_the_story_is_told_in_order_and_names_who_does_what() -> None:
    """The lines that a person follows."""
    told = play().stdout

    beats = [
        "The cluster comes up",
        "kubectl apply: machine/general-a",
        "launched general-a: m5.large in us-east-1a",
        "kubectl delete node",
        "its budget says not yet",
        "told the cloud to end",
        "Nodes that fall empty",
        "is empty; its time begins to run",
        "is Succeeded",
        "USD/h",
    ]
    places = [told.index(beat) for beat in beats[:5]]

    assert all(beat in told for beat in beats)
    assert places == sorted(places)


def test_same_seed_same_story() -> None:
    """Two runs are equal to the letter, and another seed differs."""
    assert play("--seed", "7").stdout == play("--seed", "7").stdout
    assert play("--seed", "7").stdout != play("--seed", "8").stdout


def test_a_budget_that_allows_nothing_is_said_and_fails(tmp_path: Path) -> None:
    """What does not hold ends with exit code 1, and the blocker is named."""
    for file in QUICKSTART.iterdir():
        text = file.read_text().replace("minAvailable: 5", "minAvailable: 6")
        (tmp_path / file.name).write_text(text)

    result = play(str(tmp_path))

    assert result.exit_code == 1
    assert "held by disruption budget shop/cart: 0 disruptions allowed" in result.stdout
    assert "was drained, ended and released" in result.stderr


def test_machines_of_another_owner_are_left_alone(tmp_path: Path) -> None:
    """Without the annotation a machine is nobody's that we know of: it is never launched."""
    for file in QUICKSTART.iterdir():
        text = file.read_text().replace("    unmoor.dev/managed-by: quickstart", "    a: b")
        (tmp_path / file.name).write_text(text)

    result = play(str(tmp_path))

    assert result.exit_code == 1
    assert "launched" not in result.stdout
    assert "every machine has a node that is ready for pods" in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: [", "is neither YAML nor JSON", id="not-yaml"),
        pytest.param("- 1", "is list, not an object", id="a-list"),
        pytest.param("kind: Widget\nmetadata: {name: a}", "kind 'Widget'", id="unknown-kind"),
        pytest.param("kind: [a]", "kind ['a']", id="kind-is-a-list"),
        pytest.param("apiVersion: v2\nkind: Pod", "apiVersion 'v2' of Pod", id="wrong-version"),
        pytest.param("apiVersion: v1\nkind: Pod", "without metadata.name", id="no-name"),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}",
            "pod/default/a cannot be created",
            id="refused-by-the-server",
        ),
        pytest.param("", "holds no manifests", id="empty"),
        pytest.param("\x00", "is neither YAML nor JSON", id="binary"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, said: str) -> None:
    """One line with the file, the value and the remedy; no traceback."""
    (tmp_path / "a.yaml").write_text(text)

    result = play(str(tmp_path))

    assert result.exit_code == 1
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """It says which."""
    result = play(str(tmp_path / "nowhere"))

    assert result.exit_code == 1
    assert "nowhere does not exist" in result.stderr


def test_the_example_is_what_a_real_server_would_take() -> None:
    """Every document names a kind and a name, and each file opens by saying what it is for."""
    for file in sorted(QUICKSTART.iterdir()):
        text = file.read_text()
        documents = list(yaml.safe_load_all(text))

        assert text.startswith("# ")
        assert all(one["kind"] and one["metadata"]["name"] for one in documents)
