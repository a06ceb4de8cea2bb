"""What people do with kubectl to nodes, workloads and pods, as scripts that know no cluster."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.kubectl import Kubectl
from tests.e2e.scripts import manifest, text, workload

HOLLOW = {"sim.unmoor.dev/hollow": "true", "node.kubernetes.io/instance-type": "m5.large"}
READY = '{.status.conditions[?(@.type=="Ready")].status}'


def node(name: str) -> dict[str, Any]:
    return manifest("Node", name, metadata={"labels": HOLLOW})


def pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "img:1"}
    return manifest(
        "Pod",
        name,
        metadata={"labels": {"app": "one"}},
        spec={"containers": [container], "terminationGracePeriodSeconds": 1, **spec},
    )


async def fleet(k: Kubectl, *names: str) -> None:
    """Nodes that are ready."""
    await k.quietly("create", "-f", "-", given=text(*(node(name) for name in names)))
    for name in names:
        await k.until("True", "get", "node", name, f"-o=jsonpath={READY}")
        await k.until("[]", "get", "node", name, "-o=jsonpath=[{.spec.taints}]")


async def gone(k: Kubectl, *names: str) -> None:
    await k.quietly("delete", "node", *names)


async def nodes(k: Kubectl) -> None:
    """What an administrator does to nodes."""
    await fleet(k, "node-one", "node-two")
    await k("get", "nodes")
    await k("get", "node", "node-one", "-o=wide")
    await k("taint", "node", "node-one", "team=a:NoSchedule")
    await k("taint", "node", "node-one", "team=a:NoSchedule")
    await k("taint", "node", "node-one", "team=b:NoSchedule", "--overwrite")
    await k("taint", "node", "node-one", "team=b:Whenever")
    await k("get", "node", "node-one", "-o=jsonpath={.spec.taints[0].value}")
    await k("taint", "node", "node-one", "team-")
    await k("cordon", "node-one")
    await k("cordon", "node-one")
    await k("get", "nodes", "--no-headers")
    await k("get", "nodes", "--field-selector=spec.unschedulable=true", "-o=name")
    await k("uncordon", "node-one")
    await k("uncordon", "node-one")
    await k("cordon", "nobody")
    await k("label", "node", "node-one", "node-role.kubernetes.io/worker=")
    await k("get", "node", "node-one", "-o=custom-columns=ROLE:.metadata.labels")
    await k("get", "nodes")
    await k("delete", "node", "node-one", "node-two")


async def workloads(k: Kubectl) -> None:
    """A Deployment's life, its history, and three ways to end it."""
    await fleet(k, "node-one")
    await k("create", "deployment", "web", "--image=img:1", "--replicas=2")
    await k.until("2", "get", "deployment", "web", "-o=jsonpath={.status.availableReplicas}")
    await k("get", "deployment", "web", "-o=wide")
    await k("get", "replicasets", "-o=wide")
    await k("get", "pods", "-l", "app=web")
    await k("scale", "deployment", "web", "--replicas=3")
    await k("scale", "deployment", "web", "--replicas=3", "--current-replicas=7")
    await k.until("3", "get", "deployment", "web", "-o=jsonpath={.status.availableReplicas}")
    await k("rollout", "status", "deployment/web")
    await k("set", "image", "deployment/web", "img=img:2")
    await k.quietly("rollout", "status", "deployment/web")
    await k("rollout", "history", "deployment/web")
    await k("rollout", "undo", "deployment/web")
    await k.quietly("rollout", "status", "deployment/web")
    await k("get", "deployment", "web", "-o=jsonpath={.spec.template.spec.containers[0].image}")
    await k("rollout", "history", "deployment/web")
    await k("rollout", "undo", "deployment/web", "--to-revision=77")
    await k("rollout", "restart", "deployment/web")
    await k.quietly("rollout", "status", "deployment/web")
    await k("wait", "--for=condition=Available", "deployment/web", "--timeout=20s")
    await k("wait", "--for=jsonpath={.spec.replicas}=3", "deployment/web", "--timeout=20s")
    await k("rollout", "pause", "deployment/web")
    await k("rollout", "resume", "deployment/web")
    await k("set", "env", "deployment/web", "A=b")
    await k.quietly("rollout", "status", "deployment/web")
    await k("set", "resources", "deployment/web", "--requests=cpu=10m")
    await k.quietly("rollout", "status", "deployment/web")
    await k("delete", "deployment", "web", "--cascade=orphan")
    await k.until("0", "get", "rs", "-o=jsonpath={.items[*].spec.replicas}")
    await k("delete", "rs", "-l", "app=web", "--cascade=foreground", shuffled=True)
    await k("get", "pods", "-l", "app=web")
    await gone(k, "node-one")


