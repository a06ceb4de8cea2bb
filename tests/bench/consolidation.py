"""What does consolidation cost, and where does it end? Benchmarks and their goals.

Must not: judge, as in ``measuring``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.bench import engine
from tests.bench.measuring import GIB, Benchmark, Figure, Size, client

CLUSTERS = (100, 300, 1_000)
WAYS = {"ours": "our way", "plain": "the page's plain way"}
GOAL_OF_BOUND = 1.10
GOAL_MOVES = 1.2


def looking(size: Size) -> dict[str, Any]:
    """A realistic cluster, of two thirds of the pods."""
    sizes = ("--nodes", str(size.nodes), "--pods", str(size.pods * 2 // 3))
    return client("tests.bench.looking", *sizes)


def read_looking(raw: dict[str, Any]) -> Iterator[Figure]:
    """Looks of which nothing comes, and the search by itself."""
    yield Figure("a look of all methods, nothing to do", raw["cold_s"], "s", goal=5.0)
    after = "the same after 1 % of the pods have changed"
    yield Figure(after, raw["changed_s"] * 1e3, "ms", goal=200.0)
    yield Figure("pods that changed", raw["changed_pods"], "")
    yield Figure("the same again, nothing has changed", raw["same_s"] * 1e3, "ms")
    for what, words in (("cold", "candidates looked at"), ("changed", "after the change")):
        share = raw[f"{what}_coverage"] * 100
        yield Figure(f"{words}, share", share, "%", goal=100.0, is_most=False)
    yield Figure("candidates", raw["cold_eligible"], "")
    yield Figure("of these, asked of by a simulation", raw["cold_asked"], "")
    yield Figure("the search for several nodes", raw["search_s"], "s", goal=5.0)
    yield Figure("nodes that it finds", raw["search_gone"], "")
    yield Figure("pods that it moves", raw["search_moved"], "")
    yield Figure("what that saves", raw["search_usd_per_h"], "USD/h")
    yield Figure("peak memory, the cluster included", raw["peak_mb"] / GIB, "GiB")


def convergence(size: Size) -> dict[str, Any]:
    """Clusters of three sizes, those that are no larger than what is measured."""
    wanted = [nodes for nodes in CLUSTERS if nodes <= size.nodes]
    return {
        str(nodes): client("tests.bench.converging", "--nodes", str(nodes), "--pods", "0")
        for nodes in wanted
    }


def read_convergence(raw: dict[str, Any]) -> Iterator[Figure]:
    """Both ways, beside the bound."""
    for nodes, ways in raw.items():
        first = ways["ours"]
        yield Figure(f"{int(nodes):,} nodes: price before", first["first_usd_per_h"], "USD/h")
        kept, bought = first["bound_kept_usd_per_h"], first["bound_usd_per_h"]
        yield Figure(f"{int(nodes):,} nodes: bound, deleting alone", kept, "USD/h")
        yield Figure(f"{int(nodes):,} nodes: bound", bought, "USD/h")
        for way, words in WAYS.items():
            yield from _way(f"{int(nodes):,} nodes, {words}", ways[way], is_ours=way == "ours")


def _way(name: str, one: dict[str, Any], *, is_ours: bool) -> Iterator[Figure]:
    large = is_ours and one["nodes"] > min(CLUSTERS)
    saved = one["first_usd_per_h"] - one["last_usd_per_h"]
    yield Figure(f"{name}: price after", one["last_usd_per_h"], "USD/h")
    share = one["last_usd_per_h"] / one["bound_usd_per_h"]
    yield Figure(f"{name}: times the bound", share, "", goal=GOAL_OF_BOUND if large else None)
    yield Figure(f"{name}: price after 3 commands", one["third_usd_per_h"], "USD/h")
    share = one["third_usd_per_h"] / one["bound_kept_usd_per_h"]
    yield Figure(f"{name}: of the bound of deleting alone then", share, "")
    yield Figure(f"{name}: commands", one["commands"], "")
    yield Figure(f"{name}: machines bought", one["bought"], "")
    yield Figure(f"{name}: pods moved per USD/h saved", one["moves"] / max(saved, 1e-9), "")
    moves = one["moves"] / max(one["moved_pods"], 1)
    yield Figure(f"{name}: moves per moved pod", moves, "", goal=GOAL_MOVES if is_ours else None)
    yield Figure(f"{name}: longest look", one["worst_s"], "s")


BENCHMARKS = (
    *engine.BENCHMARKS,
    Benchmark(
        "consolidation",
        "A look of all methods",
        "A realistic cluster of 5,000 nodes and 100,000 pods. First the search for several nodes, "
        "with what it finds. Then whole looks of which nothing comes: every question is answered, "
        "but each answer is taken for a no, so that every node is looked at; from scratch, again, "
        "and after one pod in a hundred has changed, of which every second one is another one on "
        "another node. By processor time.",
        looking,
        read_looking,
    ),
    Benchmark(
        "convergence",
        "Where consolidation ends",
        "Generated clusters at about 60 % of their requests, with constraints of pods, of which "
        "every node may go. Command by command, until nothing more pays; what is planned is what "
        "happens, and no time passes, so what was moved lately does not count; 60 commands at "
        "most. The page's plain way is the bisection over its order, then single nodes, whatever "
        "it saves. The bound knows cpu and memory alone: nodes are divisible, pods a liquid, and "
        "every machine is the cheapest that is sold, spot or not. No cluster reaches it: nothing "
        "replaces a spot node, and one command brings one machine at most.",
        convergence,
        read_convergence,
    ),
)
"""All of them, in the order of the page."""
