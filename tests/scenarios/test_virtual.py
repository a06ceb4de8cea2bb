"""Every scenario in virtual time. ``tests/e2e/test_scenarios.py`` plays them in real time."""

from __future__ import annotations

import pytest

from tests.scenarios import virtual
from tests.scenarios.scenarios import SCENARIOS, Scenario
from unmoor.sim.virtual import run


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_scenario(name: str) -> None:
    """It holds on the embedded cluster."""
    run(_play(SCENARIOS[name]))


async def _play(scenario: Scenario) -> None:
    async with virtual.stage() as stage:
        await scenario(stage)
