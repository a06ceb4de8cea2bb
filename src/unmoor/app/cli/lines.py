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
    """Print ``minute:second  who  what``; nothing in it is markup.

    What was before the story begins has a minus.
    """
    minutes, seconds = divmod(abs(line.at_s), 60)
    stamp = f"{'-' * (line.at_s < 0)}{minutes:.0f}:{seconds:04.1f}"
    console.print(
        Text.assemble(
            (f"{stamp:>8}", "dim"),
            "  ",
            (f"{line.who:<8}", STYLES[line.who]),
            (line.text, WARNING if line.is_warning else ""),
        ),
        soft_wrap=True,
    )
