"""How long does the engine take to look at a big cluster? (a process of its own)

python -m tests.bench.scenery --nodes 5000 --pods 100000
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import msgspec

from tests.bench.cluster import Cluster
from tests.bench.gauges import Stopwatch, print_measured
from unmoor.cloud.catalogue import ec2_types
from unmoor.engine.scenery import Scenery
from unmoor.model.base import Object, ObjectMeta
from unmoor.model.kinds import DAEMON_SETS, MACHINES, NODES, PODS, PROVISIONERS, Resource
from unmoor.model.pod import PodSpec
from unmoor.model.scheduling import Container, ResourceRequirements
from unmoor.model.workload import DaemonSet, DaemonSetSpec, PodTemplate
from unmoor.runtime.store import Store

ROUNDS = 5
SHARE = 100
"""One pod in so many changes between two looks."""


def store_of(cluster: Cluster) -> Store:
    """A store with everything that a scene is made of."""
    store = Store()
    kinds: tuple[Resource[Any], ...] = (NODES, MACHINES, PODS, PROVISIONERS)
    for kind in kinds:
        for body in cluster.items(kind):
            store.put(kind, msgspec.json.decode(body, type=kind.type, strict=False))
    for one in daemon_sets(cluster):
        store.put(DAEMON_SETS, one)
    return store


def daemon_sets(cluster: Cluster) -> Iterator[DaemonSet]:
    """The owners of a fifth of the pods."""
    requests = ResourceRequirements(requests={"cpu": "100m", "memory": "128Mi"})
    template = PodTemplate(spec=PodSpec(containers=(Container(resources=requests),)))
    for owner in cluster.owners:
        if owner.kind == DAEMON_SETS.kind:
            meta = ObjectMeta(
                name=owner.name, namespace=owner.namespace, uid=owner.uid, resource_version="1"
            )
            yield DaemonSet(metadata=meta, spec=DaemonSetSpec(template=template))


def change(store: Store, round_: int) -> None:
    """One pod in ``SHARE`` gets an annotation."""
    for pod in store.sorted(PODS)[round_::SHARE]:
        annotations = {**pod.metadata.annotations, "round": str(round_)}
        version = str(int(pod.metadata.resource_version) + 1)
        meta: dict[str, Any] = {"annotations": annotations, "resource_version": version}
        store.put(PODS, changed(pod, meta))


def changed(obj: Object, meta: dict[str, Any]) -> Object:
    """The same object with some of its metadata changed."""
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, **meta))


def measured(nodes: int, pods: int) -> dict[str, float]:
    """Look from scratch, again at the same, and again after changes; medians of processor time."""
    store, types = store_of(Cluster(nodes, pods)), ec2_types()
    kept = Scenery()
    kept.scene_of(store.freeze(), types)
    took: dict[str, list[float]] = {"fresh_s": [], "same_s": [], "changed_s": []}

    def look(what: str, scenery: Scenery) -> None:
        watch = Stopwatch()
        scenery.scene_of(store.freeze(), types)
        took[what].append(watch.cpu_s)

    for round_ in range(ROUNDS):
        look("fresh_s", Scenery())
        look("same_s", kept)
        change(store, round_)
        look("changed_s", kept)
    return {what: median(times) for what, times in took.items()} | {"changed_pods": pods // SHARE}


def main() -> None:
    """Print the figures as JSON."""
    print_measured(measured)


if __name__ == "__main__":
    main()
