"""What runs on every node: the DaemonSets, in three kinds in turns.

One puts up with every taint, one only with what its controller says for it, one is for some nodes.

Must not: place anything.
"""

from __future__ import annotations

from unmoor.model import kinds, names
from unmoor.model.base import JSON
from unmoor.model.node_selector import FIELD_NAME
from unmoor.sim.clusters import bodies
from unmoor.sim.clusters.mix import Mix
from unmoor.sim.clusters.of_nodes import REQUIRED
from unmoor.sim.manifests import Manifest

NAMESPACE = "kube-system"


def drawn(mix: Mix) -> list[Manifest]:
    """The DaemonSets."""
    return [_daemon_set(number) for number in range(mix.daemon_sets)]


def _daemon_set(number: int) -> Manifest:
    name = f"agent-{number}"
    labels = {"app": name}
    spec: JSON = {
        "containers": [bodies.container("agent", cpu_milli=50 + 25 * number, memory_mib=64)]
    }
    match number % 3:
        case 0:
            spec["tolerations"] = [{"operator": "Exists"}]
            spec |= {"priorityClassName": names.SYSTEM_NODE_CRITICAL}
        case 2:
            spec["nodeSelector"] = {names.CAPACITY_TYPE: names.ON_DEMAND}
        case _:
            pass
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"selector": bodies.selector(labels), "template": template}
    return bodies.made(kinds.DAEMON_SETS, name, body, NAMESPACE)


def spec_on(daemon_set: JSON, node: str) -> JSON:
    """The spec of its pod that is for one node."""
    spec = daemon_set["spec"]["template"]["spec"]
    term = {"matchFields": [bodies.expression(FIELD_NAME, "In", node)]}
    spec = {
        **spec,
        "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}},
        "tolerations": [*spec.get("tolerations", ()), *bodies.DAEMON_TOLERATIONS],
    }
    return spec | {"priority": 2_000_001_000} if "priorityClassName" in spec else spec


def pod_on(daemon_set: JSON, node: str) -> Manifest:
    """Its pod on a node."""
    name = f"{daemon_set['metadata']['name']}-{node}"
    labels = daemon_set["spec"]["template"]["metadata"]["labels"]
    return bodies.pod(
        name,
        NAMESPACE,
        spec_on(daemon_set, node),
        node=node,
        labels=labels,
        ownerReferences=[bodies.owner(daemon_set)],
    )


def with_status(daemon_set: JSON, pods: int) -> JSON:
    """It as its controller has left it, with so many pods."""
    counts = ("currentNumberScheduled", "desiredNumberScheduled", "numberReady")
    status = {**dict.fromkeys(counts, pods), "numberMisscheduled": 0, "observedGeneration": 1}
    return {**daemon_set, "status": status}
