"""Which benchmarks are there, what do they find, and what is the goal?

Each runs its servers and its clients in processes of their own, and turns what these print into
figures. A client's processor time is the honest figure on a machine that is not quiet.

Must not: judge. ``__main__`` compares figures with goals, and so does whoever reads.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.cluster import DRAINING
from unmoor.sim.http import certificates

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 300
GIB = 2**30 / 1e6
"""In the MB that the gauges show."""


class Size(NamedTuple):
    """How much is measured; the default is what unmoor is designed for."""

    nodes: int = 5_000
    pods: int = 150_000
    rate: int = 20_400
    """Events a second: a little more than the goal, as no more can be measured than is sent."""
    seconds: float = 60.0
    face_pods: int = 5_000
    placed_pods: int = 20_000
    """At most so many pods are placed at once."""


class Figure(NamedTuple):
    """One number. ``goal`` None: there is none; ``is_most``: the goal is the most it may be."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    is_most: bool = True

    @property
    def is_met(self) -> bool:
        """Within the goal, or without one."""
        if self.goal is None:
            return True
        return self.value <= self.goal if self.is_most else self.value >= self.goal


class Benchmark(NamedTuple):
    """What is measured, in words, and how. ``run`` returns raw figures, ``read`` reads them."""

    name: str
    title: str
    words: str
    run: Callable[[Size], dict[str, Any]]
    read: Callable[[dict[str, Any]], Iterator[Figure]]


# -------------------------------------------------------------------------------------- processes


@contextmanager
def server(*arguments: str) -> Iterator[tuple[str, int]]:
    """A server's first line and its process id; it ends when its standard input does."""
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def client(*arguments: str, given: str = "") -> dict[str, Any]:
    """What a client process measured."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        input=given,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=LIMIT_S,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def canned(size: Size, *more: str) -> Any:
    """The server that only sends."""
    sizes = ("--nodes", str(size.nodes), "--pods", str(size.pods))
    return server("tests.bench.canned", *sizes, *more)


# ------------------------------------------------------------------------------------------- sync


def sync(size: Size) -> dict[str, Any]:
    """List everything, in plain text."""
    with canned(size) as (port, _):
        return client("tests.bench.sync", "--url", f"http://127.0.0.1:{port}", "--weigh")


def sync_tls(size: Size) -> dict[str, Any]:
    """The same under TLS."""
    made = certificates.make(("127.0.0.1",), datetime.now(UTC))
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(made.server.key + made.server.certificate)
        file.flush()
        with canned(size, "--certificate", file.name) as (port, _):
            url = f"https://127.0.0.1:{port}"
            return client("tests.bench.sync", "--url", url, "--authority", made.ca_pem)


def read_sync(raw: dict[str, Any]) -> Iterator[Figure]:
    """Of either."""
    yield Figure("until all is known", raw["wall_s"], "s", goal=6.0)
    yield Figure("processor time of the client for it", raw["cpu_s"], "s")
    yield Figure("peak memory of the client", raw["peak_mb"] / GIB, "GiB", goal=0.6)
    yield from read_pauses(raw)


def read_pauses(raw: dict[str, Any]) -> Iterator[Figure]:
    """How long others waited for the event loop."""
    yield Figure("longest pause of the event loop", raw["pause_p100_ms"], "ms", goal=50.0)
    for percent in ("99.9", "99", "90", "50"):
        yield Figure(f"pause, {percent} %", raw[f"pause_p{percent}_ms"], "ms")
    yield Figure("longest turn by processor time", raw["busy_p100_ms"], "ms")


# ------------------------------------------------------------------------------------------ watch


def watch(size: Size) -> dict[str, Any]:
    """A whole controller, and a stream of events."""
    with canned(size) as (port, _):
        return client(
            "tests.bench.watch",
            *("--url", f"http://127.0.0.1:{port}"),
            *("--rate", str(size.rate), "--seconds", str(size.seconds)),
        )


def read_watch(raw: dict[str, Any]) -> Iterator[Figure]:
    """The stream at its rate, the start before it, and what is possible at most."""
    paced, unpaced = raw["paced"], raw["unpaced"]
    rate = paced["events"] / paced["wall_s"]
    yield Figure("events a second", rate, "/s", goal=20_000.0, is_most=False)
    yield Figure("processor time per second", paced["cpu_s"] / paced["wall_s"], "s")
    yield Figure("processor time per event", paced["cpu_s"] / paced["events"] * 1e6, "us")
    yield Figure("steps a second meanwhile", paced["steps"] / paced["wall_s"], "/s")
    yield Figure("from sent to known, median", paced["late_p50_ms"], "ms")
    yield Figure("from sent to known, 99 %", paced["late_p99_ms"], "ms")
    yield from read_pauses(paced)
    yield Figure("peak memory", paced["peak_mb"] / GIB, "GiB")
    yield Figure("as fast as it goes", unpaced["events"] / unpaced["wall_s"], "/s")
    yield Figure(
        "as fast as it goes, by processor time", unpaced["events"] / unpaced["cpu_s"], "/s"
    )
    yield Figure("start: until every key was stepped", raw["start_wall_s"], "s")
    yield Figure("start: processor time", raw["start_cpu_s"], "s")
    start = raw["start_pauses"]
    yield Figure("start: longest pause", start["pause_p100_ms"], "ms", goal=50.0)
    yield Figure("start: longest turn by processor time", start["busy_p100_ms"], "ms")
    yield Figure("steps that crashed", paced["crashes"] + unpaced["crashes"], "", goal=0.0)


# ------------------------------------------------------------------------------------------- face


def face(size: Size) -> dict[str, Any]:
    """The embedded API server and our client."""
    with server("tests.bench.embedded") as (line, process):
        more = ("--pods", str(size.face_pods), "--server", str(process))
        return client("tests.bench.face", *more, given=line)


def read_face(raw: dict[str, Any]) -> Iterator[Figure]:
    """Three kinds of requests."""
    pods = raw["pods"]
    for what in ("create", "bind", "delete"):
        server_s = raw[f"{what}_server_cpu_s"]
        yield Figure(f"{what}: requests a second", pods / raw[f"{what}_wall_s"], "/s")
        yield Figure(f"{what}: processor time of the server", server_s / pods * 1e6, "us")
    yield Figure("memory of 10,000 pods", raw["held_mb"] / pods * 10_000, "MB")


# ---------------------------------------------------------------------------------------- scenery


def scenery(size: Size) -> dict[str, Any]:
    """What the engine looks at, for two thirds of the pods."""
    sizes = ("--nodes", str(size.nodes), "--pods", str(size.pods * 2 // 3))
    return client("tests.bench.scenery", *sizes)


def read_scenery(raw: dict[str, Any]) -> Iterator[Figure]:
    """From scratch, and from what was kept."""
    yield Figure("from scratch", raw["fresh_s"] * 1e3, "ms", goal=1000.0)
    yield Figure("again, nothing has changed", raw["same_s"] * 1e3, "ms")
    after = f"again, {raw['changed_pods']:,} pods have changed"
    yield Figure(after, raw["changed_s"] * 1e3, "ms")


# ---------------------------------------------------------------------------------------- placing


class Peer(NamedTuple):
    """What Karpenter's scheduler did with the public mix, once, on two cores of such a machine."""

    pods: int
    per_s: float
    nodes: int
    usd_per_h: float | None


