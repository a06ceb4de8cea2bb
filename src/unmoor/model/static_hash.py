"""Has a provisioner's static part changed? One text that says so, equal for what means the same.

The static part is what a node cannot change any more once it is there (spec 1.1, 7.3): annotations,
labels, taints, startup taints and the kubelet's configuration. Order does not count, nor does it
matter whether something empty is written down. A quantity that is reserved counts by its amount
(R12), so 1Gi and 1024Mi are the same. 0 and false count: to the kubelet they are not "unset".

A version stands in front: a text of another version, or of another program, says nothing about
whether something has changed.

Must not: decide what follows from a difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from unmoor.model import quantity
from unmoor.model.kubelet import KubeletConfiguration
from unmoor.model.provisioner import Provisioner
from unmoor.model.resources import Quantities
from unmoor.model.taint import Taint

VERSION = "unmoor-1-"
"""To be counted up whenever the same specification gets another hash."""
DIGITS = 16
"""64 bits: enough for those who have no interest in a collision but their own confusion."""


def hash_of(provisioner: Provisioner) -> str:
    """Return ``unmoor-1-`` and sixteen hexadecimal digits. Any object that decodes has one."""
    spec = provisioner.spec
    static = {
        "annotations": spec.annotations,
        "labels": spec.labels,
        "taints": _taints(spec.taints),
        "startupTaints": _taints(spec.startup_taints),
        "kubeletConfiguration": _kubelet(spec.kubelet_configuration),
    }
    text = msgspec.json.encode(_without_empty(static), order="sorted")
    return VERSION + hashlib.sha256(text).hexdigest()[:DIGITS]


def _taints(taints: Iterable[Taint]) -> list[tuple[str, str, str]]:
    """When a taint was added is no part of what was asked for."""
    return sorted((one.key, one.effect, one.value) for one in taints)


def _kubelet(kubelet: KubeletConfiguration | None) -> dict[str, Any]:
    if kubelet is None:
        return {}
    written: dict[str, Any] = msgspec.to_builtins(kubelet)
    reserved = {
        "kubeReserved": _amounts(kubelet.kube_reserved),
        "systemReserved": _amounts(kubelet.system_reserved),
    }
    return _without_empty({**written, **reserved, "clusterDNS": sorted(kubelet.cluster_dns)})


def _amounts(quantities: Quantities) -> dict[str, str]:
    """What is no quantity counts as it is written. An amount may be too large for JSON."""
    return {
        name: str(quantity.parse(value) if quantity.is_quantity(value) else value)
        for name, value in quantities.items()
    }


def _without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in ({}, [], "")}
