"""Which fields does the server fill in, at every write, in objects of kinds that are only stored?

Types have been checked by then: what is there is what the kind has there, or null. Rehearsals do
without.

Must not: look at anything but the object; ``services`` gives addresses and ports out.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from unmoor.model.base import JSON
from unmoor.sim.apiserver.services import OUTWARD
from unmoor.sim.stored import RBAC

_STICKY_S = 10_800


def _service(obj: JSON) -> JSON:
    spec: JSON = {"type": "ClusterIP", "sessionAffinity": "None", **(obj.get("spec") or {})}
    if spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {"clientIP": {"timeoutSeconds": _STICKY_S}})
    if spec.get("ports"):
        spec["ports"] = [_service_port(one or {}) for one in spec["ports"]]
    if spec["type"] in OUTWARD or spec.get("externalIPs"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    return {**obj, "spec": spec}


def _service_port(port: JSON) -> JSON:
    full = {"protocol": "TCP", **port}
    if not full.get("targetPort"):
        full["targetPort"] = port.get("port", 0)
    return full


def _secret(obj: JSON) -> JSON:
    """What was given as text is kept as bytes, and never shown as text."""
    obj = {"type": "Opaque", **obj}
    given = obj.pop("stringData", None) or {}
    if given:
        said = {
            name: base64.b64encode((text or "").encode()).decode() for name, text in given.items()
        }
        obj["data"] = {**(obj.get("data") or {}), **said}
    return obj


def _limit_range(obj: JSON) -> JSON:
    spec = obj.get("spec") or {}
    limits = [_limit(one or {}) for one in spec.get("limits") or ()]
    return {**obj, "spec": {**spec, "limits": limits}}


def _limit(limit: JSON) -> JSON:
    """What a container gets when it says nothing: at most the maximum, at least the minimum."""
    if limit.get("type") != "Container":
        return limit
    default = {**(limit.get("max") or {}), **(limit.get("default") or {})}
    request = {**(limit.get("min") or {}), **default, **(limit.get("defaultRequest") or {})}
    filled = {"default": default, "defaultRequest": request}
    return {**limit, **{name: one for name, one in filled.items() if one}}


def _binding(obj: JSON) -> JSON:
    obj = dict(obj)
    if obj.get("roleRef"):
        obj["roleRef"] = _of_rbac(obj["roleRef"])
    if obj.get("subjects"):
        obj["subjects"] = [
            _of_rbac(one) if one and one.get("kind") in {"User", "Group"} else one
            for one in obj["subjects"]
        ]
    return obj


def _of_rbac(reference: JSON) -> JSON:
    return reference if reference.get("apiGroup") else {**reference, "apiGroup": RBAC}


def _network_policy(obj: JSON) -> JSON:
    spec = dict(obj.get("spec") or {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]
    for name in ("ingress", "egress"):
        if spec.get(name):
            spec[name] = [_traffic(one or {}) for one in spec[name]]
    return {**obj, "spec": spec}


def _traffic(rule: JSON) -> JSON:
    ports: list[Any] = rule.get("ports") or []
    return (
        {**rule, "ports": [{"protocol": "TCP", **(one or {})} for one in ports]} if ports else rule
    )


FILL: dict[str, Callable[[JSON], JSON]] = {
    "Service": _service,
    "Secret": _secret,
    "LimitRange": _limit_range,
    "RoleBinding": _binding,
    "ClusterRoleBinding": _binding,
    "NetworkPolicy": _network_policy,
}
"""By kind; the other stored kinds have no defaults."""
