"""Which names have a meaning: labels, annotations, taints, finalizers, and what a user may not use.

Three kinds of names stand here: Kubernetes' own, those of the Karpenter API that unmoor serves
(spec 1.6), and ours (``unmoor.dev``). Everything else in the project refers to a name by its
constant, so that grep finds every place that acts on it.

Must not: know any object, read or write anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# API groups.
KARPENTER_GROUP = "karpenter.sh"
AWS_GROUP = "karpenter.k8s.aws"
UNMOOR_GROUP = "unmoor.dev"
SIM_GROUP = "sim.unmoor.dev"

# Kubernetes namespaces.
NODE_LEASES = "kube-node-lease"
"""Where each kubelet keeps its heartbeat."""

# Kubernetes labels.
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ARCH = "kubernetes.io/arch"
OS = "kubernetes.io/os"
HOSTNAME = "kubernetes.io/hostname"
WINDOWS_BUILD = "node.kubernetes.io/windows-build"
EXCLUDE_FROM_LOAD_BALANCERS = "node.kubernetes.io/exclude-from-external-load-balancers"
EXCLUDE_FROM_LOAD_BALANCERS_VALUE = "karpenter"
"""What the label is set to while a node drains (spec 1.6); a different value is a person's."""

# Kubernetes annotations.
MIRROR_POD = "kubernetes.io/config.mirror"
DO_NOT_CONSOLIDATE = "karpenter.sh/do-not-consolidate"
POD_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# Kubernetes taint keys.
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"

EPHEMERAL_TAINTS: tuple[tuple[str, str], ...] = (
    (NOT_READY, "NoSchedule"),
    (UNREACHABLE, "NoSchedule"),
    (UNINITIALIZED, "NoSchedule"),
)
"""(key, effect) of taints that go away by themselves, whatever their value (spec 1.6).

Scheduling ignores them; a node is initialized only when they are gone.
"""

# Kubernetes priority classes (brief 001 and R19: what a drain evicts last).
SYSTEM_CLUSTER_CRITICAL = "system-cluster-critical"
SYSTEM_NODE_CRITICAL = "system-node-critical"

# Karpenter labels.
PROVISIONER_NAME = "karpenter.sh/provisioner-name"
REGISTERED = "karpenter.sh/registered"
INITIALIZED = "karpenter.sh/initialized"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
SPOT = "spot"
ON_DEMAND = "on-demand"

# Karpenter annotations.
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""On a claim: the node that its volume is being made for."""
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""On a claim: its controller has seen to it that it is bound."""
DEFAULT_STORAGE_CLASS = "storageclass.kubernetes.io/is-default-class"
DO_NOT_EVICT = "karpenter.sh/do-not-evict"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
LINKED = "karpenter.sh/linked"
PROVISIONER_HASH = "karpenter.sh/provisioner-hash"
"""On a Provisioner: what is static in it now. On a Machine: what was when it was created."""
NODE_TEMPLATE_HASH = "karpenter.k8s.aws/nodetemplate-hash"
"""The same of an AWSNodeTemplate, on it and on a Machine."""
VOLUNTARY_DISRUPTION = "karpenter.sh/voluntary-disruption"
"""On a Node: "expired" or "drifted", as its Machine's conditions say (R14); else another's mark."""
COMPATIBILITY_PROVIDER = "karpenter.sh/compatibility/provider"
"""On a Machine whose provisioner describes its nodes inline: that description, as JSON."""
KARPENTER_MANAGED_BY = "karpenter.sh/managed-by"
EMPTINESS_TIMESTAMP = "karpenter.sh/emptiness-timestamp"

TERMINATION_FINALIZER = "karpenter.sh/termination"
"""On Node and Machine. Shared with Karpenter: never act on a node whose Machine is not ours."""

