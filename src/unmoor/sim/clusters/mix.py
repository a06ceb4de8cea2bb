"""What is a made-up cluster like? Its size, its seed, and how often each constraint occurs.

Shares are of workloads, whose pods are all alike, or of nodes (``OF_NODES``); what they come to is
rounded up, so a share that is not 0 occurs. Each concern has dice of its own: a share that changes
does not change what is drawn for another.

Must not: make anything.
"""

from __future__ import annotations

from enum import StrEnum
from math import ceil
from random import Random

import msgspec


class Kind(StrEnum):
    """What can occur. A name that ends in ``preference`` hinders nothing."""

    # What a pod wants of its node.
    NODE_SELECTOR = "node-selector"
    NODE_AFFINITY = "node-affinity"
    NODE_PREFERENCE = "node-preference"
    PINNED = "pinned"
    TOLERATION = "toleration"
    HOST_PORT = "host-port"
    # What it wants of other pods.
    ZONE_SPREAD = "zone-spread"
    ZONE_SPREAD_PREFERENCE = "zone-spread-preference"
    HOST_SPREAD = "host-spread"
    SPREAD_MIN_DOMAINS = "spread-min-domains"
    SPREAD_LABEL_KEYS = "spread-label-keys"
    SPREAD_POLICIES = "spread-policies"
    AFFINITY = "affinity"
    AFFINITY_OTHER = "affinity-other"
    AFFINITY_PREFERENCE = "affinity-preference"
    ANTI_AFFINITY = "anti-affinity"
    ANTI_AFFINITY_ZONE = "anti-affinity-zone"
    ANTI_AFFINITY_OTHER = "anti-affinity-other"
    ANTI_AFFINITY_PREFERENCE = "anti-affinity-preference"
    TERM_NAMESPACES = "term-namespaces"
    TERM_NAMESPACE_SELECTOR = "term-namespace-selector"
    TERM_LABEL_KEYS = "term-label-keys"
    TERM_MISMATCH_KEYS = "term-mismatch-keys"
    # Its volumes.
    VOLUME_BOUND = "volume-bound"
    VOLUME_IMMEDIATE = "volume-immediate"
    VOLUME_WAITING = "volume-waiting"
    VOLUME_EPHEMERAL = "volume-ephemeral"
    # How much it asks for.
    INIT_CONTAINER = "init-container"
    SIDECAR = "sidecar"
    OVERHEAD = "overhead"
    LIMITS_ONLY = "limits-only"
    EXTENDED_RESOURCE = "extended-resource"
    POD_RESOURCES = "pod-resources"
    # What it is.
    PRIORITY = "priority"
    BUDGET = "budget"
    DO_NOT_EVICT = "do-not-evict"
    NAKED = "naked"
    GATE = "gate"
    # What nodes are.
    TAINT = "taint"
    STARTUP_TAINT = "startup-taint"
    EPHEMERAL_TAINT = "ephemeral-taint"
    CORDON = "cordon"
    CSI_LIMIT = "csi-limit"
    NOT_OURS = "not-ours"
    NO_MACHINE = "no-machine"
    IN_FLIGHT = "in-flight"


OF_NODES = frozenset(
    (
        Kind.TAINT,
        Kind.STARTUP_TAINT,
        Kind.EPHEMERAL_TAINT,
        Kind.CORDON,
        Kind.CSI_LIMIT,
        Kind.NOT_OURS,
        Kind.NO_MACHINE,
        Kind.IN_FLIGHT,
    )
)
"""A share of these is one of nodes. Machines in flight come on top of them."""
NEEDS = {Kind.TOLERATION: Kind.TAINT, Kind.CSI_LIMIT: Kind.VOLUME_BOUND}
"""What means nothing without another."""

_TOGETHER = (
    Kind.AFFINITY,
    Kind.AFFINITY_OTHER,
    Kind.TERM_NAMESPACES,
    Kind.TERM_NAMESPACE_SELECTOR,
    Kind.TERM_LABEL_KEYS,
)
_APART = (
    Kind.ZONE_SPREAD,
    Kind.HOST_SPREAD,
    Kind.SPREAD_MIN_DOMAINS,
    Kind.SPREAD_LABEL_KEYS,
    Kind.SPREAD_POLICIES,
    Kind.ANTI_AFFINITY,
    Kind.ANTI_AFFINITY_ZONE,
    Kind.ANTI_AFFINITY_OTHER,
    Kind.TERM_MISMATCH_KEYS,
)
_SOMEWHERE = (Kind.NODE_SELECTOR, Kind.NODE_AFFINITY, Kind.PINNED)
_VOLUMES = (
    Kind.VOLUME_BOUND,
    Kind.VOLUME_IMMEDIATE,
    Kind.VOLUME_WAITING,
    Kind.VOLUME_EPHEMERAL,
)
CONTRADICT: dict[Kind, tuple[Kind, ...]] = {
    **dict.fromkeys(_TOGETHER, (*_APART, *_SOMEWHERE, *_VOLUMES, Kind.HOST_PORT)),
    **dict.fromkeys(_VOLUMES, _SOMEWHERE + _TOGETHER),
    **dict.fromkeys(_SOMEWHERE, _VOLUMES + _TOGETHER),
    **dict.fromkeys(_APART, _TOGETHER),
    Kind.HOST_PORT: _TOGETHER,
}
"""What the pods of one workload can hardly want together."""

