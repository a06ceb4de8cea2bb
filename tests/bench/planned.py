"""A made-up cluster in which what is planned is what happens: commands are carried out in thought.

The nodes of a command go, its replacements come as the cheapest offering that the plan allows, and
pods are where the plan has put them.

Must not: decide anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from tests import builders
from tests.bench.passes import KNOWN
from unmoor.cloud.catalogue import ec2_types
from unmoor.engine.plan import NewMachine
from unmoor.engine.sites import offerings_of
from unmoor.kube.sharing import Sharing
from unmoor.model import kinds, names
from unmoor.model.instance import InstanceType
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.observation import Answer, Asked
from unmoor.model.pod import Pod
from unmoor.model.settings import Settings
from unmoor.model.snapshot import Identity
from unmoor.policy.command import Command
from unmoor.policy.look import Look
from unmoor.policy.simulation import Simulator
from unmoor.runtime.store import Store
from unmoor.sim.clusters import generator
from unmoor.sim.clusters.mix import Mix

MOMENT = Moment(datetime(2026, 2, 1, tzinfo=UTC), 1e6)


def price_of(types: Mapping[str, InstanceType], node: Node) -> float | None:
    """Of the offering that it is; None when nobody knows."""
    labels = node.metadata.labels
    sold = types.get(labels.get(names.INSTANCE_TYPE, ""))
    where = (labels.get(names.ZONE), labels.get(names.CAPACITY_TYPE))
    offerings = sold.offerings if sold is not None else ()
    prices = (one.price_usd_per_h for one in offerings if (one.zone, one.capacity_type) == where)
    return next(prices, None)


class Played:
    """A cluster, and what became of it."""

    def __init__(self, mix: Mix, settings: Settings = Settings()) -> None:
        """Make it up; what objects have in common they share, as listed."""
        identity = Identity(cluster=mix.cluster, scheme=builders.SCHEME)
        self.types = {one.name: one for one in ec2_types()}
        self.store = Store(settings, identity)
        sold: Answer[Any] = Answer(MOMENT, tuple(self.types.values()))
        self.store.record(Asked.INSTANCE_TYPES, builders.SCHEME, sold)
        self.moves: Counter[tuple[str, str]] = Counter()
        self._simulator = Simulator()
        self._come = 0
        sharing = {kind.type: Sharing(kind.type) for kind in KNOWN.values()}
        for ref, body in generator.generate(mix, self.types.values()):
            kind = KNOWN.get(ref.kind)
            if kind is not None:
                body["metadata"]["resourceVersion"] = "1"
                found = msgspec.convert(body, kind.type, strict=False)
                sharing[kind.type].share(found)
                self.store.put(kind, found)

    def look(self) -> Look:
        """At what is there now."""
        return Look(self.store.freeze(), MOMENT, self._simulator)

    def forget_what_was_found(self) -> None:
        """The next look is the first."""
        self._simulator = Simulator()

    def price_usd_per_h(self) -> float:
        """What all nodes cost together, those of an unknown price aside."""
        return sum(self.price_of(node) or 0.0 for node in self.store.sorted(kinds.NODES))

    def price_of(self, node: Node) -> float | None:
        """Of the offering that it is."""
        return price_of(self.types, node)

    def carry_out(self, command: Command) -> int:
        """Do what a command says; return how many pods have moved."""
        hosts = {machine.name: self._launch(machine) for machine in command.replacements}
        before = sum(self.moves.values())
        for one in command.nodes:
            for pod in self.store.pods_on(one.name):
                where = command.plan.placements.get(pod.key)
                if where is None:
                    self.store.forget("Pod", pod.key, pod.uid)
                else:
                    self._move(pod, hosts.get(where, where))
            self.store.forget("Node", ("", one.name), one.uid)
            self.store.forget("Machine", ("", one.machine), one.machine_uid)
        return sum(self.moves.values()) - before

    def _move(self, pod: Pod, node: str) -> None:
        version = str(int(pod.metadata.resource_version) + 1)
        self.moves[pod.key] += 1
        self.store.put(
            kinds.PODS,
            msgspec.structs.replace(
                pod,
                spec=msgspec.structs.replace(pod.spec, node_name=node),
                metadata=msgspec.structs.replace(pod.metadata, resource_version=version),
            ),
        )

    def _launch(self, machine: NewMachine) -> str:
        self._come += 1
        name = f"come-{self._come}"
        provisioner = self.store.provisioner(machine.provisioner)
        assert provisioner is not None
        labels = {**_labels(self.types, machine), names.HOSTNAME: name}
        allocatable = self.types[labels[names.INSTANCE_TYPE]].allocatable
        room: dict[str, str | int | float] = {
            what: f"{amount}m" if what == "cpu" else str(amount)
            for what, amount in allocatable.items()
        }
        provider_id = f"{builders.SCHEME}:///{name}"
        self.store.put(
            kinds.NODES,
            builders.node(
                name,
                provider_id=provider_id,
                labels=labels,
                allocatable=room,
                capacity=room,
                taints=tuple(provisioner.spec.taints),
            ),
        )
        of_it = builders.machine(
            f"m-{name}",
            node_name=name,
            provider_id=provider_id,
            labels=labels,
            annotations={names.MANAGED_BY: self.store.identity.cluster},
        )
        self.store.put(kinds.MACHINES, of_it)
        return name


def _labels(types: dict[str, InstanceType], machine: NewMachine) -> dict[str, str]:
    """What the node of the cheapest offering carries."""
    offered = [
        (one.price_usd_per_h, name, one)
        for name in machine.instance_types
        for one in offerings_of(types[name], machine.requirements)
        if one.price_usd_per_h
    ]
    _, name, offering = min(offered, key=lambda one: (one[0], one[1], one[2].zone))
    required = {
        one.key: min(one.values)
        for one in machine.requirements
        if one.values and not one.is_complement
    }
    return {
        **types[name].labels,
        **required,
        names.ZONE: offering.zone,
        names.CAPACITY_TYPE: offering.capacity_type,
        names.INSTANCE_TYPE: name,
        names.PROVISIONER_NAME: machine.provisioner,
        names.INITIALIZED: names.TRUE,
        names.REGISTERED: names.TRUE,
    }
