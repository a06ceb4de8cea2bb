"""What a seed stands for: which cluster, which workloads, which people, which faults.

Everything is drawn before the world begins, from dice of its own, so that a change in one part of a
world does not change what the other parts are. Each seed has at least three kinds of faults.

Must not: run anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import msgspec

from unmoor.model import kinds, names
from unmoor.model.base import JSON
from unmoor.model.wording import counted
from unmoor.sim import manifests
from unmoor.sim.actors.kubelet import RUN_SECONDS, STOP_SECONDS
from unmoor.sim.demands import Demands, demands_of
from unmoor.sim.faults import ApiFaults, CloudFaults, Ratio
from unmoor.sim.manifests import Manifest
from unmoor.sim.terms import dear_types, respect, with_terms

CLUSTER = "swarm"
ELSEWHERE = "elsewhere"
"""Another cluster that has machines in the same cloud."""
APPS = "apps"
DRAWN = frozenset(
    f"{family}.{size}"
    for families, sizes in (
        ("c6i m5", "large xlarge 2xlarge 4xlarge 8xlarge"),
        ("c7g m6i r6i r7g", "large xlarge 2xlarge 4xlarge"),
        ("m7g", "medium large xlarge 2xlarge 4xlarge"),
        ("t3", "small medium large xlarge 2xlarge"),
        ("t4g", "small medium large xlarge"),
    )
    for family in families.split()
    for size in sizes.split()
)
"""The ordinary machines. Named, so that a seed's story stays when a cloud sells more types."""
FAULTS_LEAST = 3
FAULTS_MOST = 9

API_FAULTS = (
    "lost_request",
    "lost_answer",
    "conflict",
    "too_many",
    "server_error",
    "slow",
    "watch_cut",
    "watch_expired",
    "watch_late",
    "watch_silent",
)
CLOUD_FAULTS = (
    "lost_request",
    "lost_answer",
    "rate_limited",
    "stock_out",
    "failed",
    "slow",
    "lagging",
)
MISCHIEF = (
    "machine death",
    "kubelet crash",
    "restart",
    "kill",
    "memory wiped",
    "two instances",
    "two instances without a lease",
    "skew",
    "clock jump",
    "server restart",
)
"""What happens to machines, and to unmoor itself."""
KINDS_OF_FAULTS = (
    *(f"api {name}" for name in API_FAULTS),
    *(f"cloud {name}" for name in CLOUD_FAULTS),
    *MISCHIEF,
)

RATES: dict[str, tuple[Ratio, ...]] = {
    "watch_cut": ((1, 100), (1, 30)),
    "watch_expired": ((1, 3), (2, 3)),
    "watch_late": ((1, 60), (1, 25)),
    "watch_silent": ((1, 300), (1, 100)),
    "stock_out": ((1, 4), (1, 2)),
    "lagging": ((1, 2), (1, 1)),
}
USUAL_RATES: tuple[Ratio, ...] = ((1, 100), (1, 30), (1, 8), (1, 4))


class Draw(msgspec.Struct, frozen=True, kw_only=True):
    """One world before it begins."""

    seed: int
    types: tuple[str, ...]
    provisioners: tuple[Manifest, ...]
    machines: tuple[tuple[str, str], ...]
    """(name, Provisioner) of each machine of ours."""
    foreign: int
    apps: tuple[Manifest, ...]
    budgets: tuple[Manifest, ...]
    settings: dict[str, str]
    faults: tuple[str, ...]
    api: ApiFaults
    cloud: CloudFaults
    mischief: dict[str, int]
    """How often each kind happens."""
    habits: tuple[tuple[str, int], ...]
    """What people do, and how often."""
    pause_s: float
    """The mean time between two of their acts."""
    demands: Demands
    """Pods, Provisioners and workloads are listed above with these applied already."""

    def lines(self) -> Iterator[str]:
        """What was drawn, for people."""
        having = ", ".join(f"{ref.name} ({_terms_of(body)})" for ref, body in self.provisioners)
        yield f"seed {self.seed}: {counted(len(self.machines), 'machine')} of {having}"
        yield f"  {counted(self.foreign, 'node')} of others; types {', '.join(self.types)}"
        yield f"  workloads: {', '.join(str(ref) for ref, _ in self.apps)}"
        yield from self.demands.lines()
        budgets = ", ".join(f"{ref.name} {_rule_of(body)}" for ref, body in self.budgets)
        yield f"  budgets: {budgets or 'none'}"
        yield f"  settings: {', '.join(f'{k}={v}' for k, v in sorted(self.settings.items()))}"
        yield f"  faults: {', '.join(self.faults)}"
        habits = ", ".join(f"{what} {weight}" for what, weight in self.habits)
        yield f"  people, every {self.pause_s:.0f} s: {habits}"


