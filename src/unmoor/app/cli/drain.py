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
from unmoor.model.wording import counted

if TYPE_CHECKING:
    from unmoor.app.draining import Drained, Draining
    from unmoor.app.forecast import Outlook
    from unmoor.app.progress import Show
    from unmoor.kube.client import KubeApi
    from unmoor.runtime.ports import Clock

BLOCKERS_MAX = 10
"""So many reasons are given at the end, a line each; the progress has shown them all."""
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


def _enough_time(_context: click.Context, _option: click.Parameter, given_s: float | None) -> Any:
    """Refuse 0, which elsewhere means for ever and here would mean not at all, and too little."""
    if given_s is None:
        return None
    if given_s == 0:
        raise click.BadParameter("0 leaves no time: leave --timeout out to wait for ever")
    from unmoor.model.cadence import Cadence  # noqa: PLC0415 - `unmoor --help` needs none

    least_s = Cadence().cordon_quiet_s
    if given_s <= least_s:
        raise click.BadParameter(
            f"{given_s:g} s are too few: no node is drained before its cordon is {least_s:g} s "
            "old, because pods that were bound just before it may still appear; give more"
        )
    return given_s


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
    help="When it is over, a node's pods go past their budgets. Grace shrinks to what is left of "
    "it: a pod that its budget held until then gets 1 s. By default budgets hold for ever.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=DURATION,
    callback=_enough_time,
    metavar="DURATION",
    help="Give up on a node after this long, which must be more than 5 s; by default never. It "
    "stays cordoned.",
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

    Pods that `kubectl drain` refuses without --force or --delete-emptydir-data are evicted, too:
    those that nobody makes again, and those whose emptyDir data are then lost. So are pods that
    are annotated karpenter.sh/do-not-evict. Such pods are named before the first eviction. Budgets
    are always held, unless a --deadline passes.

    A node that is not drained stays cordoned, and the nodes after it are not begun: run the same
    command again to go on, or `kubectl uncordon` to give the node back. So it is after Ctrl-C.

    A DURATION is written with units, as in 1h30m, 90s or 300ms; a whole number alone is seconds.

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
        raise session.interrupted()


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
        self._is_interrupted = False

    async def run(self) -> bool:
        """Drain one node after another; raises Failure at the first that is not drained."""
        try:
            await self._drain()
        except asyncio.CancelledError:
            self._is_interrupted = True
            raise
        finally:
            current = self._current
            if current is not None and current.node not in {one.node for one in self._done}:
                self._done.append(current.so_far())
            if self._choice.output == "json" and self._done:
                print_json(self._summary())
        if not self._done[-1].is_drained:
            raise self._why_not(self._done[-1])
        return True

    async def _drain(self) -> None:
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
        return {
            "drained": [one.node for one in self._done if one.is_drained],
            "interrupted": self._is_interrupted,
            "nodes": [msgspec.to_builtins(one) for one in self._done],
            "not_begun": self._choice.nodes[len(self._done) :],
        }

    def _why_not(self, last: Drained) -> Failure:
        more = len(last.blockers) - BLOCKERS_MAX
        return Failure(
            f"node/{last.node} is not drained and {self._state(last)}",
            (
                *(last.blockers[:BLOCKERS_MAX] or ("nothing is known to hold it",)),
                *((f"and {more} more",) if more > 0 else ()),
                *self._next(last),
            ),
        )

    def interrupted(self) -> Failure:
        """What Ctrl-C leaves behind."""
        if not self._done:
            return Failure("interrupted: nothing was changed")
        last = self._done[-1]
        if last.is_drained:
            return Failure(f"interrupted: node/{last.node} is drained", self._others())
        to_go = "" if last.left is None else f" with {counted(len(last.left), 'pod')} to go"
        said = f"interrupted: node/{last.node} {self._state(last)}{to_go}"
        return Failure(said, self._next(last))

    def _state(self, last: Drained) -> str:
        if last.is_cordoned:
            return "stays cordoned"
        return "may be cordoned" if self._may_have_written else "was not changed"

    @property
    def _may_have_written(self) -> bool:
        return self._current is not None and self._current.may_have_written

    def _next(self, last: Drained) -> tuple[str, ...]:
        name = last.node
        is_ours = last.is_cordoned or self._may_have_written  # else a cordon may be a person's
        how = f"goes on, `kubectl uncordon {name}` gives it back" if is_ours else "tries again"
        return (f"`unmoor drain {name}` {how}", *self._others())

    def _others(self) -> tuple[str, ...]:
        """The other nodes, if there are some: a line for those before, and one for those after."""
        before = ", ".join(one.node for one in self._done[:-1])
        after = ", ".join(self._choice.nodes[len(self._done) :])
        return (
            *((f"drained: {before}",) if before else ()),
            *((f"not begun: {after}",) if after else ()),
        )


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
