"""Provisioners: each rule of spec 1.1, with what it accepts and refuses (T370, T416, T417).

The kubelet's part of T370 is in test_kubelet.
"""

from typing import Any

import msgspec
import pytest

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


def taint(key: str = "a", effect: str = "NoSchedule", value: str = "") -> dict[str, str]:
    return {"key": key, "effect": effect, "value": value}


def require(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


ACCEPTED: dict[str, dict[str, Any]] = {
    "nothing but a template": {},
    "ttl missing": {"ttlSecondsUntilExpired": None, "ttlSecondsAfterEmpty": None},
    "ttl zero": {"ttlSecondsUntilExpired": 0, "ttlSecondsAfterEmpty": 0},
    "ttl": {"ttlSecondsUntilExpired": 30, "ttlSecondsAfterEmpty": 30},
    "consolidation": {"consolidation": {"enabled": True}},
    "consolidation off beside a ttl": {
        "consolidation": {"enabled": False},
        "ttlSecondsAfterEmpty": 30,
    },
    "consolidation unset beside a ttl": {"consolidation": {}, "ttlSecondsAfterEmpty": 30},
    "labels": {"labels": {"team": "shop", "example.com/x": ""}},
    "a well-known label": {"labels": {names.ZONE: "a"}},
    "a label in an excepted domain": {
        "labels": {"kops.k8s.io/x": "a", "node-restriction.kubernetes.io/x": "a"}
    },
    "taints": {"taints": [taint(), taint("example.com/b", "NoExecute", "x")]},
    "a taint without effect": {"taints": [taint(effect="")]},
    "one key with two effects": {"taints": [taint(), taint(effect="NoExecute")]},
    "one key with two effects in two lists": {
        "taints": [taint()],
        "startupTaints": [taint(effect="NoExecute")],
    },
    "no requirements": {"requirements": []},
    "every operator": {
        "requirements": [
            require("a", "In", "x"),
            require("a", "NotIn", "x"),
            require("a", "NotIn"),
            require("a", "Exists"),
            require("a", "DoesNotExist"),
            require("a", "Gt", "0"),
            require("a", "Lt", "9"),
        ]
    },
    "well-known requirements": {
        "requirements": [
            require(key, "Exists")
            for key in sorted(names.WELL_KNOWN_LABELS)
            if key != names.PROVISIONER_NAME
        ]
    },
    "older names of labels": {
        "requirements": [require(key, "Exists") for key in sorted(names.LABEL_ALIASES)]
    },
    "no limits": {"limits": {}},
    "empty limits": {"limits": {"resources": {}}},
    "limits": {"limits": {"resources": {"cpu": 1000, "memory": "1000Gi", "x.com/y": "0"}}},
    "weights": {"weight": 1},
    "largest weight": {"weight": 100},
    "an inline provider": {
        "provider": {"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}},
        "providerRef": None,
    },
}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "expiry below zero": ({"ttlSecondsUntilExpired": -1}, "spec.ttlSecondsUntilExpired"),
    "emptiness without end": (
        {"ttlSecondsAfterEmpty": provisioner.TTL_MOST_S + 1},
        "spec.ttlSecondsAfterEmpty",
    ),
    "emptiness below zero": ({"ttlSecondsAfterEmpty": -1}, "spec.ttlSecondsAfterEmpty"),
    "consolidation beside a ttl": (
        {"consolidation": {"enabled": True}, "ttlSecondsAfterEmpty": 30},
        "spec.ttlSecondsAfterEmpty, spec.consolidation.enabled",
    ),
    "no provider": ({"providerRef": None}, "spec.provider, spec.providerRef"),
    "two providers": ({"provider": {}}, "spec.provider, spec.providerRef"),
    "a template without name": ({"providerRef": {"kind": "x"}}, "spec.providerRef.name"),
    "an inline provider with an error": (
        {"provider": {"amiFamily": "AL7"}, "providerRef": None},
        "spec.provider.amiFamily",
    ),
    "an inline provider that is none": (
        {"provider": {"tags": ["a"]}, "providerRef": None},
        "spec.provider",
    ),
    "the system's label": (
        {"labels": {names.PROVISIONER_NAME: "x"}},
        f"spec.labels[{names.PROVISIONER_NAME}]",
    ),
    "a label key that is none": ({"labels": {"a b": "x"}}, "spec.labels[a b]"),
    "an empty label key": ({"labels": {"": "x"}}, "spec.labels[]"),
    "a label value that is none": ({"labels": {"a": "/"}}, "spec.labels[a]"),
    "a label in a restricted domain": (
        {"labels": {"kubernetes.io/x": "a"}},
        "spec.labels[kubernetes.io/x]",
    ),
    "a label in a restricted sub-domain": (
        {"labels": {"a.k8s.io/x": "a"}},
        "spec.labels[a.k8s.io/x]",
    ),
    "the host's name": ({"labels": {names.HOSTNAME: "a"}}, f"spec.labels[{names.HOSTNAME}]"),
    "a taint without key": ({"taints": [taint("")]}, "spec.taints[0].key"),
    "a taint key that is none": ({"taints": [taint("a b")]}, "spec.taints[0].key"),
    "a taint value that is none": ({"taints": [taint(value="?")]}, "spec.taints[0].value"),
    "a taint effect that is none": ({"taints": [taint(effect="No")]}, "spec.taints[0].effect"),
    "a taint twice": ({"taints": [taint(), taint(value="x")]}, "spec.taints[1]"),
    "a taint in both lists": (
        {"taints": [taint()], "startupTaints": [taint()]},
        "spec.startupTaints[0]",
    ),
    "a startup taint that is none": (
        {"startupTaints": [taint("???")]},
        "spec.startupTaints[0].key",
    ),
    "a requirement on the provisioner": (
        {"requirements": [require(names.PROVISIONER_NAME, "In", "x")]},
        "spec.requirements[0].key",
    ),
    "an operator that is none": (
        {"requirements": [require("a", "Near", "x")]},
        "spec.requirements[0].operator",
    ),
    "an operator of a later version": (
        {"requirements": [require("a", "Gte", "1")]},
        "spec.requirements[0].operator",
    ),
    "a requirement without operator": (
        {"requirements": [{"key": "a"}]},
        "spec.requirements[0].operator",
    ),
    "a requirement key that is none": (
        {"requirements": [require("a b", "Exists")]},
        "spec.requirements[0].key",
    ),
    "a requirement without key": (
        {"requirements": [{"operator": "Exists"}]},
        "spec.requirements[0].key",
    ),
    "a restricted requirement": (
        {"requirements": [require("karpenter.sh/x", "Exists")]},
        "spec.requirements[0].key",
    ),
    "a requirement value that is none": (
        {"requirements": [require("a", "In", "?")]},
        "spec.requirements[0].values",
    ),
    "in nothing": ({"requirements": [require("a", "In")]}, "spec.requirements[0].values"),
    "greater than nothing": ({"requirements": [require("a", "Gt")]}, "spec.requirements[0].values"),
    "greater than two": (
        {"requirements": [require("a", "Gt", "1", "2")]},
        "spec.requirements[0].values",
    ),
    "greater than a word": (
        {"requirements": [require("a", "Gt", "x")]},
        "spec.requirements[0].values",
    ),
    "less than below zero": (
        {"requirements": [require("a", "Lt", "-1")]},
        "spec.requirements[0].values",
    ),
    "a limit that is none": (
        {"limits": {"resources": {"memory": "1GB"}}},
        "spec.limits.resources.memory",
    ),
    "an empty limit": ({"limits": {"resources": {"cpu": ""}}}, "spec.limits.resources.cpu"),
    "a negative limit (N19)": (
        {"limits": {"resources": {"cpu": "-50"}}},
        "spec.limits.resources.cpu",
    ),
    "a silly limit (N19)": (
        {"limits": {"resources": {"cpu": "1e30"}}},
        "spec.limits.resources.cpu",
    ),
    "weight zero": ({"weight": 0}, "spec.weight"),
    "weight 101": ({"weight": 101}, "spec.weight"),
}


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
