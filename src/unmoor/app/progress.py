"""How is a drain shown? Three renderings of the same changes: lines, JSON lines, a live table.

Must not: know how a drain works.
"""

from __future__ import annotations

import json
from types import TracebackType
from typing import Protocol, Self

import click
import msgspec

from unmoor.app.draining import Change, Drained
from unmoor.model.wording import counted

STYLES = {
    "held": "yellow",
    "stuck": "red",
    "terminating": "cyan",
    "gone": "green",
    "finished": "green",
    "waiting": "dim",
}
OVER = {"gone", "finished"}
"""States of a pod that is not waited for any longer."""


class Show(Protocol):
    """Shows the changes of one drain after another; entered around all of them."""

    def __enter__(self) -> Self:
        """Begin."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End, whatever happened."""
        ...

    def change(self, change: Change) -> None:
        """Show one change."""
        ...

    def end(self, drained: Drained) -> None:
        """Show how one node's drain ended."""
        ...


class _Plain:
    """What needs no beginning and no end."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End."""


class Lines(_Plain):
    """A line for each change: for logs, and wherever nobody looks on."""

    def change(self, change: Change) -> None:
        """Print it with its time."""
        click.echo(line_of(change))

    def end(self, drained: Drained) -> None:
        """Print the outcome."""
        click.echo(outcome_of(drained))


class JsonLines(_Plain):
    """An object a line: for programs."""

    def change(self, change: Change) -> None:
        """Print it."""
        fields = {key: value for key, value in msgspec.to_builtins(change).items() if value}
        click.echo(json.dumps(fields))

    def end(self, drained: Drained) -> None:
        """Leave the outcome to the summary."""


class Table:
    """A live table of the pods that are waited for, for a person at a terminal."""

    def __init__(self) -> None:
        """Draw nothing yet."""
        from rich.console import Console  # noqa: PLC0415 - `unmoor --help` must not import it
        from rich.live import Live  # noqa: PLC0415

        self._console = Console(highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._rows: dict[str, Change] = {}

    def __enter__(self) -> Self:
        """Take the lower part of the screen."""
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give it back."""
        self._live.stop()

    def change(self, change: Change) -> None:
        """Draw the table anew; what is over, and what is about the node, scrolls up as a line."""
        if not change.pod or change.state in OVER:
            self._console.print(line_of(change), markup=False)
        if change.pod:
            self._rows.pop(change.pod, None)
            if change.state not in OVER:
                self._rows[change.pod] = change
        self._draw()

    def end(self, drained: Drained) -> None:
        """Print the outcome and begin a new table."""
        self._rows.clear()
        self._draw()
        self._console.print(outcome_of(drained), markup=False)

    def _draw(self) -> None:
        from rich.table import Table as Grid  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        grid = Grid(box=None, padding=(0, 2, 0, 0))
        for title in ("POD", "STATE", "SINCE", "WHY"):
            grid.add_column(title, overflow="fold")
        for pod, change in sorted(self._rows.items()):
            style = STYLES.get(change.state, "")
            grid.add_row(
                Text(pod),
                Text(change.state, style=style),
                Text(f"{change.at:%H:%M:%S}"),
                Text(change.message),
            )
        self._live.update(grid if self._rows else "", refresh=True)


def line_of(change: Change) -> str:
    """Say one change in a line."""
    about = f"pod/{change.pod}" if change.pod else f"node/{change.node}"
    if change.state == "note":
        return f"{change.at:%H:%M:%S} {about}: {change.message}"
    # The line says already which pod, and that it is held.
    message = change.message.removeprefix(f"pod {change.pod} ").removeprefix("is held ")
    said = f": {message}" if message else ""
    return f"{change.at:%H:%M:%S} {about} {change.state}{said}"


def outcome_of(drained: Drained) -> str:
    """Say in a line how a drain ended."""
    if drained.is_drained:
        gone = (
            f"node/{drained.node} drained: {counted(drained.moved, 'pod')} in {drained.took_s:g} s"
        )
        given_up = drained.given_up
        but = f", but for {counted(len(given_up), 'pod')} given up: {', '.join(given_up)}"
        return gone + (but if given_up else "")
    left = "not known" if drained.left is None else ", ".join(drained.left) or "none"
    return f"node/{drained.node} not drained after {drained.took_s:g} s; pods left: {left}"
