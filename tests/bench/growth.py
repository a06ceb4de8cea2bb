"""What does each step of the engine cost in a cluster of this size? (a process of its own)

python -m tests.bench.growth --nodes 1000 --pods 20000

Rows and what is hopeless are of all nodes; a hundred of them are simulated, evenly. Then pods
change as in ``changed``.

Must not: count how long it takes to make the cluster up, or to change it.
"""

from __future__ import annotations

import gc
from typing import Any

from tests.bench.changed import followed
from tests.bench.gauges import Stopwatch, print_measured
from tests.bench.passes import asked_of, store_of
from unmoor.cloud.catalogue import ec2_types
from unmoor.engine.bulk.whatif import WhatIf
from unmoor.engine.scenery import Scenery

SAMPLE = 100


def measured(nodes: int, pods: int) -> dict[str, Any]:
    """Seconds of processor time; of simulations and of changes the median."""
    store, scenery = store_of(nodes, pods), Scenery()
    scene = scenery.scene_of(store.freeze(), ec2_types())
    # As the controller does once a cluster is listed: it is no garbage.
    gc.collect()
    gc.freeze()
    names = [place.name for place in scene.places if place.is_node]
    asked = WhatIf(scene)
    watch = Stopwatch()
    asked.without(())
    compile_s = watch.cpu_s
    asked.hopeless(names)
    filter_s = watch.cpu_s - compile_s
    median_s = asked_of(asked, SAMPLE)["median_s"]
    steps = {"compile_s": compile_s, "filter_s": filter_s, "median_s": median_s}
    return steps | followed(store, scenery, asked, names)


def main() -> None:
    """Print the figures as JSON."""
    print_measured(measured)


if __name__ == "__main__":
    main()
