"""What the simulated cloud is out of, for a while, at times that were drawn.

Must not: choose, or know what a cloud sells.
"""

from __future__ import annotations

from collections.abc import Sequence

from unmoor.model.cluster import SIMULATED_SHELF, UNAVAILABLE
from unmoor.runtime.ports import Api, ApiError, Clock
from unmoor.sim.demands import Shortage


class Shortages:
    """They come and go; several at a time are all of them."""

    def __init__(self, api: Api, clock: Clock, drawn: Sequence[Shortage]) -> None:
        """Nothing is short before ``run``."""
        self._api = api
        self._clock = clock
        self._drawn = drawn

    async def run(self) -> None:
        """Let each begin and end, counted from now."""
        began_s = self._clock.now().mono
        for at_s in sorted({at_s for one in self._drawn for at_s in (one.begins_s, one.ends_s)}):
            await self._clock.sleep(began_s + at_s - self._clock.now().mono)
            short = [one.what for one in self._drawn if one.begins_s <= at_s < one.ends_s]
            await self._write(short)

    async def end(self) -> None:
        """Everything is to be had again."""
        if self._drawn:
            await self._write(())

    async def _write(self, short: Sequence[str]) -> None:
        data = {UNAVAILABLE: "\n".join(short)}
        try:
            await self._api.patch(SIMULATED_SHELF, {"data": data})
        except ApiError as error:
            if not error.is_absence_of(SIMULATED_SHELF):
                raise
            body = {"apiVersion": "v1", "kind": "ConfigMap", "data": data}
            name = {"name": SIMULATED_SHELF.name, "namespace": SIMULATED_SHELF.namespace}
            await self._api.create(SIMULATED_SHELF, {**body, "metadata": name})