PEER = (
    Peer(50, 746, 10, 16.1),
    Peer(100, 664, 20, 31.8),
    Peer(500, 434, 100, 172),
    Peer(1_000, 471, 200, 344),
    Peer(2_000, 427, 400, 683),
    Peer(5_000, 387, 1_000, 1_762),
    Peer(10_000, 361, 2_000, 3_535),
    Peer(20_000, 262, 4_000, None),
)
TIMES_FASTER, FASTER_FROM_PODS, DEAREST_SHARE = 20, 500, 0.95
RATES_PER_S = {20_000: 10_000.0}
"""Where the goal is another than so many times the peer's rate."""
PREFERRING_PODS, PREFERRING_PER_S, PREFERRING_NODES = 4_000, 77, 4_000
BACKLOG_PODS, BACKLOG_PEER_S, BACKLOG_GOAL_S = 11_000, 580, 2.0


def placing(size: Size) -> dict[str, Any]:
    """The public mix at each size, the crowd that prefers, and a backlog."""
    place, most = "tests.bench.placing", size.placed_pods
    found = {
        str(one.pods): client(place, "--mix", "diverse", "--pods", str(one.pods))
        for one in PEER
        if one.pods <= most
    }
    for mix, pods in (("preferring", PREFERRING_PODS), ("backlog", BACKLOG_PODS)):
        found[mix] = client(place, "--mix", mix, "--pods", str(min(pods, most)))
    return found


