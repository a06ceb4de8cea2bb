"""``unmoor demo``: see it work, on your own manifests if you like, without any cluster.

Must not: know what happens; ``app.rehearsal`` plays, this shows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unmoor.app.cli.command import (
    Command,
    Failure,
    FiniteRange,
    output_option,
    price_options,
    print_json,
)
from unmoor.model.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from unmoor.app.rehearsal import Ending

PACE = 10.0
"""Simulated seconds in a second, when a person looks on."""

BEFORE = "before any node went"
"""When the fleet cost what it is compared with."""


@click.command(
    cls=Command,
    examples=(
        "unmoor demo",
        "unmoor demo ./manifests --pace 10",
        "unmoor demo --prices +10%",
        "unmoor demo -o json | jq .checks",
    ),
)
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--seed", default=1, show_default=True, help="Draws the delays of the simulation.")
@click.option(
    "--pace",
    type=FiniteRange(min=0),
    default=None,
    help="Simulated seconds in a second, 0 for as fast as it goes.  "
    f"[default: {PACE:g} at a terminal, else 0]",
)
@price_options
@output_option
def demo(folder: Path | None, seed: int, pace: float | None, output: str, **priced: Any) -> None:
    """Bring a folder's manifests up in a simulated cluster and take nodes out of it.

    FOLDER holds Provisioners, workloads and budgets, and perhaps Machines, as YAML; without it, a
    small shop is played. Machines are ordered for the pods that wait. Kinds that a simulated
    cluster does not serve are left out, which is said. A node is deleted and drained while its
    budgets hold, and empty nodes go when their time is up. Deployments with the annotation
    sim.unmoor.dev/evening-replicas shrink to that, and consolidation makes the bill fall. It ends
    with what was saved and what it cost. The exit code is 1 if anything did not hold.
    """
    from rich.console import Console  # noqa: PLC0415 - `unmoor --help` must not import these

    from unmoor.app import manifests, price_books  # noqa: PLC0415
    from unmoor.app.cli import lines  # noqa: PLC0415
    from unmoor.app.rehearsal import Rehearsal  # noqa: PLC0415
    from unmoor.sim import virtual  # noqa: PLC0415

    console = Console(highlight=False, quiet=output == "json")
    if pace is None:
        pace = PACE if console.is_terminal else 0.0
    notes = manifests.Notes()
    objects = manifests.read(folder or manifests.shipped("shop"), notes=notes)
    offer, about_prices = price_books.offer(priced["prices"], keeps_rest=priced["keep_rest"])
    for told in filter(None, (notes.told, about_prices)):
        click.echo(f"unmoor: {told}", err=True)

    async def play() -> Ending:
        return await Rehearsal(
            objects,
            offer=offer,
            seed=seed,
            notes=notes,
            say=lambda line: lines.show(console, line),
            chapter=lambda title: console.print(f"\n[bold]{title}[/bold]\n"),
        ).play()

    ending = virtual.run(play(), passing=_waits(pace))
    if output == "json":
        from msgspec import to_builtins  # noqa: PLC0415

        body: dict[str, Any] = to_builtins(ending)
        cost = body.pop("cost")
        print_json({**body, **cost, "held": ending.held})
    else:
        _show_ending(console, ending)
    if not ending.held:
        broken = "; ".join(check.what for check in ending.checks if not check.held)
        raise Failure(f"this did not hold: {broken}")


def _waits(pace: float) -> Callable[[float], object] | None:
    """What to do while simulated time passes: nothing, or wait its share of real time."""
    if pace <= 0:
        return None
    never = threading.Event()
    return lambda seconds: never.wait(min(seconds / pace, threading.TIMEOUT_MAX))


def _show_ending(console: Console, ending: Ending) -> None:
    say = partial(console.print, soft_wrap=True)
    minutes, seconds = divmod(ending.lasted_s, 60)
    removed = ending.nodes_removed
    say(f"{counted(len(removed), 'node')} removed" + (f": {', '.join(removed)}" if removed else ""))
    say(
        f"{counted(ending.evictions, 'eviction')} admitted, {ending.refusals} refused by a budget "
        "and retried"
    )
    for line in ending.cost.lines(BEFORE, f"these {minutes:.0f} min {seconds:.0f} s cost"):
        say(line)
    if ending.saved.commands:
        say(str(ending.saved))
    if ending.unused:
        say(f"no pod ever came to {', '.join(ending.unused)}")
    say()
    for check in ending.checks:
        mark = "[green]held[/green]  " if check.held else "[red]broken[/red]"
        say(f"{mark}  {check.what}" + (f" ({check.detail})" if check.detail else ""))