async def others(k: Kubectl) -> None:
    """StatefulSets, DaemonSets, Jobs and budgets."""
    await fleet(k, "node-one", "node-two")
    budget = manifest(
        "PodDisruptionBudget",
        "db",
        "policy/v1",
        spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}},
    )
    job = manifest(
        "Job",
        "sum",
        "batch/v1",
        spec={
            "template": {
                "metadata": {"annotations": {"sim.unmoor.dev/run-seconds": "0.1"}},
                "spec": {
                    "containers": [{"name": "main", "image": "img:1"}],
                    "restartPolicy": "Never",
                },
            }
        },
    )
    made = (
        workload("StatefulSet", "db", replicas=2, serviceName="db"),
        workload("DaemonSet", "agent"),
        budget,
        job,
    )
    await k("apply", "-f", "-", given=text(*made))
    await k.until("2", "get", "sts", "db", "-o=jsonpath={.status.readyReplicas}")
    await k.until("2", "get", "ds", "agent", "-o=jsonpath={.status.numberReady}")
    await k("rollout", "status", "statefulset/db")
    await k("rollout", "status", "daemonset/agent")
    await k("wait", "--for=condition=Complete", "job/sum", "--timeout=20s")
    await k.until("1", "get", "pdb", "db", "-o=jsonpath={.status.disruptionsAllowed}")
    await k("get", "sts,ds,pdb", "-o=wide")
    await k("get", "job", "sum")
    await k("get", "pods", "-l", "app=db", "-o=custom-columns=N:.metadata.name,P:.status.phase")
    await k("scale", "sts", "db", "--replicas=1")
    await k.quietly("wait", "--for=delete", "pod/db-1", "--timeout=20s")
    await k("delete", "sts,ds,pdb,job", "--all", "--cascade=foreground")
    await gone(k, "node-one", "node-two")


async def draining(k: Kubectl) -> None:
    """Drain with a budget, pods without owners, and DaemonSets."""
    await fleet(k, "node-one", "node-two")
    await k("cordon", "node-two")
    await k("create", "-f", "-", given=text(workload("DaemonSet", "agent"), pod("lonely")))
    await k("create", "deployment", "web", "--image=img:1", "--replicas=2")
    await k.until("2", "get", "deployment", "web", "-o=jsonpath={.status.availableReplicas}")
    await k.until("Running", "get", "pod", "lonely", "-o=jsonpath={.status.phase}")
    await k.until("2", "get", "ds", "agent", "-o=jsonpath={.status.numberReady}")
    await k("uncordon", "node-two")
    await k("drain", "node-one", shuffled=True)
    await k("drain", "node-one", "--ignore-daemonsets", shuffled=True)
    wanted = ("drain", "node-one", "--ignore-daemonsets", "--force")
    await k(*wanted, "--dry-run=server", shuffled=True)
    await k("create", "pdb", "web", "--selector=app=web", "--min-available=2")
    await k.until("2", "get", "pdb", "web", "-o=jsonpath={.status.currentHealthy}")
    stuck = await k.quietly(*wanted, "--timeout=2s")
    assert "Cannot evict pod as it would violate the pod's disruption budget." in stuck.err
    await k("delete", "pdb", "web")
    await k.quietly(*wanted)
    await k("get", "pods", "--field-selector=spec.nodeName=node-one", "-o=wide")
    await k("get", "nodes")
    await k("delete", "deployment,ds", "--all")
    await gone(k, "node-one", "node-two")


async def pods(k: Kubectl) -> None:
    """Single pods: wait, watch, end them in several ways."""
    await fleet(k, "node-one")
    await k("create", "-f", "-", given=text(*(pod(name) for name in ("a", "b", "c", "d"))))
    for name in ("a", "b", "c", "d"):
        await k("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=20s")
    await k("get", "pods")
    await k("get", "pods", "--field-selector=status.phase=Running", "-o=name")
    await k("get", "pods", "--field-selector=spec.nodeName=node-two")
    await k("get", "all")
    await k("wait", "--for=jsonpath={.status.phase}=Running", "pod/a")
    await k("wait", "--for=condition=Never", "pod/a", "--timeout=1s")
    await k("delete", "pod", "a")
    await k("delete", "pod", "b", "--force", "--grace-period=0")
    await k("delete", "pod", "c", "--now")
    await k("delete", "pod", "d", "--wait=false", "--grace-period=2")
    await k.quietly("wait", "--for=delete", "pod/d", "--timeout=20s")
    await k("get", "pods")
    await k("label", "pod", "nobody", "a=b")
    await k("create", "-f", "-", given=json.dumps(manifest("Pod", "Bad_Name", spec={})))
    await gone(k, "node-one")


SCRIPTS = (nodes, workloads, others, draining, pods)
