"""Has the static part of a provisioner or node template changed? One text that says so, equal for
what means the same.

The static part is what a node cannot change any more once it is there (spec 1.1, 1.4, 7.3; which
fields: ``drift_fields``). Order does not count, nor does it matter whether something empty or a
default of the provider is written down. A quantity counts by its amount (R12), so 1Gi and 1024Mi
are the same, and so do thresholds and durations. 0 and false count: to the kubelet they are not
"unset".

A version stands in front: a text of another version, or of another program, says nothing about
whether something has changed.

Must not: decide what follows from a difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec

from unmoor.model import duration, quantity
from unmoor.model.kubelet import KubeletConfiguration, is_percentage
from unmoor.model.node_template import AWSNodeTemplate, BlockDeviceMapping, MetadataOptions
from unmoor.model.provisioner import Provisioner
from unmoor.model.resources import Quantities
from unmoor.model.taint import Taint

VERSION = "unmoor-2-"
"""To be counted up whenever the same specification gets another hash."""
DIGITS = 16
"""64 bits: enough for those who have no interest in a collision but their own confusion."""
SHOWN_CHARS_MAX = 120
"""A field that is longer is recorded as its digest."""
NEVER_SHOWN = frozenset({"userData"})
METADATA_DEFAULTS = {
    "httpEndpoint": "enabled",
    "httpProtocolIPv6": "disabled",
    "httpPutResponseHopLimit": 2,
    "httpTokens": "required",
}

Fields: TypeAlias = dict[str, Any]
"""By name, what each means; what is empty is not there."""


def hash_of(provisioner: Provisioner) -> str:
    """Return ``unmoor-2-`` and sixteen hexadecimal digits. Any object that decodes has one."""
    return digest(provisioner_fields(provisioner))


def template_hash_of(template: AWSNodeTemplate) -> str:
    """The same of a node template."""
    return digest(template_fields(template))


def digest(fields: Fields) -> str:
    """Return the hash of what is static."""
    return VERSION + _digits(fields)


def is_current(text: str) -> bool:
    """True for a hash that this version has made; any other says nothing."""
    return text.startswith(VERSION)


def provisioner_fields(provisioner: Provisioner) -> Fields:
    """Return what is static in a provisioner, in one form for one meaning."""
    spec = provisioner.spec
    static = {
        "annotations": spec.annotations,
        "labels": spec.labels,
        "taints": _taints(spec.taints),
        "startupTaints": _taints(spec.startup_taints),
        "kubeletConfiguration": _kubelet(spec.kubelet_configuration),
    }
    return _without_empty(static)


def template_fields(template: AWSNodeTemplate) -> Fields:
    """The same of a node template. What is not set counts as its default."""
    spec = template.spec
    static = {
        "instanceProfile": spec.instance_profile,
        "amiFamily": template.ami_family,
        "userData": spec.user_data,
        "context": spec.context,
        "tags": spec.tags,
        "metadataOptions": _metadata_options(spec.metadata_options),
        "blockDeviceMappings": _mappings(spec.block_device_mappings),
        "detailedMonitoring": spec.detailed_monitoring or None,
    }
    return _without_empty(static)


def record_of(fields: Fields) -> dict[str, str]:
    """Return each static field as text, so that it can be said later what has changed.

    What is long, or nobody else's business (user data may hold secrets), is there as its digest.
    """
    texts = {
        name: msgspec.json.encode(value, order="sorted").decode() for name, value in fields.items()
    }
    return {
        name: f"#{_digits({name: fields[name]})}"
        if name in NEVER_SHOWN or len(text) > SHOWN_CHARS_MAX
        else text
        for name, text in texts.items()
    }


def _digits(fields: Fields) -> str:
    text = msgspec.json.encode(fields, order="sorted")
    return hashlib.sha256(text).hexdigest()[:DIGITS]


def _metadata_options(options: MetadataOptions | None) -> Fields:
    """Spec 1.4: these are the defaults where nothing is written."""
    if options is None:
        return dict(METADATA_DEFAULTS)
    return _without_empty(msgspec.to_builtins(options))


def _mappings(mappings: Iterable[BlockDeviceMapping]) -> list[Fields]:
    """A size counts by its amount; in which order they stand does not."""
    found = []
    for one in mappings:
        written = _without_empty(msgspec.to_builtins(one))
        size = one.ebs.volume_size if one.ebs is not None else None
        if size is not None:
            written["ebs"] = {**written["ebs"], **_amounts({"volumeSize": size})}
        found.append(written)
    return sorted(found, key=lambda one: msgspec.json.encode(one, order="sorted"))


def _taints(taints: Iterable[Taint]) -> list[tuple[str, str, str]]:
    """When a taint was added is no part of what was asked for."""
    return sorted((one.key, one.effect, one.value) for one in taints)


def _kubelet(kubelet: KubeletConfiguration | None) -> dict[str, Any]:
    if kubelet is None:
        return {}
    written: dict[str, Any] = msgspec.to_builtins(kubelet)
    meant = {
        "clusterDNS": sorted(kubelet.cluster_dns),
        "kubeReserved": _amounts(kubelet.kube_reserved),
        "systemReserved": _amounts(kubelet.system_reserved),
        "evictionHard": _thresholds(kubelet.eviction_hard),
        "evictionSoft": _thresholds(kubelet.eviction_soft),
        "evictionSoftGracePeriod": _durations(kubelet.eviction_soft_grace_period),
    }
    return _without_empty({**written, **meant})


def _amounts(quantities: Quantities) -> dict[str, str]:
    """What is no quantity counts as it is written. An amount may be too large for JSON."""
    return {
        name: str(quantity.parse(value) if quantity.is_quantity(value) else value)
        for name, value in quantities.items()
    }


def _thresholds(thresholds: dict[str, str]) -> dict[str, str]:
    """An amount, or a share of what there is."""
    shares = {
        name: f"{quantity.parse(value.removesuffix('%'))}%"
        for name, value in thresholds.items()
        if value.endswith("%") and is_percentage(value)
    }
    return _amounts(thresholds) | shares


def _durations(durations: dict[str, str]) -> dict[str, str]:
    """What is no duration counts as it is written."""
    return {name: _seconds(value) for name, value in durations.items()}


def _seconds(value: str) -> str:
    try:
        return f"{duration.parse(value)}s"
    except duration.DurationError:
        return value


def _without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in ({}, [], "", None)}
