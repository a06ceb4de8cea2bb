"""How does a line of a story look? The same in every command that tells one.

Must not: know what is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from unmoor.app.narrator import Line

STYLES = {"you": "bold magenta", "unmoor": "cyan", "cluster": "dim", "fault": "bold red"}
WARNING = "yellow"


def show(console: Console, line: Line) -> None:
    """Print ``minute:second  who  what``; nothing in it is markup."""
    minutes, seconds = divmod(line.at_s, 60)
    console.print(
        Text.assemble(
            (f"{minutes:3.0f}:{seconds:04.1f}", "dim"),
            "  ",
            (f"{line.who:<8}", STYLES[line.who]),
            (line.text, WARNING if line.is_warning else ""),
        ),
        soft_wrap=True,
    )
