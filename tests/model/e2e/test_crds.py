"""A real API server takes our definitions, keeps our fields, and refuses the wrong types."""

import functools
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.controlplane import ControlPlane, ControlPlaneError, eventually
from unmoor.model import crds
from unmoor.model.machine import Machine
from unmoor.model.provisioner import Provisioner

PROVISIONER = {"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner"}
MACHINE = {"apiVersion": "karpenter.sh/v1alpha5", "kind": "Machine"}
DISRUPTION = {"apiVersion": "unmoor.dev/v1alpha1", "kind": "Disruption"}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    directory = tmp_path_factory.mktemp("controlplane")
    with ControlPlane(directory=directory, components=("etcd", "kube-apiserver")) as started:
        started.create(*crds.all_crds())
        for crd in crds.all_crds():
            established = functools.partial(is_established, started, crd["metadata"]["name"])
            eventually("the definition is established", established)
        yield started


def is_established(plane: ControlPlane, name: str) -> bool:
    conditions = plane.get("crd", name).get("status", {}).get("conditions", [])
    return {c["type"]: c["status"] for c in conditions}.get("Established") == "True"


def make(kind: dict[str, str], name: str, **parts: Any) -> dict[str, Any]:
    return {**kind, "metadata": {"name": name}, **parts}


def test_no_schema_is_found_wanting(plane: ControlPlane) -> None:
    for crd in crds.all_crds():
        found = plane.get("crd", crd["metadata"]["name"])["status"]["conditions"]

        assert {c["type"]: c["status"] for c in found} == {
            "NamesAccepted": "True",
            "Established": "True",
        }


def test_an_object_comes_back_as_it_was_written(plane: ControlPlane) -> None:
    spec = {
        "limits": {"resources": {"cpu": 1000, "memory": "1Ti"}},
        "requirements": [{"key": "a", "operator": "In", "values": ["x"]}],
        "kubeletConfiguration": {"clusterDNS": ["10.0.0.10"], "imageGCHighThresholdPercent": 80},
        "provider": {"anything": {"goes": [1, "two"]}},
        "weight": 5,
    }
    plane.create(make(PROVISIONER, "kept", spec=spec))

    stored = plane.get("provisioner", "kept")
    assert stored["spec"] == spec
    decoded = msgspec.convert(stored, Provisioner, strict=False)
    assert decoded.weight == 5
    assert decoded.spec.requirements[0].operator == "In"


@pytest.mark.parametrize(
    "spec",
    [
        {"weight": "5"},
        {"weight": 101},
        {"ttlSecondsAfterEmpty": "30"},
        {"consolidation": {"enabled": "true"}},
        {"labels": {"a": 1}},
        {"limits": {"resources": {"cpu": 1.5}}},
        {"requirements": [{"key": "a"}]},
        {"kubeletConfiguration": {"maxPods": -1}},
        {"providerRef": {"kind": "AWSNodeTemplate"}},
    ],
    ids=json.dumps,
)
def test_wrong_types_are_refused(plane: ControlPlane, spec: dict[str, Any]) -> None:
    with pytest.raises(ControlPlaneError, match=r"invalid|missing required"):
        plane.create(make(PROVISIONER, "refused", spec={"providerRef": {"name": "a"}, **spec}))


def test_columns_are_readable(plane: ControlPlane) -> None:
    nodes = [{"name": "n1", "uid": "1"}]
    spec = {"method": "drift", "reason": "Drifted", "summary": "n1", "nodes": nodes}
    costs = {"action": "replace", "replacementSummary": "m5.large", "savingPerHour": "0.0864"}
    plane.create(make(DISRUPTION, "drift-n1", spec=spec | costs))
    plane.create(
        {
            **MACHINE,
            "metadata": {
                "name": "m1",
                "labels": {
                    "node.kubernetes.io/instance-type": "m5.large",
                    "topology.kubernetes.io/zone": "zone-a",
                    "karpenter.sh/capacity-type": "spot",
                    "karpenter.sh/provisioner-name": "default",
                },
                "annotations": {
                    "unmoor.dev/price-usd-per-hour": "0.0864",
                    "unmoor.dev/price-book": "mine.json",
                },
            },
            "spec": {"machineTemplateRef": {"name": "template"}},
        }
    )
    status = {"nodeName": "n1", "conditions": [{"type": "Ready", "status": "True"}]}
    plane.kubectl(
        "patch", "machine", "m1", "--subresource=status", "--type=merge",
        f"--patch={json.dumps({'status': status})}",
    )  # fmt: skip

    shown = plane.kubectl("get", "disrupt").stdout.split()
    assert shown[:11] == [
        "NAME", "METHOD", "ACTION", "NODES", "REPLACEMENTS", "USD", "PER", "HOUR", "SAVED",
        "PHASE", "AGE",
    ]  # fmt: skip
    assert shown[11:17] == ["drift-n1", "drift", "replace", "n1", "m5.large", "0.0864"]
    header, row = plane.kubectl("get", "machines", "--output=wide").stdout.splitlines()
    assert header.split() == [
        "NAME", "TYPE", "ZONE", "NODE", "READY", "AGE", "CAPACITY", "PROVISIONER", "TEMPLATE",
        "USD", "PER", "HOUR", "PRICE", "BOOK",
    ]  # fmt: skip
    values = row.split()
    assert values[:5] == ["m1", "m5.large", "zone-a", "n1", "True"]
    assert values[6:] == ["spot", "default", "template", "0.0864", "mine.json"]
    assert msgspec.convert(plane.get("machine", "m1"), Machine, strict=False).node_name == "n1"


def test_a_simulated_instance_may_say_anything(plane: ControlPlane) -> None:
    spec = {"instanceType": "m5.large", "more": {"to": ["come"]}}
    plane.create(
        {
            "apiVersion": "sim.unmoor.dev/v1alpha1",
            "kind": "Instance",
            "metadata": {"name": "i-1"},
            "spec": spec,
        }
    )

    assert plane.get("instances.sim.unmoor.dev", "i-1")["spec"] == spec
