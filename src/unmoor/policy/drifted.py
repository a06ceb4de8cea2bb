"""Has a machine drifted, by what, and from what to what? (spec 7.2, 7.4, 002, R11)

Static fields first, then requirements, then what the cloud says of the instance as it is now:
image, security groups, subnet, and the static part of the node template. Everything that differs is
said; the first gives the reason. What nobody can tell (the cloud does not answer, a selector finds
nothing) is no difference: without one it is left open, and so is the machine's condition.

Must not: write or ask anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from unmoor.model import names
from unmoor.model.drift_fields import Reason
from unmoor.model.instance import CloudInstance
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.node_template import AMI, AWSNodeTemplate, validate
from unmoor.model.observation import Asked
from unmoor.model.provisioner import Provisioner
from unmoor.model.requirement import Requirements
from unmoor.model.selection import Selection, wish_of
from unmoor.model.snapshot import View
from unmoor.policy import made_from


class Difference(msgspec.Struct, frozen=True):
    """One thing that is not as it would be made now: ``what``: from what to what."""

    reason: Reason
    what: str


class Finding(msgspec.Struct, frozen=True):
    """All differences, in the order of their reasons; and what cannot be told, in words."""

    differences: tuple[Difference, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The differences in words."""
        return "; ".join(one.what for one in self.differences)


def find(view: View, machine: Machine, provisioner: Provisioner) -> Finding:
    """Compare a machine with what would be made now."""
    found = [
        Difference(Reason.PROVISIONER, one)
        for one in made_from.changed_fields(machine, provisioner)
    ]
    nodes = view.nodes_of(machine.provider_id)
    found += _requirements(machine, nodes[0] if len(nodes) == 1 else None, provisioner)
    template = made_from.template_of(view, provisioner)
    if template is None:
        return Finding(tuple(found))
    if validate(template):
        return Finding(tuple(found), (f"node template {template.name} is not in order",))
    dynamic, unknown = _dynamic(view, machine, template)
    found += dynamic
    static = made_from.changed_template_fields(machine, template)
    found += [Difference(Reason.NODE_TEMPLATE, one) for one in static]
    return Finding(tuple(found), unknown)


def is_instance_asked_for(view: View, machine: Machine, provisioner: Provisioner) -> bool:
    """True when a look at the machine's instance says anything about it."""
    return bool(machine.provider_id) and made_from.template_of(view, provisioner) is not None


def is_selection_awaited(view: View, provisioner: Provisioner) -> bool:
    """True while the cloud has not been asked yet what its node template selects."""
    template = made_from.template_of(view, provisioner)
    if template is None:
        return False
    return view.answer(Asked.SELECTION, wish_of(template).subject) is None


# Requirements.


def _requirements(
    machine: Machine, node: Node | None, provisioner: Provisioner
) -> Iterator[Difference]:
    """R11: the labels of both. What is a default and stands nowhere makes no node go (R6)."""
    holders = [(f"machine {machine.name}", machine.metadata.labels)]
    if node is not None and node.is_initialized:
        holders.append((f"node {node.name}", node.metadata.labels))
    for one in Requirements.from_api(provisioner.spec.requirements):
        for who, labels in holders:
            value = _value_of(labels, one.key)
            if one.allows(value):
                continue
            has = "does not have it" if value is None else f"has {value}"
            yield Difference(Reason.REQUIREMENTS, f"{one}, and {who} {has}")
            break


def _value_of(labels: dict[str, str], key: str) -> str | None:
    """A label under its own name, or one of its older ones."""
    if key in labels:
        return labels[key]
    older = (value for name, value in sorted(labels.items()) if names.normalised(name) == key)
    return next(older, None)


# What only the cloud knows.


def _dynamic(
    view: View, machine: Machine, template: AWSNodeTemplate
) -> tuple[list[Difference], tuple[str, ...]]:
    wish = wish_of(template)
    said = view.answer(Asked.SELECTION, wish.subject)
    answer = view.instance(machine.provider_id)
    instance = None if answer is None else answer.result
    selection: Selection | None = None if said is None else said.result
    if instance is None:
        return [], ("the cloud has not said how its instance is",)
    if selection is None:
        return [], (f"the cloud has not said what node template {template.name} selects",)
    looks = [_subnet(instance, selection)]
    if not wish.is_launch_template:
        looks = [_image(machine, instance, selection), _groups(instance, selection), *looks]
    differences = [one for one in looks if isinstance(one, Difference)]
    return differences, tuple(one for one in looks if isinstance(one, str))


def _image(machine: Machine, instance: CloudInstance, found: Selection) -> Difference | str | None:
    """The newest of each kind that suits the machine will do."""
    suiting = _newest(one for one in found.images if _suits(one, machine))
    if not suiting:
        return "no image that suits it is found"
    ids = [one.id for one in suiting]
    if not instance.image or instance.image in ids:
        return None
    return Difference(Reason.IMAGE, f"image {instance.image} -> {' or '.join(ids)}")


def _suits(image: AMI, machine: Machine) -> bool:
    return Requirements.from_api(image.requirements).allows(machine.metadata.labels)


def _newest(images: Iterable[AMI]) -> list[AMI]:
    """The first for each set of requirements."""
    first: dict[str, AMI] = {}
    for one in images:
        first.setdefault(str(Requirements.from_api(one.requirements)), one)
    return list(first.values())


def _groups(instance: CloudInstance, found: Selection) -> Difference | str | None:
    ids = sorted(one.id for one in found.security_groups)
    if not ids:
        return "no security group is found"
    has = sorted(instance.security_groups)
    if not has or has == ids:
        return None
    return Difference(
        Reason.SECURITY_GROUPS, f"security groups {', '.join(has)} -> {', '.join(ids)}"
    )


def _subnet(instance: CloudInstance, found: Selection) -> Difference | str | None:
    ids = sorted(one.id for one in found.subnets)
    if not ids:
        return "no subnet is found"
    if not instance.subnet or instance.subnet in ids:
        return None
    return Difference(Reason.SUBNET, f"subnet {instance.subnet} -> one of {', '.join(ids)}")
