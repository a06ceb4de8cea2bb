"""The kubelet's part of a Provisioner: each rule of spec 1.1, accepted and refused (T370)."""

from typing import Any

import msgspec
import pytest

from tests.model.provisioner_cases import KUBELET_ACCEPTED, KUBELET_REFUSED
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


@pytest.mark.parametrize("fields", KUBELET_ACCEPTED.values(), ids=KUBELET_ACCEPTED)
def test_t370_accepted(fields: dict[str, Any]) -> None:
    assert problems(**fields) == {}


@pytest.mark.parametrize(("fields", "field"), KUBELET_REFUSED.values(), ids=KUBELET_REFUSED)
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
