"""Which nodes are there, behind which Machines, of which Provisioners?

Most nodes are ours; some have a Machine that is somebody else's, some have none. Some are not ready
for pods yet: their startup taint is still there, or a taint that goes away by itself. Machines in
flight have no node: every other one has been launched.

Must not: know pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

import msgspec

from unmoor.model import kinds, names, resources
from unmoor.model.base import JSON
from unmoor.model.cluster import SIMULATED_SCHEME
from unmoor.model.instance import InstanceType
from unmoor.model.taint import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from unmoor.sim.clusters import bodies, sizes
from unmoor.sim.clusters.mix import Kind, Mix
from unmoor.sim.manifests import Manifest

GENERAL = "general"
DEDICATED = "dedicated"
POOL = "example.com/pool"
"""A label of our own that the general Provisioner lets be one of several."""
POOLS = ("blue", "green")
DEDICATED_TAINT: JSON = {"key": "dedicated", "value": "batch", "effect": NO_SCHEDULE}
TAINTS: tuple[JSON, ...] = (
    DEDICATED_TAINT,
    {"key": "example.com/maintenance", "effect": NO_EXECUTE},
    {"key": "example.com/spare", "value": "yes", "effect": PREFER_NO_SCHEDULE},
)
"""The first one is a Provisioner's, the others were put on by hand. In turns."""
STARTUP_TAINT: JSON = {"key": "example.com/agent-not-ready", "effect": NO_EXECUTE}
EPHEMERAL_TAINTS: tuple[JSON, ...] = (
    {"key": names.NOT_READY, "effect": NO_SCHEDULE},
    {"key": names.UNINITIALIZED, "value": "true", "effect": NO_SCHEDULE},
    {"key": names.UNREACHABLE, "effect": NO_SCHEDULE},
)
CORDON_TAINT: JSON = {"key": names.UNSCHEDULABLE, "effect": NO_SCHEDULE}
DEVICE = "example.com/device"
DEVICES = 4
"""On every third node, if any pod wants one."""
DRIVER = "ebs.csi.aws.com"
VOLUMES_USUAL = 25
VOLUMES_FEW = (1, 2)
ID_CHARS = 17
KUBELET_VERSION = "v1.36.3"


class Site(msgspec.Struct, kw_only=True):
    """One node while it is made. ``volumes``: how many it can attach; ``taints`` as in the API."""

    name: str
    type: InstanceType
    zone: str
    capacity_type: str
    provisioner: str
    labels: dict[str, str]
    taints: list[JSON]
    marks: tuple[Kind, ...] = ()
    allocatable: dict[str, int]
    capacity: dict[str, int]
    volumes: int = VOLUMES_USUAL

    @property
    def takes_pods(self) -> bool:
        """Nobody but daemons is on a node that is not initialized, nor on a cordoned one."""
        return not {Kind.STARTUP_TAINT, Kind.EPHEMERAL_TAINT, Kind.CORDON} & {*self.marks}


class Nodes:
    """Draws the sites of a cluster, one after the other."""

    def __init__(self, mix: Mix, types: Iterable[InstanceType]) -> None:
        """Choose some of the types."""
        self._mix = mix
        self.pool = sizes.pool(mix, types)
        self.zones = sizes.zones_of(self.pool)
        self._dice = mix.dice("nodes")
        self._names = mix.dice("node names")

    def draw(self) -> Site:
        """The next node, with nothing special about it."""
        sold = self._dice.choice(self.pool)
        zone = self._dice.choice(self.zones)
        is_spot = self._dice.random() < self._mix.spot
        pool = self._dice.choice(POOLS)
        return Site(
            name=_machine_name(self._names),
            type=sold,
            zone=zone,
            capacity_type=names.SPOT if is_spot else names.ON_DEMAND,
            provisioner=GENERAL,
            labels={POOL: pool},
            taints=[],
            allocatable=dict(sold.allocatable),
            capacity=dict(sold.capacity),
        )

    def mark(self, sites: Sequence[Site]) -> None:
        """Make some of them special, as the shares say; then their labels are known."""
        for kind in (
            Kind.TAINT,
            Kind.STARTUP_TAINT,
            Kind.EPHEMERAL_TAINT,
            Kind.CORDON,
            Kind.CSI_LIMIT,
            Kind.NO_MACHINE,
            Kind.NOT_OURS,
        ):
            dice = self._mix.dice(kind)
            those = [site for site in sites if Kind.NO_MACHINE not in site.marks]
            those = those if kind is Kind.NOT_OURS else list(sites)
            count = min(self._mix.count_of(kind, len(sites)), len(those))
            first = dice.randrange(len(TAINTS))
            for turn, site in enumerate(dice.sample(those, count), start=first):
                site.marks = (*site.marks, kind)
                _MARKED.get(kind, _nothing_more)(site, turn)
        for number, site in enumerate(sites):
            if self._mix.has(Kind.EXTENDED_RESOURCE) and number % 3 == 0:
                for amounts in (site.capacity, site.allocatable):
                    amounts[DEVICE] = DEVICES
            _label(site)


