"""When does Python look for cycles? Not while a cluster is first listed, nor in what was listed.

Hundreds of thousands of objects are made then and none is garbage; a collector that goes through
them again and again takes more time than to make them.

Must not: be used where many clusters live in one process, as rehearsals do.
"""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress

from unmoor.runtime.informer import Informer

FIRST_LISTS_S = 120.0
"""A server that does not let us list is no reason to do without the collector for longer."""


async def settle(informer: Informer) -> None:
    """Wait until every kind was listed, without looking for cycles; then leave that alone."""
    gc.disable()
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_LISTS_S):
                await informer.wait_synced()
        gc.freeze()
    finally:
        gc.enable()
