"""The mix of the public benchmark: its types, its Provisioner, and its two kinds of crowds.

Rebuilt from its description. The diverse crowd has five kinds of pods in equal parts: plain; spread
over zones; spread over hosts; near their own kind, by zone; and alone on their host. A pod of the
first three kinds has one of seven label values, and a spreading one looks at the pods of another,
drawn apart. The preferring crowd is of one kind, and wants what it cannot get.

Must not: know how the pods are placed.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from unmoor.model import kinds, names
from unmoor.model.base import JSON
from unmoor.model.instance import InstanceType, Offering
from unmoor.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from unmoor.sim.clusters import bodies
from unmoor.sim.manifests import Manifest

TYPES = 400
GIB = 2**30
MIB = 2**20
PODS_PER_CPU = 10
CPU_RESERVED_MILLI = 100
MEMORY_RESERVED_BYTES = 10 * MIB
DISK_BYTES = 20 * GIB
USD_PER_CPU_H = 0.1
USD_PER_GB_H = 0.1
"""For 10^9 bytes."""
SOLD = (
    (names.SPOT, ("zone-1", "zone-2")),
    (names.ON_DEMAND, ("zone-1", "zone-2", "zone-3")),
)
"""Zones in which a capacity type is to be had; all at the same price."""

NAMESPACE = "crowd"
PROVISIONER = "public"
CPUS_MILLI = (100, 250, 500, 1000, 1500)
MEMORIES_MIB = (100, 256, 512, 1024, 2048, 4096)
LETTERS = "abcdefg"
CROWD = "crowd.example/letter"
FRIENDS = "crowd.example/friends"
ALONE = {"crowd.example/alone": "yes"}
EQUAL = {"crowd.example/equal": "yes"}
PREFERRING_PODS = 4000


def instance_types() -> tuple[InstanceType, ...]:
    """The 400 types, the smallest first."""
    return tuple(_instance_type(cpus) for cpus in range(1, TYPES + 1))


def _instance_type(cpus: int) -> InstanceType:
    memory = 2 * cpus * GIB
    price = round(cpus * USD_PER_CPU_H + memory / 1e9 * USD_PER_GB_H, 6)
    capacity = {
        CPU: cpus * 1000,
        MEMORY: memory,
        PODS: cpus * PODS_PER_CPU,
        EPHEMERAL_STORAGE: DISK_BYTES,
    }
    reserved = {CPU: CPU_RESERVED_MILLI, MEMORY: MEMORY_RESERVED_BYTES}
    name = f"public-{cpus:03d}"
    return InstanceType(
        name=name,
        arch="amd64",
        capacity=capacity,
        allocatable={what: amount - reserved.get(what, 0) for what, amount in capacity.items()},
        offerings=tuple(
            Offering(zone=zone, capacity_type=capacity_type, price_usd_per_h=price)
            for capacity_type, zones in SOLD
            for zone in zones
        ),
        labels={names.INSTANCE_TYPE: name, names.ARCH: "amd64", names.OS: "linux"},
    )


def provisioner() -> Manifest:
    """The one Provisioner: any type, any zone, spot or on demand.

    Its template is not one of AWS, whose defaults would ask for categories and generations.
    """
    spec = {
        "providerRef": {
            "apiVersion": f"{names.SIM_GROUP}/v1alpha1",
            "kind": "Template",
            "name": "default",
        },
        "requirements": [bodies.expression(names.CAPACITY_TYPE, "In", names.SPOT, names.ON_DEMAND)],
    }
    return bodies.made(kinds.PROVISIONERS, PROVISIONER, spec)


def diverse_pods(count: int, seed: int = 0) -> tuple[Manifest, ...]:
    """``count`` pending pods: a fifth of each kind, and what is left over plain."""
    dice = Random(f"public/diverse/{seed}")
    each, over = divmod(count, len(_KINDS))
    made = []
    for number, kind in enumerate(_KINDS):
        made += [kind for _ in range(each + (over if number == 0 else 0))]
    return tuple(_pod(number, kind, dice) for number, kind in enumerate(made))


def preferring_pods(count: int = PREFERRING_PODS, seed: int = 0) -> tuple[Manifest, ...]:
    """``count`` pending pods that want one zone, a host alone, and (in vain) a zone alone."""
    dice = Random(f"public/preferring/{seed}")
    return tuple(_pod(number, _preferring, dice) for number in range(count))


def _pod(
    number: int, kind: Callable[[Random], tuple[dict[str, str], JSON]], dice: Random
) -> Manifest:
    labels, wishes = kind(dice)
    size = bodies.container(
        "main", cpu_milli=dice.choice(CPUS_MILLI), memory_mib=dice.choice(MEMORIES_MIB)
    )
    spec = {"containers": [size], **wishes}
    return bodies.pod(f"pod-{number:05d}", NAMESPACE, spec, labels=labels)


def _letter(dice: Random) -> dict[str, str]:
    return {CROWD: dice.choice(LETTERS)}


def _plain(dice: Random) -> tuple[dict[str, str], JSON]:
    return _letter(dice), {}


def _spread(key: str, dice: Random) -> tuple[dict[str, str], JSON]:
    labels = _letter(dice)
    constraint = {
        "topologyKey": key,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": bodies.selector(_letter(dice)),
    }
    return labels, {"topologySpreadConstraints": [constraint]}


def _zone_spread(dice: Random) -> tuple[dict[str, str], JSON]:
    return _spread(names.ZONE, dice)


def _host_spread(dice: Random) -> tuple[dict[str, str], JSON]:
    return _spread(names.HOSTNAME, dice)


def _near_its_kind(dice: Random) -> tuple[dict[str, str], JSON]:
    labels = {FRIENDS: dice.choice(LETTERS)}
    return labels, {"affinity": {"podAffinity": _required(labels, names.ZONE)}}


def _alone(dice: Random) -> tuple[dict[str, str], JSON]:
    del dice
    return ALONE, {"affinity": {"podAntiAffinity": _required(ALONE, names.HOSTNAME)}}


_KINDS = (_plain, _zone_spread, _host_spread, _near_its_kind, _alone)


def _term(labels: dict[str, str], key: str) -> JSON:
    return {"topologyKey": key, "labelSelector": bodies.selector(labels)}


def _required(labels: dict[str, str], key: str) -> JSON:
    return {"requiredDuringSchedulingIgnoredDuringExecution": [_term(labels, key)]}


def _preferring(dice: Random) -> tuple[dict[str, str], JSON]:
    del dice
    zone = {"matchExpressions": [bodies.expression(names.ZONE, "In", "zone-1")]}
    alone = [
        {"weight": weight, "podAffinityTerm": _term(EQUAL, key)}
        for weight, key in ((10, names.HOSTNAME), (50, names.ZONE))
    ]
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    return EQUAL, {
        "affinity": {
            "nodeAffinity": {preferred: [{"weight": 100, "preference": zone}]},
            "podAntiAffinity": {preferred: alone},
        }
    }
