"""``unmoor drain``: take nodes of any cluster out of use, with the care of the controller.

Must not: drain by itself (``app.draining``), or say what it would do (``app.forecast``).
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
import msgspec

from unmoor.app.cli.command import (
    DURATION,
    Command,
    Failure,
    cluster_options,
    output_option,
    print_json,
)

if TYPE_CHECKING:
    from unmoor.app.draining import Drained, Draining
    from unmoor.app.forecast import Outlook
    from unmoor.app.progress import Show
    from unmoor.kube.client import KubeApi
    from unmoor.runtime.ports import Clock

BLOCKERS_MAX = 3
"""So many reasons stand in the error line; the progress has shown them all."""
FLUSH_S = 1.0
"""Events that are still on their way at the end get this long."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What a person chose."""

    kubeconfig: str
    context: str
    nodes: tuple[str, ...]
    deadline_s: float | None
    timeout_s: float | None
    output: str


@click.command(
    cls=Command,
    examples=(
        "unmoor drain node/ip-10-0-1-7",
        "unmoor drain worker-1 worker-2 --timeout 15m",
        "unmoor drain worker-1 --dry-run",
        "unmoor drain worker-1 --deadline 10m -o json",
    ),
)
@click.argument("nodes", nargs=-1, required=True, metavar="NODE...")
@click.option(
    "--deadline",
    "deadline_s",
    type=DURATION,
    metavar="DURATION",
    help="When it is over, a node's pods go past their budgets, and grace shrinks to what is "
    "left. By default budgets hold for ever.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=DURATION,
    metavar="DURATION",
    help="Give up on a node after this long; by default never. It stays cordoned.",
)
@click.option(
    "--dry-run", is_flag=True, help="Say pod by pod what would happen. Nothing is written."
)
@cluster_options
@output_option
def drain(nodes: tuple[str, ...], *, dry_run: bool, **chosen: Any) -> None:
    """Cordon and empty nodes of any cluster, one after another, under their disruption budgets.

    Workloads go first, then system-cluster-critical and system-node-critical pods. DaemonSet and
    static pods stay. Pods go by eviction; past a --deadline, those that are left are deleted.

    A node that is not drained stays cordoned, and the nodes after it are not begun: run the same
    command again to go on, or `kubectl uncordon` to give the node back. So it is after Ctrl-C.

    With --dry-run the server itself is asked, by dry-run evictions; exit code 1 means that a pod
    would be held as things stand.
    """
    choice = Choice(nodes=tuple(dict.fromkeys(_name(node) for node in nodes)), **chosen)
    from unmoor.app import logs, stopping  # noqa: PLC0415 - heavy

    logs.configure(level="error", form="text")
    if dry_run:
        asyncio.run(stopping.until_stopped(_look_ahead(choice)))
        return
    session = _Session(choice)
    if asyncio.run(stopping.until_stopped(session.run())) is None:
        raise Failure(session.interrupted())


def _name(given: str) -> str:
    kind, slash, name = given.rpartition("/")
    if slash and kind not in {"node", "nodes", "no"}:
        raise click.UsageError(f"{given!r} is no node: write node/NAME, or just NAME")
    if not name:
        raise click.UsageError(f"{given!r} has no name: write node/NAME, or just NAME")
    return name


