"""How long does the first list of a big cluster take, and what does it cost? (a client process)

python -m tests.bench.sync --url http://127.0.0.1:1234
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random

from tests.bench import weights
from tests.bench.gauges import TICK_S, Pauses, Stopwatch, memory_mb
from unmoor.app.collecting import settle
from unmoor.kube.access import Config
from unmoor.kube.client import KubeApi
from unmoor.model.kinds import NODES, PODS
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.informer import Informer
from unmoor.runtime.store import Store


async def measured(url: str, authority: str, *, weighs: bool) -> dict[str, float]:
    """List nodes and pods into a store with its indexes; say what it took."""
    clock = SystemClock()
    config = Config(server=url, authority=authority)
    store = Store()
    before_mb = memory_mb("VmRSS")
    async with KubeApi(config, clock=clock, random=random.Random(1)) as api, Pauses() as pauses:
        informer = Informer(api, store, clock, jitter=random.Random(1).random)
        watch = Stopwatch()
        follow = asyncio.create_task(informer.run((NODES, PODS)))
        await settle(informer)
        figures = {"wall_s": watch.wall_s, "cpu_s": watch.cpu_s}
        await asyncio.sleep(2 * TICK_S)  # the pause of the last batch is noted
        follow.cancel()
    figures |= {
        "pods": len(store.all(PODS)),
        "nodes": len(store.all(NODES)),
        "before_mb": before_mb,
        "peak_mb": memory_mb(),
        "after_mb": memory_mb("VmRSS"),
    } | pauses.ms()
    return figures | (weights.of(store) if weighs else {})


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--authority", default="", help="PEM text of who vouches for the server")
    parser.add_argument("--weigh", action="store_true", help="say which objects take the memory")
    given = parser.parse_args()
    print(json.dumps(asyncio.run(measured(given.url, given.authority, weighs=given.weigh))))


if __name__ == "__main__":
    main()
