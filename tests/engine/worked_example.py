"""The scenes of docs/engine.md: what its text tells, what its picture draws."""

from __future__ import annotations

import msgspec

from tests.engine.scenes import WEB, ZONES, instance_type, place, pod, scene, some, spread, template
from unmoor.engine.scene import Started
from unmoor.model.taint import Taint

TYPES = (
    instance_type("small", cpu=2, memory_gib=4, pods=10),
    instance_type("large", cpu=4, memory_gib=8, pods=10),
)
THERE = pod("web", node="n1", labels=WEB, cpu="1")
NODE = place("n1", ZONES[0], THERE, cpu="4", room="10")
SCENE = scene(NODE, template(types=list(TYPES)))
PODS = (
    pod("batch", cpu="3"),
    *some(2, labels=WEB, cpu="1", topologySpreadConstraints=[spread()]),
    pod("db", labels={"app": "db"}, cpu="500m", memory="3Gi"),
    pod("gpu", requests={"example.com/gpu": "1"}),
)

ORDINARY = template("default", types=list(TYPES))
HEAVY = template(
    "heavy",
    types=list(TYPES),
    weight=10,
    taints=[Taint(key="dedicated", value="jobs", effect="NoSchedule")],
    remaining={"cpu": 6000},
)
ON_ORDER = Started(
    name="on-order",
    provisioner="default",
    requirements=ORDINARY.requirements,
    types=ORDINARY.types,
)
BUYING = msgspec.structs.replace(scene(HEAVY, ORDINARY), started=(ON_ORDER,))
"""The second scene: two Provisioners, and a machine that is not launched yet."""
BUYERS = (
    *(
        pod(f"job-{number}", cpu="3", tolerations=[{"key": "dedicated", "operator": "Exists"}])
        for number in range(3)
    ),
    pod("api", cpu="1500m"),
)
