"""What does it cost to ask of every node whether its pods fit elsewhere? (a process of its own)

python -m tests.bench.passes --nodes 5000 --pods 100000

Must not: count how long it takes to make the cluster up.
"""

from __future__ import annotations

import gc
from statistics import median
from typing import Any

import msgspec

from tests.bench.gauges import Stopwatch, memory_mb, print_measured
from tests.bench.scenery import change
from unmoor.cloud.catalogue import ec2_types
from unmoor.engine.bulk.whatif import WhatIf
from unmoor.engine.scenery import Scenery
from unmoor.kube.sharing import Sharing
from unmoor.model import kinds
from unmoor.runtime.store import Store
from unmoor.sim.clusters import generator
from unmoor.sim.clusters.mix import Mix

KNOWN = {one.kind: one for one in vars(kinds).values() if isinstance(one, kinds.Resource)}


def store_of(nodes: int, pods: int) -> Store:
    """A store with a realistic cluster in it; what objects have in common they share, as listed."""
    store = Store()
    sharing = {kind.type: Sharing(kind.type) for kind in KNOWN.values()}
    for ref, body in generator.generate(Mix(seed=1, nodes=nodes, pods=pods), ec2_types()):
        kind = KNOWN.get(ref.kind)
        if kind is not None:
            body["metadata"]["resourceVersion"] = "1"
            found = msgspec.convert(body, kind.type, strict=False)
            sharing[kind.type].share(found)
            store.put(kind, found)
    return store


def measured(nodes: int, pods: int) -> dict[str, Any]:
    """Ask of each node; processor time.

    Then ask the same again, and once more after a hundredth of the pods has changed.
    """
    store, types, scenery = store_of(nodes, pods), ec2_types(), Scenery()
    scene = scenery.scene_of(store.freeze(), types)
    # As the controller does once a cluster is listed: it is no garbage.
    gc.collect()
    gc.freeze()
    asked = WhatIf(scene)
    found = asked_of(asked)
    found |= {
        "nodes": sum(place.is_node for place in scene.places),
        "pods": sum(len(place.pods) for place in scene.places),
        "peak_mb": memory_mb(),
    }
    change(store, 0)
    changed = scenery.scene_of(store.freeze(), types)
    watch = Stopwatch()
    asked.follow(changed)
    after = asked_of(asked)
    found["changed_s"] = watch.cpu_s
    return found | {f"changed_{what}": after[what] for what in ("filter_s", "refused", "hopeless")}


def asked_of(asked: WhatIf, sample: int = 0) -> dict[str, Any]:
    """A pass, and the same once more. ``sample``: of so many nodes, evenly; 0: of all."""
    names = [place.name for place in asked.scene.places if place.is_node]
    step = max(len(names) // sample, 1) if sample else 1
    whole = Stopwatch()
    asked.without(())
    compiled_s = whole.cpu_s
    hopeless = asked.hopeless(names[::step])
    filtered_s = whole.cpu_s - compiled_s
    took, placed = [], {"deleted": 0, "replaced": 0, "refused": len(hopeless)}
    for name in names[::step]:
        if name in hopeless:
            continue
        watch = Stopwatch()
        plan = asked.without((name,))
        took.append(watch.cpu_s)
        answer = "refused" if plan.refused else "replaced" if plan.machines else "deleted"
        placed[answer] += 1
    found = {
        "compile_s": compiled_s,
        "filter_s": filtered_s,
        "hopeless": len(hopeless),
        "median_s": median(took or [0.0]),
        "worst_s": max(took, default=0.0),
        "total_s": whole.cpu_s,
        "wall_s": whole.wall_s,
        **placed,
    }
    once_more = Stopwatch()
    stuck = asked.hopeless(names[::step])
    for name in names[::step]:
        if name not in stuck:
            asked.without((name,))
    return found | {"again_s": once_more.cpu_s}


def main() -> None:
    """Print the figures as JSON."""
    print_measured(measured)


if __name__ == "__main__":
    main()
