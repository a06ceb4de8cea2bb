"""Provisioners: each rule of spec 1.1, with what it accepts and refuses (T370, T416, T417).

The kubelet's part of T370 is in test_kubelet.
"""

from typing import Any

import msgspec
import pytest

from tests.model.provisioner_cases import ACCEPTED, REFUSED, require, taint
from unmoor.model import names, provisioner
from unmoor.model.provisioner import Policy, Provisioner

FINE: dict[str, Any] = {"providerRef": {"name": "default"}}


def make(**spec: Any) -> Provisioner:
    """Decode as the API would send it; what is not given is as in FINE."""
    raw = {"metadata": {"name": "default"}, "spec": {**FINE, **spec}}
    return msgspec.json.decode(msgspec.json.encode(raw), type=Provisioner)


def problems(**spec: Any) -> dict[str, str]:
    """What is wrong, by field."""
    return {error.field: str(error) for error in provisioner.validate(make(**spec))}


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED)
def test_t370_accepted(spec: dict[str, Any]) -> None:
    assert problems(**spec) == {}


@pytest.mark.parametrize(("spec", "field"), REFUSED.values(), ids=REFUSED)
def test_t370_refused(spec: dict[str, Any], field: str) -> None:
    found = problems(**spec)

    assert field in found
    assert found[field].startswith(f"provisioner/default: {field}")


def test_the_kubelet_s_errors_are_the_provisioner_s() -> None:
    assert "spec.kubeletConfiguration.maxPods" in problems(kubeletConfiguration={"maxPods": -1})


def test_every_error_is_found_at_once_and_says_what_to_do() -> None:
    errors = provisioner.validate(
        make(weight=200, labels={"a": "?"}, limits={"resources": {"cpu": "many"}})
    )

    assert [error.field for error in errors] == [
        "spec.labels[a]",
        "spec.limits.resources.cpu",
        "spec.weight",
    ]
    assert str(errors[-1]) == (
        "provisioner/default: spec.weight is '200': it is above 100; use 1 to 100"
    )
    assert all(error.remedy for error in errors)


@pytest.mark.parametrize(
    ("spec", "policy", "ttl_s"),
    [
        ({}, Policy.NEVER, None),
        ({"consolidation": {}}, Policy.NEVER, None),
        ({"consolidation": {"enabled": False}}, Policy.NEVER, None),
        ({"consolidation": {"enabled": True}}, Policy.WHEN_UNDERUTILIZED, None),
        ({"ttlSecondsAfterEmpty": 0}, Policy.WHEN_EMPTY, 0),
        ({"ttlSecondsAfterEmpty": 30, "consolidation": {"enabled": False}}, Policy.WHEN_EMPTY, 30),
        (
            {"ttlSecondsAfterEmpty": 30, "consolidation": {"enabled": True}},
            Policy.WHEN_UNDERUTILIZED,
            None,
        ),
    ],
)
def test_the_policy_that_follows(spec: dict[str, Any], policy: Policy, ttl_s: int | None) -> None:
    """R6: what is not set never makes a node go."""
    made = make(**spec)

    assert made.policy is policy
    assert made.ttl_after_empty_s == ttl_s


def shown(**spec: Any) -> list[str]:
    return [str(one) for one in make(**spec).requirements]


def test_t417_requirements_that_nobody_gave_have_the_defaults_of_aws() -> None:
    assert shown() == [
        "kubernetes.io/os In [linux]",
        "kubernetes.io/arch In [amd64]",
        "karpenter.sh/capacity-type In [on-demand]",
        "karpenter.k8s.aws/instance-category In [c, m, r]",
        "karpenter.k8s.aws/instance-generation Gt [2]",
    ]


@pytest.mark.parametrize(
    "key",
    [
        names.INSTANCE_TYPE,
        names.INSTANCE_FAMILY,
        names.INSTANCE_CATEGORY,
        names.INSTANCE_GENERATION,
        "beta.kubernetes.io/instance-type",
    ],
)
def test_t417_whoever_narrows_the_types_gets_no_default_for_them(key: str) -> None:
    assert shown(requirements=[require(key, "Exists")])[1:] == [
        "kubernetes.io/os In [linux]",
        "kubernetes.io/arch In [amd64]",
        "karpenter.sh/capacity-type In [on-demand]",
    ]


def test_t417_a_label_is_a_requirement_too() -> None:
    assert "kubernetes.io/os In [linux]" not in shown(labels={names.OS: "windows"})
    assert "kubernetes.io/arch In [amd64]" not in shown(
        requirements=[require("beta.kubernetes.io/arch", "In", "arm64")]
    )


def test_r28_defaults_are_never_written_into_the_object() -> None:
    """T416 for requirements: decoding defaults, and the spec stays what a person wrote."""
    assert make().spec.requirements == ()
    assert b"requirements" not in msgspec.json.encode(make())


def test_the_defaults_of_aws_are_for_aws() -> None:
    other = {"providerRef": {"name": "x", "kind": "SimulatedTemplate"}}

    assert not make(**other).is_aws
    assert shown(**other) == []


def test_all_that_binds_a_node() -> None:
    bound = provisioner.requirements_of(
        make(
            providerRef={"name": "x", "kind": "Other"},
            labels={"team": "shop"},
            requirements=[require("beta.kubernetes.io/arch", "In", "arm64", "amd64")],
        )
    )

    assert str(bound) == (
        "karpenter.sh/provisioner-name In [default], kubernetes.io/arch In [amd64, arm64], "
        "team In [shop]"
    )


def test_fields_that_are_left_out_have_quiet_values() -> None:
    made = make()

    assert (made.weight, made.limits) == (0, {})
    assert make(weight=7, limits={"resources": {"cpu": 1}}).limits == {"cpu": 1}
    assert not make(providerRef=None).is_aws
    assert make(provider={}, providerRef=None).is_aws


def test_what_is_too_long_to_repeat_is_cut() -> None:
    found = problems(labels={"x" * 70_000: "y" * 70_000}, taints=[taint("z" * 70_000)])

    assert found
    assert all(len(said) < 1_000 for said in found.values())
    assert any("(70000 characters)" in said for said in found.values())