def read_placing(raw: dict[str, Any]) -> Iterator[Figure]:
    """Beside what the peer did."""
    for peer in PEER:
        if str(peer.pods) not in raw:
            continue
        one = raw[str(peer.pods)]
        name = f"{peer.pods:,} pods"
        goal = TIMES_FASTER * peer.per_s if peer.pods >= FASTER_FROM_PODS else None
        goal = RATES_PER_S.get(peer.pods, goal)
        yield Figure(f"{name}: a second", one["pods"] / one["cpu_s"], "/s", goal, is_most=False)
        yield Figure(f"{name}: times the peer's rate", one["pods"] / one["cpu_s"] / peer.per_s, "")
        yield Figure(f"{name}: machines", one["machines"], "", goal=peer.nodes)
        if peer.usd_per_h is not None:
            goal = DEAREST_SHARE if peer.pods >= FASTER_FROM_PODS else None
            share = one["usd_per_h"] / peer.usd_per_h
            yield Figure(f"{name}: price, share of the peer's", share, "", goal)
        yield Figure(f"{name}: without a place", one["refused"], "", goal=0.0)
    one = raw["preferring"]
    yield Figure("4,000 that prefer: a second", one["pods"] / one["cpu_s"], "/s")
    times = one["pods"] / one["cpu_s"] / PREFERRING_PER_S
    yield Figure("4,000 that prefer: times the peer's rate", times, "")
    yield Figure("4,000 that prefer: machines (peer: 4,000)", one["machines"], "")
    one = raw["backlog"]
    yield Figure("a backlog of 11,000 (peer: 580 s)", one["cpu_s"], "s", goal=BACKLOG_GOAL_S)
    yield Figure("a backlog of 11,000: without a place", one["refused"], "", goal=0.0)
    peak_mb = max(one["peak_mb"] for one in raw.values())
    yield Figure("peak memory", peak_mb / GIB, "GiB")


# ------------------------------------------------------------------------------------------ parts


def parts(size: Size) -> dict[str, Any]:
    """The small benchmarks; their sizes are fixed."""
    del size
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.json"
        subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "tests/bench", "-m", "bench", "-q"),
                *("--benchmark-enable", "-p", "no:xdist", f"--benchmark-json={found}"),
            ],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=LIMIT_S,
        )
        measured = json.loads(found.read_text())["benchmarks"]
    return {one["name"]: one["stats"]["median"] for one in measured}


def read_parts(raw: dict[str, Any]) -> Iterator[Figure]:
    """Medians, in the unit that suits."""
    for name, seconds in raw.items():
        words = name.removeprefix("test_").replace("_", " ")
        if seconds < 1e-3:
            yield Figure(words, seconds * 1e6, "us")
        else:
            yield Figure(words, seconds * 1e3, "ms")


BENCHMARKS = (
    Benchmark(
        "sync",
        "The first list of a big cluster",
        "Nodes and pods are listed in pages of 500 into the store and its indexes, over HTTP.",
        sync,
        read_sync,
    ),
    Benchmark(
        "sync-tls",
        "The same under TLS",
        "As above, over HTTPS, as in a real cluster.",
        sync_tls,
        read_sync,
    ),
    Benchmark(
        "watch",
        "A stream of pod events",
        "Half of the events tell the lives of new pods, half the readiness of others. A whole "
        "controller follows: all kinds, store, indexes, all rows, log and metrics. Each event "
        f"makes a machine look again, and {DRAINING} nodes are being drained against a server that "
        "lets no pod go.",
        watch,
        read_watch,
    ),
    Benchmark(
        "face",
        "The embedded API server",
        "Pods are created, bound and deleted over HTTPS by 16 workers, with a watch open. The "
        "server is as particular as it can be.",
        face,
        read_face,
    ),
    Benchmark(
        "scenery",
        "What the engine looks at",
        "Nodes, machines and provisioners become places and templates, with what DaemonSets and "
        "limits leave; 5,000 nodes, 100,000 pods and all types of the catalogue. Medians of the "
        "processor time of five looks.",
        scenery,
        read_scenery,
    ),
    Benchmark(
        "placing",
        "Machines for pods that wait",
        "The public benchmark's mix on an empty cluster: 400 types, one Provisioner, pods in five "
        "equal kinds (plain; spread over zones; spread over hosts; near their kind; alone on their "
        "host). [The peer](#in-short) is Karpenter. "
        "Rates are by processor time; 10 times the peer's is the least, 20 times the goal. Small "
        "crowds are the dear ones: 500 pods are of 389 classes, 1,000 of 669, and each class is "
        "met for the first time; looking for garbage takes a tenth. A backlog: whole deployments "
        "of 11,000 pods at once.",
        placing,
        read_placing,
    ),
    Benchmark(
        "parts",
        "The parts",
        "Medians of single operations, in a store of 150,000 pods.",
        parts,
        read_parts,
    ),
)
