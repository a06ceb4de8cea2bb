"""``unmoor sim``: what does not exist, played for people and their tools.

Must not: play anything itself (``app.playing``).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from unmoor.app.cli.command import (
    EXIT_CODES,
    Command,
    FiniteRange,
    cluster_options,
    output_option,
    print_json,
)
from unmoor.app.cli.sim_cluster import cluster
from unmoor.app.cli.sim_up import up

if TYPE_CHECKING:
    from unmoor.app.playing import Event


@click.group(epilog=EXIT_CODES)
def sim() -> None:
    """Play clusters, nodes and machines that do not exist.

    Example: unmoor sim up
    """


sim.add_command(up)
sim.add_command(cluster)


@sim.command(
    cls=Command,
    short_help="Hollow kubelets, and the machines of the simulated cloud.",
    examples=(
        "unmoor sim nodes --kubeconfig ~/.kube/config",
        "unmoor sim nodes --context kind --speed 10",
    ),
)
@cluster_options
@click.option(
    "--speed",
    type=FiniteRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="10: machines boot and pods start in a tenth of the time.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of all delays.")
@output_option
def nodes(kubeconfig: str, context: str, speed: float, seed: int, output: str) -> None:
    """Play hollow kubelets and the machines of the simulated cloud, until SIGTERM or SIGINT.

    Machines are the objects that `unmoor run --cloud simulated` creates; each becomes a node whose
    pods start, run and stop, without containers. Nodes labelled sim.unmoor.dev/hollow=true are
    played as well. Any scheduler and controllers are the cluster's own.
    """
    from unmoor.app import logs, playing, stopping  # noqa: PLC0415 - heavy

    logs.configure(level="warning", form="text")
    options = playing.PlayOptions(kubeconfig=kubeconfig, context=context, speed=speed, seed=seed)

    def tell(event: Event) -> None:
        if output == "json":
            print_json(
                {
                    "time": event.at.isoformat(),
                    "subject": event.subject,
                    "state": event.state,
                    "about": event.about,
                }
            )
        else:
            about = f"  ({event.about})" if event.about else ""
            click.echo(f"{event.at:%H:%M:%S} {event.subject} {event.state}{about}")

    asyncio.run(stopping.until_stopped(playing.play(options, tell)))
