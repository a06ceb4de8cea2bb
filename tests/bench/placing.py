"""How fast does the engine place pods that wait, and on how dear machines? (a process of its own)

python -m tests.bench.placing --mix diverse --pods 10000

``diverse`` and ``preferring`` are the public benchmark's crowds, ``backlog`` is a cluster's worth
of workloads at once: deployments of 2 to 19 pods, an eighth to eight cpu each, 15 % spread over
zones, 10 % with pods that keep apart, half of them on demand only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec

from tests.bench.gauges import Stopwatch, memory_mb
from unmoor.engine import solving
from unmoor.engine.scenery import scene_of
from unmoor.kube.sharing import Sharing
from unmoor.model import names
from unmoor.model.instance import InstanceType, Offering
from unmoor.model.kinds import PODS, PROVISIONERS
from unmoor.model.pod import Pod
from unmoor.model.provisioner import Provisioner
from unmoor.model.snapshot import View
from unmoor.sim.clusters import public_mix

GIB = 2**30
WARM_PODS = 100
ROUNDS_PODS = 5_000
"""So many pods are placed in all, in as many rounds as it takes."""
ZONES = ("a", "b", "c", "d")
SPREAD_SHARE, APART_SHARE, ON_DEMAND_SHARE = 0.15, 0.10, 0.5


def backlog(count: int, seed: int = 13) -> Iterator[dict[str, Any]]:
    """``count`` pods or a few more, of whole deployments."""
    dice, made, number = Random(seed), 0, 0
    while made < count:
        number += 1
        spec, labels = _deployment(dice, number)
        for at in range(dice.randint(2, 19)):
            made += 1
            name = f"app-{number}-{at}"
            yield {
                "metadata": {"name": name, "namespace": "x", "uid": name, "labels": labels},
                "spec": spec,
            }


def _deployment(dice: Random, number: int) -> tuple[dict[str, Any], dict[str, str]]:
    cpu_milli = min(max(int(dice.lognormvariate(6.7, 0.9)), 100), 8000)
    memory_mib = min(max(cpu_milli * dice.choice((1, 2, 4, 8)) * 1024 // 1000, 128), 32768)
    requests = {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi"}
    labels = {"app": f"app-{number}"}
    term = {"labelSelector": {"matchLabels": labels}}
    spec: dict[str, Any] = {"containers": [{"name": "m", "resources": {"requests": requests}}]}
    share = dice.random()
    if share < SPREAD_SHARE:
        more = {"topologyKey": names.ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
        spec["topologySpreadConstraints"] = [{**term, **more}]
    elif share < SPREAD_SHARE + APART_SHARE:
        terms = [{**term, "topologyKey": names.HOSTNAME}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        spec["affinity"] = {"podAntiAffinity": required}
    if dice.random() < ON_DEMAND_SHARE:
        spec["nodeSelector"] = {names.CAPACITY_TYPE: names.ON_DEMAND}
    return spec, labels


def backlog_types() -> tuple[InstanceType, ...]:
    """Fifteen types of 1 to 16 cpu in four zones, spot at 70 %."""
    found = []
    for cpus in (1, 2, 4, 8, 16):
        for family, ratio in (("c", 2), ("m", 4), ("s", 8)):
            capacity = {"cpu": cpus * 1000, "memory": cpus * ratio * GIB, "pods": 110}
            price = 0.025 * cpus + 0.001 * cpus * ratio
            offerings = tuple(
                Offering(zone=zone, capacity_type=kind, price_usd_per_h=price * share)
                for zone in ZONES
                for kind, share in ((names.SPOT, 0.7), (names.ON_DEMAND, 1.0))
            )
            found.append(
                InstanceType(
                    name=f"{family}-{cpus}x",
                    arch="amd64",
                    capacity=capacity,
                    allocatable=capacity,
                    offerings=offerings,
                    labels={names.OS: "linux"},
                )
            )
    return tuple(found)


def pods_of(mix: str, count: int) -> list[Pod]:
    """The pods as a watch would have decoded them: equal parts are the same."""
    if mix == "backlog":
        bodies = list(backlog(count))
    elif mix == "preferring":
        bodies = [body for _, body in public_mix.preferring_pods(count)]
    else:
        bodies = [body for _, body in public_mix.diverse_pods(count)]
    sharing = Sharing(PODS.type)
    pods = []
    for body in bodies:
        pod = msgspec.convert(body, Pod, strict=False)
        sharing.share(pod)
        pods.append(pod)
    return pods


def measured(mix: str, count: int) -> dict[str, Any]:
    """Plan for a few pods for warmth, then for all; small crowds several times, the mean."""
    _, body = public_mix.provisioner()
    provisioner = msgspec.convert(body, PROVISIONERS.type, strict=False)
    assert isinstance(provisioner, Provisioner)
    types = backlog_types() if mix == "backlog" else public_mix.instance_types()
    pods = pods_of(mix, count)
    scene = scene_of(View.of(provisioner, *pods), types)
    solving.solve(scene, pods[:WARM_PODS])
    rounds = max(ROUNDS_PODS // len(pods), 1)
    watch = Stopwatch()
    plan, *_ = (solving.solve(scene, pods) for _ in range(rounds))
    return {
        "wall_s": watch.wall_s / rounds,
        "cpu_s": watch.cpu_s / rounds,
        "pods": len(pods),
        "machines": len(plan.machines),
        "refused": len(plan.refused),
        "usd_per_h": plan.price_usd_per_h,
        "peak_mb": memory_mb(),
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mix", choices=("diverse", "preferring", "backlog"), required=True)
    parser.add_argument("--pods", type=int, required=True)
    given = parser.parse_args()
    print(json.dumps(measured(given.mix, given.pods)))


if __name__ == "__main__":
    main()
