"""Commands on a small market, written as unmoor writes them."""

from __future__ import annotations

from tests.sim.buying import Market
from tests.sim.promising import USUAL, machine
from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.kinds import DISRUPTIONS, INSTANCES, MACHINES, NODES
from unmoor.runtime.around import Call


def command(market: Market, phase: str = "Launching", **status: JSON) -> None:
    """A command that replaces node a by machine m."""
    nodes = [one for one in market.truth.all("Node") if one["metadata"]["name"] == "a"]
    named = [{"name": "a", "uid": one["metadata"]["uid"]} for one in nodes]
    ref = DISRUPTIONS.ref("c")
    spec = {"method": "consolidation", "nodes": named, "replacements": [{"name": "m"}]}
    market.server.create(ref, {"metadata": {"name": "c"}, "spec": spec})
    market.server.patch(ref, {"status": {"phase": phase, **status}}, subresource="status")


def goes_on(market: Market, phase: str) -> None:
    ref = DISRUPTIONS.ref("c")
    market.server.patch(ref, {"status": {"phase": phase}}, subresource="status")


def comes(market: Market, name: str = "m", *types: str) -> None:
    """Unmoor makes a replacement for command c."""
    ref, body = MACHINES.ref(name), machine(name, *types)
    body["metadata"]["annotations"][names.REPLACEMENT_FOR] = "c"
    market.act("unmoor-a", Call("create", ref, body=body), lambda: market.server.create(ref, body))


def rises(market: Market, name: str = "m") -> None:
    """It is ready for pods, and that is written down."""
    known = [
        {"type": kind, "status": "True"} for kind in ("MachineRegistered", "MachineInitialized")
    ]
    ref = MACHINES.ref(name)
    market.server.patch(ref, {"status": {"conditions": known}}, subresource="status")
    uid = market.truth.get("Machine", name)["metadata"]["uid"]  # type: ignore[index]
    status = {"status": {"launched": {name: uid}}}
    market.server.patch(DISRUPTIONS.ref("c"), status, subresource="status")


def runs(market: Market, name: str) -> None:
    """Its instance runs."""
    spec = {"cluster": "harbour", "zone": "z"}
    market.server.create(INSTANCES.ref(name), {"metadata": {"name": name}, "spec": spec})


def deleted(market: Market, kind: str, name: str) -> None:
    ref = (NODES if kind == "Node" else MACHINES).ref(name)
    market.act("unmoor-a", Call("delete", ref), lambda: market.server.delete(ref))


def stands(market: Market, name: str = "a", kind: str = "small") -> None:
    """A node of ours that is up, on an instance of that type."""
    runs(market, name)
    spec = {"instanceType": kind, "zone": "test-zone-1", "capacityType": "on-demand"}
    market.server.patch(INSTANCES.ref(name), {"spec": spec})
    market.node(name)
    marks = {names.PROVISIONER_NAME: "default", names.INITIALIZED: names.TRUE}
    market.server.patch(NODES.ref(name), {"metadata": {"labels": marks}})
    market.persons(name, USUAL)
    market.launched(name, cpu="4")
