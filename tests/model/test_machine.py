"""Machines: what they say of themselves."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from unmoor.model import machine
from unmoor.model.machine import Machine

THEN = "2026-01-01T00:00:00Z"


def make(*conditions: tuple[str, str], **metadata: Any) -> Machine:
    raw = {
        "metadata": {"name": "m1", **metadata},
        "status": {
            "conditions": [
                {"type": kind, "status": status, "lastTransitionTime": THEN, "severity": "Warning"}
                for kind, status in conditions
            ]
        },
    }
    return msgspec.json.decode(msgspec.json.encode(raw), type=Machine)


@pytest.mark.parametrize(
    ("kind", "attribute"),
    [
        ("MachineLaunched", "is_launched"),
        ("MachineRegistered", "is_registered"),
        ("MachineInitialized", "is_initialized"),
        ("MachineEmpty", "is_empty"),
    ],
)
def test_a_condition_holds_only_when_it_is_true(kind: str, attribute: str) -> None:
    assert getattr(make((kind, "True")), attribute)
    assert not getattr(make((kind, "False")), attribute)
    assert not getattr(make((kind, "Unknown")), attribute)
    assert not getattr(make(), attribute)


def test_since_when_a_condition_holds() -> None:
    empty = make((machine.MACHINE_EMPTY, "True"), (machine.MACHINE_DRIFTED, "False"))

    assert empty.since(machine.MACHINE_EMPTY) == datetime(2026, 1, 1, tzinfo=UTC)
    assert empty.since(machine.MACHINE_DRIFTED) is None
    assert empty.since(machine.MACHINE_EXPIRED) is None


def test_labels_and_annotations_say_what_it_is() -> None:
    labels = {
        "karpenter.sh/provisioner-name": "default",
        "node.kubernetes.io/instance-type": "m5.large",
        "topology.kubernetes.io/zone": "a",
        "karpenter.sh/capacity-type": "spot",
    }
    made = make(labels=labels, annotations={"unmoor.dev/managed-by": "prod"})

    assert (made.provisioner_name, made.instance_type) == ("default", "m5.large")
    assert (made.zone, made.capacity_type, made.managed_by) == ("a", "spot", "prod")
    assert (make().provisioner_name, make().managed_by, make().zone) == ("", "", "")


def test_wire_names() -> None:
    raw = (
        b'{"spec":{"machineTemplateRef":{"apiVersion":"x/v1","kind":"K","name":"t"},'
        b'"kubelet":{"clusterDNS":["10.0.0.10"],"cpuCFSQuota":true,'
        b'"imageGCHighThresholdPercent":80,"imageGCLowThresholdPercent":70}},'
        b'"status":{"providerID":"aws:///a/i-1","nodeName":"n1","capacity":{"cpu":4,"pods":"110"}}}'
    )
    made = msgspec.json.decode(raw, type=Machine)

    assert (made.provider_id, made.node_name) == ("aws:///a/i-1", "n1")
    assert made.status.capacity == {"cpu": 4, "pods": "110"}
    assert made.spec.machine_template_ref is not None
    assert made.spec.machine_template_ref.api_version == "x/v1"
    assert made.spec.kubelet is not None
    assert made.spec.kubelet.cluster_dns == ("10.0.0.10",)
    assert made.spec.kubelet.cpu_cfs_quota is True
    assert made.spec.kubelet.image_gc_high_threshold_percent == 80
    assert made.spec.kubelet.image_gc_low_threshold_percent == 70
