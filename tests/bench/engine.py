"""What does the engine cost that is asked of every node? Benchmarks and their goals.

Must not: judge, as in ``measuring``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from statistics import linear_regression
from typing import Any, NamedTuple

from tests.bench import measuring
from tests.bench.measuring import GIB, Benchmark, Figure, Size, client

GROWTH = (100, 30, 10, 3, 1)
"""Of twice the nodes that unmoor is designed for, so many parts make a cluster."""


class Step(NamedTuple):
    """What is measured in clusters of several sizes. ``goal``: the most its exponent may be.

    What is asked of a whole cluster, or of a hundredth of it, grows with it; a fifth more is for
    what no longer fits into caches.
    """

    raw: str
    at_a_size: str
    words: str
    goal: float


STEPS = (
    Step("median_s", "one simulation, median", "a simulation", 1.0),
    Step(
        "compile_s",
        "before the first question",
        "what comes before the first question",
        1.2,
    ),
    Step("filter_s", "which are hopeless, of all nodes", "what finds the hopeless", 1.2),
    Step("scene_s", "1 % changed: view to places", "a changed view becoming places", 1.2),
    Step("rows_s", "1 % changed: places to rows", "changed places becoming rows", 1.2),
    Step("both_s", "1 % changed: view to rows", "a changed view becoming rows", 1.2),
)


def engine_pass(size: Size) -> dict[str, Any]:
    """Each node of a realistic cluster, for two thirds of the pods."""
    sizes = ("--nodes", str(size.nodes), "--pods", str(size.pods * 2 // 3))
    return client("tests.bench.passes", *sizes)


def read_engine_pass(raw: dict[str, Any]) -> Iterator[Figure]:
    """One question and all of them."""
    yield Figure("before the first question", raw["compile_s"], "s")
    yield Figure("which are hopeless, asked of all at once", raw["filter_s"], "s")
    yield Figure("one simulation, median", raw["median_s"] * 1e3, "ms")
    yield Figure("one simulation, worst", raw["worst_s"] * 1e3, "ms")
    yield Figure("a full pass, by processor time", raw["total_s"], "s", goal=5.0)
    yield Figure("a full pass, by the clock", raw["wall_s"], "s")
    yield Figure("the same pass again", raw["again_s"] * 1e3, "ms")
    yield Figure("a pass after 1 % of the pods changed", raw["changed_s"], "s", goal=5.0)
    yield Figure("peak memory, the cluster included", raw["peak_mb"] / GIB, "GiB", goal=1.5)
    yield Figure("nodes whose pods fit elsewhere", raw["deleted"], "")
    yield Figure("nodes whose pods need a new machine", raw["replaced"], "")
    yield Figure("nodes with pods that fit nowhere", raw["refused"], "")
    yield Figure("of these, hopeless before any was tried", raw["hopeless"], "")
    yield Figure("which are hopeless after the change", raw["changed_filter_s"], "s")
    yield Figure("nodes with pods that fit nowhere then", raw["changed_refused"], "")
    yield Figure("of these, found without a simulation", raw["changed_hopeless"], "")


def engine_changed(size: Size) -> dict[str, Any]:
    """A realistic cluster, of two thirds of the pods, in which some change."""
    sizes = ("--nodes", str(size.nodes), "--pods", str(size.pods * 2 // 3))
    return client("tests.bench.changed", *sizes)


def read_engine_changed(raw: dict[str, Any]) -> Iterator[Figure]:
    """From the view to the rows."""
    yield Figure("pods that changed", raw["changed_pods"], "")
    yield Figure("places and templates", raw["scene_s"] * 1e3, "ms")
    yield Figure("rows", raw["rows_s"] * 1e3, "ms")
    yield Figure("both", raw["both_s"] * 1e3, "ms", goal=100.0)


def engine_growth(size: Size) -> dict[str, Any]:
    """Clusters of a few sizes, with 20 pods on a node."""
    found = {}
    for nodes in (max(2 * size.nodes // parts, 2) for parts in GROWTH):
        sizes = ("--nodes", str(nodes), "--pods", str(20 * nodes))
        found[str(nodes)] = client("tests.bench.growth", *sizes)
    return found


def read_engine_growth(raw: dict[str, Any]) -> Iterator[Figure]:
    """Each step at each size, and its exponent by least squares on logarithms."""
    sizes = [log(int(nodes)) for nodes in raw]
    for step in STEPS:
        for nodes, one in raw.items():
            yield Figure(f"{step.at_a_size}, {int(nodes):,} nodes", one[step.raw] * 1e3, "ms")
        slope, _ = linear_regression(sizes, [log(one[step.raw]) for one in raw.values()])
        yield Figure(f"exponent of {step.words}", slope, "", goal=step.goal)


BENCHMARKS = (
    *measuring.BENCHMARKS,
    Benchmark(
        "engine-pass",
        "Would its pods fit elsewhere? Asked of every node",
        "A realistic cluster of 5,000 nodes and 100,000 pods with every constraint kind in it. "
        "One filter finds nodes that certainly cannot be emptied. Each other node in turn is taken "
        "out with its pods, these are placed on the others and on new machines, and everything is "
        "put back. A question that was answered is remembered as long as the cluster is the same; "
        "after a change all are asked anew, but rows and classes are kept.",
        engine_pass,
        read_engine_pass,
    ),
    Benchmark(
        "engine-changed",
        "After a change, until it can be asked again",
        "That cluster, after a hundred questions. One pod in a hundred changes: every second of "
        "them is annotated, the others go and a successor comes on another node. A view of the "
        "store becomes places, and these become the rows that questions are asked of. Medians of "
        "the processor time of seven rounds.",
        engine_changed,
        read_engine_changed,
    ),
    Benchmark(
        "engine-growth",
        "How that grows with the cluster",
        "The same in clusters of several sizes, with 20 pods on a node: all rows, all hopeless "
        "nodes, a hundred simulations, and the medians of seven rounds in which one pod in a "
        "hundred changes. An exponent of 1 means: twice the cluster, twice the time.",
        engine_growth,
        read_engine_growth,
    ),
)
"""All of them, in the order of the page."""
