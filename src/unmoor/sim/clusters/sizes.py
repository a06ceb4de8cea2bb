"""How much do pods ask for, how many are there of an application, which machines are there?

Drawn from histograms of public data (``data/histograms.json`` says of which).

Must not: be read before somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources as files
from typing import NamedTuple

import msgspec

from unmoor.model import names
from unmoor.model.instance import InstanceType
from unmoor.model.resources import CPU, MEMORY
from unmoor.sim.clusters.mix import Mix

MIB = 2**20
CPU_STEP_MILLI, MEMORY_STEP_MIB = 10, 8
POOL_SIZE = 6
"""So many types a cluster has."""


class Size(NamedTuple):
    """What one pod asks for."""

    cpu_milli: int
    memory_mib: int

    def times(self, factor: float) -> Size:
        """A part of it, in steps that people write."""
        return Size(
            max(round(self.cpu_milli * factor / CPU_STEP_MILLI), 1) * CPU_STEP_MILLI,
            max(round(self.memory_mib * factor / MEMORY_STEP_MIB), 1) * MEMORY_STEP_MIB,
        )


class _Histograms(msgspec.Struct, frozen=True):
    services: tuple[tuple[int, int, int], ...]
    batch: tuple[tuple[int, int, int], ...]
    replicas: tuple[tuple[int, int], ...]
    categories: tuple[tuple[str, int], ...]


@cache
def _histograms() -> _Histograms:
    text = files.files("unmoor.sim").joinpath("data/histograms.json").read_bytes()
    return msgspec.json.decode(text, type=_Histograms)


class Sizes:
    """Draws the sizes of workloads; what is larger than ``most`` is left out."""

    def __init__(self, mix: Mix, most: Size) -> None:
        """``most`` is what the largest pod may ask for."""
        self._dice = mix.dice("sizes")
        self._replicas_dice = mix.dice("replicas")
        self._batch, self._most = mix.batch, mix.replicas
        found = _histograms()
        self._tables = {
            True: _fitting(found.batch, most) or _fitting(found.services, most),
            False: _fitting(found.services, most),
        }
        self._replicas = found.replicas

    def size(self) -> Size:
        """Of the next workload."""
        is_batch = self._dice.random() < self._batch
        sizes, weights = zip(*self._tables[is_batch], strict=True)
        (drawn,) = self._dice.choices(sizes, weights)
        return Size(*drawn)

    def replicas(self) -> int:
        """How many pods the next workload has."""
        counts, weights = zip(*self._replicas, strict=True)
        (drawn,) = self._replicas_dice.choices(counts, weights)
        return min(int(drawn), self._most) if self._most else int(drawn)


def _fitting(
    table: tuple[tuple[int, int, int], ...], most: Size
) -> list[tuple[tuple[int, int], int]]:
    """The sizes that are not too large, with their weights; the smallest of all if all are."""
    fitting = [
        ((cpu, memory), weight)
        for cpu, memory, weight in table
        if cpu <= most.cpu_milli and memory <= most.memory_mib
    ]
    return fitting or [(min((cpu, memory) for cpu, memory, _ in table), 1)]


def pool(mix: Mix, types: Iterable[InstanceType]) -> tuple[InstanceType, ...]:
    """The types of a cluster: some of those that are sold in every zone, spot and on demand.

    Raises ValueError when none of ``types`` is of a size that the mix wants.
    """
    dice = mix.dice("types")
    least, most = (1000 * cpus for cpus in mix.cpus)
    weights = dict(_histograms().categories)
    usual = [
        one
        for one in types
        if least <= one.capacity[CPU] <= most
        and one.labels.get(names.INSTANCE_CATEGORY) in weights
        and _is_sold_everywhere(one)
    ]
    if not usual:
        raise ValueError(f"no type with {mix.cpus[0]} to {mix.cpus[1]} cpus is sold everywhere")
    wanted = [weights[one.labels[names.INSTANCE_CATEGORY]] for one in usual]
    drawn: dict[str, InstanceType] = {}
    while len(drawn) < min(POOL_SIZE, len(usual)):
        (one,) = dice.choices(usual, wanted)
        drawn.setdefault(one.name, one)
    return tuple(sorted(drawn.values(), key=lambda one: one.name))


def zones_of(types: tuple[InstanceType, ...]) -> tuple[str, ...]:
    """The zones in which all of them are sold."""
    common = [{offering.zone for offering in one.offerings} for one in types]
    return tuple(sorted(set.intersection(*common)))


def _is_sold_everywhere(one: InstanceType) -> bool:
    sold = {
        (offering.zone, offering.capacity_type)
        for offering in one.offerings
        if offering.price_usd_per_h is not None
    }
    zones = {zone for zone, _ in sold}
    return len(zones) > 1 and len(sold) == len(zones) * 2


def largest(types: tuple[InstanceType, ...], part: float) -> Size:
    """This part of the largest machine there is."""
    return Size(
        int(part * max(one.allocatable[CPU] for one in types)),
        int(part * max(one.allocatable[MEMORY] for one in types)) // MIB,
    )
