"""Whose is it? The question before every act on a node or a machine.

The finalizer ``karpenter.sh/termination`` is shared with Karpenter, so it proves nothing. Ours is a
Machine that says so by annotation and whose machine is of the cloud that we were configured for. A
foreign scheme means that we cannot know anything about the machine: *unknown*, never *gone*.

Must not: be asked about nodes that a person names (``drain``, ``rescue``): those need no owner.
"""

from __future__ import annotations

from collections import Counter

from unmoor.model import names
from unmoor.model.kinds import MACHINES
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.snapshot import Identity, View
from unmoor.model.wording import counted

OTHERS_NAMED_MAX = 3
"""So many names of others are given, those with most machines first."""


def scheme_of(provider_id: str) -> str:
    """Return the cloud that a provider id belongs to: "aws" of ``aws:///zone/i-1``."""
    scheme, separator, _ = provider_id.partition("://")
    return scheme if separator else ""


def is_our_scheme(provider_id: str, identity: Identity) -> bool:
    """True when the id is of the configured cloud. An id that is not set yet belongs to nobody."""
    ours = identity.scheme.removesuffix("://")
    return not provider_id or (bool(ours) and scheme_of(provider_id) == ours)


def bears_our_name(annotations: dict[str, str], identity: Identity) -> bool:
    """True when ``unmoor.dev/managed-by`` names this cluster; without a name we own nothing."""
    return bool(identity.cluster) and annotations.get(names.MANAGED_BY) == identity.cluster


def is_our_machine(machine: Machine, identity: Identity) -> bool:
    """Decisions, "Ours": the annotation names this cluster and the scheme, if set, is ours.

    Without a cloud none is: nobody could launch it, or say whether its instance is there.
    """
    has_cloud = bool(identity.scheme)
    bears = bears_our_name(machine.metadata.annotations, identity)
    return has_cloud and bears and is_our_scheme(machine.provider_id, identity)


def is_ours(view: View, node: Node) -> bool:
    """True when every Machine of the node is ours, or it has none and bears our annotation."""
    if not is_our_scheme(node.provider_id, view.identity):
        return False
    machines = view.machines_of(node.provider_id)
    if machines:
        return all(is_our_machine(machine, view.identity) for machine in machines)
    return bears_our_name(node.metadata.annotations, view.identity)


def why_not_ours(view: View, node: Node) -> str:
    """Say in one sentence why a node is left alone, and what would change that."""
    identity = view.identity
    if not is_our_scheme(node.provider_id, identity):
        known = f'"{identity.scheme}"' if identity.scheme else "none"
        return (
            f"node {node.name} has providerID {node.provider_id}, but the configured cloud is "
            f"{known}: nothing is known about its machine"
        )
    foreign = [
        machine.name
        for machine in view.machines_of(node.provider_id)
        if not is_our_machine(machine, identity)
    ]
    return _unnamed(f"machine {foreign[0]}" if foreign else f"node {node.name}", identity)


def why_not_our_machine(machine: Machine, identity: Identity) -> str:
    """Say in one sentence why a machine is left alone, and what would change that."""
    if not bears_our_name(machine.metadata.annotations, identity):
        return _unnamed(f"machine {machine.name}", identity)
    if not identity.scheme:
        return (
            f"machine {machine.name} is handed to us, but no cloud is configured: nothing can be "
            "known or done about it; start with --cloud NAME"
        )
    return (
        f"machine {machine.name} has providerID {machine.provider_id}, but the configured cloud is "
        f'"{identity.scheme}": nothing is known about it'
    )


def about_our_name(view: View) -> str:
    """Say that every Machine that bears a name bears another than ours; "" when that is not so.

    A cluster of whose Machines none is annotated has not handed any over, which is no mistake.
    """
    name = view.identity.cluster
    bearers = Counter(machine.managed_by for machine in view.all(MACHINES).values())
    bearers.pop("", None)
    if not name or not bearers or name in bearers:
        return ""
    most = sorted(bearers.items(), key=lambda bearer: (-bearer[1], bearer[0]))
    others = [f"{count:,} of {other}" for other, count in most]
    more = len(others) - OTHERS_NAMED_MAX
    there = ", ".join(others[:OTHERS_NAMED_MAX]) + (
        f" and {counted(more, 'more name')}" if more > 0 else ""
    )
    return f"no Machine is annotated {names.MANAGED_BY}: {name}; annotated for others: {there}"


def _unnamed(bearer: str, identity: Identity) -> str:
    if not identity.cluster:
        return f"{bearer} is not ours, as nothing is without a name; start with --cluster-name NAME"
    return (
        f'{bearer} is not annotated {names.MANAGED_BY}="{identity.cluster}": '
        "whoever owns it must act, or annotate it to hand it over"
    )
