"""What people look at and ask with kubectl, as scripts that know no cluster."""

from __future__ import annotations

from tests.e2e.fleet_scripts import fleet, gone, pod
from tests.e2e.kubectl import Kubectl
from tests.e2e.scripts import config, manifest, text, workload

EXPLAINED = (
    "nodes.spec",
    "pods.spec.containers.resources",
    "deployments.spec.strategy",
    "pdb.spec",
    "machines.spec",
    "provisioners.spec.limits",
)
BUDGET = manifest(
    "PodDisruptionBudget",
    "one",
    "policy/v1",
    spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "one"}}},
)


async def describing(k: Kubectl) -> None:
    """Describe what a drain is about."""
    await fleet(k, "node-one")
    await k("create", "-f", "-", given=text(pod("one", automountServiceAccountToken=False), BUDGET))
    await k.until("True", "get", "pod", "one", "-o=jsonpath={.status.conditions[*].status}")
    await k.until("1", "get", "pdb", "one", "-o=jsonpath={.status.currentHealthy}")
    await k("describe", "pod", "one", "--show-events=false")
    await k("describe", "pdb", "one")
    await k("describe", "node", "node-one", "--show-events=false")
    await k("create", "deployment", "web", "--image=img:1")
    await k.until("1", "get", "deployment", "web", "-o=jsonpath={.status.availableReplicas}")
    await k("describe", "deployment", "web", "--show-events=false")
    await k("describe", "pod", "nobody")
    await k("delete", "deployment", "web", "--cascade=background")
    await k.quietly("wait", "--for=delete", "pod", "-l", "app=web", "--timeout=20s")
    await k("get", "rs,pods", "-l", "app=web")
    await gone(k, "node-one")


async def differing(k: Kubectl) -> None:
    """What would change, waiting for what is not there yet, and replacing by force."""
    await k("create", "-f", "-", given=text(config("a", k="1")))
    await k("diff", "-f", "-", given=text(config("a", k="2")))
    await k("diff", "--server-side", "-f", "-", given=text(config("a", k="2")))
    await k("replace", "--force", "-f", "-", given=text(config("a", k="3")))
    await k("get", "cm", "a", "-o=jsonpath={.data}")
    await k("wait", "--for=create", "cm/a", "--timeout=5s")
    await k("wait", "--for=create", "cm/never", "--timeout=1s")
    await k("wait", "--for=delete", "cm/never", "--timeout=5s")
    await k("get", "cm", "a", "-o=jsonpath-as-json={.data}")
    await k("create", "job", "once", "--image=img:1", "--dry-run=client", "-o=yaml")
    await k("create", "job", "once", "--image=img:1", "--dry-run=server", "-o=name")
    await k("create", "namespace", "elsewhere", "--dry-run=server")
    await k("delete", "cm", "a", "--grace-period=0", "--force")


async def rolling(k: Kubectl) -> None:
    """New versions of StatefulSets and DaemonSets. Their histories are not kept here."""
    await fleet(k, "node-one")
    await k.quietly(
        "create",
        "-f",
        "-",
        given=text(
            workload("StatefulSet", "db", replicas=1, serviceName="db"),
            workload("DaemonSet", "agent"),
        ),
    )
    for one in ("statefulset/db", "daemonset/agent"):
        await k.quietly("rollout", "status", one)
        await k("set", "image", one, "main=img:2")
        await k.quietly("rollout", "status", one)
        await k("get", one, "-o=jsonpath={.spec.template.spec.containers[0].image}")
        await k("rollout", "restart", one)
        await k.quietly("rollout", "status", one)
    await k("delete", "sts,ds", "--all")
    await gone(k, "node-one")


async def asking(k: Kubectl) -> None:
    """What kinds there are, what their fields are, what one may do."""
    for path in EXPLAINED:
        await k.explains(path)
        await k.explains(path, "--recursive")
    await k("explain", "pods.spec.color")
    await k("auth", "can-i", "list", "nodes", "--subresource=status")
    await k("auth", "can-i", "fly", "rockets")
    await k("get", "--raw", "/livez")
    await k("get", "--raw", "/api/v1/nodes/nobody")


SCRIPTS = (describing, differing, rolling, asking)
