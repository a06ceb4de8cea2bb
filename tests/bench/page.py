"""Write docs/performance.md from what ``make bench`` has kept.

python -m tests.bench.page
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.__main__ import KEPT, shown
from tests.bench.consolidation import BENCHMARKS
from tests.bench.measuring import ROOT, Figure

PAGE = ROOT / "docs/performance.md"
PARTS_SHOWN = 10
HEAD = """\
<!-- Written by `make performance` from what `make bench` measured. Do not edit. -->

# Performance

unmoor is designed for 5,000 nodes and 150,000 pods. This page says what that costs, with goals, as
measured on one machine. `make bench` measures again (thirteen minutes of processor time, 2 GB of
memory), `make bench BENCH="sync watch"` some of it, and `make performance` writes this page from
what was measured last.

The cluster is made up, of pods of about 6 kB with managed fields, start times spread over a month,
in 18,000 workloads. Its server is a process of its own that sends bytes made before, so that it is
the client that is measured; both share the machine. Processor time is that of the client alone: on
a machine with other work it is the figure to look at. A pause is what something that is due every
two milliseconds is late by.
"""
PEER = """
The peer is the scheduler of Karpenter (kubernetes-sigs/karpenter, its core as of v1.14), in Go. It
was measured once, on two cores of such a machine, and `make bench` does not measure it again: its
figures are constants in `tests/bench/measuring.py`. Its rates are those of its solver on its public
mix, which ours is made after. Its 580 s for the backlog are what its solver took in all, as part of
a whole controller beside a real control plane on these two cores, with 15 types. A round of it
ends after a minute; there were nine, in which some pods were solved more than once. So that is a
worst case: it says what a user waits for, not how two solvers compare.
"""
MAIN = (
    ("sync", "until all is known", "all of a big cluster is known"),
    ("watch", "events a second", "pod events followed"),
    ("watch", "longest pause of the event loop", "longest pause meanwhile"),
    ("placing", "10,000 pods: a second", "machines for 10,000 pods"),
    ("placing", "20,000 pods: a second", "machines for 20,000 pods"),
    ("placing", "20,000 pods: machines", "machines for these 20,000"),
    (
        "placing",
        "10,000 pods: price, share of the peer's",
        "their price, 10,000 pods, share of the peer's",
    ),
    ("placing", "a backlog of 11,000 (peer: 580 s)", "a plan for a backlog of 11,000 pods"),
    (
        "engine-pass",
        "a full pass, by processor time",
        "would its pods fit elsewhere, asked of every node",
    ),
    (
        "engine-pass",
        "a pass after 1 % of the pods changed",
        "the same after 1 % of the pods changed",
    ),
    ("engine-pass", "peak memory, the cluster included", "memory for that"),
    ("engine-changed", "both", "a changed cluster becomes rows"),
    ("consolidation", "a look of all methods, nothing to do", "a look of all methods at that"),
    ("consolidation", "candidates looked at, share", "nodes that it looks at"),
    ("consolidation", "the search for several nodes", "which nodes can go together"),
    ("convergence", "300 nodes, our way: times the bound", "price of 300 nodes, of the bound"),
    ("convergence", "1,000 nodes, our way: times the bound", "price of 1,000 nodes, of the bound"),
    (
        "engine-growth",
        "exponent of a simulation",
        "growth of one question with the cluster, exponent",
    ),
)
"""What the summary shows: of which benchmark, which figure, and how it is called there."""
_PASS = (
    "nearly every workload of this cluster is a class of its own, to be met for a first time, and "
    "pods are placed one by one"
)
_SLOWER = (
    "the machine of that day was slower than the one that met it: the program that had followed "
    "20,233/s there, run between this run and the one before it, followed 17,587/s here, with a "
    "pause of 311 ms"
)

_BOUND = (
    "the bound is free to run everything on the cheapest spot machines; a command may bring one "
    "machine, nothing replaces a spot node, and a replacement has to save a tenth. Beside what the "
    "nodes that are there cost at the least, see the row on deleting alone"
)
_AGAIN = (
    "a replacement takes pods along that came to its node before; no time passes here, so the rule "
    "that would forbid it for half an hour is not in force"
)
WHY = {
    ("watch", "events a second"): _SLOWER,
    ("watch", "longest pause of the event loop"): _SLOWER,
    ("watch", "start: longest pause"): (
        "pauses are measured by the clock, and the server that sends the first list shares the two "
        "cores; the longest turn by processor time is in the row below"
    ),
    ("engine-pass", "a full pass, by processor time"): _PASS,
    ("engine-pass", "a pass after 1 % of the pods changed"): (
        "rows, classes and what keeps nodes from going are known, but hardly a node of this "
        "cluster is hopeless: of nearly all, the pods are placed anew, one by one"
    ),
    ("engine-pass", "peak memory, the cluster included"): (
        "the cluster, made up in the same process, takes 0.7 GiB before the engine sees it; the "
        "rest are rows, and what is kept of each class and of each answer for the next pass"
    ),
    ("consolidation", "a look of all methods, nothing to do"): (
        "a thousand nodes may go but for what they cost; their pods are placed one by one, and "
        "nearly every workload is met for a first time"
    ),
    ("consolidation", "the same after 1 % of the pods have changed"): (
        "what was answered before is not known to hold after a change, so nearly all is asked anew"
    ),
    ("consolidation", "the search for several nodes"): (
        "a set of a thousand nodes has thousands of pods, placed one by one for each set tried"
    ),
    ("convergence", "300 nodes, our way: times the bound"): _BOUND,
    ("convergence", "1,000 nodes, our way: times the bound"): _BOUND,
    ("convergence", "100 nodes, our way: moves per moved pod"): _AGAIN,
    ("convergence", "300 nodes, our way: moves per moved pod"): _AGAIN,
    ("convergence", "1,000 nodes, our way: moves per moved pod"): _AGAIN,
    ("engine-changed", "both"): (
        "these changes touch every fourth node, and who came and went there is found by comparing "
        "all its pods, twice: for the place and for its row"
    ),
}
"""Why a goal is missed, by benchmark and figure. Said only while it is."""
UNKNOWN = "nobody has found out why"


def figures(record: dict[str, Any]) -> dict[str, Figure]:
    """What was kept of a benchmark, by name."""
    return {one["name"]: Figure(**one) for one in record["figures"]}


def missed(kept: dict[str, Any]) -> Iterator[tuple[str, Figure]]:
    """The goals that are not met, with the benchmark."""
    for benchmark in BENCHMARKS:
        found = figures(kept[benchmark.name]) if benchmark.name in kept else {}
        yield from ((benchmark.name, one) for one in found.values() if not one.is_met)


def summary(kept: dict[str, Any]) -> Iterator[str]:
    """What matters most, how many goals are met, and why the others are not."""
    found = (one for record in kept.values() for one in figures(record).values())
    goals = [one for one in found if one.goal is not None]
    yield "\n## In short\n"
    yield "| what | goal | measured | |"
    yield "| --- | --- | ---: | --- |"
    for name, figure, words in MAIN:
        one = figures(kept[name]).get(figure) if name in kept else None
        if one is not None:
            value, goal, verdict = shown(one)
            yield f"| {words} | {goal} | {value} | {verdict} |"
    met = sum(one.is_met for one in goals)
    yield f"\nOf all {len(goals)} goals below, {met} are met. Missed, and why:\n"
    titles = {benchmark.name: benchmark.title for benchmark in BENCHMARKS}
    if met == len(goals):
        yield "- None."
    for name, one in missed(kept):
        value, goal, _ = shown(one)
        yield f"- *{titles[name]}*, {one.name}: {value}, goal {goal}. {_why(name, one)}"
    yield PEER.rstrip()


def _why(name: str, figure: Figure) -> str:
    words = WHY.get((name, figure.name), UNKNOWN)
    return f"{words[0].upper()}{words[1:]}."


def lines(kept: dict[str, Any]) -> Iterator[str]:
    """The page after its head."""
    for benchmark in BENCHMARKS:
        record = kept.get(benchmark.name)
        if record is None:
            continue
        yield f"\n## {benchmark.title}\n"
        yield f"{benchmark.words}\n"
        yield "| what | measured | goal | |"
        yield "| --- | ---: | --- | --- |"
        for figure in figures(record).values():
            yield f"| {' | '.join((figure.name, *shown(figure)))} |"
        yield from memory(record["raw"])
        yield f"\n{where(record)}"


def memory(raw: dict[str, Any]) -> Iterator[str]:
    """Which parts of the pods take the memory."""
    weights = {name[7:]: mb for name, mb in raw.items() if name.startswith("weight ")}
    if weights:
        largest = list(weights.items())[:PARTS_SHOWN]
        listed = ", ".join(f"{name} {mb:.0f} MB" for name, mb in largest)
        total = sum(weights.values())
        yield f"\nWhat takes the memory of the pods, {total:.0f} MB in all: {listed}."


def where(record: dict[str, Any]) -> str:
    """On what machine, when, with what."""
    machine = record["machine"]
    hardware = f"{machine['processor']}, {machine['memory']}, {machine['system']}"
    software = f"{machine['python']}, aiohttp {machine['aiohttp']}, msgspec {machine['msgspec']}"
    load = f"load average {record['load']:.1f} at the start"
    return f"{record['when']}; {hardware}; {software}, unmoor {machine['unmoor']}; {load}."


def write(measured: Path, to: Path) -> int:
    """Write it, or say what is missing."""
    if not measured.exists():
        print("performance: nothing was measured yet, run `make bench`", file=sys.stderr)
        return 1
    kept = json.loads(measured.read_text())
    to.write_text(HEAD + "\n".join((*summary(kept), *lines(kept))) + "\n")
    print(f"performance: wrote {to}")
    unknown = [f"{name}: {one.name}" for name, one in missed(kept) if (name, one.name) not in WHY]
    for one in unknown:
        print(
            f"performance: missed, and WHY in {__file__} does not say why: {one}", file=sys.stderr
        )
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(write(KEPT, PAGE))
