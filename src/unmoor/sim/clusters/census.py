"""What occurs in a cluster, and how often? Counted from the objects alone.

A workload has a constraint when its pods have, so several kinds may be counted for one that was
meant: who spreads with ``minDomains`` spreads over zones as well.

Must not: ask the generator what it meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias

import msgspec

from unmoor.model import names, selector
from unmoor.model.base import JSON
from unmoor.model.selector import LabelSelector
from unmoor.sim.clusters.mix import Kind
from unmoor.sim.clusters.nodes import DEVICE, STARTUP_TAINT, TAINTS, VOLUMES_FEW
from unmoor.sim.clusters.of_nodes import PREFERRED, REQUIRED
from unmoor.sim.manifests import Manifest

Has: TypeAlias = Callable[[JSON, "Cluster"], bool]


class Cluster(msgspec.Struct, frozen=True):
    """What a look at one object may need of the others."""

    claims: dict[tuple[str, str], JSON]
    modes: dict[str, str]
    """Of a StorageClass: its binding mode."""
    budgets: frozenset[tuple[str, str]]
    """Namespace and app of each."""
    machines: dict[str, JSON]
    """By the name of their node."""


def census(objects: Iterable[Manifest]) -> Counter[Kind]:
    """How many workloads (DaemonSets aside) and nodes there are of each kind."""
    by_kind: dict[str, list[JSON]] = {}
    for ref, body in objects:
        by_kind.setdefault(ref.kind, []).append(body)
    cluster = _cluster(by_kind)
    found: Counter[Kind] = Counter()
    for pod in workloads(by_kind.get("Pod", ())):
        found.update(kind for kind, has in _OF_PODS.items() if has(pod, cluster))
    for node in by_kind.get("Node", ()):
        found.update(kind for kind, has in _OF_NODES.items() if has(node, cluster))
    machines = by_kind.get("Machine", ())
    found[Kind.CSI_LIMIT] = sum(map(_takes_few, by_kind.get("CSINode", ())))
    found[Kind.IN_FLIGHT] = sum("nodeName" not in one["status"] for one in machines)
    return +found


def workloads(pods: Iterable[JSON]) -> list[JSON]:
    """A pod of each workload, one that waits if there is one. It is its owner's, or nobody's."""
    some: dict[tuple[str, ...], JSON] = {}
    for pod in sorted(pods, key=lambda pod: "nodeName" in pod["spec"]):
        meta = pod["metadata"]
        owner = next(iter(meta.get("ownerReferences", ())), {"kind": ""})
        if owner["kind"] != "DaemonSet":
            name = owner.get("uid") or meta["labels"]["app"]
            some.setdefault((meta["namespace"], name), pod)
    return list(some.values())


def _cluster(by_kind: dict[str, list[JSON]]) -> Cluster:
    def all_of(kind: str) -> Iterator[tuple[tuple[str, str], JSON]]:
        for body in by_kind.get(kind, ()):
            yield (body["metadata"].get("namespace", ""), body["metadata"]["name"]), body

    return Cluster(
        claims=dict(all_of("PersistentVolumeClaim")),
        modes={name: body["volumeBindingMode"] for (_, name), body in all_of("StorageClass")},
        budgets=frozenset(
            (namespace, body["spec"]["selector"]["matchLabels"]["app"])
            for (namespace, _), body in all_of("PodDisruptionBudget")
        ),
        machines={
            node: body for _, body in all_of("Machine") if (node := body["status"].get("nodeName"))
        },
    )


# Pods.


def _affinity(pod: JSON, side: str, when: str) -> Any:
    return pod["spec"].get("affinity", {}).get(side, {}).get(when) or ()


def _terms(pod: JSON, *sides: str) -> list[JSON]:
    """Its required terms about other pods."""
    both = sides or ("podAffinity", "podAntiAffinity")
    return [term for side in both for term in _affinity(pod, side, REQUIRED)]


def _is_about_itself(pod: JSON, term: JSON) -> bool:
    asked = msgspec.convert(term["labelSelector"], LabelSelector)
    return selector.matches(asked, pod["metadata"]["labels"])


def _wants_pods(pod: JSON, cluster: Cluster, *, side: str, itself: bool, key: str = "") -> bool:
    del cluster
    return any(
        _is_about_itself(pod, term) == itself and key in {"", term["topologyKey"]}
        for term in _terms(pod, side)
    )


def _prefers(pod: JSON, cluster: Cluster, *, side: str) -> bool:
    del cluster
    return bool(_affinity(pod, side, PREFERRED))


def _term_has(pod: JSON, cluster: Cluster, *, field: str) -> bool:
    del cluster
    return any(field in term for term in _terms(pod))


def _spreads(
    pod: JSON, cluster: Cluster, *, key: str = "", when: str = "DoNotSchedule", field: str = ""
) -> bool:
    del cluster
    return any(
        one["whenUnsatisfiable"] == when
        and key in {"", one["topologyKey"]}
        and (not field or field in one)
        for one in pod["spec"].get("topologySpreadConstraints", ())
    )


def _claims(pod: JSON, cluster: Cluster) -> Iterator[JSON]:
    for volume in pod["spec"].get("volumes", ()):
        if "persistentVolumeClaim" in volume:
            name = volume["persistentVolumeClaim"]["claimName"]
            yield cluster.claims[pod["metadata"]["namespace"], name]


def _has_claim(pod: JSON, cluster: Cluster, *, mode: str, is_bound: bool) -> bool:
    return any(
        cluster.modes[claim["spec"]["storageClassName"]] == mode
        and ("volumeName" in claim["spec"]) == is_bound
        for claim in _claims(pod, cluster)
    )


def _node_terms(pod: JSON) -> list[JSON]:
    required = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED, {})
    terms: list[JSON] = required.get("nodeSelectorTerms", [])
    return terms


def _is_pinned(pod: JSON, cluster: Cluster) -> bool:
    del cluster
    is_named = names.HOSTNAME in pod["spec"].get("nodeSelector", {})
    return is_named or any("matchFields" in term for term in _node_terms(pod))


def _containers(pod: JSON) -> list[JSON]:
    return [*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())]


def _has_only_limits(pod: JSON, cluster: Cluster) -> bool:
    del cluster
    return any(
        set(one.get("resources", {}).get("limits", ())) - set(one["resources"].get("requests", ()))
        for one in _containers(pod)
    )


def _in_spec(pod: JSON, cluster: Cluster, *, field: str) -> bool:
    del cluster
    return bool(pod["spec"].get(field))


def _has_init(pod: JSON, cluster: Cluster, *, is_sidecar: bool) -> bool:
    del cluster
    inits = pod["spec"].get("initContainers", ())
    return any((one.get("restartPolicy") == "Always") == is_sidecar for one in inits)


_OF_PODS: dict[Kind, Has] = {
    Kind.NODE_SELECTOR: lambda pod, _: bool(
        set(pod["spec"].get("nodeSelector", ())) - {names.HOSTNAME}
    ),
    Kind.NODE_AFFINITY: lambda pod, _: any("matchExpressions" in t for t in _node_terms(pod)),
    Kind.NODE_PREFERENCE: partial(_prefers, side="nodeAffinity"),
    Kind.PINNED: _is_pinned,
    Kind.TOLERATION: lambda pod, _: any(
        not one.get("key", "").startswith("node.kubernetes.io/")
        for one in pod["spec"]["tolerations"]
    ),
    Kind.HOST_PORT: lambda pod, _: any(
        "hostPort" in port for one in _containers(pod) for port in one.get("ports", ())
    ),
    Kind.ZONE_SPREAD: partial(_spreads, key=names.ZONE),
    Kind.ZONE_SPREAD_PREFERENCE: partial(_spreads, when="ScheduleAnyway"),
    Kind.HOST_SPREAD: partial(_spreads, key=names.HOSTNAME),
    Kind.SPREAD_MIN_DOMAINS: partial(_spreads, field="minDomains"),
    Kind.SPREAD_LABEL_KEYS: partial(_spreads, field="matchLabelKeys"),
    Kind.SPREAD_POLICIES: partial(_spreads, field="nodeTaintsPolicy"),
    Kind.AFFINITY: partial(_wants_pods, side="podAffinity", itself=True),
    Kind.AFFINITY_OTHER: partial(_wants_pods, side="podAffinity", itself=False),
    Kind.AFFINITY_PREFERENCE: partial(_prefers, side="podAffinity"),
    Kind.ANTI_AFFINITY: partial(
        _wants_pods, side="podAntiAffinity", itself=True, key=names.HOSTNAME
    ),
    Kind.ANTI_AFFINITY_ZONE: partial(
        _wants_pods, side="podAntiAffinity", itself=True, key=names.ZONE
    ),
    Kind.ANTI_AFFINITY_OTHER: partial(_wants_pods, side="podAntiAffinity", itself=False),
    Kind.ANTI_AFFINITY_PREFERENCE: partial(_prefers, side="podAntiAffinity"),
    Kind.TERM_NAMESPACES: partial(_term_has, field="namespaces"),
    Kind.TERM_NAMESPACE_SELECTOR: partial(_term_has, field="namespaceSelector"),
    Kind.TERM_LABEL_KEYS: partial(_term_has, field="matchLabelKeys"),
    Kind.TERM_MISMATCH_KEYS: partial(_term_has, field="mismatchLabelKeys"),
    Kind.VOLUME_BOUND: partial(_has_claim, mode="WaitForFirstConsumer", is_bound=True),
    Kind.VOLUME_IMMEDIATE: partial(_has_claim, mode="Immediate", is_bound=False),
    Kind.VOLUME_WAITING: partial(_has_claim, mode="WaitForFirstConsumer", is_bound=False),
    Kind.VOLUME_EPHEMERAL: lambda pod, _: any(
        "ephemeral" in volume for volume in pod["spec"].get("volumes", ())
    ),
    Kind.INIT_CONTAINER: partial(_has_init, is_sidecar=False),
    Kind.SIDECAR: partial(_has_init, is_sidecar=True),
    Kind.OVERHEAD: partial(_in_spec, field="overhead"),
    Kind.LIMITS_ONLY: _has_only_limits,
    Kind.EXTENDED_RESOURCE: lambda pod, _: any(
        DEVICE in one.get("resources", {}).get("requests", ()) for one in _containers(pod)
    ),
    Kind.POD_RESOURCES: partial(_in_spec, field="resources"),
    Kind.PRIORITY: partial(_in_spec, field="priority"),
    Kind.BUDGET: lambda pod, cluster: (
        (pod["metadata"]["namespace"], pod["metadata"]["labels"]["app"]) in cluster.budgets
    ),
    Kind.DO_NOT_EVICT: lambda pod, _: names.DO_NOT_EVICT in pod["metadata"].get("annotations", ()),
    Kind.NAKED: lambda pod, _: "ownerReferences" not in pod["metadata"],
    Kind.GATE: partial(_in_spec, field="schedulingGates"),
}


# Nodes.


def _is_tainted(node: JSON, cluster: Cluster, *, keys: Iterable[str]) -> bool:
    del cluster
    return any(one["key"] in keys for one in node["spec"].get("taints", ()))


def _is_somebody_elses(node: JSON, cluster: Cluster) -> bool:
    machine = cluster.machines.get(node["metadata"]["name"])
    return machine is not None and names.MANAGED_BY not in machine["metadata"].get(
        "annotations", ()
    )


def _takes_few(csi_node: JSON) -> bool:
    return any(one["allocatable"]["count"] in VOLUMES_FEW for one in csi_node["spec"]["drivers"])


_OF_NODES: dict[Kind, Has] = {
    Kind.TAINT: partial(_is_tainted, keys={one["key"] for one in TAINTS}),
    Kind.STARTUP_TAINT: partial(_is_tainted, keys={STARTUP_TAINT["key"]}),
    Kind.EPHEMERAL_TAINT: partial(_is_tainted, keys={key for key, _ in names.EPHEMERAL_TAINTS}),
    Kind.CORDON: lambda node, _: bool(node["spec"].get("unschedulable")),
    Kind.NOT_OURS: _is_somebody_elses,
    Kind.NO_MACHINE: lambda node, cluster: node["metadata"]["name"] not in cluster.machines,
}