REALISTIC: dict[Kind, float] = {
    Kind.NODE_SELECTOR: 0.08,
    Kind.NODE_AFFINITY: 0.06,
    Kind.NODE_PREFERENCE: 0.04,
    Kind.TOLERATION: 0.05,
    Kind.HOST_PORT: 0.01,
    Kind.ZONE_SPREAD: 0.15,
    Kind.ZONE_SPREAD_PREFERENCE: 0.08,
    Kind.HOST_SPREAD: 0.05,
    Kind.SPREAD_LABEL_KEYS: 0.02,
    Kind.AFFINITY: 0.01,
    Kind.AFFINITY_OTHER: 0.01,
    Kind.AFFINITY_PREFERENCE: 0.02,
    Kind.ANTI_AFFINITY: 0.10,
    Kind.ANTI_AFFINITY_OTHER: 0.01,
    Kind.ANTI_AFFINITY_PREFERENCE: 0.08,
    Kind.TERM_NAMESPACES: 0.005,
    Kind.VOLUME_BOUND: 0.06,
    Kind.VOLUME_EPHEMERAL: 0.01,
    Kind.INIT_CONTAINER: 0.12,
    Kind.SIDECAR: 0.08,
    Kind.OVERHEAD: 0.01,
    Kind.LIMITS_ONLY: 0.05,
    Kind.EXTENDED_RESOURCE: 0.01,
    Kind.POD_RESOURCES: 0.01,
    Kind.PRIORITY: 0.10,
    Kind.BUDGET: 0.40,
    Kind.DO_NOT_EVICT: 0.03,
    Kind.NAKED: 0.01,
    Kind.TAINT: 0.05,
    Kind.STARTUP_TAINT: 0.01,
    Kind.EPHEMERAL_TAINT: 0.01,
    Kind.CORDON: 0.01,
    Kind.NOT_OURS: 0.04,
    Kind.NO_MACHINE: 0.04,
    Kind.IN_FLIGHT: 0.01,
}
"""As far as one may guess what an ordinary cluster has."""

HARD_KINDS = 10
"""So many kinds meet in a hard cluster for which none are named."""
HARD_SHARE = 0.4
NODES_DEFAULT = 100


class Mix(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster before it is made.

    ``nodes`` 0: as many as the pods leave as full as ``utilisation`` says; ``pods`` 0: as many as
    fill the nodes so far. With both given, pods ask for less if they must. Pods of DaemonSets are
    not counted.
    """

    seed: int = 0
    nodes: int = 0
    pods: int = 0
    shares: dict[Kind, float] = msgspec.field(default_factory=REALISTIC.copy)
    utilisation: float = 0.5
    """Of cpu or memory, whichever is asked for more: the cluster was full and was scaled down."""
    is_contrary: bool = False
    """Workloads may want what excludes each other."""
    pending: float = 0.0
    """Of pods: these wait for a place. Others wait, too: if they found none, if they cannot run,
    and the last pod of each workload whose volumes are yet to be made."""
    cluster: str = "sim"
    """Whose unmoor has the Machines that are ours."""
    daemon_sets: int = 2
    namespaces: int = 0
    """0: one for eight workloads."""
    spot: float = 0.3
    """Of nodes."""
    batch: float = 0.01
    """Of workloads: large ones, as in the trace of a batch cluster."""
    replicas: int = 0
    """Of a workload, at most; 0: as in the histogram."""
    largest: float = 1.0
    """The largest pod: this part of the largest machine."""
    cpus: tuple[int, int] = (4, 16)
    """Of the smallest and the largest machine."""

    def dice(self, concern: str) -> Random:
        """Dice of its own for each concern."""
        return Random(f"cluster/{self.seed}/{concern}")

    def count_of(self, kind: Kind, whole: int) -> int:
        """How many of ``whole`` a share comes to, rounded up."""
        return ceil(round(self.shares.get(kind, 0.0) * whole, 6))

    def has(self, *kinds: Kind) -> bool:
        """True when one of these occurs."""
        return any(self.shares.get(kind, 0.0) > 0 for kind in kinds)


def hard(seed: int, *only: Kind) -> Mix:
    """A small cluster of 3 to 12 nodes and 5 to 60 pods, in which much comes together.

    ``only``: the kinds that occur, and what they need; without them a dozen that the seed draws.
    """
    dice = Random(f"hard/{seed}")
    nodes, pods = dice.randint(3, 12), dice.randint(5, 60)
    drawn = dice.sample(list(Kind), HARD_KINDS)
    shares = dict.fromkeys(only or drawn, HARD_SHARE)
    for kind in tuple(shares):
        if kind in NEEDS:
            shares.setdefault(NEEDS[kind], HARD_SHARE)
    return Mix(
        seed=seed,
        nodes=nodes,
        pods=pods,
        shares=shares,
        is_contrary=True,
        pending=0.3,
        daemon_sets=dice.randint(0, 2),
        namespaces=3,
        batch=0.0,
        replicas=5,
        largest=0.4,
        cpus=(2, 8),
    )
