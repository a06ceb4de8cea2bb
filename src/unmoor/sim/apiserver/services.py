"""Which address and which ports does a Service get? Some that no other Service has.

Nobody listens there: a Service is only stored. But manifests and people read them.

Must not: change what a client has chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from zlib import crc32

from unmoor.model.base import JSON
from unmoor.sim.apiserver.storage import Table

T = TypeVar("T")

NETWORK = "10.96"
HEADLESS = "None"
PORTS_FROM, PORTS = 30_000, 2_768
_ADDRESSES = 1 << 16
_OF_ADDRESSES = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
OUTWARD = ("NodePort", "LoadBalancer")
"""Types of Services that have node ports."""


def allocated(table: Table, obj: JSON, old: JSON | None = None) -> JSON:
    """The Service with its address and node ports: those it had, or new ones."""
    spec: JSON = obj.get("spec") or {}
    before: JSON = (old or {}).get("spec") or {}
    kind = spec.get("type", "ClusterIP")
    if kind == "ExternalName":
        return {**obj, "spec": _without(spec, _OF_ADDRESSES)}
    others = [one.get("spec") or {} for one in table.objects.values() if one is not old]
    draw = crc32(obj["metadata"]["uid"].encode())
    address = spec.get("clusterIP") or before.get("clusterIP") or _free_address(others, draw)
    families, policy = ["IPv4"], "SingleStack"
    if address == HEADLESS and not spec.get("selector"):
        families, policy = ["IPv4", "IPv6"], "RequireDualStack"  # its owner says where it leads
    spec = {
        **spec,
        "clusterIP": address,
        "clusterIPs": spec.get("clusterIPs") or before.get("clusterIPs") or [address],
        "ipFamilies": spec.get("ipFamilies") or families,
        "ipFamilyPolicy": spec.get("ipFamilyPolicy") or policy,
    }
    if kind not in OUTWARD:
        ports = [_without(one, ("nodePort",)) for one in spec.get("ports") or ()]
    else:
        ports = list(_with_node_ports(spec, before, _taken(others), draw))
    return {**obj, "spec": {**spec, "ports": ports} if ports else spec}


def _free_address(others: list[JSON], draw: int) -> str:
    taken = {one.get("clusterIP") for one in others}

    def address(number: int) -> str:
        return f"{NETWORK}.{number >> 8 & 255}.{number & 255}"

    return _first(draw, _ADDRESSES, address, taken)


def _taken(others: list[JSON]) -> set[Any]:
    return {port.get("nodePort") for one in others for port in one.get("ports") or ()}


def _with_node_ports(spec: JSON, before: JSON, taken: set[Any], draw: int) -> Iterator[JSON]:
    had = {_identity(one): one.get("nodePort") for one in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        number = port.get("nodePort") or had.get(_identity(port))
        if not number and spec.get("allocateLoadBalancerNodePorts", True):
            number = _first(draw, PORTS, lambda drawn: PORTS_FROM + drawn, taken)
        taken.add(number)
        yield {**port, "nodePort": number} if number else port


def _identity(port: JSON) -> tuple[Any, Any]:
    return port.get("port"), port.get("protocol", "TCP")


def _first(draw: int, count: int, value: Callable[[int], T], taken: set[Any]) -> T:
    """The first that is free, from a drawn one on; when none is, the drawn one."""
    drawn = (value((draw + step) % count) for step in range(count))
    return next((one for one in drawn if one not in taken), value(draw % count))


def _without(obj: JSON, names: tuple[str, ...]) -> JSON:
    return {name: one for name, one in obj.items() if name not in names}
