"""``unmoor sim up``: a whole simulated cluster on a port, for kubectl and everything like it.

Must not: assemble anything itself (``app.sandbox``).
"""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unmoor.app.cli.command import (
    Command,
    FiniteRange,
    output_option,
    price_options,
    print_json,
)
from unmoor.model.wording import counted

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from unmoor.app.manifests import Notes, Objects
    from unmoor.app.narrator import Line
    from unmoor.app.sandbox import Ended, Show, Started

PORT = 17443
KUBECONFIG = "unmoor-sim.kubeconfig"
CLUSTER = "sim"
EXAMPLE = "three-zones"
NODES_SHOWN = 12
SPEED_MOST = 100.0
"""Faster, and the interpreter is the limit, not the clock."""
HELP = "help"
MANY = 300
"""So many objects take more than a second to load."""
HINT_CHARS_MIN = 3
"""A shorter word is near to everything."""


@click.command(
    cls=Command,
    short_help="A simulated cluster for kubectl, with unmoor in it.",
    examples=(
        "unmoor sim up",
        "unmoor sim up --port 0 --kubeconfig /tmp/a.kubeconfig --speed 10",
        "unmoor sim up --load ./manifests --faults api,node-dies",
        (
            "kubectl get nodes,pods,rs,deploy,ds,sts,jobs,pdb,machines,provisioners -A -o json"
            " | unmoor sim up --load -"
        ),
        "unmoor sim up --no-controller",
        "unmoor run --cloud simulated --kubeconfig unmoor-sim.kubeconfig",
    ),
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Where the API server listens. 0: a free port.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    default=KUBECONFIG,
    show_default=True,
    metavar="FILE",
    help="The kubeconfig to write. It is removed at the end; a file of somebody else's is left "
    "alone.",
)
@click.option(
    "--load",
    type=click.Path(path_type=Path, allow_dash=True),
    multiple=True,
    metavar="PATH",
    help="Begin with these objects in place of the four nodes: manifests in a file or folder, what "
    "`kubectl get -o json` printed, or - for standard input. May be repeated.",
)
@click.option("--empty", is_flag=True, help="Begin without nodes.")
@click.option(
    "--no-controller",
    is_flag=True,
    help="Leave unmoor out: Machines get no nodes until you run `unmoor run --cloud simulated` "
    "beside it.",
)
@click.option(
    "--speed",
    type=FiniteRange(min=0, max=SPEED_MOST, min_open=True),
    default=1.0,
    show_default=True,
    help="Simulated seconds in a second, for everything inside. At other speeds than 1 the "
    "cluster's clock leaves yours, and ages that a client reckons by itself (kubectl describe) "
    "are wrong.",
)
@click.option(
    "--faults",
    metavar="LIST",
    help=f"What goes wrong now and then, separated by commas. `--faults {HELP}` lists all.",
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Draws names, delays and faults."
)
@price_options
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@output_option
def up(
    load: tuple[Path, ...], faults: str | None, output: str, *, quiet: bool, **chosen: Any
) -> None:
    """Serve a simulated Kubernetes cluster until SIGTERM or Ctrl-C.

    It has four nodes in three zones, a scheduler, controllers, hollow kubelets, a simulated cloud
    and, by default, unmoor. Any client can use it with the kubeconfig that is written when the
    nodes are ready. Containers do not run: a pod is ready after some seconds, and stops within its
    grace. Nothing is kept: what was in it is gone when it ends.

    Loaded nodes are played by hollow kubelets. Services, Secrets, Roles and their like are taken,
    but nobody acts on them; docs/reference/kinds.md says which. Kinds that the cluster does not
    serve are left out, which is said; a CustomResourceDefinition among the objects serves its kind.

    A dump must hold the owners of what is in it. Machines and Provisioners exist only where unmoor
    or Karpenter (v1alpha5) runs: leave them out of `kubectl get` elsewhere. A loaded Machine gets a
    simulated instance in place of that of its cloud, so it can go like any other; one that lacks
    the annotation unmoor.dev/managed-by is not unmoor's.
    """
    if faults == HELP:
        _list_faults()
        return
    from unmoor.app import kubeconfig_file, logs, price_books, stopping  # noqa: PLC0415 - heavy
    from unmoor.app.manifests import Notes, cluster_of  # noqa: PLC0415
    from unmoor.app.sandbox import Sandbox, UpOptions  # noqa: PLC0415
    from unmoor.sim import paced  # noqa: PLC0415

    logs.configure(level="error", form="text")
    kubeconfig: Path = chosen.pop("kubeconfig")
    objects = _objects(load, (notes := Notes()), is_empty=chosen.pop("empty"))
    prices, keeps_rest = chosen.pop("prices"), chosen.pop("keep_rest")
    offer, about = price_books.offer(prices, keeps_rest=keeps_rest)
    _note(about)
    options = UpOptions(
        faults=_faults(faults, has_controller=not chosen["no_controller"]),
        cluster=(cluster := cluster_of(objects, CLUSTER)),
        objects=_with_instances(objects, cluster),
        notes=notes,
        offer=offer,
        has_controller=not chosen.pop("no_controller"),
        **chosen,
    )

    show = _Quiet() if quiet else _show(output, _given(prices, keeps_rest=keeps_rest))
    if len(objects) >= MANY and not quiet:
        click.echo(f"unmoor: loading {len(objects):,} objects", err=True)

    async def serve(file: kubeconfig_file.KubeconfigFile) -> None:
        await Sandbox(options, show).run(file)

    async def until_stopped(file: kubeconfig_file.KubeconfigFile) -> None:
        loop = paced.running()

        def hurry() -> None:
            loop.speed = 1.0  # the time that a stop may take is the machine's

        await stopping.until_stopped(serve(file), on_stop=hurry, at_last=file.remove)

    with kubeconfig_file.claimed(kubeconfig) as file:
        paced.run(until_stopped(file))


