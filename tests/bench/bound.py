"""What must a cluster cost at the least? A bound by cpu and memory alone.

Nodes are divisible in it, pods are a liquid, and each type is had at its cheapest offering, with
what DaemonSets take of every machine taken off. So no cluster that runs these pods costs less; one
with constraints costs more. By duality: whatever is paid for a core and for a byte such that no
machine is worth more than its price, the pods are worth no more than the machines they run on.

Must not: know what consolidation may do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import NamedTuple

from unmoor.cloud.catalogue import ec2_types
from unmoor.engine.sites import Tenants
from unmoor.model import kinds, names
from unmoor.model.instance import InstanceType
from unmoor.model.node import Node
from unmoor.model.resources import CPU, MEMORY, Resources, parse_resources, subtract, total
from unmoor.model.snapshot import View

MIB = 2**20
SEARCH_STEPS = 24


class Column(NamedTuple):
    """A machine that may be had."""

    price: float
    cpu: float
    memory: float


class Bounds(NamedTuple):
    """The least that it costs to run these pods, in USD per hour.

    ``kept``: on some of the nodes that are there; ``bought``: on whatever is sold.
    """

    kept: float
    bought: float


def bounds_of(view: View, price_of: Callable[[Node], float | None]) -> Bounds:
    """Return both bounds. ``price_of``: what a node costs."""
    tenants, wanted = Tenants(), dict.fromkeys((CPU, MEMORY), 0)
    overheads: list[Resources] = []
    standing: list[Column] = []
    for node in view.sorted(kinds.NODES):
        pods = [pod for pod in view.pods_on(node.name) if not pod.is_terminal]
        own = total(tenants.of(pod)[1] for pod in pods if pod.is_of_its_node)
        moved = total(tenants.of(pod)[1] for pod in pods if not pod.is_of_its_node)
        wanted = {what: amount + moved.get(what, 0) for what, amount in wanted.items()}
        overheads.append(own)
        room = subtract(parse_resources(node.status.allocatable), own)
        standing.append(_column(price_of(node) or 0.0, room))
    overhead = {what: min(one.get(what, 0) for one in overheads) for what in (CPU, MEMORY)}
    demand = _column(0.0, wanted)
    columns = _useful([*_columns(ec2_types(), overhead)])
    fair = (one for one in _corners(columns) if _is_fair(*one, columns))
    bought = max((a * demand.cpu + b * demand.memory for a, b in fair), default=0.0)
    return Bounds(_kept(standing, demand), bought)


def _kept(standing: list[Column], demand: Column) -> float:
    """What is paid for a core and a GiB, less what nodes are then worth more than their price.

    It is concave in both prices, and below the optimum for all of them: so where the search for
    the best ones stops, it is a bound all the same.
    """

    def worth(cpu: float, memory: float) -> float:
        over = (one.price - cpu * one.cpu - memory * one.memory for one in standing)
        return cpu * demand.cpu + memory * demand.memory + sum(min(each, 0.0) for each in over)

    most = max((one.price / one.cpu for one in standing), default=0.0)
    most_memory = max((one.price / one.memory for one in standing), default=0.0)

    def best_for(cpu: float) -> float:
        return _highest(lambda memory: worth(cpu, memory), most_memory)

    return _highest(best_for, most)


def _highest(of: Callable[[float], float], most: float) -> float:
    """The highest value of a concave function between 0 and ``most``, nearly."""
    low, high = 0.0, most
    for _ in range(SEARCH_STEPS):
        third = (high - low) / 3
        if of(low + third) < of(high - third):
            low += third
        else:
            high -= third
    return of((low + high) / 2)


def _column(price: float, room: Resources) -> Column:
    return Column(price, room.get(CPU, 0) / 1000, room.get(MEMORY, 0) / MIB / 1024)


def _columns(types: Iterable[InstanceType], overhead: Resources) -> Iterable[Column]:
    for one in types:
        prices = [each.price_usd_per_h for each in one.offerings if each.price_usd_per_h]
        room = subtract(one.allocatable, overhead)
        if prices and one.labels.get(names.INSTANCE_CATEGORY) in {"c", "m", "r"}:
            yield _column(min(prices), room)


def _useful(columns: list[Column]) -> list[Column]:
    """Those that no other beats at both, by price: a few dozens of a thousand."""
    by_cpu = sorted(columns, key=lambda one: one.price / max(one.cpu, 1e-9))
    kept: list[Column] = []
    best = float("inf")
    for one in by_cpu:
        by_memory = one.price / max(one.memory, 1e-9)
        if by_memory < best:
            best = by_memory
            kept.append(one)
    return kept


def _corners(columns: list[Column]) -> Iterable[tuple[float, float]]:
    """Prices of a core and of a GiB where the constraints of two machines meet."""
    for one in columns:
        yield one.price / one.cpu, 0.0
        yield 0.0, one.price / one.memory
    for one, other in combinations(columns, 2):
        det = one.cpu * other.memory - other.cpu * one.memory
        if abs(det) > 1e-9:
            yield (
                (one.price * other.memory - other.price * one.memory) / det,
                (one.cpu * other.price - other.cpu * one.price) / det,
            )


def _is_fair(cpu: float, memory: float, columns: list[Column]) -> bool:
    return (
        cpu >= 0
        and memory >= 0
        and all(cpu * one.cpu + memory * one.memory <= one.price + 1e-9 for one in columns)
    )
