"""What the parts cost (``make bench``). Measured, never asserted: no number here fails a build.

The sizes are those that unmoor is designed for: 5,000 nodes, 150,000 pods, 250 pods on a node.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests import builders
from tests.scenarios import virtual
from tests.scenarios.scenarios import SCENARIOS
from unmoor.lifecycle import termination
from unmoor.model import kinds, names, quantity
from unmoor.model.base import JSON
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.runtime.queue import WorkQueue
from unmoor.runtime.store import Store
from unmoor.sim.apiserver.server import Server
from unmoor.sim.virtual import EPOCH, run

NODES = 5_000
PODS_ON_A_NODE = 30


def pods_of(node: int, count: int) -> list[Pod]:
    """Pods of one node, of one owner."""
    owner = builders.owner("ReplicaSet", f"web-{node}")
    return [
        builders.changed(
            builders.pod(f"pod-{node}-{i}", on=f"node-{node}"),
            metadata__resource_version="1",
            metadata__owner_references=(owner,),
        )
        for i in range(count)
    ]


@pytest.fixture(scope="module")
def big() -> Store:
    """A store with 150,000 pods on 5,000 nodes."""
    store = Store()
    for node in range(NODES):
        for pod in pods_of(node, PODS_ON_A_NODE):
            store.put(kinds.PODS, pod)
    return store


def test_a_watch_event_reaches_store_and_indexes(benchmark: BenchmarkFixture, big: Store) -> None:
    """One changed pod in a store of 150,000."""
    versions = iter(range(2, 10_000_000))
    pod = pods_of(7, 1)[0]

    def apply() -> None:
        meta = msgspec.structs.replace(pod.metadata, resource_version=str(next(versions)))
        big.put(kinds.PODS, msgspec.structs.replace(pod, metadata=meta))

    benchmark(apply)


def test_a_view_of_everything_is_frozen(benchmark: BenchmarkFixture, big: Store) -> None:
    """What a pass over the cluster begins with."""
    frozen = benchmark(big.freeze)

    assert len(frozen.all(kinds.PODS)) == NODES * PODS_ON_A_NODE


def test_a_step_of_a_drain(benchmark: BenchmarkFixture) -> None:
    """The termination of a node with 250 pods: the budget of a step is 5 ms."""
    node = builders.node(
        "a",
        deleted_at=builders.NOW,
        is_cordoned=True,
        labels={names.EXCLUDE_FROM_LOAD_BALANCERS: "karpenter"},
    )
    pods = [builders.pod(f"web-{i}", on="a") for i in range(250)]
    view = View.of(
        node, builders.machine("m-a"), *pods, builders.budget("web"), identity=builders.IDENTITY
    )
    step = benchmark(lambda: termination.advance(view, "a", None, builders.moment()))

    assert step.effects


def test_a_key_goes_through_the_queue(benchmark: BenchmarkFixture) -> None:
    """Added, taken, done, with a wake-up."""
    queue = WorkQueue()
    times = iter(range(1, 100_000_000))

    def once() -> None:
        now = float(next(times))
        queue.add("a")
        queue.take(now)
        queue.done("a", now + 1000.0)

    benchmark(once)


def test_a_quantity_is_read(benchmark: BenchmarkFixture) -> None:
    """One that has been seen before, as nearly all have."""
    assert benchmark(lambda: quantity.parse("1536Mi")) == quantity.parse("1.5Gi")


def test_the_embedded_server_takes_a_patch(benchmark: BenchmarkFixture) -> None:
    """A node's label, with a watch open."""
    server = Server(clock=lambda: EPOCH, seed=1)
    ref = kinds.NODES.ref("a")
    body: JSON = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
    server.create(ref, body)
    numbers = iter(range(100_000_000))

    def patch() -> Any:
        return server.patch(ref, {"metadata": {"labels": {"n": str(next(numbers))}}})

    benchmark(patch)


def test_a_whole_drain_in_virtual_time(benchmark: BenchmarkFixture) -> None:
    """Three machines come up, an application runs, a node is drained and ended."""

    async def play() -> None:
        async with virtual.stage() as stage:
            await SCENARIOS["manual-delete"](stage)

    benchmark(lambda: run(play()))
