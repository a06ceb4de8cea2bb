"""The command line: which commands there are, each in a module of its own.

``unmoor --help`` must be quick, so a command's module is imported only when that command is called
or asked for its help; the table below holds all that the overview needs.

Must not: do anything itself.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from unmoor import __version__
from unmoor.app.cli.command import EXIT_CODES, failures_in_one_line

__all__ = ["main"]

COMMANDS = {
    "run": "Run the controller against a cluster.",
    "drain": "Drain nodes of any cluster, under their disruption budgets.",
    "sim": "Play nodes and machines that do not exist.",
    "demo": "Watch nodes being taken out of service, in under a minute.",
    "swarm": "Rehearse random clusters and faults in virtual time.",
    "crds": "Print the custom resource definitions that unmoor needs.",
    "version": "Print the version.",
}
"""Every command and what it is for. It is ``unmoor.app.cli.<name>.<name>``."""


class _Commands(click.Group):
    """A group that imports a command when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands, the important ones first."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"unmoor.app.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the call; its help is printed here, perhaps to a full disk."""
        with failures_in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; what was to be expected is said in one line."""
        with failures_in_one_line():
            return super().invoke(ctx)


@click.command(
    cls=_Commands,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="unmoor %(version)s")
def main() -> None:
    """Take Kubernetes nodes out of service safely, and only when it is worth it.

    `unmoor COMMAND --help` explains a command and shows an example.
    """