class _Session:
    """The drains of one call, and where they stand."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._current: Draining | None = None
        self._done: list[Drained] = []

    async def run(self) -> bool:
        """Drain one node after another; raises Failure at the first that is not drained."""
        from unmoor.app.cluster import connected  # noqa: PLC0415
        from unmoor.runtime.clock import SystemClock  # noqa: PLC0415

        clock, choice = SystemClock(), self._choice
        async with connected(choice.kubeconfig, choice.context, clock) as api:
            await self._check(api)
            with _show(choice.output) as show:
                for name in choice.nodes:
                    self._done.append(await self._one(api, clock, name, show))
                    show.end(self._done[-1])
                    if not self._done[-1].is_drained:
                        break
        if choice.output == "json":
            print_json(self._summary())
        if not self._done[-1].is_drained:
            raise Failure(self._why_not())
        return True

    async def _check(self, api: KubeApi) -> None:
        """All nodes exist, before the first is touched."""
        from unmoor.app.forecast import find_node  # noqa: PLC0415

        for name in self._choice.nodes:
            await find_node(api, name)

    async def _one(self, api: KubeApi, clock: Clock, name: str, show: Show) -> Drained:
        from unmoor.app.draining import Draining, Ports  # noqa: PLC0415
        from unmoor.runtime.recorder import EventRecorder  # noqa: PLC0415

        recorder = EventRecorder(api, clock, component="unmoor-drain")
        sending = asyncio.create_task(recorder.run())
        try:
            self._current = Draining(Ports(api, clock, recorder), name, show.change)
            return await self._current.run(
                deadline_s=self._choice.deadline_s, timeout_s=self._choice.timeout_s
            )
        finally:
            with suppress(TimeoutError):
                await asyncio.wait_for(recorder.flush(), FLUSH_S)
            sending.cancel()

    def _summary(self) -> dict[str, object]:
        begun = {drained.node for drained in self._done}
        return {
            "drained": [one.node for one in self._done if one.is_drained],
            "not_begun": [name for name in self._choice.nodes if name not in begun],
            "nodes": [msgspec.to_builtins(one) for one in self._done],
        }

    def _why_not(self) -> str:
        last = self._done[-1]
        reasons = "; ".join(last.blockers[:BLOCKERS_MAX]) or "nothing is known to hold it"
        more = len(last.blockers) - BLOCKERS_MAX
        reasons += f"; and {more} more" if more > 0 else ""
        return (
            f"node/{last.node} is not drained: {reasons}; it stays cordoned: {_next(last.node)}"
            f"{self._rest()}"
        )

    def _rest(self) -> str:
        begun = len(self._done)
        rest = self._choice.nodes[begun:]
        return f"; not begun: {', '.join(rest)}" if rest else ""

    def interrupted(self) -> str:
        """What Ctrl-C leaves behind."""
        current = self._current
        if current is None or not current.is_cordoned:
            return "interrupted: nothing was changed"
        left = len(current.states)
        plural = "pod" if left == 1 else "pods"
        return (
            f"interrupted: node/{current.node} stays cordoned with {left} {plural} to go; "
            f"{_next(current.node)}"
        )


def _next(name: str) -> str:
    return f"`unmoor drain {name}` goes on, `kubectl uncordon {name}` gives it back"


def _show(output: str) -> Show:
    from unmoor.app.progress import JsonLines, Lines, Table  # noqa: PLC0415

    if output == "json":
        return JsonLines()
    return Table() if sys.stdout.isatty() else Lines()


async def _look_ahead(choice: Choice) -> None:
    from unmoor.app.cluster import connected  # noqa: PLC0415
    from unmoor.app.forecast import look_ahead  # noqa: PLC0415
    from unmoor.runtime.clock import SystemClock  # noqa: PLC0415

    clock = SystemClock()
    async with connected(choice.kubeconfig, choice.context, clock) as api:
        outlooks = [await look_ahead(api, name, clock.now()) for name in choice.nodes]
    for outlook in outlooks:
        if choice.output == "json":
            print_json(msgspec.to_builtins(outlook))
        else:
            _tell(outlook)
    held = [outlook.node for outlook in outlooks if not outlook.is_clear]
    if held:
        raise Failure(f"pods would be held on {', '.join(held)}; nothing was written")


def _tell(outlook: Outlook) -> None:
    first = "is cordoned already" if outlook.is_cordoned else "would be cordoned"
    click.echo(f"node/{outlook.node} {first}")
    widest = max((len(one.pod) for one in outlook.pods), default=0)
    for one in outlook.pods:
        click.echo(f"  {one.what:<8} {one.pod:<{widest}}  {one.why}")
    for note in outlook.notes:
        click.echo(f"  note: {note}")
    click.echo("  nothing was written")
