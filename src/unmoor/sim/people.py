"""People: whoever deletes, cordons, scales and edits in a simulated cluster, wisely or not.

They stop when they are told to, and then remove what only a person can: budgets that nothing can
satisfy, and their own holds.

Must not: touch what unmoor alone writes, or know what it is going to do.
"""

from __future__ import annotations

from unmoor.model import kinds
from unmoor.runtime.ports import ApiError
from unmoor.sim.acts import ACTS
from unmoor.sim.person import Person

LIFETIME = "ttlSecondsUntilExpired"
CALM_LIFETIME_S = 86_400
"""Longer than any world lasts: where a node's time may end in the calm, nothing comes to rest."""


class People(Person):
    """They act as their habits were drawn, now and then."""

    async def run(self) -> None:
        """Act until cancelled."""
        habits = [what for what, _ in self.drawn.habits]
        weights = [weight for _, weight in self.drawn.habits]
        while True:
            await self.clock.sleep(self.dice.expovariate(1 / self.drawn.pause_s))
            (what,) = self.dice.choices(habits, weights)
            try:
                await ACTS[what](self)
            except ApiError:
                continue

    async def settle(self) -> None:
        """Remove what would hold a drain for ever, or begin another one all the time."""
        for provisioner in await self.all(kinds.PROVISIONERS):
            if provisioner["spec"].get(LIFETIME, CALM_LIFETIME_S) < CALM_LIFETIME_S:
                await self.patch(provisioner, {"spec": {LIFETIME: CALM_LIFETIME_S}})
        for budget in await self.all(kinds.BUDGETS):
            await self.delete(budget)
        for pod in await self.all(kinds.PODS):
            if pod["metadata"].get("finalizers"):
                await self.patch(pod, {"metadata": {"finalizers": None}})