# Ours.
MANAGED_BY = "unmoor.dev/managed-by"
"""On a Machine: the name of the cluster whose unmoor runs it. Without it a Machine is not ours."""
LAUNCH_ATTEMPT = "unmoor.dev/launch-attempt"
"""On a Machine: the number of the launch attempt, written before the cloud is called."""
MADE_FROM = "unmoor.dev/made-from"
"""On a Machine: each static field as it was when its hashes were written, as JSON."""
MADE_FOR = "unmoor.dev/made-for"
"""On a Machine: the pods it was made for, "namespace/name" each, with commas in between."""
REPLACEMENT_FOR = "unmoor.dev/replacement-for"
"""On a Machine: the name of the Disruption that it was made for, as long as that is not over."""
REPLACED_TYPES = "unmoor.dev/replaced-types"
"""On a Machine that consolidation made: the types of the nodes that it came for, with commas."""
PRICE = "unmoor.dev/price-usd-per-hour"
"""On a Machine: what it cost in an hour when it was launched, "unknown" when nobody knew."""
PRICE_BOOK = "unmoor.dev/price-book"
"""On a Machine, beside its price: the name of the prices that this one is of."""
DISRUPTION = "unmoor.dev/disruption"
"""On a Node: the name of the Disruption that acts on it, set in the same patch as the cordon."""
CORDONED = "unmoor.dev/cordoned"
"""On a Node: set with a cordon of ours, to the name of its command, or to "termination"."""
GOING_SOON = "unmoor.dev/going-soon"
"""The taint of a Node that is to go soon: pods that move had rather not go there."""
BUDGETS = "unmoor.dev/budgets"
"""On a Provisioner: how many of its nodes may be going at the same time, a JSON list of budgets."""
PAUSED = "unmoor.dev/paused"
"""On a Provisioner or a Node: nothing makes it go; who says so, why and until when."""
OBSERVE = "unmoor.dev/observe"
"""On a Provisioner: what would be done with its nodes is recorded, and not done."""
OBSERVED = "unmoor.dev/observed"
"""The label of a Disruption that was not carried out."""
DRAIN_DEADLINE = "unmoor.dev/drain-deadline"
"""On a Node: when its drain ends by force: a time (RFC 3339), or a duration from its deletion."""

TRUE = "true"
"""The one value that switches an annotation or a label on (spec 1.6); "True" and "1" do not."""

_AWS_INSTANCE_LABELS = (
    "hypervisor",
    "encryption-in-transit-supported",
    "category",
    "family",
    "generation",
    "size",
    "local-nvme",
    "cpu",
    "memory",
    "network-bandwidth",
    "pods",
    "gpu-name",
    "gpu-manufacturer",
    "gpu-count",
    "gpu-memory",
    "accelerator-name",
    "accelerator-manufacturer",
    "accelerator-count",
)
INSTANCE_LABEL_PREFIX = f"{AWS_GROUP}/instance-"
"""Labels that tell what a machine's type is like. A type that lacks one has no such thing."""
INSTANCE_CATEGORY = "karpenter.k8s.aws/instance-category"
INSTANCE_FAMILY = "karpenter.k8s.aws/instance-family"
INSTANCE_GENERATION = "karpenter.k8s.aws/instance-generation"
INSTANCE_SIZE = "karpenter.k8s.aws/instance-size"
INSTANCE_CPU = "karpenter.k8s.aws/instance-cpu"
INSTANCE_MEMORY = "karpenter.k8s.aws/instance-memory"

GPU = "nvidia.com/gpu"
NEURON = "aws.amazon.com/neuron"
DEVICE_RESOURCES = (GPU, "amd.com/gpu", NEURON, "habana.ai/gaudi")
"""As what nodes offer their GPUs and accelerators."""

WELL_KNOWN_LABELS: frozenset[str] = frozenset(
    (PROVISIONER_NAME, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE, WINDOWS_BUILD)
) | frozenset(INSTANCE_LABEL_PREFIX + name for name in _AWS_INSTANCE_LABELS)
"""Keys that requirements may use although their domains are restricted (spec 1.6)."""

LABEL_ALIASES: Mapping[str, str] = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "topology.ebs.csi.aws.com/zone": ZONE,
}
"""Older names of a label, and the stable one that is meant (spec 1.6)."""

RESTRICTED_DOMAINS = ("kubernetes.io", "k8s.io", KARPENTER_GROUP, AWS_GROUP)
"""Domains, sub-domains included, under which a user may not invent labels."""
RESTRICTED_DOMAIN_EXCEPTIONS: frozenset[str] = frozenset(
    ("kops.k8s.io", "node.kubernetes.io", "node-restriction.kubernetes.io")
)
"""Exact domains in which a user may; sub-domains of these are not excepted (spec 1.6)."""
RESTRICTED_LABELS: frozenset[str] = frozenset((HOSTNAME, EMPTINESS_TIMESTAMP))
"""Single keys that a user may not set: they are different on every node."""

