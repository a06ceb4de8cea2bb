"""Which cluster is measured? Some thousand nodes and their pods, as the bytes of an API server.

Everything follows from two numbers, so the same call gives the same bytes. A fifth of the pods are
DaemonSet pods; most of the others belong to ReplicaSets of 1 to 60, some to StatefulSets, and one
in twenty is the only pod of a Job. Start times are spread over a month, as they are in a cluster
that grew: equal times would make objects look more alike than they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from tests import builders
from tests.bench.pods import Template, any_of, hash_of, pod_template
from unmoor.model import names
from unmoor.model.base import JSON, ObjectMeta, OwnerReference
from unmoor.model.cluster import Instance, InstanceSpec, InstanceStatus, Lease, LeaseSpec
from unmoor.model.kinds import (
    INSTANCES,
    JOBS,
    LEASES,
    MACHINES,
    NODES,
    PODS,
    PROVISIONERS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Resource,
)

PAGE_SIZE = 500
FIRST_VERSION = 1_000_000_000
LIST_VERSION = 1_900_000_000
CHANGES_FROM = 2_000_000_000
"""Versions of the objects, of every list, and of what changes afterwards: all of ten digits."""
NAMESPACES = 97
DAEMON_SETS = 6
DRAINING = 3
"""Nodes that are on their way out; the server lets none of their pods go."""
ZONE = "z1"
MONTH_S = 30 * 86_400
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


class Owner(NamedTuple):
    """A workload: who its pods name, and how they look."""

    kind: str
    name: str
    namespace: str
    uid: str
    pods: int
    template: Template


class Named(NamedTuple):
    """One pod: enough to write its JSON. Ordered as a list is."""

    namespace: str
    name: str
    number: int
    owner: int


class Cluster:
    """A cluster of so many nodes and pods."""

    def __init__(self, nodes: int, pods: int) -> None:
        """Lay out owners and pods; texts are made when they are asked for."""
        self.nodes = nodes
        self.owners = list(_owners(nodes, pods))
        self.pods = sorted(self._named())

    def node_name(self, number: int) -> str:
        """The name of the node on which pod ``number`` is."""
        number %= self.nodes
        return f"ip-10-{number // 65536}-{number // 256 % 256}-{number % 256}.ec2.internal"

    def _named(self) -> Iterator[Named]:
        number = 0
        for index, owner in enumerate(self.owners):
            for at in range(owner.pods):
                end = str(at) if owner.kind == "StatefulSet" else hash_of(f"{number}")[-5:]
                yield Named(owner.namespace, f"{owner.name}-{end}", number, index)
                number += 1

    def pod(self, pod: Named, **other: str) -> bytes:
        """The JSON of one pod; ``other`` replaces what its gaps hold otherwise."""
        return self.owners[pod.owner].template.fill(any_of(self._values(pod) | other))

    def _values(self, pod: Named) -> dict[str, Any]:
        number = pod.number
        born = NEW_YEAR + timedelta(seconds=number * 7919 % MONTH_S)
        return {
            "name": pod.name,
            "uid": f"{number:08x}-7b1e-4c56-9d3a-{number * 2654435761 % 2**48:012x}",
            "version": FIRST_VERSION + number,
            "node": self.node_name(number),
            "ip": f"10.{number // 65536}.{number // 256 % 256}.{number % 256}",
            "token": hash_of(f"t{number}")[-5:],
            "born": text_of(born),
            "up": text_of(born + timedelta(seconds=3 + number % 40)),
            "digest": f"{number:064x}",
            "owner": self.owners[pod.owner].uid,
            "ready": "True",
            "phase": "Running",
        }

    # --------------------------------------------------------------------------------------- lists

    def items(self, resource: Resource[Any]) -> Iterator[bytes]:
        """The objects of a kind, in the order of a list."""
        if resource is PODS:
            return (self.pod(pod) for pod in self.pods)
        made = {
            NODES: self._nodes,
            MACHINES: self._machines,
            INSTANCES: self._instances,
            LEASES: self._leases,
            PROVISIONERS: self._provisioners,
        }
        if resource in made:
            return map(msgspec.json.encode, made[resource]())
        return map(msgspec.json.encode, self._workloads(resource))

    def pages(self, resource: Resource[Any]) -> Iterator[list[bytes]]:
        """The pages of a list, each in the pieces in which a server writes it.

        The token of a page is its number.
        """
        items = self.items(resource)
        page, number = list(islice(items, PAGE_SIZE)), 0
        while True:
            following = list(islice(items, PAGE_SIZE))
            number += 1
            token = str(number) if following else ""
            meta = f'{{"resourceVersion":"{LIST_VERSION}","continue":"{token}"}}'
            kind, version = resource.kind, resource.api_version
            head = f'{{"kind":"{kind}List","apiVersion":"{version}","metadata":{meta},"items":['
            rest = [b"," + item for item in page[1:]]
            yield [head.encode(), *page[:1], *rest, b"]}\n"]
            if not following:
                return
            page = following

    def _nodes(self) -> Iterator[Any]:
        for number in range(self.nodes):
            name = self.node_name(number)
            is_draining = number < DRAINING
            node = builders.node(
                name,
                provider_id=_provider_id(name),
                created_at=NEW_YEAR,
                owners=(builders.owner("Machine", f"m-{name}", f"uid-machine-m-{name}"),),
                deleted_at=NEW_YEAR if is_draining else None,
                is_cordoned=is_draining,
                labels={names.EXCLUDE_FROM_LOAD_BALANCERS: "karpenter"} if is_draining else {},
            )
            yield _with_the_rest_of_a_node(msgspec.to_builtins(node), number)

    def _machines(self) -> Iterator[Any]:
        for number in range(self.nodes):
            name = self.node_name(number)
            yield builders.machine(
                f"m-{name}",
                node_name=name,
                provider_id=_provider_id(name),
                created_at=NEW_YEAR,
                deleted_at=NEW_YEAR if number < DRAINING else None,
                owners=(_PROVISIONER,),
            )

    def _instances(self) -> Iterator[Any]:
        for number in range(self.nodes):
            name = self.node_name(number)
            yield Instance(
                metadata=ObjectMeta(name=name, uid=f"uid-{name}", resource_version="1"),
                spec=InstanceSpec(cluster=builders.CLUSTER, machine=f"m-{name}", zone=ZONE),
                status=InstanceStatus(phase="Running", node_name=name, launched_at=NEW_YEAR),
            )

    def _leases(self) -> Iterator[Any]:
        for number in range(self.nodes):
            name = self.node_name(number)
            owner = builders.owner("Node", name, f"uid-node-{name}")
            meta = ObjectMeta(
                name=name,
                namespace=names.NODE_LEASES,
                uid=f"uid-lease-{name}",
                resource_version="1",
                owner_references=(owner,),
            )
            yield Lease(metadata=meta, spec=LeaseSpec(holder_identity=name, renew_time=NEW_YEAR))

    def _provisioners(self) -> Iterator[Any]:
        yield builders.provisioner(ttl_after_empty_s=30)

    def _workloads(self, resource: Resource[Any]) -> Iterator[JSON]:
        wanted = resource.kind if resource in (REPLICA_SETS, STATEFUL_SETS, JOBS) else ""
        for owner in self.owners:
            if owner.kind == wanted:
                meta = {
                    "name": owner.name,
                    "namespace": owner.namespace,
                    "uid": owner.uid,
                    "resourceVersion": str(FIRST_VERSION),
                }
                yield {"metadata": meta, "spec": {"replicas": owner.pods}}

    @cached_property
    def restless(self) -> list[int]:
        """The owners whose pods come and go in ``changes``."""
        return [at for at, owner in enumerate(self.owners) if owner.kind == "ReplicaSet"]


_PROVISIONER = OwnerReference(
    kind="Provisioner",
    name="default",
    uid="uid-provisioner-default",
    api_version=PROVISIONERS.api_version,
    block_owner_deletion=True,
)


def _provider_id(node: str) -> str:
    return f"{builders.SCHEME}:///{ZONE}/{node}"


def text_of(moment: datetime) -> str:
    """RFC 3339 in whole seconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _owners(nodes: int, pods: int) -> Iterator[Owner]:
    left = pods
    for number in range(DAEMON_SETS):
        size = min(nodes, pods // (5 * DAEMON_SETS))
        yield _owner("DaemonSet", f"agent{number}", "kube-system", size)
        left -= size
    number = 0
    while left > 0:
        kind, size = _kind_and_size(number)
        size = min(size, left)
        app = f"service{number // 3:05d}"
        namespace = f"team-{number // 3 % NAMESPACES:02d}"
        name = app if kind == "StatefulSet" else f"{app}-{hash_of(f'{number}')}"
        yield _owner(kind, name, namespace, size)
        left -= size
        number += 1


def _kind_and_size(number: int) -> tuple[str, int]:
    match number % 5:
        case 0:
            return "StatefulSet", 1 + number // 5 % 7
        case 1 | 2:
            return "Job", 1
        case _:
            # Most are small, some are large.
            return "ReplicaSet", (1, 2, 2, 3, 3, 5, 8, 12, 20, 30, 60)[number % 11]


def _owner(kind: str, name: str, namespace: str, pods: int) -> Owner:
    uid = f"{hash_of(kind + name)[:8]}-5f0c-4f5e-8e0b-{hash_of(namespace + name):0>12}"
    group = "batch/v1" if kind == "Job" else "apps/v1"
    reference = {
        "apiVersion": group,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    app = name.partition("-")[0]
    template = pod_template(reference, app, namespace, is_daemon=kind == "DaemonSet")
    return Owner(kind, name, namespace, uid, pods, template)


def _with_the_rest_of_a_node(node: JSON, number: int) -> JSON:
    """What nobody reads: images, addresses, the fields' managers; ten times the rest."""
    images = [
        {
            "names": [
                f"registry.example.com/image{at}@sha256:{number * 31 + at:064x}",
                f"registry.example.com/image{at}:1.{at}.{number % 7}",
            ],
            "sizeBytes": 10_000_000 + at,
        }
        for at in range(30)
    ]
    fields: JSON = {f"f:example.com/label-{at}": {} for at in range(40)}
    entry = {"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:metadata": fields}}
    node["metadata"]["managedFields"] = [entry]
    node["status"] |= {
        "images": images,
        "addresses": [{"type": "InternalIP", "address": f"10.0.{number // 256}.{number % 256}"}],
        "nodeInfo": {"kubeletVersion": "v1.36.3", "osImage": "Linux", "architecture": "amd64"},
    }
    return {**node, "kind": "Node", "apiVersion": "v1"}
