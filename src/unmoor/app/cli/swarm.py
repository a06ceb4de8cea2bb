"""``unmoor swarm``: does every rule hold in random clusters with random faults?

Each seed is one world in virtual time; several processes share the seeds. Lines come in the order
of the seeds and hold nothing that depends on this machine, so two runs can be compared as text.

Must not: know what a world does (``sim.swarm``).
"""

from __future__ import annotations

import gc
import hashlib
import os
import re
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from traceback import format_exc
from typing import TYPE_CHECKING, Any

import click

from unmoor.app.cli.command import Command, Failure, FiniteRange, output_option, print_json
from unmoor.model.wording import counted

if TYPE_CHECKING:
    from unmoor.sim.swarm import SeedResult

SEEDS_MAX = 1_000_000
"""More seeds than this in one call is a slip of the finger."""
AHEAD = 4
"""Seeds handed out before their turn, for each process: results are held until they are told."""


class Seeds(click.ParamType[range]):
    """``A-B``, both included, or one number."""

    name = "seeds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> range:
        """Read a range."""
        if isinstance(value, range):
            return value
        found = re.fullmatch(r"([0-9]{1,12})(?:-([0-9]{1,12}))?", value)
        if found is None:
            self.fail(f"{value!r} is no range of seeds: write it as 1-200, or 48", param, ctx)
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            self.fail(f"{value!r} is empty: write the smaller seed first", param, ctx)
        if last - first >= SEEDS_MAX:
            self.fail(f"{value!r} has more than {SEEDS_MAX} seeds: take fewer", param, ctx)
        return range(first, last + 1)


@click.command(
    cls=Command,
    examples=(
        "unmoor swarm --seeds 1-200",
        "unmoor swarm --seeds 48 --hours 4",
        "unmoor swarm -j 8",
    ),
)
@click.option(
    "--seeds", type=Seeds(), default="1-20", show_default=True, metavar="A-B", help="Which worlds."
)
@click.option(
    "--hours",
    type=FiniteRange(min=0, min_open=True),
    default=2.0,
    show_default=True,
    help="Simulated hours of each world.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=None,
    metavar="N",
    help="Processes; as many as there are processors by default.",
)
@click.option(
    "--coverage",
    is_flag=True,
    help="Say how often each method, phase and fault was met, and fail if one never was.",
)
@output_option
def swarm(seeds: range, hours: float, jobs: int | None, coverage: bool, output: str) -> None:  # noqa: FBT001
    """Rehearse random clusters and faults in virtual time, and check every rule all the while.

    A seed that breaks a rule prints its story and the command that replays it.
    """
    digest = hashlib.sha256()
    failed: list[int] = []
    met: Counter[str] = Counter()
    for result in _results(seeds, hours, jobs or os.cpu_count() or 1):
        digest.update(f"{result.seed} {result.trace_hash}\n".encode())
        met.update(result.met)
        if not result.ok:
            failed.append(result.seed)
        if output == "json":
            print_json(_as_json(result, hours))
        else:
            tell(result, hours)
    summary = (
        f"{counted(len(seeds), 'seed')}, {len(failed)} failed, trace {digest.hexdigest()[:16]}"
    )
    if output == "json":
        told = {"seeds": len(seeds), "failed": failed, "trace_hash": digest.hexdigest()}
        print_json({**told, "met": dict(sorted(met.items()))} if coverage else told)
    else:
        for line in _met(met) if coverage else ():
            click.echo(line)
        click.echo(summary)
    if failed:
        named = ", ".join(str(seed) for seed in failed)
        raise Failure(f"seeds that broke a rule: {named}; each story above ends with its replay")
    if coverage:
        _fail_for_want_of(met)


def _met(met: Mapping[str, int]) -> Iterator[str]:
    from unmoor.sim import coverage  # noqa: PLC0415 - the overview does not need it

    yield from coverage.lines(met)


def _fail_for_want_of(met: Mapping[str, int]) -> None:
    from unmoor.sim import coverage  # noqa: PLC0415 - the overview does not need it

    if missing := coverage.never_met(met):
        remedy = "play more seeds, or draw it more often (sim/draws.py, sim/terms.py)"
        raise Failure(f"no world has met {', '.join(missing)}: {remedy}")


def _results(seeds: range, hours: float, jobs: int) -> Iterator[SeedResult]:
    """The results in the order of the seeds."""
    processes = min(jobs, len(seeds))
    if processes == 1:
        yield from (_live_through(seed, hours) for seed in seeds)
        return
    with _workers(processes) as pool:
        waiting: list[Future[SeedResult]] = []
        for seed in seeds:
            waiting.append(pool.submit(_live_through, seed, hours))
            if len(waiting) >= processes * AHEAD:
                yield waiting.pop(0).result()
        yield from (future.result() for future in waiting)


def _live_through(seed: int, hours: float) -> SeedResult:
    """One world, on the simulated cloud; runs in a process of the pool."""
    from unmoor.app import logs  # noqa: PLC0415 - the overview does not need it
    from unmoor.cloud.catalogue import ec2_types  # noqa: PLC0415
    from unmoor.cloud.simulated import SimulatedCloud  # noqa: PLC0415
    from unmoor.sim.swarm import SeedResult, run_seed  # noqa: PLC0415

    # What unmoor has to complain about in a rehearsal is in the story.
    logs.configure(level="error", form="text")
    types = {one.name: one for one in ec2_types()}
    try:
        with _without_collection():
            return run_seed(seed, hours, cloud=SimulatedCloud, types=types)
    except Exception as error:  # noqa: BLE001 - the other seeds go on, and this one is told
        summary = f"seed={seed} crashed: {type(error).__name__}: {error}"
        return SeedResult(seed, ok=False, summary=summary, trace_hash="", story=format_exc())


@contextmanager
def _without_collection() -> Iterator[None]:
    """Let garbage lie until the world is over: a tenth of the time would go into looking for it."""
    gc.freeze()  # What is there by now stays: it need not be looked through after each world.
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()
        gc.enable()


@contextmanager
def _workers(processes: int) -> Iterator[Executor]:
    """A pool that does not finish what nobody waits for any more."""
    pool = ProcessPoolExecutor(processes, initializer=_leave_interrupts_to_the_parent)
    try:
        yield pool
    except BrokenProcessPool:
        raise Failure(
            "a process that rehearsed a seed was killed, perhaps for want of memory: try -j 1"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_interrupts_to_the_parent() -> None:
    """Ctrl-C goes to all processes of a terminal; one of them is enough to say so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def tell(result: SeedResult, hours: float) -> None:
    """Print what came of one seed; a failure with its story and its replay."""
    click.echo(result.summary)
    if not result.ok:
        for line in _lines(result, hours):
            click.echo(line)


def _lines(result: SeedResult, hours: float) -> Iterable[str]:
    yield from result.story.splitlines()
    yield f"replay: {_replay(result, hours)}"


def _replay(result: SeedResult, hours: float) -> str:
    return f"unmoor swarm --seeds {result.seed} --hours {hours:g}"


def _as_json(result: SeedResult, hours: float) -> dict[str, object]:
    told: dict[str, object] = {
        "seed": result.seed,
        "ok": result.ok,
        "summary": result.summary,
        "trace_hash": result.trace_hash,
    }
    if not result.ok:
        told |= {"story": result.story, "replay": _replay(result, hours)}
    return told
