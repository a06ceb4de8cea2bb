"""A provisioner's limits, and what it has of them, are measured as long as it is there."""

from __future__ import annotations

from typing import Any

from tests.builders import IDENTITY, changed, machine, provisioner
from tests.lifecycle.asked_of_provisioners import held
from tests.lifecycle.driver import World
from tests.lifecycle.rows import PROVISIONER
from tests.lifecycle.test_provisioner import world_of
from unmoor.lifecycle.effects import Fact
from unmoor.lifecycle.step import Step
from unmoor.model.provisioner import Limits, Provisioner


def limited(**resources: Any) -> Provisioner:
    return changed(provisioner(), spec__limits=Limits(resources=resources))


def measured(step: Step[Any]) -> dict[tuple[str, str], float | None]:
    return {
        (fact.name.removeprefix("provisioner_"), fact.labels.get("resource_type", "*")): fact.value
        for fact in step.facts
    }


def test_its_limits_and_what_it_has_are_measured() -> None:
    world = World(limited(cpu="16", memory="0"), machine(), identity=IDENTITY)
    step = world.step(PROVISIONER, "default")

    found = {key: value for key, value in measured(step).items() if key[1] != "*"}
    assert found == {
        ("limit", "cpu"): 16.0,
        ("limit", "memory"): 0.0,
        ("usage", "cpu"): 4.0,
        ("usage", "memory"): 8.0 * 2**30,
        ("usage", "pods"): 110.0,
        ("usage_pct", "cpu"): 25.0,
    }
    assert all(fact.labels["provisioner"] == "default" for fact in step.facts)


def test_what_is_not_measured_any_more_goes() -> None:
    world = world_of(limited(cpu="16"), machine())
    world.change(held(world), spec__limits=None)
    step = world.step(PROVISIONER, "default")

    assert {key for key, value in measured(step).items() if value is None} == {
        ("limit", "cpu"),
        ("usage_pct", "cpu"),
    }


def test_t378_with_the_provisioner_its_figures_go() -> None:
    world = world_of(limited(cpu="16"), machine())
    world.drop(held(world))
    step = world.step(PROVISIONER, "default")

    assert step == Step(
        facts=tuple(
            Fact(f"provisioner_{name}", {"provisioner": "default"}, None)
            for name in ("limit", "usage", "usage_pct")
        )
    )


def test_limits_that_mean_nothing_are_not_measured() -> None:
    world = World(limited(cpu="lots"), machine(), identity=IDENTITY)
    found = measured(world.step(PROVISIONER, "default"))

    assert ("limit", "cpu") not in found
    assert found["usage", "cpu"] == 4.0
