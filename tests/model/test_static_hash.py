"""The hash of a provisioner's static part changes with what it means, and with nothing else."""

from typing import Any

import msgspec
import pytest

from unmoor.model.provisioner import Provisioner
from unmoor.model.static_hash import VERSION, hash_of

KUBELET: dict[str, Any] = {
    "clusterDNS": ["10.0.0.10", "10.0.0.11"],
    "maxPods": 20,
    "kubeReserved": {"cpu": "100m", "memory": "1Gi"},
    "evictionHard": {"memory.available": "5%", "nodefs.available": "1Gi"},
    "evictionSoft": {"memory.available": "200Mi"},
    "evictionSoftGracePeriod": {"memory.available": "1m30s"},
}
FULL: dict[str, Any] = {
    "annotations": {"one": "1", "two": "2"},
    "labels": {"team": "shop", "tier": "front"},
    "taints": [
        {"key": "a", "value": "x", "effect": "NoSchedule"},
        {"key": "b", "effect": "NoExecute"},
    ],
    "startupTaints": [
        {"key": "c", "effect": "NoSchedule"},
        {"key": "d", "effect": "NoSchedule"},
    ],
    "kubeletConfiguration": KUBELET,
    "requirements": [{"key": "a", "operator": "In", "values": ["x"]}],
    "providerRef": {"name": "default"},
    "ttlSecondsAfterEmpty": 30,
    "limits": {"resources": {"cpu": "10"}},
    "weight": 5,
}

STATIC: dict[str, dict[str, Any]] = {
    "annotations": {"annotations": {"one": "1"}},
    "an annotation's value": {"annotations": {"one": "2", "two": "2"}},
    "labels": {"labels": {"team": "shop", "tier": "back"}},
    "a taint's value": {"taints": [{"key": "a", "effect": "NoSchedule"}, FULL["taints"][1]]},
    "a taint's effect": {
        "taints": [{"key": "a", "value": "x", "effect": "NoExecute"}, FULL["taints"][1]]
    },
    "one taint less": {"taints": FULL["taints"][:1]},
    "startup taints": {"startupTaints": FULL["startupTaints"][:1]},
    "taints that start it instead": {
        "taints": FULL["startupTaints"],
        "startupTaints": FULL["taints"],
    },
    "no kubelet configuration": {"kubeletConfiguration": None},
    "the kubelet's DNS": {"kubeletConfiguration": {**KUBELET, "clusterDNS": ["10.0.0.10"]}},
    "the kubelet's pods": {"kubeletConfiguration": {**KUBELET, "maxPods": 21}},
    "no pods at all": {"kubeletConfiguration": {**KUBELET, "maxPods": 0}},
    "a switch that is off": {"kubeletConfiguration": {**KUBELET, "cpuCFSQuota": False}},
    "a threshold": {
        "kubeletConfiguration": {**KUBELET, "evictionHard": {"memory.available": "6%"}}
    },
    "a threshold that is an amount": {
        "kubeletConfiguration": {
            **KUBELET,
            "evictionHard": {**KUBELET["evictionHard"], "nodefs.available": "2Gi"},
        }
    },
    "a soft threshold's patience": {
        "kubeletConfiguration": {
            **KUBELET,
            "evictionSoftGracePeriod": {"memory.available": "2m"},
        }
    },
    "a reserved amount (R12)": {
        "kubeletConfiguration": {**KUBELET, "kubeReserved": {"cpu": "100m", "memory": "2Gi"}}
    },
    "who reserves": {
        "kubeletConfiguration": {
            **KUBELET,
            "kubeReserved": {},
            "systemReserved": KUBELET["kubeReserved"],
        }
    },
}
BEHAVIOUR: dict[str, dict[str, Any]] = {
    "requirements": {"requirements": []},
    "provider reference": {"providerRef": {"name": "other"}},
    "provider": {"providerRef": None, "provider": {"amiFamily": "AL2"}},
    "emptiness": {"ttlSecondsAfterEmpty": 31},
    "expiration": {"ttlSecondsUntilExpired": 31},
    "limits": {"limits": None},
    "weight": {"weight": None},
    "consolidation": {"consolidation": {"enabled": True}},
}
THE_SAME: dict[str, dict[str, Any]] = {
    "annotations in another order": {"annotations": {"two": "2", "one": "1"}},
    "labels in another order": {"labels": {"tier": "front", "team": "shop"}},
    "taints in another order": {"taints": FULL["taints"][::-1]},
    "startup taints in another order": {"startupTaints": FULL["startupTaints"][::-1]},
    "DNS servers in another order": {
        "kubeletConfiguration": {**KUBELET, "clusterDNS": KUBELET["clusterDNS"][::-1]}
    },
    "amounts in other words": {
        "kubeletConfiguration": {**KUBELET, "kubeReserved": {"memory": "1024Mi", "cpu": "0.1"}}
    },
    "thresholds in other words": {
        "kubeletConfiguration": {
            **KUBELET,
            "evictionHard": {"nodefs.available": "1024Mi", "memory.available": "5.0%"},
            "evictionSoft": {"memory.available": "209715200"},
            "evictionSoftGracePeriod": {"memory.available": "90s"},
        }
    },
    "something empty": {
        "kubeletConfiguration": {**KUBELET, "systemReserved": {}, "containerRuntime": ""}
    },
    "when a taint was added": {
        "taints": [{**one, "timeAdded": "2026-01-01T00:00:00Z"} for one in FULL["taints"]]
    },
}


def hashed(name: str = "default", **spec: Any) -> str:
    raw = {"metadata": {"name": name, "generation": len(spec)}, "spec": spec}
    return hash_of(msgspec.convert(raw, Provisioner))


@pytest.mark.parametrize("changed", STATIC.values(), ids=STATIC)
def test_t372_a_static_field_changes_it(changed: dict[str, Any]) -> None:
    assert hashed(**{**FULL, **changed}) != hashed(**FULL)


def test_t372_every_static_change_is_another() -> None:
    assert len({hashed(**{**FULL, **changed}) for changed in STATIC.values()}) == len(STATIC)


@pytest.mark.parametrize("changed", BEHAVIOUR.values(), ids=BEHAVIOUR)
def test_t372_behaviour_and_requirements_do_not(changed: dict[str, Any]) -> None:
    assert hashed(**{**FULL, **changed}) == hashed(**FULL)


@pytest.mark.parametrize("changed", THE_SAME.values(), ids=THE_SAME)
def test_t372_neither_does_what_means_the_same(changed: dict[str, Any]) -> None:
    assert hashed(**{**FULL, **changed}) == hashed(**FULL)


def test_t372_equal_specifications_have_equal_hashes() -> None:
    assert hashed("one", **FULL) == hashed("other", **FULL)


@pytest.mark.parametrize("field", ["annotations", "labels", "taints", "startupTaints"])
def test_nothing_is_the_same_as_something_empty(field: str) -> None:
    empty: Any = {} if field in {"annotations", "labels"} else []

    assert hashed(**{field: empty}) == hashed()
    assert hashed(kubeletConfiguration={}) == hashed()


def test_it_says_whose_it_is_and_never_changes_unnoticed() -> None:
    """Whoever has to change this number counts up the version: else every node would go."""
    assert hashed(**FULL) == f"{VERSION}da832d63bcf97734"


@pytest.mark.parametrize("value", ["many", "1e30", "-5", 10**18, "9" * 500])
def test_whatever_is_reserved_has_a_hash(value: Any) -> None:
    odd = hashed(kubeletConfiguration={"kubeReserved": {"cpu": value}})

    assert odd.startswith(VERSION)
    assert odd != hashed()