def _rule_of(body: JSON) -> str:
    return " ".join(f"{k}={v}" for k, v in body["spec"].items() if k != "selector")


def _terms_of(body: JSON) -> str:
    """By what the nodes of a Provisioner go."""
    terms = {**body["spec"], **body["metadata"].get("annotations", {})}
    terms.pop("providerRef")
    return " ".join(f"{k}={v}" for k, v in terms.items()) or "its nodes stay"


def draw(seed: int, types: Sequence[str]) -> Draw:
    """Draw a world; ``types`` are the instance types on sale, of which DRAWN are used, if any."""
    dice = Random(f"swarm/{seed}")
    choices = sorted(DRAWN.intersection(types)) or sorted(types)
    usual = tuple(sorted(dice.sample(choices, min(2, len(choices)))))
    types = dear_types(seed, choices) or usual
    provisioners = tuple(with_terms(seed, _provisioners(dice)))
    machines = tuple(
        (f"m{index}", dice.choice(provisioners)[0].name) for index in range(dice.randint(5, 9))
    )
    apps = tuple(_apps(dice))
    demands = demands_of(seed, APPS, apps)
    budgets = tuple(_budgets(dice, apps))
    faults = tuple(sorted(dice.sample(KINDS_OF_FAULTS, dice.randint(FAULTS_LEAST, FAULTS_MOST))))
    api = {name: _rate(dice, name) for name in API_FAULTS if f"api {name}" in faults}
    cloud = {name: _rate(dice, name) for name in CLOUD_FAULTS if f"cloud {name}" in faults}
    return Draw(
        seed=seed,
        types=types,
        provisioners=(*provisioners, *demands.provisioners),
        machines=machines,
        foreign=dice.randint(1, 2),
        apps=demands.of(apps),
        budgets=budgets,
        settings=_settings(dice) | respect(seed),
        faults=faults,
        api=ApiFaults(**api),
        cloud=CloudFaults(**cloud),
        mischief={kind: dice.randint(1, 6) for kind in MISCHIEF if kind in faults},
        habits=(*_habits(dice), *_edits(seed)),
        pause_s=dice.choice((60.0, 120.0, 240.0, 400.0)),
        demands=demands,
    )


def _rate(dice: Random, name: str) -> Ratio:
    return dice.choice(RATES.get(name, USUAL_RATES))


def _provisioners(dice: Random) -> tuple[Manifest, ...]:
    """One of the two lets its empty nodes go, often both, seldom none."""
    ttls = dice.choice(((30, None), (60, None), (300, None), (30, 120), (0, 300), (None, None)))
    specs: list[JSON] = [{} if ttl_s is None else {"ttlSecondsAfterEmpty": ttl_s} for ttl_s in ttls]
    return (manifests.provisioner("red", **specs[0]), manifests.provisioner("blue", **specs[1]))


def _apps(dice: Random) -> Iterator[Manifest]:
    for index in range(dice.randint(3, 5)):
        app = f"web{index}"
        yield manifests.workload(
            kinds.DEPLOYMENTS, app, APPS, _pod(dice, app), replicas=dice.randint(1, 6)
        )
    if dice.randrange(4):
        pod = _pod(dice, "db")
        policy = dice.choice(("OrderedReady", "Parallel"))
        yield manifests.workload(
            kinds.STATEFUL_SETS,
            "db",
            APPS,
            pod,
            replicas=dice.randint(1, 3),
            serviceName="db",
            podManagementPolicy=policy,
        )
    if dice.randrange(2):
        yield manifests.workload(kinds.DAEMON_SETS, "agent", APPS, manifests.template("agent", {}))
    if dice.randrange(2):
        pod = manifests.template("batch", {RUN_SECONDS: str(dice.randint(30, 900))})
        yield manifests.job("batch", APPS, pod, dice.randint(1, 4))
    for index in range(dice.randint(0, 2)):
        yield naked_pod(dice, f"naked{index}")


def naked_pod(dice: Random, name: str) -> Manifest:
    """A pod without a controller, some with a finalizer of somebody else's."""
    held = ["example.org/hold"] if dice.randrange(4) == 0 else []
    stop = {STOP_SECONDS: str(dice.choice((1, 5, 400)))}
    spec = manifests.pod_spec(terminationGracePeriodSeconds=dice.choice((0, 5, 30)))
    return manifests.pod(name, APPS, spec, annotations=stop, finalizers=held)


