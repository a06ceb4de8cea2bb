"""What people ask with kubectl: what kinds there are, what they look like, what one may do."""

from __future__ import annotations

from tests import ports
from tests.e2e.kubectl import Kubectl

FIELDS = r"^(GROUP|KIND|VERSION|FIELD|FIELDS):|^ *enum: |^ {2,}\w+\t<"
"""The lines of ``kubectl explain`` that say what there is, and not what it is for."""


async def explain(k: Kubectl) -> None:
    """The fields of every kind we serve, with their types, but for the descriptions."""
    for name in EXPLAINED:
        await k(f"explain {name} --recursive", only=FIELDS)
    await k(
        """
        explain pods.spec
        explain pods.spec.containers.resources.limits
        explain pods.spec.nodeName
        explain deployments --api-version=apps/v1
        explain machines.spec.requirements
        explain provisioners.spec.limits
        """,
        only=FIELDS,
    )
    await k(
        """
        explain pods.spec.color
        explain nothings
        explain deployments --api-version=apps/v7
        explain machines.spec
        """
    )


EXPLAINED = (
    "nodes",
    "pods",
    "namespaces",
    "configmaps",
    "events.v1.",
    "events.v1.events.k8s.io",
    "persistentvolumes",
    "persistentvolumeclaims",
    "services",
    "secrets",
    "serviceaccounts",
    "resourcequotas",
    "limitranges",
    "roles",
    "rolebindings",
    "clusterroles",
    "clusterrolebindings",
    "ingresses",
    "ingressclasses",
    "networkpolicies",
    "controllerrevisions",
    "deployments",
    "replicasets",
    "statefulsets",
    "daemonsets",
    "jobs",
    "poddisruptionbudgets",
    "priorityclasses",
    "storageclasses",
    "csinodes",
    "runtimeclasses",
    "volumeattachments",
    "leases",
    "customresourcedefinitions",
    "machines",
    "provisioners",
    "disruptions",
    "awsnodetemplates",
)


async def api_resources(k: Kubectl) -> None:
    """The rows of all kinds that we serve are among those of a real cluster."""
    await k("api-resources -o=wide", is_part=True, but="sim.unmoor.dev")
    await k("api-resources -o=name", is_part=True, but="sim.unmoor.dev")
    await k(
        "api-resources --namespaced=false --verbs=list,watch --no-headers",
        is_part=True,
        but="sim.unmoor.dev",
    )
    await k("api-resources --categories=all --sort-by=kind", is_part=True)
    await k(
        """
        api-resources --api-group=policy
        api-resources --api-group=karpenter.sh -o=wide
        api-resources --api-group=nothing
        """
    )


async def api_versions(k: Kubectl) -> None:
    """Those of all kinds that we serve."""
    await k("api-versions", is_part=True, but="sim.unmoor.dev")


async def asking(k: Kubectl) -> None:
    """Who am I, what may I do, and whom am I talking to?"""
    await k(
        """
        auth can-i create pods
        auth can-i delete nodes --quiet
        auth can-i list nodes --subresource=status
        auth can-i fly rockets
        auth can-i get /readyz
        auth whoami -o=jsonpath={.status.userInfo.groups}
        version
        version --client
        cluster-info
        top nodes
        top pods
        """
    )
    await k("auth can-i --list", is_part=True, shuffled=True)
    await k("version -o=json", only='"(major|minor|gitVersion|gitTreeState)"')
    for kind in ("pod", "nodes", "deploy", "machine", "disrupt", "pdb", "events"):
        await k(f"get {kind} nobody --ignore-not-found")


async def proxy(k: Kubectl) -> None:
    """Another way to the same server."""
    port = ports.free()
    await k.quietly("create configmap behind")

    async def through() -> None:
        found = await k.quietly(f"get cm behind -o=name --server=http://127.0.0.1:{port}")
        assert found.out == "configmap/behind\n", found

    await k.follow(f"proxy --port={port}", lines=1, after=1, then=through)
