"""``deploy/rbac.yaml`` allows what a running process asks for, and what its effects may ask for."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.app import loopback
from tests.app.loopback import Cluster
from tests.app.test_run import running
from unmoor.model.base import Ref
from unmoor.model.kinds import KINDS
from unmoor.runtime.controller import WATCHED
from unmoor.sim.http import Asked

DEPLOY = Path(__file__).parents[2] / "deploy"
NAMESPACES = {"ConfigMap": "karpenter", "Lease": "kube-node-lease"}
"""Where the controller follows kinds that it does not follow everywhere."""


def rules(*files: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each rule with the namespace that it holds in, "" for all."""
    for file in files:
        for document in yaml.safe_load_all((DEPLOY / file).read_text()):
            if document["kind"] in {"ClusterRole", "Role"}:
                for rule in document["rules"]:
                    yield document["metadata"].get("namespace", ""), rule


def allows(asked: Asked, *files: str) -> bool:
    for namespace, rule in rules(*files):
        names = rule.get("resourceNames", [])
        if (
            namespace in {"", asked.namespace}
            and asked.group in rule["apiGroups"]
            and asked.resource in rule["resources"]
            and asked.verb in rule["verbs"]
            and (not names or asked.name in names)
        ):
            return True
    return False


def is_simulated(asked: Asked) -> bool:
    """Only the simulated cloud asks for it."""
    return asked.group == "sim.unmoor.dev" or asked.namespace == "kube-system"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with loopback.cluster(tmp_path) as built:
        await built.api.create(Ref("Namespace", "karpenter"), {"metadata": {"name": "karpenter"}})
        yield built


async def test_a_life_of_a_node_is_within_the_rules(cluster: Cluster) -> None:
    await cluster.machine("m1", cluster_name="shop")
    await cluster.deployment("web", 1, available=1)
    async with running(cluster) as unmoor:
        await unmoor.until_said(cluster, "machine initialized")
        node = cluster.server.get(Ref("Machine", "m1"))["status"]["nodeName"]
        await cluster.until("the pod runs", lambda: cluster.running_on(node))
        await cluster.api.delete(Ref("Node", node))
        await unmoor.until_said(cluster, "eviction must wait")
        await cluster.api.delete(Ref("PodDisruptionBudget", "web", namespace="default"))
        await unmoor.until_said(cluster, "released machine")
        await unmoor.stop()

    simulated = ("rbac.yaml", "rbac-simulated.yaml")
    assert len(cluster.asked) > 30
    assert sorted(str(one) for one in cluster.asked if not allows(one, *simulated)) == []
    assert all(allows(one, "rbac.yaml") for one in cluster.asked if not is_simulated(one))


@pytest.mark.parametrize("resource", WATCHED, ids=lambda resource: resource.plural)
@pytest.mark.parametrize("verb", ["list", "watch"])
def test_whatever_is_followed_may_be_followed(resource: Any, verb: str) -> None:
    namespace = NAMESPACES.get(resource.kind, "")
    name = "karpenter-global-settings" if resource.kind == "ConfigMap" else ""

    assert allows(Asked(verb, resource.group, resource.plural, namespace, name), "rbac.yaml")


def test_every_rule_is_about_something_that_we_know() -> None:
    known = {(resource.group, resource.plural) for resource in KINDS.values()}

    found = list(rules("rbac.yaml", "rbac-simulated.yaml"))
    assert len(found) > 10
    for _, rule in found:
        for name in rule["resources"]:
            plural = name.partition("/")[0]
            assert any((group, plural) in known for group in rule["apiGroups"]), name
            assert "*" not in {name, *rule["verbs"], *rule["apiGroups"]}


@pytest.mark.parametrize("file", sorted(DEPLOY.glob("*.yaml")), ids=lambda file: file.name)
def test_manifests_are_complete_documents(file: Path) -> None:
    documents = list(yaml.safe_load_all(file.read_text()))
    assert documents
    for document in documents:
        assert {"apiVersion", "kind", "metadata"} <= document.keys()
