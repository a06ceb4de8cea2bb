"""What does the engine cost that is asked of every node? Benchmarks and their goals.

Must not: judge, as in ``measuring``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from statistics import linear_regression
from typing import Any

from tests.bench import measuring
from tests.bench.measuring import GIB, Benchmark, Figure, Size, client

GROWTH = (100, 30, 10, 3, 1)
"""Of twice the nodes that unmoor is designed for, so many parts make a cluster."""


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
    """A hundred nodes of each of a few sizes, with 20 pods on a node."""
    found = {}
    for nodes in (max(2 * size.nodes // parts, 2) for parts in GROWTH):
        sizes = ("--nodes", str(nodes), "--pods", str(20 * nodes), "--sample", "100")
        found[str(nodes)] = client("tests.bench.passes", *sizes)
    return found


def read_engine_growth(raw: dict[str, Any]) -> Iterator[Figure]:
    """A simulation at each size, and the exponent by least squares on logarithms."""
    for nodes, one in raw.items():
        yield Figure(f"one simulation, median, {int(nodes):,} nodes", one["median_s"] * 1e3, "ms")
    sizes = [log(int(nodes)) for nodes in raw]
    slope, _ = linear_regression(sizes, [log(one["median_s"]) for one in raw.values()])
    yield Figure("exponent of a simulation", slope, "", goal=1.0)
    slope, _ = linear_regression(sizes, [log(one["compile_s"]) for one in raw.values()])
    yield Figure("exponent of what comes before the first question", slope, "", goal=1.2)


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
        "The same of a hundred nodes in clusters of several sizes. An exponent of 1 means: twice "
        "the cluster, twice the time.",
        engine_growth,
        read_engine_growth,
    ),
)
"""All of them, in the order of the page."""