def _objects(load: tuple[Path, ...], notes: Notes, *, is_empty: bool) -> Objects:
    from unmoor.app import manifests  # noqa: PLC0415

    if load and is_empty:
        raise click.UsageError("--empty and --load exclude each other: leave one of them out")
    if not load:
        return [] if is_empty else manifests.read(manifests.shipped(EXAMPLE))
    objects = manifests.read(*load, notes=notes)
    _note(notes.told)
    return objects


def _note(told: str) -> None:
    if told:
        click.echo(f"unmoor: {told}", err=True)


def _with_instances(objects: Objects, cluster: str) -> Objects:
    from unmoor.app.simulated_instances import with_instances  # noqa: PLC0415
    from unmoor.model import names  # noqa: PLC0415

    complete, replaced = with_instances(objects, cluster=cluster)
    for cloud, count in sorted(replaced.items()):
        machines = counted(count, "machine")
        gets = "gets a simulated instance" if count == 1 else "get simulated instances"
        click.echo(f"unmoor: {machines} {gets} in place of those of {cloud}", err=True)
    annotations = [
        body["metadata"].get("annotations") or {} for ref, body in objects if ref.kind == "Machine"
    ]
    if annotations and not any(names.MANAGED_BY in one for one in annotations):
        hand_over = f"kubectl annotate machines --all {names.MANAGED_BY}={cluster}"
        click.echo(f"unmoor: no Machine is handed to unmoor: `{hand_over}` does it", err=True)
    return complete


def _faults(given: str | None, *, has_controller: bool) -> tuple[str, ...]:
    from unmoor.model import names  # noqa: PLC0415
    from unmoor.sim import trouble  # noqa: PLC0415

    if given is None:
        return ()
    wanted = [name.strip() for name in given.split(",") if name.strip()]
    if not wanted:
        raise click.UsageError(
            f"--faults: {given!r} names no fault: see `unmoor sim up --faults {HELP}`, or leave "
            "it out"
        )
    try:
        faults = trouble.chosen(wanted)
    except KeyError as error:
        wrong = str(error.args[0])
        known = (*trouble.ABOUT, *trouble.GROUPS, trouble.ALL)
        meant = names.nearest(wrong, known) if len(wrong) >= HINT_CHARS_MIN else ""
        hint = f"write {meant}, or see" if meant else "see"
        raise click.UsageError(
            f"--faults: {wrong!r} is no fault: {hint} `unmoor sim up --faults {HELP}`"
        ) from None
    if not has_controller and (inside := [name for name in faults if trouble.needs_unmoor(name)]):
        raise click.UsageError(
            f"--faults: {inside[0]} befalls unmoor, which --no-controller leaves out: drop one of "
            "the two"
        )
    return faults


def _list_faults() -> None:
    from unmoor.sim import trouble  # noqa: PLC0415

    widest = max(map(len, trouble.ABOUT))
    for name, about in trouble.ABOUT.items():
        click.echo(f"  {name:<{widest}}  {about}")
    groups = ", ".join(trouble.GROUPS)
    click.echo(f"\nA first word stands for all that begin with it: {groups}; {trouble.ALL}: all.")


