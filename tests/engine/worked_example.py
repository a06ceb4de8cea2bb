"""The scene of docs/engine.md: what its text tells, what its picture draws."""

from __future__ import annotations

from tests.engine.scenes import WEB, ZONES, instance_type, place, pod, scene, some, spread, template

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
