"""Credential plugins: small programs that say what a test wants, and remember the questions."""

import json
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.kube.server import START

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"

# Each run takes the next answer; the last one stays. An answer is an exit code and a text.
PROGRAM = """#!{python} -IS
import json, os, sys
here = {here!r}
with open(here + "/asked", "a+") as asked:
    asked.seek(0)
    turn = len(asked.readlines())
    env = dict(os.environ)
    question = env.pop("KUBERNETES_EXEC_INFO", None)
    print(json.dumps([sys.argv[1:], question, env, os.isatty(0)]), file=asked)
with open(here + "/answers") as answers:
    answers = json.load(answers)
code, text = answers[min(turn, len(answers) - 1)]
print("the plugin has a word to say", file=sys.stderr)
print(text)
sys.exit(code)
"""


def at(elapsed_s: float) -> str:
    """A time as a plugin writes it."""
    return (START + timedelta(seconds=elapsed_s)).isoformat().replace("+00:00", "Z")


def says(api_version: str = V1, kind: str = "ExecCredential", **status: Any) -> tuple[int, str]:
    """A good answer with this status."""
    return 0, json.dumps({"kind": kind, "apiVersion": api_version, "status": status})


class Plugin:
    """One program in a directory of its own."""

    def __init__(self, directory: Path, *answers: tuple[int, str]) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.path = directory / "plugin"
        self.path.write_text(PROGRAM.format(python=sys.executable, here=str(directory)))
        self.path.chmod(0o755)
        self.answers(*answers)

    def answers(self, *answers: tuple[int, str]) -> None:
        """What it says from its first run on."""
        (self.directory / "answers").write_text(json.dumps(answers))
        (self.directory / "asked").unlink(missing_ok=True)

    def asked(self) -> list[tuple[list[str], dict[str, Any], dict[str, str], bool]]:
        """Arguments, question, environment and whether there was a terminal, for each run."""
        file = self.directory / "asked"
        lines = file.read_text().splitlines() if file.exists() else []
        return [
            (arguments, json.loads(question), env, is_terminal)
            for arguments, question, env, is_terminal in map(json.loads, lines)
        ]

    def user(self, api_version: str = V1, **exec_fields: Any) -> Mapping[str, Any]:
        """The user of a kubeconfig who has it."""
        return {
            "exec": {
                "apiVersion": api_version,
                "command": str(self.path),
                "interactiveMode": "Never",
            }
            | exec_fields
        }