# How it is shown.


def _show(output: str, prices: str) -> Show:
    from rich.console import Console  # noqa: PLC0415

    return _Json() if output == "json" else _Text(Console(highlight=False), prices)


def _given(prices: str, *, keeps_rest: bool) -> str:
    """The same prices for a command beside."""
    if not prices:
        return ""
    return f" --prices={shlex.quote(prices)}{' --keep-rest' if keeps_rest else ''}"


class _Quiet:
    """Nothing."""

    def started(self, started: Started) -> None:
        """Say nothing."""

    def line(self, line: Line, at: datetime) -> None:
        """Say nothing."""

    def ended(self, ended: Ended) -> None:
        """Say nothing."""


class _Json:
    """One object on each line; ``event`` is up, line or down."""

    def started(self, started: Started) -> None:
        """``up``."""
        self._print("up", started)

    def line(self, line: Line, at: datetime) -> None:
        """``line``."""
        self._print("line", line, time=at.isoformat(timespec="milliseconds"))

    def ended(self, ended: Ended) -> None:
        """``down``; what it cost stands beside the rest."""
        self._print("down", ended)

    def _print(self, event: str, what: Any, **more: str) -> None:
        from msgspec import to_builtins  # noqa: PLC0415

        told: dict[str, Any] = to_builtins(what, enc_hook=str)
        cost = told.pop("cost", {})
        print_json({"event": event, **told, **cost, **more})


class _Text:
    """For people."""

    def __init__(self, console: Console, prices: str) -> None:
        """``prices``: the options that say them to a command beside."""
        self._console, self._prices = console, prices

    def started(self, started: Started) -> None:
        """Say what there is and how to reach it."""
        say = partial(self._console.print, soft_wrap=True)
        say(f"A simulated Kubernetes cluster is up: {started.server}\n")
        if not started.nodes:
            waiting = counted(started.machines, "Machine") if started.machines else ""
            say("  no nodes yet" + (f": {waiting} to be launched by unmoor" if waiting else ""))
        elif len(started.nodes) <= NODES_SHOWN:
            for node in started.nodes:
                state = "[green]ready[/green]" if node.is_ready else "[yellow]not ready[/yellow]"
                kind = f"{node.instance_type:<11} " if node.instance_type else ""
                zone = f"{node.zone:<11} " if node.zone else ""
                say(f"  {node.name:<20} {zone}{kind}{state}")
        else:
            say(f"  {counted(len(started.nodes), 'node')}, {counted(started.pods, 'pod')}")
        path = shlex.quote(str(started.kubeconfig))
        say(f"\n  [bold]export KUBECONFIG={path}[/bold]\n")
        if started.has_controller:
            say(f"unmoor looks after {counted(started.machines, 'machine')}.")
        else:
            say(
                "unmoor is not in it. To run it beside, in another terminal:\n\n"
                f"  unmoor run --cloud simulated --kubeconfig {path}{self._prices}\n",
            )
        say(f"Prices of machines: {started.prices}.")
        say("No node template is read: any providerRef will do.")
        say("Ctrl-C ends everything. What happens, with a minus before now:\n")

    def line(self, line: Line, at: datetime) -> None:
        """Tell it."""
        from unmoor.app.cli import lines  # noqa: PLC0415

        del at
        lines.show(self._console, line)

    def ended(self, ended: Ended) -> None:
        """Sum up."""
        say = partial(self._console.print, soft_wrap=True)
        minutes, seconds = divmod(round(ended.lasted_s), 60)
        lasted = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
        say(f"\nThe cluster was up for {lasted}; what was in it is gone.")
        removed = ended.nodes_removed
        if removed:
            latest = "" if len(removed) == ended.nodes_gone else "the latest are "
            say(f"{counted(ended.nodes_gone, 'node')} removed: {latest}{', '.join(removed)}")
        if ended.evictions or ended.refusals:
            admitted = counted(ended.evictions, "eviction")
            say(f"{admitted} admitted, {ended.refusals} refused and retried")
        for line in ended.cost.lines("when it came up", "it spent"):
            say(line)
        if ended.unused:
            say(f"no pod ever came to {', '.join(ended.unused)}")
        if ended.crashes:
            say(f"[red]{counted(ended.crashes, 'step')} of unmoor crashed: a bug[/red]")
        if ended.faults:
            told = ", ".join(f"{name} {count}" for name, count in ended.faults.items())
            say(f"faults: {told}")