def _machine_name(dice: Random) -> str:
    return f"i-{dice.getrandbits(4 * ID_CHARS):0{ID_CHARS}x}"


def _nothing_more(site: Site, turn: int) -> None:
    del site, turn


def _taint(site: Site, turn: int) -> None:
    taint = TAINTS[turn % len(TAINTS)]
    site.taints.append(taint)
    if taint is DEDICATED_TAINT:
        site.provisioner = DEDICATED
        site.labels = {"dedicated": "batch"}


def _startup_taint(site: Site, turn: int) -> None:
    del turn
    site.taints.append(STARTUP_TAINT)


def _ephemeral_taint(site: Site, turn: int) -> None:
    site.taints.append(EPHEMERAL_TAINTS[turn % len(EPHEMERAL_TAINTS)])


def _cordon(site: Site, turn: int) -> None:
    del turn
    site.taints.append(CORDON_TAINT)


def _few_volumes(site: Site, turn: int) -> None:
    site.volumes = VOLUMES_FEW[turn % len(VOLUMES_FEW)]


def _no_machine(site: Site, turn: int) -> None:
    """A taint that its Provisioner had put on it stays, as if by hand."""
    del turn
    site.provisioner = ""


_MARKED = {
    Kind.TAINT: _taint,
    Kind.STARTUP_TAINT: _startup_taint,
    Kind.EPHEMERAL_TAINT: _ephemeral_taint,
    Kind.CORDON: _cordon,
    Kind.CSI_LIMIT: _few_volumes,
    Kind.NO_MACHINE: _no_machine,
}


def _label(site: Site) -> None:
    ours: dict[str, str] = {}
    if site.provisioner:
        ours = {names.PROVISIONER_NAME: site.provisioner, names.REGISTERED: names.TRUE}
        if not {Kind.STARTUP_TAINT, Kind.EPHEMERAL_TAINT} & {*site.marks}:
            ours[names.INITIALIZED] = names.TRUE
    site.labels = {
        **site.labels,
        **ours,
        **site.type.labels,
        names.ZONE: site.zone,
        names.CAPACITY_TYPE: site.capacity_type,
        names.HOSTNAME: site.name,
    }


# Objects.


def provisioners(mix: Mix) -> Iterator[Manifest]:
    """The general one, and one whose nodes are for those who put up with its taint."""
    capacity = bodies.expression(names.CAPACITY_TYPE, "In", names.SPOT, names.ON_DEMAND)
    arch = bodies.expression(names.ARCH, "In", "amd64", "arm64")
    category = bodies.expression(names.INSTANCE_CATEGORY, "In", "c", "m", "r")
    general: JSON = {
        "providerRef": {"name": "default"},
        "weight": 10,
        "requirements": [capacity, arch, category, bodies.expression(POOL, "In", *POOLS)],
        "consolidation": {"enabled": True},
        "limits": {"resources": {"cpu": "100000"}},
    }
    if mix.has(Kind.STARTUP_TAINT):
        general["startupTaints"] = [STARTUP_TAINT]
    yield bodies.made(kinds.PROVISIONERS, GENERAL, general)
    if mix.has(Kind.TAINT):
        dedicated = {
            "providerRef": {"name": "default"},
            "labels": {"dedicated": "batch"},
            "taints": [DEDICATED_TAINT],
            "requirements": [capacity, arch, category],
            "ttlSecondsAfterEmpty": 300,
        }
        yield bodies.made(kinds.PROVISIONERS, DEDICATED, dedicated)


def objects_of(site: Site, mix: Mix, pool: Sequence[InstanceType]) -> Iterator[Manifest]:
    """The Machine of a site if it has one, its Node and its CSINode."""
    machine = None
    if site.provisioner:
        ref, machine = _machine(site, mix, pool)
        yield ref, machine
    ref, node = _node(site, machine)
    yield ref, node
    driver = {
        "name": DRIVER,
        "nodeID": site.name,
        "topologyKeys": [names.ZONE],
        "allocatable": {"count": site.volumes},
    }
    yield bodies.made(
        kinds.CSI_NODES,
        site.name,
        {"drivers": [driver]},
        ownerReferences=[bodies.owner(node, is_controller=False)],
    )


