"""The example in docs/engine.md is what the engine says."""

from __future__ import annotations

from pathlib import Path

from tests.engine.scenes import (
    WEB,
    ZONES,
    instance_type,
    place,
    pod,
    scene,
    solve,
    some,
    spread,
    template,
)
from unmoor.engine import solving
from unmoor.engine.plan import Plan
from unmoor.model import names

PAGE = Path(__file__).parents[2] / "docs" / "engine.md"


def told(plan: Plan) -> list[str]:
    """A line for each pod and each machine, as the page has them."""
    lines = {name: where for (_, name), where in plan.placements.items()}
    for (_, name), (refusal, *_) in plan.refused.items():
        lines[name] = f"{refusal.where}: {refusal}"
    pods = [f"{name:<8}{line}" for name, line in lines.items()]
    machines = [
        f"{one.name}  {one.requirements.get(names.ZONE).only_value}  "
        f"{', '.join(one.instance_types)}  from {one.price_usd_per_h:.4f} USD per hour"
        for one in plan.machines
    ]
    return pods + machines


def test_the_page_tells_what_the_engine_says() -> None:
    types = [
        instance_type("small", cpu=2, memory_gib=4, pods=10),
        instance_type("large", cpu=4, memory_gib=8, pods=10),
    ]
    there = pod("web", node="n1", labels=WEB, cpu="1")
    on = scene(place("n1", ZONES[0], there, cpu="4", room="10"), template(types=types))
    pods = [
        pod("batch", cpu="3"),
        *some(2, labels=WEB, cpu="1", topologySpreadConstraints=[spread()]),
        pod("db", labels={"app": "db"}, cpu="500m", memory="3Gi"),
        pod("gpu", requests={"example.com/gpu": "1"}),
    ]

    plan = solving.solve(on, pods)

    assert plan == solve(on, pods)
    assert "\n".join(told(plan)) in PAGE.read_text()