RESTRICTED_TAG_PREFIX = "kubernetes.io/cluster/"
RESTRICTED_TAGS: frozenset[str] = frozenset((PROVISIONER_NAME, KARPENTER_MANAGED_BY))
"""Instance tags by which a machine is found again, so a user may not set them (spec 1.4)."""

NAME_LIMIT_CHARS = 63
PREFIX_LIMIT_CHARS = 253

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def normalised(key: str) -> str:
    """Return the stable name of a label key; a key without an alias is returned as it is."""
    return LABEL_ALIASES.get(key, key)


def domain_of(key: str) -> str:
    """Return the part of a key before its first "/", "" when there is none."""
    prefix, slash, _ = key.partition("/")
    return prefix if slash else ""


def qualified_name_problem(key: str) -> str:
    """Say why ``key`` is no qualified name ("prefix/name" or "name"), "" when it is one."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > PREFIX_LIMIT_CHARS or not _PREFIX.fullmatch(prefix)):
        return "the part before '/' must be a lower-case DNS name of at most 253 characters"
    if len(name) > NAME_LIMIT_CHARS or not _NAME.fullmatch(name):
        return (
            "a name has 1 to 63 letters, digits, '-', '_' or '.', "
            "and begins and ends with a letter or digit"
        )
    return ""


def label_value_problem(value: str) -> str:
    """Say why ``value`` cannot be the value of a label, "" when it can."""
    if not value or (len(value) <= NAME_LIMIT_CHARS and _NAME.fullmatch(value)):
        return ""
    return (
        "a label value has at most 63 letters, digits, '-', '_' or '.', "
        "and begins and ends with a letter or digit"
    )


def restricted_label_problem(key: str) -> str:
    """Say why a user may not set or require the label ``key``, "" when it is allowed.

    ``key`` is expected in its stable form (see :func:`normalised`). Well-known labels are allowed,
    whatever their domain (spec 1.6).
    """
    if key in WELL_KNOWN_LABELS:
        return ""
    if key in RESTRICTED_LABELS:
        return "is set on each node by the system"
    domain = domain_of(key)
    if domain in RESTRICTED_DOMAIN_EXCEPTIONS:
        return ""
    for restricted in RESTRICTED_DOMAINS:
        if domain == restricted or domain.endswith("." + restricted):
            return f"is in the domain {restricted}, which is kept for the system"
    return ""


def is_restricted_tag(key: str) -> bool:
    """True for an instance tag that belongs to the system (spec 1.4)."""
    return key in RESTRICTED_TAGS or key.startswith(RESTRICTED_TAG_PREFIX)


COMPARED_CHARS_MAX = 200
"""No name that we know is nearly as long."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that a wrong one was probably meant to be, "" when none is close.

    Close means: one contains the other, or fewer than a fifth of the letters differ (spec 9.6).
    Of equally close names the first by name is taken. A text that is far too long for a name is
    not compared: that takes time, and somebody waits for it at each look.
    """
    if len(name) > COMPARED_CHARS_MAX:
        return ""
    close = []
    for candidate in known:
        within = max(len(candidate) - 1, 0) // 5
        if name and (name in candidate or candidate in name):
            close.append((abs(len(name) - len(candidate)), candidate))
        elif (distance := _edits(name.lower(), candidate.lower(), within)) <= within:
            close.append((distance, candidate))
    return min(close)[1] if close else ""


def _edits(one: str, other: str, within: int) -> int:
    """How many letters to insert, remove or replace to turn one text into the other.

    Where it is more than ``within``, that it is more is all that is worked out.
    """
    if abs(len(one) - len(other)) > within:
        return within + 1
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        diagonal, row[0] = row[0], i
        for j, wanted in enumerate(other, start=1):
            cost = min(row[j] + 1, row[j - 1] + 1, diagonal + (letter != wanted))
            diagonal, row[j] = row[j], cost
        if min(row) > within:
            return within + 1
    return row[-1]
