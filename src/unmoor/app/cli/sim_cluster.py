"""``unmoor sim cluster``: a made-up cluster as manifests, for ``unmoor sim up --load``.

Must not: make anything up itself (``sim.clusters``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from unmoor.app.cli.command import Command, Failure, output_option, print_json, print_yaml
from unmoor.model.wording import counted

if TYPE_CHECKING:
    from unmoor.sim.clusters.mix import Kind, Mix
    from unmoor.sim.manifests import Manifest

HELP = "help"
SHARE_OF_ONLY = 0.3
"""Of workloads or nodes, for each kind that is named."""
NODES_MOST = 5000
PODS_MOST = 100_000


@click.command(
    cls=Command,
    short_help="A made-up cluster, as manifests.",
    examples=(
        "unmoor sim cluster --nodes 100 --seed 7 -o json > cluster.json",
        "unmoor sim cluster --nodes 20 | unmoor sim up --load -",
        "unmoor sim cluster --hard --only zone-spread,host-port --seed 3",
    ),
)
@click.option(
    "--nodes",
    type=click.IntRange(0, NODES_MOST),
    default=0,
    help="So many nodes. Machines on their way come on top, and may become nodes when it is "
    "loaded. 0: as many as the pods need, or 100.",
)
@click.option(
    "--pods",
    type=click.IntRange(0, PODS_MOST),
    default=0,
    help="So many pods, those of DaemonSets aside. 0: as many as fill the nodes to a half.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Draws everything.")
@click.option(
    "--hard", is_flag=True, help="Small, and full of constraints that get in each other's way."
)
@click.option(
    "--only",
    metavar="LIST",
    help=f"Only these kinds of constraints, separated by commas. `--only {HELP}` lists all.",
)
@output_option
def cluster(nodes: int, pods: int, seed: int, *, hard: bool, only: str | None, output: str) -> None:
    """Make up a cluster and print it: nodes, Machines, workloads, pods that run or wait.

    As text they are YAML documents, as JSON one List. The same seed gives the same bytes. `unmoor
    sim up --load` takes it as it is. `kubectl apply -f` takes it too; but another server gives new
    uids, so the workloads there make their pods anew.
    """
    from unmoor.cloud.catalogue import ec2_types  # noqa: PLC0415 - heavy
    from unmoor.sim.clusters import bodies, generator  # noqa: PLC0415

    if only == HELP:
        _list_kinds()
        return
    mix = _sized(_mix(seed, _kinds(only), is_hard=hard), nodes, pods)
    try:
        objects = generator.generate(mix, ec2_types())
    except ValueError as error:
        raise Failure(str(error)) from None
    click.echo(f"unmoor: {_summary(objects)}", err=True)
    made = bodies.as_list(objects)
    if output == "json":
        print_json(made)
    else:
        print_yaml(made["items"])


def _summary(objects: Sequence[Manifest]) -> str:
    kinds = Counter(ref.kind for ref, _ in objects)
    coming = sum(
        ref.kind == "Machine" and not (body.get("status") or {}).get("nodeName")
        for ref, body in objects
    )
    made = f"{counted(kinds['Node'], 'node')} and {counted(kinds['Pod'], 'pod')} made up"
    if not coming:
        return made
    return f"{made}; {counted(coming, 'Machine')} besides, that may become nodes when it is loaded"


def _mix(seed: int, only: tuple[Kind, ...], *, is_hard: bool) -> Mix:
    from unmoor.sim.clusters.mix import REALISTIC, Mix, hard  # noqa: PLC0415

    if is_hard:
        return hard(seed, *only)
    return Mix(seed=seed, shares=dict.fromkeys(only, SHARE_OF_ONLY) if only else REALISTIC)


def _sized(mix: Mix, nodes: int, pods: int) -> Mix:
    from msgspec import structs  # noqa: PLC0415

    given = {name: count for name, count in (("nodes", nodes), ("pods", pods)) if count}
    return structs.replace(mix, **given)


def _kinds(given: str | None) -> tuple[Kind, ...]:
    from unmoor.model import names  # noqa: PLC0415
    from unmoor.sim.clusters.mix import Kind  # noqa: PLC0415

    found = []
    for word in (given or "").split(","):
        name = word.strip()
        if not name:
            continue
        try:
            found.append(Kind(name))
        except ValueError:
            meant = names.nearest(name, tuple(Kind))
            hint = f"write {meant}, or see" if meant else "see"
            raise click.UsageError(
                f"--only: {name!r} is no kind: {hint} `unmoor sim cluster --only {HELP}`"
            ) from None
    return tuple(found)


def _list_kinds() -> None:
    from unmoor.sim.clusters.mix import OF_NODES, Kind  # noqa: PLC0415

    for is_of_nodes, about in ((False, "Of workloads"), (True, "Of nodes")):
        names = ", ".join(kind for kind in Kind if (kind in OF_NODES) == is_of_nodes)
        click.echo(f"{about}: {names}")
