"""What a machine looks like that is made for pods, and what it is called (spec 1.2, 9.9).

Its name follows from its provisioner and from the pod for which it was opened. So the same plan,
made again after a crash or by another instance of unmoor, finds the machine that is there. A pod
whose machine is there and yet has no room for it gets another, with a number.

Must not: choose where a pod goes, or which types would do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from unmoor.engine.plan import NewMachine
from unmoor.engine.sites import given_value
from unmoor.lifecycle.effects import Create, Fact, owner
from unmoor.model import names, resources
from unmoor.model.base import JSON, Key
from unmoor.model.instance import InstanceType
from unmoor.model.kinds import MACHINES, PODS, ref_of
from unmoor.model.money import usd_per_h
from unmoor.model.pod import Pod
from unmoor.model.provisioner import Provisioner
from unmoor.model.requirement import IN, NodeSelectorRequirement
from unmoor.model.snapshot import View
from unmoor.model.wording import counted, named
from unmoor.policy import made_from

HASH_CHARS = 10
PREFIX_CHARS_MAX = 200
"""Of the provisioner's name in that of its machines."""
MADE_FOR_MAX = 100
"""So many of its pods are written on a machine: the largest. It may have more."""
CREATED_FOR = "provisioning"
"""The reason in ``machines_created`` (spec 10.1)."""
_OWN_KEYS = frozenset((names.INSTANCE_TYPE, names.HOSTNAME))
"""What a machine's requirements say in another way, or cannot say before there is a node."""


class Purpose(msgspec.Struct, frozen=True):
    """What a machine is made for.

    ``reason``: what it is counted under (spec 10.1). ``command``: the name of the Disruption that
    it is a replacement for. ``replaced``: the types that are not to come again in its stead.
    """

    reason: str = CREATED_FOR
    command: str = ""
    replaced: tuple[str, ...] = ()

    @property
    def annotations(self) -> dict[str, str]:
        """What the machine bears of it."""
        given = {
            names.REPLACEMENT_FOR: self.command,
            names.REPLACED_TYPES: ",".join(self.replaced),
        }
        return {name: value for name, value in given.items() if value}


def create(
    view: View,
    provisioner: Provisioner,
    planned: NewMachine,
    name: str,
    sold: Mapping[str, InstanceType],
    purpose: Purpose = Purpose(),
) -> Create:
    """Return the effect that creates a machine of this plan under ``name``. ``sold``: by name."""
    types, where = named(planned.instance_types), _where(planned)
    body: JSON = {
        "apiVersion": MACHINES.api_version,
        "kind": MACHINES.kind,
        "metadata": {
            "name": name,
            "labels": _labels(provisioner, planned, sold),
            "annotations": _annotations(view, provisioner, planned) | purpose.annotations,
            "finalizers": [names.TERMINATION_FINALIZER],
            "ownerReferences": [msgspec.to_builtins(owner(provisioner))],
        },
        "spec": _spec(provisioner, planned),
    }
    counts = Fact("machines_created", {"reason": purpose.reason, "provisioner": provisioner.name})
    return Create(
        ref=MACHINES.ref(name),
        body=body,
        owner=ref_of(provisioner),
        why=f"for {_pods_of(view, planned)}: {types}, {where}, {_cost(planned)}",
        facts=(counts,),
    )


def name_for(view: View, provisioner: str, pod: Pod, taken: Collection[str]) -> str:
    """Return the machine's name. ``taken``: names that this plan has given already."""
    return name_after(view, provisioner, pod.uid, taken)


def name_after(view: View, provisioner: str, purpose: str, taken: Collection[str]) -> str:
    """Return the name of a machine that is made for ``purpose`` and nothing else."""
    digest = hashlib.sha256(purpose.encode()).hexdigest()[:HASH_CHARS]
    name = base = f"{provisioner[:PREFIX_CHARS_MAX].rstrip('.-')}-{digest}"
    number = 1
    broken = view.broken(MACHINES)
    while name in taken or view.machine(name) is not None or ("", name) in broken:
        number += 1
        name = f"{base}-{number}"
    return name


def _pods_of(view: View, planned: NewMachine) -> str:
    listed = named(tuple("/".join(pod) for pod in planned.pods))
    said = f"{counted(len(planned.pods), 'pod')} ({listed})"
    return said + to_evict(count_leaving(view, planned.pods))


def count_leaving(view: View, pods: Iterable[Key]) -> int:
    """How many of these still run on a node that goes: a successor of each will come."""
    there = view.all(PODS)
    return sum(key in there and bool(there[key].node_name) for key in pods)


def to_evict(leaving: int) -> str:
    """Say it after a number of pods."""
    return f", {leaving:,} of them still to be evicted" if leaving else ""


def _where(planned: NewMachine) -> str:
    """The zones and capacity types that are left to it."""
    zone, capacity_type = (
        planned.requirements.get(key) for key in (names.ZONE, names.CAPACITY_TYPE)
    )
    zones = "any zone" if zone.is_complement else named(tuple(sorted(zone.values)))
    bought = "" if capacity_type.is_complement else f"{' or '.join(sorted(capacity_type.values))} "
    return f"{bought}in {zones}"


def _cost(planned: NewMachine) -> str:
    said = usd_per_h(planned.price_usd_per_h, planned.price_book)
    return said if planned.price_usd_per_h is None else f"from {said}"


def _labels(
    provisioner: Provisioner, planned: NewMachine, sold: Mapping[str, InstanceType]
) -> dict[str, str]:
    """Labels that no cloud knows get their value here, where several would do (spec 9.6).

    What a type has, it has: with another value the machine would be none of these types.
    """
    types = [sold[name] for name in planned.instance_types if name in sold]
    chosen = {
        one.key: value
        for one in planned.requirements
        if (value := given_value(one)) and not any(one.key in kind.labels for kind in types)
    }
    return {**chosen, **provisioner.spec.labels, names.PROVISIONER_NAME: provisioner.name}


def _annotations(view: View, provisioner: Provisioner, planned: NewMachine) -> dict[str, str]:
    ours = {
        names.MADE_FOR: ",".join("/".join(pod) for pod in planned.pods[:MADE_FOR_MAX]),
        names.MANAGED_BY: view.identity.cluster,
        **made_from.stamps(view, provisioner),
    }
    inline = provisioner.spec.provider
    if inline is not None:
        ours[names.COMPATIBILITY_PROVIDER] = msgspec.json.encode(inline, order="sorted").decode()
    return {**provisioner.spec.annotations, **ours}


def _spec(provisioner: Provisioner, planned: NewMachine) -> dict[str, Any]:
    given = provisioner.spec
    of_type = NodeSelectorRequirement(
        key=names.INSTANCE_TYPE, operator=IN, values=planned.instance_types
    )
    written = [
        part for one in planned.requirements if one.key not in _OWN_KEYS for part in one.to_api()
    ]
    spec = {
        "requirements": (*written, of_type),
        "resources": {"requests": resources.render(planned.requests)},
        "taints": given.taints,
        "startupTaints": given.startup_taints,
        "kubelet": given.kubelet_configuration,
        "machineTemplateRef": given.provider_ref,
    }
    return {field: msgspec.to_builtins(value) for field, value in spec.items() if value}
