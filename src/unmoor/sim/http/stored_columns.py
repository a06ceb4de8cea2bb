"""Which columns do the kinds have that are only stored, and how do their cells read?

Kinds that are not here have a name and a time and nothing else, as in a real cluster.

Must not: judge what it shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from unmoor.model.base import JSON
from unmoor.sim.http.columns import (
    AGE,
    NAME,
    NONE,
    Layout,
    age,
    labels_text,
    name_of,
    part,
    text,
    wide,
)
from unmoor.sim.http.workload_columns import selector_text

HOSTS_SHOWN = 3
PENDING = "<pending>"


def _service(obj: JSON, now: datetime) -> list[Any]:
    spec = part(obj, "spec")
    ports = [_port(one) for one in spec.get("ports") or ()]
    return [
        name_of(obj),
        spec.get("type") or "",
        spec.get("clusterIP") or NONE,
        _outside(spec, part(obj, "status")),
        ",".join(ports) or NONE,
        age(obj, now),
        labels_text(spec.get("selector") or {}),
    ]


def _port(port: JSON) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node}/{port.get('protocol', '')}"


def _outside(spec: JSON, found: JSON) -> str:
    """Where a Service is reached from outside the cluster."""
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName") or "")
    is_balanced = spec.get("type") == "LoadBalancer"
    addresses = [*(_balancers(found) if is_balanced else ()), *(spec.get("externalIPs") or ())]
    return ",".join(addresses) or (PENDING if is_balanced else NONE)


def _balancers(found: JSON) -> Iterator[str]:
    for one in part(found, "loadBalancer").get("ingress") or ():
        yield one.get("ip") or one.get("hostname") or ""


def _secret(obj: JSON, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("type", ""), len(part(obj, "data")), age(obj, now)]


def _account(obj: JSON, now: datetime) -> list[Any]:
    return [name_of(obj), age(obj, now)]


def _quota(obj: JSON, now: datetime) -> list[Any]:
    """What is counted, if anybody counts."""
    hard, used = part(obj, "status", "hard"), part(obj, "status", "used")
    shown: dict[bool, list[str]] = {True: [], False: []}
    for name in sorted(hard):
        shown[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    return [name_of(obj), ", ".join(shown[False]), ", ".join(shown[True]), age(obj, now)]


def _binding(obj: JSON, now: datetime) -> list[Any]:
    role = part(obj, "roleRef")
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for one in obj.get("subjects") or ():
        where = f"{one.get('namespace', '')}/" if one.get("kind") == "ServiceAccount" else ""
        subjects.get(one.get("kind", ""), []).append(f"{where}{one.get('name', '')}")
    return [
        name_of(obj),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age(obj, now),
        *(", ".join(names) for names in subjects.values()),
    ]


def _ingress(obj: JSON, now: datetime) -> list[Any]:
    spec = part(obj, "spec")
    hosts = [one["host"] for one in spec.get("rules") or () if one.get("host")]
    more = f" + {len(hosts) - HOSTS_SHOWN} more..." if len(hosts) > HOSTS_SHOWN else ""
    return [
        name_of(obj),
        spec.get("ingressClassName") or NONE,
        (",".join(hosts[:HOSTS_SHOWN]) or "*") + more,
        ",".join(_balancers(part(obj, "status"))),
        "80, 443" if spec.get("tls") else "80",
        age(obj, now),
    ]


def _ingress_class(obj: JSON, now: datetime) -> list[Any]:
    spec = part(obj, "spec")
    given = spec.get("parameters")
    shown = NONE
    if given:
        group = f".{given['apiGroup']}" if given.get("apiGroup") else ""
        shown = f"{given.get('kind', '')}{group}/{given.get('name', '')}"
    return [name_of(obj), spec.get("controller", ""), shown, age(obj, now)]


def _runtime_class(obj: JSON, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("handler", ""), age(obj, now)]


def _network_policy(obj: JSON, now: datetime) -> list[Any]:
    return [name_of(obj), selector_text(part(obj, "spec", "podSelector")), age(obj, now)]


_BINDING = Layout(
    (NAME, *text("Role", "Age"), *wide("Users", "Groups", "ServiceAccounts")), _binding
)

LAYOUTS: dict[str, Layout] = {
    "Service": Layout(
        (
            NAME,
            *text("Type", "Cluster-IP", "External-IP", "Port(s)", "Age"),
            *wide("Selector"),
        ),
        _service,
    ),
    "Secret": Layout((NAME, *text("Type", "Data", "Age")), _secret),
    "ServiceAccount": Layout((NAME, AGE), _account),
    "ResourceQuota": Layout((NAME, *text("Request", "Limit", "Age")), _quota),
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
    "Ingress": Layout((NAME, *text("Class", "Hosts", "Address", "Ports", "Age")), _ingress),
    "IngressClass": Layout((NAME, *text("Controller", "Parameters", "Age")), _ingress_class),
    "NetworkPolicy": Layout((NAME, *text("Pod-Selector", "Age")), _network_policy),
    "RuntimeClass": Layout((NAME, *text("Handler", "Age")), _runtime_class),
}
