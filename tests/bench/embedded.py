"""The embedded API server in a process of its own, as particular as it can be.

python -m tests.bench.embedded
"""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime

from unmoor.sim.apiserver import FAITHFUL, Server
from unmoor.sim.http import HttpFace


def wall() -> datetime:
    """Real time."""
    return datetime.now(UTC)


async def serve() -> None:
    """Say where it is, and serve until standard input ends."""
    async with HttpFace(Server(wall, seed=1, manners=FAITHFUL)) as face:
        print(
            json.dumps({"url": face.url, "token": face.token, "authority": face.ca_pem}),
            flush=True,
        )
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
