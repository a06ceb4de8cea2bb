"""A small server on which promises are made and judged, with nobody else on it.

Nothing has changed for long, unless a test says so.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.engine.scenes import TYPES, required, spread, term
from unmoor.model import names
from unmoor.model.base import JSON, Key
from unmoor.model.kinds import DAEMON_SETS, MACHINES, NODES, PODS, Resource
from unmoor.sim.apiserver import Server
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.promises import Promised, Promises
from unmoor.sim.truth import Truth

CLUSTER = "harbour"
BLIND_S = 15.0
NEAR: dict[str, Any] = {"affinity": {"podAffinity": required(term(names.ZONE, {"app": "leader"}))}}
APART: dict[str, Any] = {"affinity": {"podAntiAffinity": required(term())}}
EVEN: dict[str, Any] = {"topologySpreadConstraints": [spread(names.HOSTNAME)]}
SMALL, USUAL = "small-instance-type", "default-instance-type"


class Stage:
    """A server, what is promised on it, and what the checker says. Nothing has changed for long."""

    def __init__(self, *, is_in_stock: bool = True) -> None:
        self.time_s = 0.0
        begin = datetime(2026, 1, 1, tzinfo=UTC)
        self.server = Server(lambda: begin + timedelta(seconds=self.time_s))
        self.truth = Truth(self.server, CLUSTER, lambda: self.time_s, TYPES, is_in_stock)
        self.server.observers.append(self.note)
        self.breaches: list[tuple[str, str]] = []
        self.checker = Promises(self.truth, lambda rule, said: self.breaches.append((rule, said)))
        self.who = ""

    def note(self, _resource: Resource[Any], entry: Entry) -> None:
        """What has happened is remembered."""
        self.truth.note(entry, self.who)

    def node(self, name: str, cpu: str = "4", **spec: Any) -> None:
        """A node in a zone of its own."""
        labels = {names.HOSTNAME: name, names.ZONE: f"zone-of-{name}"}
        self.server.create(NODES.ref(name), {"metadata": {"name": name, "labels": labels}})
        self.server.patch(NODES.ref(name), {"spec": {"providerID": f"sim:///{name}", **spec}})
        room = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
        ready = [{"type": "Ready", "status": "True", "lastTransitionTime": "2025-12-31T00:00:00Z"}]
        status = {"capacity": room, "allocatable": room, "conditions": ready}
        self.server.patch(NODES.ref(name), {"status": status}, subresource="status")

    def pod(self, name: str, cpu: str = "1", on: str = "", **more: Any) -> None:
        """A pod of an application called like itself, or running ``on`` a node."""
        labels = {"app": more.pop("app", name)}
        container = {"name": "main", "image": "img:1", "resources": {"requests": {"cpu": cpu}}}
        ports = more.pop("ports", None)
        if ports:
            container["ports"] = ports
        spec = {"containers": [container], **({"nodeName": on} if on else {}), **more}
        body = {"metadata": {"name": name, "labels": labels}, "spec": spec}
        self.server.create(PODS.ref(name, "default"), body)

    def bind(self, name: str, node: str) -> None:
        """The scheduler gives a pod a node."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        self.server.create(PODS.ref(name, "default"), body, subresource="binding")

    def lost(self, node: str) -> None:
        """A node of ours is to go, and its pods are still there."""
        marks = {"annotations": {names.MANAGED_BY: CLUSTER}, "finalizers": ["example.org/hold"]}
        self.server.patch(NODES.ref(node), {"metadata": marks})
        self.server.delete(NODES.ref(node))

    def daemon_set(self, name: str, cpu: str = "1m") -> None:
        """One pod of it is to be on each node."""
        container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
        pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
        spec = {"selector": {"matchLabels": {"app": name}}, "template": pod}
        body = {"metadata": {"name": name}, "spec": spec}
        self.server.create(DAEMON_SETS.ref(name, "default"), body)

    def machine(self, name: str, *types: str, by: str = "unmoor-a") -> None:
        """A machine that unmoor makes, not launched yet."""
        self.who = by
        self.server.create(MACHINES.ref(name), machine(name, *types))
        self.who = ""

    def launched(self, name: str, cpu: str) -> None:
        """The cloud has given it an instance."""
        room = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
        status = {"providerID": f"sim:///{name}", "capacity": room, "allocatable": room}
        self.server.patch(MACHINES.ref(name), {"status": status}, subresource="status")

    def promise(self, *made: str, failed: tuple[str, ...] = (), **places: str) -> None:
        """Much later, pods are promised places: ``pod="node/a"``."""
        self.time_s += 100.0
        self.promise_now(*made, failed=failed, **places)

    def promise_now(
        self, *made: str, failed: tuple[str, ...] = (), by: str = "unmoor-a", **places: str
    ) -> None:
        """At once."""
        where: dict[str, tuple[Key, ...]] = {}
        for pod, place in places.items():
            where[place] = (*where.get(place, ()), ("default", pod))
        bodies = {name: machine(name) for name in failed}
        promised = Promised(by, self.time_s, where, frozenset(made), bodies)
        self.checker.note(promised, BLIND_S)


def machine(name: str, *types: str) -> JSON:
    wanted = {"key": names.INSTANCE_TYPE, "operator": "In", "values": list(types or (USUAL,))}
    zone = {"key": names.ZONE, "operator": "In", "values": ["test-zone-1"]}
    return {
        "apiVersion": MACHINES.api_version,
        "kind": "Machine",
        "metadata": {
            "name": name,
            "labels": {names.PROVISIONER_NAME: "default"},
            "annotations": {names.MANAGED_BY: CLUSTER},
        },
        "spec": {"requirements": [wanted, zone]},
    }
