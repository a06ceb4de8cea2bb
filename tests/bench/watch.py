"""Does a whole controller keep up with a stream of pod events? (a client process)

All that ``unmoor run`` has is at work: every informer, the store and its indexes, every row of
the table of controllers, log and metrics. Only the events it publishes and its lease are left out.
Steps are taken all the time: each pod event makes the machine behind its node look again.

    python -m tests.bench.watch --url http://127.0.0.1:1234 --rate 20000 --seconds 60
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp

from tests import builders
from tests.bench.canned import SENT, TICK
from tests.bench.gauges import Pauses, Stopwatch, memory_mb, percentile
from unmoor.app import logs
from unmoor.app.collecting import settle
from unmoor.app.logs import LogObserver
from unmoor.app.metrics import Metrics
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.kube.access import Config
from unmoor.kube.client import KubeApi
from unmoor.lifecycle.effects import Publish
from unmoor.model.kinds import MACHINES
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.controller import Controller, Options, Ports
from unmoor.runtime.executor import ThreadExecutor
from unmoor.runtime.reconciler import either
from unmoor.runtime.reconcilers import RECONCILERS
from unmoor.runtime.story import Record

POLL_S = 0.05


class Silent:
    """Publishes nothing."""

    def publish(self, event: Publish, now: datetime, repeat_after_s: float) -> None:
        """Drop it."""


class Heard:
    """What came, when, and which steps were taken."""

    def __init__(self) -> None:
        self.steps: Counter[str] = Counter()
        self.crashes: list[str] = []
        self.has_ended = asyncio.Event()
        self.begin()

    def begin(self) -> None:
        """Forget what was."""
        self.events = 0
        self.late_s: list[float] = []
        self.steps.clear()
        self.has_ended.clear()

    def take(self, kind: str, old: Any | None, new: Any | None) -> None:
        """Hear the store."""
        if kind != "Pod":
            return
        self.events += 1
        if either(old, new).name == TICK:
            if new is None:
                self.has_ended.set()
            else:
                sent_ns = int(new.metadata.annotations[SENT])
                self.late_s.append((time.monotonic_ns() - sent_ns) / 1e9)

    def note(self, record: Record) -> None:
        """Hear the loop."""
        self.steps[record.reconciler] += 1
        if record.crash:
            self.crashes.append(record.crash)


def assembled(api: KubeApi, heard: Heard) -> Controller:
    """As ``unmoor run`` does it."""
    clock = SystemClock()
    ports = Ports(
        api=api,
        clock=clock,
        executor=ThreadExecutor(),
        recorder=Silent(),
        cloud=SimulatedCloud(api),
        jitter=random.Random(1).random,
    )
    written = LogObserver(clock)
    controller = Controller(
        ports,
        Options(lease=None, cluster=builders.CLUSTER),
        observers=(written, Metrics(clock), heard.note),
        report=written.report,
    )
    written.story, written.view = controller.story, controller.store
    return controller


async def asked(url: str) -> Any:
    """Tell the server something, or ask it."""
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.json()


async def measured(url: str, rate: int, seconds: float) -> dict[str, Any]:
    """Follow everything; then let events come at a rate, and as fast as they are taken."""
    heard = Heard()
    async with KubeApi(Config(server=url), clock=SystemClock(), random=random.Random(1)) as api:
        controller = assembled(api, heard)
        async with asyncio.TaskGroup() as tasks:
            starting, start_pauses = Stopwatch(), Pauses()
            async with start_pauses:
                work = tasks.create_task(controller.run(RECONCILERS))
                await settle(controller.informer)
                synced_s = starting.cpu_s
                machines = len(controller.store.all(MACHINES))
                while heard.steps["disruption-conditions"] < machines:  # noqa: ASYNC110
                    await asyncio.sleep(POLL_S)
            figures: dict[str, Any] = {
                "start_wall_s": starting.wall_s,
                "start_cpu_s": starting.cpu_s,
                "synced_cpu_s": synced_s,
                "start_pauses": start_pauses.ms(),
                "start_steps": sum(heard.steps.values()),
                "start_mb": memory_mb(),
            }
            controller.store.subscribe(heard.take)
            figures |= {"paced": await _stream(url, heard, rate, seconds)}
            figures |= {"unpaced": await _stream(url, heard, 0, seconds / 5)}
            work.cancel()
    return figures


async def _stream(url: str, heard: Heard, rate: int, seconds: float) -> dict[str, Any]:
    heard.begin()
    async with Pauses() as pauses:
        watch = Stopwatch()
        await asked(f"{url}/go?rate={rate}&seconds={seconds}")
        await heard.has_ended.wait()
        wall_s, cpu_s = watch.wall_s, watch.cpu_s
    late_s = sorted(heard.late_s)
    return {
        "events": heard.events,
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "steps": sum(heard.steps.values()),
        "steps_by_row": dict(heard.steps),
        "crashes": len(heard.crashes),
        "crash": heard.crashes[-1] if heard.crashes else "",
        "late_p50_ms": percentile(late_s, 50) * 1000,
        "late_p99_ms": percentile(late_s, 99) * 1000,
        "late_max_ms": percentile(late_s, 100) * 1000,
        "peak_mb": memory_mb(),
        "server": await asked(f"{url}/stats"),
    } | pauses.ms()


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--rate", type=int, required=True, help="events a second")
    parser.add_argument("--seconds", type=float, required=True)
    given = parser.parse_args()
    with Path(os.devnull).open("w") as nowhere:
        logs.configure(level="info", form="json", stream=nowhere)
        print(json.dumps(asyncio.run(measured(given.url, given.rate, given.seconds))))


if __name__ == "__main__":
    main()
