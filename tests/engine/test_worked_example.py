"""The example in docs/engine.md is what the engine says."""

from __future__ import annotations

from pathlib import Path

from tests.engine.scenes import solve
from tests.engine.worked_example import BUYERS, BUYING, PODS, SCENE, TYPES
from unmoor.engine import solving
from unmoor.engine.plan import Plan
from unmoor.model import names
from unmoor.model.money import usd_per_h

PAGE = Path(__file__).parents[2] / "docs" / "engine.md"


def told(plan: Plan) -> list[str]:
    """A line for each pod and each machine, as the page has them."""
    lines = {name: where for (_, name), where in plan.placements.items()}
    for (_, name), (refusal, *_) in plan.refused.items():
        lines[name] = f"{refusal.where}: {refusal}"
    pods = [f"{name:<8}{line}" for name, line in lines.items()]
    machines = [
        f"{one.name}  {one.requirements.get(names.ZONE).only_value}  "
        f"{', '.join(one.instance_types)}  from {usd_per_h(one.price_usd_per_h)}"
        for one in plan.machines
    ]
    return pods + machines


def test_the_page_tells_what_the_engine_says() -> None:
    plan = solving.solve(SCENE, PODS)

    assert plan == solve(SCENE, list(PODS))
    assert "\n".join(told(plan)) in PAGE.read_text()


def test_the_page_tells_whose_machines_are_bought() -> None:
    plan = solving.solve(BUYING, BUYERS)
    lines = [f"{name:<7}{where}" for (_, name), where in plan.placements.items()]
    lines += [
        f"{one.name}  {one.provisioner:<9}{', '.join(one.instance_types):<14}"
        f"from {usd_per_h(one.price_usd_per_h)}"
        for one in plan.machines
    ]

    assert plan == solve(BUYING, list(BUYERS))
    assert "\n".join(lines) in PAGE.read_text()


def test_the_page_knows_the_prices() -> None:
    for one in TYPES:
        (price,) = {sold.price_usd_per_h for sold in one.offerings}
        assert f"a `{one.name}` costs {usd_per_h(price)}" in PAGE.read_text()
