"""The kubelet's part of a Provisioner: each rule of spec 1.1, accepted and refused (T370)."""

from typing import Any

import msgspec
import pytest

from unmoor.model import kubelet
from unmoor.model.kubelet import KubeletConfiguration
from unmoor.model.validation import Findings


def problems(**fields: Any) -> dict[str, str]:
    """What is wrong, by field."""
    decoded = msgspec.json.decode(msgspec.json.encode(fields), type=KubeletConfiguration)
    findings = Findings("provisioner/default")
    kubelet.check(findings, "spec.kubeletConfiguration", decoded)
    return {
        error.field.removeprefix("spec.kubeletConfiguration."): str(error)
        for error in findings.errors
    }


ACCEPTED: dict[str, dict[str, Any]] = {
    "kubelet, empty": {},
    "reserved": {
        "kubeReserved": {"cpu": "100m", "memory": "1Gi", "ephemeral-storage": "1Gi", "pid": "100"},
        "systemReserved": {"cpu": 1, "memory": "0"},
    },
    "hard eviction": {
        "evictionHard": {
            "memory.available": "5%",
            "nodefs.available": "10Gi",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "100%",
            "imagefs.inodesFree": "12.5%",
            "pid.available": "100",
        }
    },
    "soft eviction with its grace": {
        "evictionSoft": {"memory.available": "5%"},
        "evictionSoftGracePeriod": {"memory.available": "1m30s"},
    },
    "image collection": {"imageGCHighThresholdPercent": 60, "imageGCLowThresholdPercent": 50},
    "image collection, equal": {
        "imageGCHighThresholdPercent": 60,
        "imageGCLowThresholdPercent": 60,
    },
    "image collection, one": {"imageGCLowThresholdPercent": 100},
    "density": {"maxPods": 0, "podsPerCore": 0, "clusterDNS": ["10.0.0.10"], "cpuCFSQuota": False},
}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a reserved resource that is none": (
        {"kubeReserved": {"gpu": "1"}},
        "kubeReserved.gpu",
    ),
    "a negative reservation": (
        {"systemReserved": {"cpu": "-1"}},
        "systemReserved.cpu",
    ),
    "a reservation that is no quantity": (
        {"kubeReserved": {"cpu": "much"}},
        "kubeReserved.cpu",
    ),
    "a signal that is none": (
        {"evictionHard": {"memory": "5%"}},
        "evictionHard.memory",
    ),
    "a negative percentage": (
        {"evictionHard": {"memory.available": "-3%"}},
        "evictionHard.memory.available",
    ),
    "a percentage of nothing": (
        {"evictionHard": {"memory.available": "%"}},
        "evictionHard.memory.available",
    ),
    "more than all": (
        {"evictionHard": {"memory.available": "100.1%"}},
        "evictionHard.memory.available",
    ),
    "a percentage that is no number": (
        {"evictionHard": {"memory.available": "5Gi%"}},
        "evictionHard.memory.available",
    ),
    "a threshold that is none": (
        {"evictionHard": {"memory.available": "110GB"}},
        "evictionHard.memory.available",
    ),
    "a negative threshold": (
        {"evictionHard": {"memory.available": "-1Gi"}},
        "evictionHard.memory.available",
    ),
    "soft eviction without grace": (
        {"evictionSoft": {"memory.available": "5%"}},
        "evictionSoft.memory.available",
    ),
    "grace without soft eviction": (
        {"evictionSoftGracePeriod": {"memory.available": "1m"}},
        "evictionSoftGracePeriod.memory.available",
    ),
    "a grace that is no duration": (
        {
            "evictionSoft": {"memory.available": "5%"},
            "evictionSoftGracePeriod": {"memory.available": "soon"},
        },
        "evictionSoftGracePeriod.memory.available",
    ),
    "a grace for a signal that is none": (
        {"evictionSoft": {"memory": "5%"}, "evictionSoftGracePeriod": {"memory": "-1m"}},
        "evictionSoftGracePeriod.memory",
    ),
    "image collection, reversed": (
        {"imageGCHighThresholdPercent": 50, "imageGCLowThresholdPercent": 60},
        "imageGCHighThresholdPercent",
    ),
    "image collection above 100": (
        {"imageGCHighThresholdPercent": 101},
        "imageGCHighThresholdPercent",
    ),
    "image collection below 0": (
        {"imageGCLowThresholdPercent": -1},
        "imageGCLowThresholdPercent",
    ),
    "negative pods": ({"maxPods": -1}, "maxPods"),
    "negative density": ({"podsPerCore": -1}, "podsPerCore"),
}


@pytest.mark.parametrize("fields", ACCEPTED.values(), ids=ACCEPTED)
def test_t370_accepted(fields: dict[str, Any]) -> None:
    assert problems(**fields) == {}


@pytest.mark.parametrize(("fields", "field"), REFUSED.values(), ids=REFUSED)
def test_t370_refused(fields: dict[str, Any], field: str) -> None:
    found = problems(**fields)

    assert field in found
    assert found[field].startswith(f"provisioner/default: spec.kubeletConfiguration.{field}")


def test_soft_eviction_and_its_grace_are_looked_at_together() -> None:
    found = problems(
        evictionSoft={"memory.available": "5%"}, evictionSoftGracePeriod={"pid.available": "1m"}
    )

    assert sorted(found) == [
        "evictionSoft.memory.available",
        "evictionSoftGracePeriod.pid.available",
    ]
