"""Who runs after the cluster was filled and scaled down, and who waits?

As many pods as the mix says are held back. All others are placed, in any order, and with them those
that the apps had before; then each app loses pods until it has as many as it shall have, the ones
that found no place first, then any (of a StatefulSet: the last).

Must not: make objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from unmoor.sim.clusters.apps import App
from unmoor.sim.clusters.mix import Kind, Mix
from unmoor.sim.clusters.placing import Placer

ROUNDS = 2
"""Who wants to be near another app may have come too early."""


class Place(NamedTuple):
    """One pod: which of its app, and on which node, "" for none."""

    ordinal: int
    node: str


def fill(mix: Mix, placer: Placer) -> list[list[Place]]:
    """Where the pods of each app are in the end."""
    held = _held(mix, placer.apps)
    found = _placed(mix, placer, held)
    dice = mix.dice("scaling down")
    for number, app in enumerate(placer.apps):
        kept = app.pods - len(held[number])
        surplus = list(found[number])
        if _is_ordered(app):
            surplus = [ordinal for ordinal in surplus if ordinal >= app.pods]
        else:
            surplus = dice.sample(surplus, max(len(surplus) - kept, 0))
        for ordinal in surplus:
            placer.remove(number, found[number].pop(ordinal))
    return [
        [Place(ordinal, where.get(ordinal, "")) for ordinal in _ordinals(app, where)]
        for app, where in zip(placer.apps, found, strict=True)
    ]


def _is_ordered(app: App) -> bool:
    """Its pods are numbered, and so are their volumes."""
    return any(one.kind is not Kind.VOLUME_EPHEMERAL for one in app.volumes)


def _held(mix: Mix, apps: Sequence[App]) -> list[set[int]]:
    """The ordinals of each app that wait by intention."""
    free = [
        (number, ordinal)
        for number, app in enumerate(apps)
        for ordinal in range(app.pods)
        if not app.waits
    ]
    held: list[set[int]] = [set(range(app.pods)) if app.waits else set() for app in apps]
    count = ceil(round(mix.pending * len(free), 6))
    for number, ordinal in mix.dice("held").sample(free, count):
        held[number].add(ordinal)
    for number, app in enumerate(apps):
        if Kind.VOLUME_WAITING in app.kinds:
            held[number].add(app.pods - 1)
    return held


def _placed(mix: Mix, placer: Placer, held: list[set[int]]) -> list[dict[int, str]]:
    """The node of each ordinal that finds one."""
    waiting = [
        (number, ordinal)
        for number, app in enumerate(placer.apps)
        for ordinal in range(app.before)
        if ordinal not in held[number] and not app.waits
    ]
    mix.dice("order").shuffle(waiting)
    # The largest first, as a cluster that grows with its pods has room for each; surplus last.
    waiting.sort(key=lambda one: (one[1] >= placer.apps[one[0]].pods, *_size(placer, one[0])))
    found: list[dict[int, str]] = [{} for _ in placer.apps]
    for _ in range(ROUNDS):
        hopeless: set[int] = set()
        still = []
        for number, ordinal in waiting:
            node = "" if number in hopeless else placer.place(number, ordinal)
            if node:
                found[number][ordinal] = node
                continue
            still.append((number, ordinal))
            if not placer.apps[number].volumes:
                hopeless.add(number)  # its pods are alike, and nothing makes room
        waiting = still
    return found


def _size(placer: Placer, number: int) -> tuple[int, int]:
    size = placer.apps[number].size
    return -size.memory_mib, -size.cpu_milli


def _ordinals(app: App, where: dict[int, str]) -> list[int]:
    """As many as the app has pods: those that run, and the first of the others."""
    if _is_ordered(app):
        return list(range(app.pods))
    others = (ordinal for ordinal in range(max(app.before, app.pods)) if ordinal not in where)
    missing = app.pods - len(where)
    return sorted([*where, *(next(others) for _ in range(missing))])