def _pod(dice: Random, app: str) -> JSON:
    annotations: dict[str, str] = {}
    more: dict[str, Any] = {"terminationGracePeriodSeconds": dice.choice((0, 5, 10, 30, 120))}
    if dice.randrange(4) == 0:
        annotations[STOP_SECONDS] = str(dice.choice((1, 20, 300)))
    if dice.randrange(6) == 0:
        annotations[names.DO_NOT_EVICT] = names.TRUE
    if dice.randrange(5) == 0:
        more["tolerations"] = [{"operator": "Exists"}]
    if dice.randrange(4) == 0:
        more["priorityClassName"] = dice.choice(
            (names.SYSTEM_CLUSTER_CRITICAL, names.SYSTEM_NODE_CRITICAL)
        )
    return manifests.template(app, annotations, **more)


def _budgets(dice: Random, apps: Sequence[Manifest]) -> Iterator[Manifest]:
    for ref, body in apps:
        if ref.kind not in {"Deployment", "StatefulSet"} or not dice.randrange(3):
            continue
        replicas = body["spec"]["replicas"]
        spec = dice.choice(
            (
                {"minAvailable": max(replicas - 1, 0)},
                {"maxUnavailable": 1},
                {"maxUnavailable": "34%"},
                {"minAvailable": "50%"},
                {"minAvailable": replicas},
                {"maxUnavailable": 0},
            )
        )
        if dice.randrange(4) == 0:
            spec = {**spec, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
        yield manifests.budget(ref.name, APPS, ref.name, **spec)
        if dice.randrange(6) == 0:
            yield manifests.budget(f"{ref.name}-too", APPS, ref.name, maxUnavailable=1)


def _settings(dice: Random) -> dict[str, str]:
    """Cadences are a little longer than by default: hours must not cost minutes."""
    data = {
        "aws.clusterName": CLUSTER,
        "cadence.drainPoll": dice.choice(("5s", "10s")),
        "cadence.deprovisioningPoll": dice.choice(("15s", "30s")),
        "cadence.evictionBackoffMost": dice.choice(("20s", "40s")),
    }
    if dice.randrange(4) == 0:
        data["unmoor.drainDeadline"] = dice.choice(("3m", "10m"))
    if dice.randrange(4) == 0:
        data["unmoor.loadBalancerWait"] = dice.choice(("5s", "45s"))
    return data


GOOD_SETTINGS = (
    {"unmoor.loadBalancerWait": "20s"},
    {"unmoor.returningPodsRounds": "2"},
    {"unmoor.keptDisruptions": "3"},
    {"cadence.drainPoll": "3s"},
    {"cadence.machineGc": "45s"},
    {"unmoor.drainDeadline": "8m"},
)
BAD_SETTINGS = (
    {"unmoor.drainDeadline": "soon"},
    {"cadence.drainPoll": "-1s"},
    {"unmoor.returningPodsRounds": "many"},
    {"cadence.evictionBackoff": "1h", "cadence.evictionBackoffMost": "1s"},
    {"no.such.key": "1"},
)

EDIT_A_PROVISIONER = "edit a provisioner"  # drawn for itself: the others stay what they are
OTHER_HABITS = (
    "delete a node",
    "delete a machine",
    "create a machine",
    "create a bad machine",
    "scale",
    "scale to nothing",
    "cordon",
    "uncordon",
    "edit the settings",
    "edit the settings badly",
    "remove a budget",
    "create a budget",
    "create a pod",
    "delete a pod",
    "force a pod",
    "interfere",
    "delete a command",
    "protect a node",
    "delete a provisioner",
    "change a TTL",
    "delete a foreign node",
    "annotate a deadline",
)
HABITS = (*OTHER_HABITS, EDIT_A_PROVISIONER)


def _edits(seed: int) -> tuple[tuple[str, int], ...]:
    """In a third of the worlds somebody edits what nodes are made from, and they drift."""
    dice = Random(f"swarm/drift/{seed}")
    return ((EDIT_A_PROVISIONER, dice.randint(1, 3)),) if dice.randrange(3) == 0 else ()


def _habits(dice: Random) -> tuple[tuple[str, int], ...]:
    """Everybody does other things, and other things more often."""
    some = sorted(dice.sample(OTHER_HABITS, dice.randint(6, len(OTHER_HABITS))))
    always = {"delete a node", "create a machine", "scale to nothing", "interfere", "force a pod"}
    weights = {what: dice.randint(1, 6) for what in some}
    weights |= {what: dice.randint(2, 6) for what in sorted(always - set(some))}
    return tuple(sorted(weights.items()))
