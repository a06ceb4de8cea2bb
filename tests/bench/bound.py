"""What must a cluster cost at the least? A bound by cpu and memory alone.

Nodes are divisible in it, pods are a liquid, and each type is had at its cheapest offering, with
what DaemonSets take of every machine taken off. So no cluster that runs these pods costs less; one
with constraints costs more. By duality: whatever is paid for a core and for a byte such that no
machine is worth more than its price, the pods are worth no more than the machines they run on.

Must not: know what consolidation may do.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from unmoor.cloud.catalogue import ec2_types
from unmoor.engine.sites import Tenants
from unmoor.model import kinds, names
from unmoor.model.instance import InstanceType
from unmoor.model.resources import CPU, MEMORY, Resources, add, subtract, total
from unmoor.model.snapshot import View

MIB = 2**20


class Column(NamedTuple):
    """A machine that may be had."""

    price: float
    cpu: float
    memory: float


def bound_usd_per_h(view: View) -> float:
    """Return the least that machines of the types on sale cost for all pods of these nodes."""
    tenants = Tenants()
    wanted: Resources = {}
    overheads: list[Resources] = []
    for node in view.sorted(kinds.NODES):
        pods = [pod for pod in view.pods_on(node.name) if not pod.is_terminal]
        own = total(tenants.of(pod)[1] for pod in pods if pod.is_of_its_node)
        overheads.append(own)
        wanted = add(wanted, total(tenants.of(pod)[1] for pod in pods if not pod.is_of_its_node))
    overhead = {what: min(one.get(what, 0) for one in overheads) for what in (CPU, MEMORY)}
    columns = _useful([*_columns(ec2_types(), overhead)])
    cpu, memory = wanted.get(CPU, 0) / 1000, wanted.get(MEMORY, 0) / MIB / 1024
    return max(
        (a * cpu + b * memory for a, b in _corners(columns) if _is_fair(a, b, columns)),
        default=0.0,
    )


def _columns(types: Iterable[InstanceType], overhead: Resources) -> Iterable[Column]:
    for one in types:
        prices = [each.price_usd_per_h for each in one.offerings if each.price_usd_per_h]
        room = subtract(one.allocatable, overhead)
        if prices and one.labels.get(names.INSTANCE_CATEGORY) in {"c", "m", "r"}:
            yield Column(min(prices), room[CPU] / 1000, room[MEMORY] / MIB / 1024)


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
