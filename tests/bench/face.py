"""What does the embedded API server take? Pods are created, bound and deleted. (a client process)

python -m tests.bench.face --pods 100 < what tests.bench.embedded printed
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from tests.bench.gauges import Stopwatch, cpu_s, memory_mb
from unmoor.kube.access import Config
from unmoor.kube.auth import Secret, Token
from unmoor.kube.client import ClientSettings, KubeApi
from unmoor.model.base import JSON
from unmoor.model.kinds import PODS
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import Bookmark, DeleteOptions

AT_ONCE = 16
UNHURRIED = ClientSettings(rate_per_s=1e9, burst=10**9)
NAMESPACE = "default"


def body(number: int) -> JSON:
    """A pod with two containers, as a ReplicaSet's controller would ask for it."""
    containers = [
        {
            "name": name,
            "image": f"registry.example.com/web/{name}:1.27.3",
            "env": [{"name": "LOG_LEVEL", "value": "info"}],
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        }
        for name in ("main", "proxy")
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"web-{number}", "labels": {"app": "web", "shard": str(number % 50)}},
        "spec": {"containers": containers},
    }


async def measured(access: Config, pods: int, server: int) -> dict[str, Any]:
    """Three rounds of requests with a watch open; what each took, on both sides."""
    async with KubeApi(
        access, clock=SystemClock(), random=random.Random(1), settings=UNHURRIED
    ) as api:
        seen = asyncio.create_task(_seen(api, pods))
        figures: dict[str, Any] = {"pods": pods}
        before_mb = memory_mb("VmRSS", str(server))

        async def create(number: int) -> None:
            await api.create(PODS.ref(f"web-{number}", NAMESPACE), body(number))

        async def bind(number: int) -> None:
            ref = PODS.ref(f"web-{number}", NAMESPACE)
            target = {"apiVersion": "v1", "kind": "Node", "name": f"node-{number % 100}"}
            meta = {"name": ref.name}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
            await api.create(ref, binding, subresource="binding")

        async def delete(number: int) -> None:
            await api.delete(PODS.ref(f"web-{number}", NAMESPACE), DeleteOptions(grace_s=0))

        for name, act in (("create", create), ("bind", bind)):
            figures |= await _round(name, act, pods, server)
        figures["held_mb"] = memory_mb("VmRSS", str(server)) - before_mb
        figures |= await _round("delete", delete, pods, server)
        figures["events"] = await seen
    return figures


async def _seen(api: KubeApi, pods: int) -> int:
    """Events until the last pod is gone."""
    count = gone = 0
    async for event in api.watch(PODS, since="0"):
        count += 1
        gone += not isinstance(event, Bookmark) and getattr(event, "type", "") == "DELETED"
        if gone == pods:
            break
    return count


async def _round(
    name: str, act: Callable[[int], Awaitable[None]], count: int, server: int
) -> dict[str, float]:
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await act(number)

    watch, before_s = Stopwatch(), cpu_s(server)
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return {
        f"{name}_wall_s": watch.wall_s,
        f"{name}_client_cpu_s": watch.cpu_s,
        f"{name}_server_cpu_s": cpu_s(server) - before_s,
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pods", type=int, required=True)
    parser.add_argument("--server", type=int, required=True, help="the server's process id")
    given = parser.parse_args()
    where = json.loads(sys.stdin.readline())
    access = Config(
        server=where["url"], auth=Token(Secret(where["token"])), authority=where["authority"]
    )
    print(json.dumps(asyncio.run(measured(access, given.pods, given.server))))


if __name__ == "__main__":
    main()
