"""What holds for every command: quick help with examples, one-line errors, exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

import unmoor
from tests import tools
from unmoor.app.cli import COMMANDS, main
from unmoor.app.cli.command import DURATION
from unmoor.model.crds import all_crds

HEAVY = (
    "cryptography",
    "aiohttp",
    "rich",
    "cel",
    "yaml",
    "prometheus_client",
    "structlog",
)


def invoke(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, args)
    return result.exit_code, result.stdout, result.stderr


def commands() -> list[tuple[str, ...]]:
    assert isinstance(main, click.Group)
    context = click.Context(main)
    names: list[tuple[str, ...]] = []
    for name in COMMANDS:
        if name == "demo":  # its author's tests look at it
            continue
        command = main.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            names += [(name, inner) for inner in command.list_commands(context)]
        else:
            names.append((name,))
    return names


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from unmoor.app.cli import main; main(['--help'], standalone_mode=False); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stderr.strip() == "[]"
    assert "drain" in done.stdout


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_shows_an_example_and_takes_an_output(command: tuple[str, ...]) -> None:
    code, out, _ = invoke(*command, "--help")

    assert code == 0
    assert f"Examples:\n  unmoor {' '.join(command)}" in out
    assert "--output [text|json]" in out
    assert "Exit codes: 0 it held; 1 it did not hold or failed; 2 the call itself" in out


def test_the_overview_names_every_command() -> None:
    _, out, _ = invoke("--help")

    assert [line.split()[0] for line in out.split("Commands:\n")[1].splitlines() if line][
        : len(COMMANDS)
    ] == list(COMMANDS)


@pytest.mark.parametrize(
    "args",
    [
        ("nonsense",),
        ("version", "-o", "xml"),
        ("drain",),
        ("drain", "pod/a"),
        ("drain", "node/"),
        ("drain", "a", "--timeout", "soon"),
        ("drain", "a", "--deadline", "-5s"),
        ("run", "--metrics-port", "70000"),
        ("run", "--namespace", "../.."),
        ("run", "--namespace", ""),
        ("run", "--settings-name", "a/b"),
        ("swarm", "--seeds", "9-1"),
        ("swarm", "--seeds", "all"),
        ("swarm", "--seeds", "1-99999999"),
        ("swarm", "--hours", "0"),
        ("swarm", "--hours", "inf"),
        ("demo", "--pace", "nan"),
        ("sim", "nodes", "--speed", "inf"),
        ("sim", "cluster", "--nodes", "-1"),
        ("sim", "cluster", "--only", "nonsense"),
        ("drain", "a", "--deadline", "9" * 30),
        ("drain", "a", "--deadline", "\u0663"),
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_exit_code_2_and_says_what_is_wrong(args: tuple[str, ...]) -> None:
    code, out, err = invoke(*args)

    assert code == 2
    assert not out
    assert "Error: " in err


def test_what_a_duration_is_is_said_alike_in_the_help_and_in_the_refusal() -> None:
    _, told, _ = invoke("drain", "--help")
    _, _, refused = invoke("drain", "a", "--timeout", "1.5")

    assert "a whole number alone is seconds" in " ".join(told.split())
    said = "write numbers with units, as in 1h30m or 300ms; a whole number alone is seconds"
    assert said in " ".join(refused.split())
    assert DURATION.convert("90", None, None) == DURATION.convert("1m30s", None, None) == 90.0


def test_the_version_is_found_where_other_programs_have_it() -> None:
    assert invoke("--version") == invoke("version")


def test_version() -> None:
    assert invoke("version") == (0, f"unmoor {unmoor.__version__}\n", "")
    assert json.loads(invoke("version", "-o", "json")[1])["version"] == unmoor.__version__


def test_crds_are_the_definitions_in_both_forms() -> None:
    documents = list(yaml.safe_load_all(invoke("crds")[1]))
    listed = json.loads(invoke("crds", "-o", "json")[1])

    assert documents == list(all_crds())
    assert listed["kind"] == "List"
    assert listed["items"] == documents
    assert "&id" not in invoke("crds")[1]


@pytest.mark.parametrize(
    "command", [("run",), ("drain", "node/a"), ("drain", "a", "--dry-run"), ("sim", "nodes")]
)
def test_a_missing_kubeconfig_is_one_line_with_a_remedy(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    missing = tmp_path / "nowhere"

    code, out, err = invoke(*command, "--kubeconfig", str(missing))

    assert (code, out) == (1, "")
    assert err == (
        f"unmoor: {missing}: kubeconfig: No such file or directory; check the path and its mode\n"
    )


@pytest.mark.parametrize(
    "args",
    [("version",), ("crds",), ("--help",), ("drain", "--help"), ("demo", "-o", "json")],
    ids=" ".join,
)
def test_a_full_disk_is_said_in_one_line(args: tuple[str, ...]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        tools.refuse("/dev/full", "run on Linux, which has a device that is always full")
    with full.open("w") as stream:
        program = [sys.executable, "-c", "from unmoor.app.cli import main; main()", *args]
        done = subprocess.run(
            program, check=False, stdout=stream, stderr=subprocess.PIPE, text=True, timeout=60
        )

    assert done.returncode == 1
    assert done.stderr == "unmoor: the output cannot be written: No space left on device\n"


def test_a_kubeconfig_that_never_ends_is_refused() -> None:
    code, _, err = invoke("drain", "a", "--kubeconfig", "/dev/zero")

    assert (code, len(err.splitlines())) == (1, 1)
    assert "it is too large" in err
