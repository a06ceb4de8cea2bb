"""Which simulated instances does a dump need? The cloud of its machines is not in it.

A Machine that was launched gets an Instance that runs, of the type, zone and capacity type that its
labels say, unless the dump brings one. The id of another cloud is replaced on the Machine and its
Node by that of the Instance, so that the machine can be told to go, as all simulated machines can.

Must not: store anything, or touch a Machine that waits for its launch.
"""

from __future__ import annotations

import uuid
from collections import Counter
from typing import Any

from unmoor.app.manifests import Objects
from unmoor.cloud.simulated import cluster_labels
from unmoor.model import kinds, names
from unmoor.model.base import JSON, Ref
from unmoor.model.cluster import SIMULATED_SCHEME
from unmoor.policy.ownership import scheme_of

NO_ZONE = "nowhere"
"""An id needs some zone."""
NO_CLOUD = "an unknown cloud"


def with_instances(objects: Objects, *, cluster: str) -> tuple[Objects, Counter[str]]:
    """The objects as the simulated cloud needs them, and how many ids of which cloud it replaced.

    ``cluster``: whose the Instances are of Machines that do not say it themselves.
    """
    instances = {ref.name for ref, _ in objects if ref.kind == kinds.INSTANCES.kind}
    nodes = {
        known: body
        for ref, body in objects
        if ref.kind == kinds.NODES.kind and (known := _part(body, "spec").get("providerID"))
    }
    replaced: dict[str, str] = {}
    made: Objects = []
    for ref, body in objects:
        old = _provider_id(ref, body)
        if not old or old in replaced:
            continue
        zone, name = _place(ref, body, nodes.get(old))
        if name not in instances:
            made.append(_instance(name, zone, body, nodes.get(old), cluster))
        replaced[old] = f"{SIMULATED_SCHEME}:///{zone}/{name}"
    foreign = {old: new for old, new in replaced.items() if old != new}
    told = Counter(scheme_of(old) or NO_CLOUD for old in foreign)
    return [(ref, _renamed(ref, body, foreign)) for ref, body in objects] + made, told


def _part(body: JSON | None, field: str) -> JSON:
    """A part of an object that anybody may have written; empty when it is no object."""
    part = (body or {}).get(field)
    return part if isinstance(part, dict) else {}


def _provider_id(ref: Ref, body: JSON) -> str:
    """Of a Machine that has been launched, "" of anything else: status is kept with a uid only."""
    if ref.kind != kinds.MACHINES.kind or not body["metadata"].get("uid"):
        return ""
    return str(_part(body, "status").get("providerID") or "")


def _labels(*bodies: JSON | None) -> dict[str, str]:
    """Those of the first, and what the others say beside."""
    found: dict[str, str] = {}
    for body in bodies:
        for key, value in _part(_part(body, "metadata"), "labels").items():
            found.setdefault(names.normalised(key), str(value))
    return found


def _place(ref: Ref, machine: JSON, node: JSON | None) -> tuple[str, str]:
    """Zone and name of the instance. It is called as its node, whose kubelet lives on it."""
    scheme, _, rest = _provider_id(ref, machine).partition(":///")
    zone, _, name = rest.partition("/")
    if scheme == SIMULATED_SCHEME and zone and name and "/" not in name:
        return zone, name
    known = _labels(machine, node).get(names.ZONE) or NO_ZONE
    return known, str(_part(node, "metadata").get("name") or ref.name)


def _instance(
    name: str, zone: str, machine: JSON, node: JSON | None, cluster: str
) -> tuple[Ref, JSON]:
    meta = machine["metadata"]
    labels = _labels(machine, node)
    owner = str(_part(meta, "annotations").get(names.MANAGED_BY) or cluster)
    since = meta.get("creationTimestamp")
    body: dict[str, Any] = {
        "apiVersion": kinds.INSTANCES.api_version,
        "kind": kinds.INSTANCES.kind,
        "metadata": {
            "name": name,
            "uid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{meta['uid']}/{name}")),
            "labels": cluster_labels(owner),
        },
        "spec": {
            "cluster": owner,
            "token": str(meta["uid"]),
            "machine": meta["name"],
            "instanceType": labels.get(names.INSTANCE_TYPE, ""),
            "zone": zone,
            "capacityType": labels.get(names.CAPACITY_TYPE, names.ON_DEMAND),
            "labels": _labels(machine),
        },
        "status": {"phase": "Running", "nodeName": name},
    }
    if since:
        body["metadata"]["creationTimestamp"] = since
        body["status"] |= {"launchedAt": since, "runningAt": since}
    return kinds.INSTANCES.ref(name), body


def _renamed(ref: Ref, body: JSON, ids: dict[str, str]) -> JSON:
    """A Machine or Node with the new id wherever it has an old one."""
    if ref.kind == kinds.NODES.kind:
        return _with(body, "spec", "providerID", ids)
    if ref.kind != kinds.MACHINES.kind:
        return body
    annotations = _with(body["metadata"], "annotations", names.LINKED, ids)
    return _with({**body, "metadata": annotations}, "status", "providerID", ids)


def _with(body: JSON, part: str, field: str, ids: dict[str, str]) -> JSON:
    found = _part(body, part)
    known = found.get(field)
    if not isinstance(known, str) or known not in ids:
        return body
    return {**body, part: {**found, field: ids[known]}}
