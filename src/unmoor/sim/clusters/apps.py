"""What is a workload while it is made, and who gets which constraint?

An app is plain at first: a name, a namespace, labels, a size, a number of pods. ``constrain`` then
goes through the kinds and changes as many apps as their shares say; the modules ``of_*`` say how.

Must not: place pods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from unmoor.model.base import JSON
from unmoor.sim.clusters import bodies
from unmoor.sim.clusters.mix import CONTRADICT, OF_NODES, Kind, Mix
from unmoor.sim.clusters.nodes import Site
from unmoor.sim.clusters.sizes import Size

TIERS = ("web", "api", "db", "cache")
TENANTS = ("red", "blue")
APPS_PER_NAMESPACE = 8
NAMESPACES_MOST = 60
HASH_CHARS = 10
HASH_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
APP = "app"
TIER = "tier"
TENANT = "tenant"
TEAM = "team"


class Volume(msgspec.Struct, frozen=True):
    """A volume of each pod of an app. ``kind``: how far its claim has come."""

    name: str
    kind: Kind
    storage_class: str


class App(msgspec.Struct, kw_only=True):
    """A workload. ``spec`` and ``meta`` are those of its pods; both are its own to change.

    ``pods``: how many it has now. ``before``: how many it had when the cluster was full.
    """

    number: int
    name: str
    namespace: str
    labels: dict[str, str]
    size: Size
    pods: int
    before: int = 0
    spec: JSON
    annotations: dict[str, str] = {}
    kinds: tuple[Kind, ...] = ()
    volumes: tuple[Volume, ...] = ()
    hash: str

    @property
    def main(self) -> JSON:
        """Its first container."""
        container: JSON = self.spec["containers"][0]
        return container

    @property
    def owner_kind(self) -> str:
        """Who makes its pods, "" when nobody does."""
        if Kind.NAKED in self.kinds:
            return ""
        has_claims = any(one.kind is not Kind.VOLUME_EPHEMERAL for one in self.volumes)
        return "StatefulSet" if has_claims else "ReplicaSet"

    @property
    def waits(self) -> bool:
        """None of its pods can run: they are gated, or wait for a volume that nobody makes."""
        return bool({Kind.GATE, Kind.VOLUME_IMMEDIATE} & {*self.kinds})


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What an app's constraints may be about."""

    mix: Mix
    apps: Sequence[App]
    sites: Sequence[Site]
    zones: tuple[str, ...]
    namespaces: tuple[str, ...]

    def other(self, app: App, turn: int, *, is_near: bool = True) -> App:
        """Another app, in the same namespace if ``is_near``; itself if there is none."""
        others = [
            one
            for one in self.apps
            if one is not app and (not is_near or one.namespace == app.namespace)
        ]
        if not others and is_near:
            return self.other(app, turn, is_near=False)
        return others[turn % len(others)] if others else app


Constrain: TypeAlias = Callable[[App, int, Scene], None]
"""Gives an app a constraint; ``turn`` counts those of one kind, from a number that is drawn."""


def draw(mix: Mix, number: int, namespaces: Sequence[str], size: Size, pods: int) -> App:
    """A plain app. What is drawn of it follows from the seed and its number."""
    dice = mix.dice(f"app/{number}")
    tier = TIERS[number % len(TIERS)]
    name = f"{tier}-{number:04d}"
    hashed = "".join(dice.choices(HASH_ALPHABET, k=HASH_CHARS))
    labels = {APP: name, TIER: tier, "pod-template-hash": hashed}
    if number % 3 == 0:
        labels[TENANT] = TENANTS[number // 3 % len(TENANTS)]
    container = bodies.container("main", cpu_milli=size.cpu_milli, memory_mib=size.memory_mib)
    return App(
        number=number,
        name=name,
        namespace=dice.choice(namespaces),
        labels=labels,
        size=size,
        pods=pods,
        spec={"containers": [container]},
        hash=hashed,
    )


def namespaces_of(mix: Mix, apps: int) -> tuple[str, ...]:
    """Their names."""
    count = mix.namespaces or min(max(apps // APPS_PER_NAMESPACE, 1), NAMESPACES_MOST)
    return tuple(f"team-{number:02d}" for number in range(count))


def namespace_labels(name: str) -> dict[str, str]:
    """Every other namespace belongs to the same team."""
    number = int(name.rpartition("-")[2])
    return {"kubernetes.io/metadata.name": name, TEAM: ("north", "south")[number % 2]}


def constrain(scene: Scene, how: Mapping[Kind, Constrain]) -> None:
    """Give as many apps as the shares say each kind of constraint."""
    for kind in Kind:
        if kind in OF_NODES:
            continue
        dice = scene.mix.dice(kind)
        count = scene.mix.count_of(kind, len(scene.apps))
        if not count:
            continue
        start = dice.randrange(1000)
        order = dice.sample(scene.apps, len(scene.apps))
        if not scene.mix.is_contrary:
            order.sort(key=lambda app: any(one in app.kinds for one in CONTRADICT.get(kind, ())))
        for turn, app in enumerate(order[:count], start=start):
            app.kinds = (*app.kinds, kind)
            how[kind](app, turn, scene)


def append(spec: JSON, path: tuple[str, ...], item: Any) -> None:
    """Add to a list deep in a pod's spec that may not be there yet."""
    place = spec
    for step in path[:-1]:
        place = place.setdefault(step, {})
    place.setdefault(path[-1], []).append(item)
