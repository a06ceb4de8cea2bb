"""``unmoor version``: which build is this, and on what does it run?"""

from __future__ import annotations

import platform

import click

import unmoor
from unmoor.app.cli.command import Command, output_option, print_json


@click.command(cls=Command, examples=("unmoor version", "unmoor version -o json"))
@output_option
def version(output: str) -> None:
    """Print the version."""
    if output == "json":
        print_json({"version": unmoor.__version__, "python": platform.python_version()})
    else:
        click.echo(f"unmoor {unmoor.__version__}")
