"""The two clocks of a running process, both read from the event loop's side.

``mono`` is the event loop's own time, so that a wake-up on it and a reading of it always agree; the
simulator's loop jumps it. ``wall`` is UTC for API time stamps.

Must not: be imported by anything pure. Decisions receive a Moment.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from unmoor.model.moment import Moment


class SystemClock:
    """The machine's clocks."""

    def now(self) -> Moment:
        """One reading of both."""
        return Moment(wall=datetime.now(UTC), mono=asyncio.get_running_loop().time())

    async def sleep(self, delay_s: float) -> None:
        """Wait on the loop's clock."""
        await asyncio.sleep(max(delay_s, 0.0))
