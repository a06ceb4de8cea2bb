"""What does a change cost the engine before it can be asked again? (a process of its own)

python -m tests.bench.changed --nodes 5000 --pods 100000

One pod in a hundred changes between two looks: every second of them gets an annotation, the others
go, and a successor of another name comes on another node.

Must not: count how long it takes to make the cluster up, or to change it.
"""

from __future__ import annotations

import gc
from statistics import median
from typing import Any

import msgspec

from tests.bench.gauges import Stopwatch, print_measured
from tests.bench.passes import store_of
from tests.bench.scenery import SHARE, changed
from unmoor.cloud.catalogue import ec2_types
from unmoor.engine.bulk.whatif import WhatIf
from unmoor.engine.scenery import Scenery
from unmoor.model.kinds import PODS
from unmoor.model.pod import Pod
from unmoor.runtime.store import Store

ROUNDS = 7
ASKED = 100
"""So many questions come first, evenly over the nodes: what is counted for them has to follow."""


def change(store: Store, nodes: list[str], round_: int) -> int:
    """Change one pod in ``SHARE``; return how many."""
    pods = [pod for pod in store.sorted(PODS) if pod.node_name][round_::SHARE]
    for at, pod in enumerate(pods):
        if at % 2:
            annotations = {**pod.metadata.annotations, "round": str(round_)}
            store.put(PODS, changed(pod, {"annotations": annotations, "resource_version": "2"}))
            continue
        store.drop(PODS, pod)
        meta = {"name": f"{pod.name}-{round_}", "uid": f"{pod.metadata.uid}-{round_}"}
        successor = changed(pod, meta)
        assert isinstance(successor, Pod)
        node = nodes[(at * 7 + round_) % len(nodes)]
        spec = msgspec.structs.replace(successor.spec, node_name=node)
        store.put(PODS, msgspec.structs.replace(successor, spec=spec))
    return len(pods)


def measured(nodes: int, pods: int) -> dict[str, Any]:
    """Change a cluster of which a hundred questions have been asked."""
    store, scenery = store_of(nodes, pods), Scenery()
    gc.freeze()  # As the controller does once a cluster is listed: it is no garbage.
    scene = scenery.scene_of(store.freeze(), ec2_types())
    names = [place.name for place in scene.places if place.is_node]
    asked = WhatIf(scene)
    for name in names[:: max(len(names) // ASKED, 1)]:
        asked.without((name,))
    return followed(store, scenery, asked, names)


def followed(store: Store, scenery: Scenery, asked: WhatIf, names: list[str]) -> dict[str, Any]:
    """Medians of the processor time of some rounds of changes. ``names``: of nodes."""
    types = ec2_types()
    took: dict[str, list[float]] = {"scene_s": [], "rows_s": [], "both_s": []}
    count = 0
    for round_ in range(ROUNDS):
        count = change(store, names, round_)
        watch = Stopwatch()
        scene = scenery.scene_of(store.freeze(), types)
        scene_s = watch.cpu_s
        asked.follow(scene)
        both_s = watch.cpu_s
        assert asked.is_ready, "the rows were to be kept"
        for what, seconds in (("scene_s", scene_s), ("rows_s", both_s - scene_s)):
            took[what].append(seconds)
        took["both_s"].append(both_s)
    return {what: median(times) for what, times in took.items()} | {"changed_pods": count}


def main() -> None:
    """Print the figures as JSON."""
    print_measured(measured)


if __name__ == "__main__":
    main()
