"""Every scenario in virtual time. ``tests/e2e/test_scenarios.py`` plays them in real time."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

from tests import scenarios
from tests.scenarios import virtual
from tests.scenarios.scenarios import SCENARIOS, Scenario, stories
from unmoor.model import kinds
from unmoor.model.disruption import Disruption
from unmoor.policy.methods import METHODS
from unmoor.sim.virtual import run

PLACE = scenarios.__path__


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_scenario(name: str) -> None:
    """It holds on the embedded cluster."""
    run(_play(SCENARIOS[name]))


@pytest.mark.parametrize("method", [row.method for row in METHODS])
def test_each_method_acts_in_a_story_of_its_own_name(method: str) -> None:
    assert method in SCENARIOS, f"tests/scenarios needs a story {method}"

    commands = run(_play(SCENARIOS[method]))

    assert method in {command.spec.method for command in commands}


def test_no_story_is_lost() -> None:
    there = [import_module(f"{scenarios.__name__}.{one.name}") for one in iter_modules(PLACE)]
    named = [name for module in there for name in stories(module)]

    assert sorted(SCENARIOS) == sorted(named), "SUBJECTS lacks a module, or a name is used twice"


async def _play(scenario: Scenario) -> list[Disruption]:
    async with virtual.stage() as stage:
        await scenario(stage)
        return await stage.listed(kinds.DISRUPTIONS)