def in_flight(mix: Mix, nodes: int, sites: Nodes) -> Iterator[Manifest]:
    """Machines without nodes, launched and not launched in turns."""
    for number in range(mix.count_of(Kind.IN_FLIGHT, nodes)):
        site = sites.draw()
        _label(site)
        ref, body = _machine(site, mix, sites.pool, has_node=False)
        if number % 2:
            # Nobody knows yet what it will be.
            labels = {names.PROVISIONER_NAME: site.provisioner}
            body["metadata"]["labels"] = labels
            body["status"] = {"conditions": [_condition("MachineLaunched", "False")]}
        yield ref, body


def _node(site: Site, machine: JSON | None) -> Manifest:
    meta: dict[str, Any] = {"labels": site.labels}
    spec: JSON = {}
    if machine is not None:
        meta["ownerReferences"] = [bodies.owner(machine, is_controller=False)]
        meta["finalizers"] = [names.TERMINATION_FINALIZER]
        spec["providerID"] = _provider_id(site)
    if site.taints:
        spec["taints"] = site.taints
    if Kind.CORDON in site.marks:
        spec["unschedulable"] = True
    ref, body = bodies.made(kinds.NODES, site.name, spec, **meta)
    is_ready = Kind.EPHEMERAL_TAINT not in site.marks
    ready = {**_condition("Ready", str(is_ready)), "lastHeartbeatTime": bodies.STARTED}
    pressures = [
        {**_condition(kind, "False"), "lastHeartbeatTime": bodies.STARTED}
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure")
    ]
    status = {
        "capacity": resources.render(site.capacity),
        "allocatable": resources.render(site.allocatable),
        "conditions": [*pressures, ready],
        "addresses": [{"type": "Hostname", "address": site.name}],
        "nodeInfo": {
            "architecture": site.type.arch,
            "operatingSystem": "linux",
            "kubeletVersion": KUBELET_VERSION,
            "containerRuntimeVersion": "hollow://1",
            "osImage": "made up",
            **dict.fromkeys(
                ("bootID", "kernelVersion", "kubeProxyVersion", "machineID", "systemUUID"), ""
            ),
        },
    }
    return ref, {**body, "status": status}


def _provider_id(site: Site) -> str:
    return f"{SIMULATED_SCHEME}:///{site.zone}/{site.name}"


def _machine(
    site: Site, mix: Mix, pool: Sequence[InstanceType], *, has_node: bool = True
) -> Manifest:
    requirements = [
        bodies.expression(names.INSTANCE_TYPE, "In", *(one.name for one in pool)),
        bodies.expression(names.CAPACITY_TYPE, "In", site.capacity_type),
    ]
    spec: JSON = {
        "requirements": requirements,
        "resources": {"requests": {"cpu": "1", "memory": "1Gi", "pods": "5"}},
        "machineTemplateRef": {"name": "default"},
    }
    if site.provisioner == DEDICATED:
        spec["taints"] = [DEDICATED_TAINT]
    elif mix.has(Kind.STARTUP_TAINT):
        spec["startupTaints"] = [STARTUP_TAINT]
    is_ours = Kind.NOT_OURS not in site.marks
    name = f"{site.provisioner}-{site.name[-12:]}"
    labels = {
        key: value
        for key, value in site.labels.items()
        if key not in {names.HOSTNAME, names.REGISTERED, names.INITIALIZED}
    }
    ref, body = bodies.made(
        kinds.MACHINES,
        name,
        spec,
        labels=labels,
        annotations={names.MANAGED_BY: mix.cluster} if is_ours else {},
        finalizers=[names.TERMINATION_FINALIZER],
        ownerReferences=[_of_provisioner(site.provisioner)],
    )
    return ref, {**body, "status": _machine_status(site, has_node=has_node)}


def _of_provisioner(name: str) -> JSON:
    _, body = bodies.made(kinds.PROVISIONERS, name)
    return bodies.owner(body, is_controller=False)


def _machine_status(site: Site, *, has_node: bool) -> JSON:
    is_initialized = has_node and names.INITIALIZED in site.labels
    states = {
        "MachineLaunched": True,
        "MachineRegistered": has_node,
        "MachineInitialized": is_initialized,
        "Ready": is_initialized,
    }
    status: JSON = {
        "providerID": _provider_id(site),
        "capacity": resources.render(site.capacity),
        "allocatable": resources.render(site.allocatable),
        "conditions": [_condition(kind, str(is_true)) for kind, is_true in states.items()],
    }
    return {**status, "nodeName": site.name} if has_node else status


def _condition(kind: str, status: str) -> JSON:
    return {"type": kind, "status": status, "lastTransitionTime": bodies.STARTED}
