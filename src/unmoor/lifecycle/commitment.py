"""How a decision is written down: as a ``Disruption``, with all that it takes to carry it out.

To create it is to commit. Its name follows from its nodes, so that the same decision, made again
after a lost answer, finds it instead of making a second; and the names of its replacements follow
from that name. What is written of a replacement is enough to make the Machine by, after a restart
as well.

Must not: choose anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

import msgspec

from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.scene import machine_of_site
from unmoor.lifecycle import new_machine
from unmoor.lifecycle.effects import Create, Fact
from unmoor.model import names, resources
from unmoor.model.base import Key, Ref
from unmoor.model.disruption import DisruptedNode, Disruption, DisruptionSpec, Replacement
from unmoor.model.kinds import DISRUPTIONS, MACHINES, NODES
from unmoor.model.moment import Moment
from unmoor.model.money import usd
from unmoor.model.requirement import Requirements
from unmoor.model.snapshot import View
from unmoor.policy import observing, settling
from unmoor.policy.command import Command

HASH_CHARS = 10
MOVES_MAX = 2_000
"""So many pods are named with where they are to go; one object must hold them. Those that go to a
replacement come first."""
MOVED_MAX = 2_000
"""The pods of so many owners are waited for afterwards (R3)."""
NAMED_REPLACEMENTS_MAX = 2
"""So many are described in a table cell; the rest are counted."""
MACHINE = f"{MACHINES.kind.lower()}/"
NODE = f"{NODES.kind.lower()}/"


def commit(view: View, command: Command, moment: Moment) -> Create:
    """Write a command down, and whose pods must be ready again after it (R3), whatever method.

    Where one of its nodes is only observed, so is the command.
    """
    is_observed = any(_is_observed(view, command, one) for one in command.nodes)
    name = name_of(view, command)
    given = names_of(view, name, command.replacements)
    replaced = bool(command.replacements)
    spec = DisruptionSpec(
        method=command.method,
        action="replace" if replaced else "delete",
        reason=command.reason,
        is_observed=is_observed,
        summary=command.summary,
        nodes=command.nodes,
        replacement_summary=_summary(command.replacements),
        replacements=tuple(_written(one, given[one.name]) for one in command.replacements),
        saving_per_hour=_signed(command.saving_usd_per_h),
        moved_pods=len(command.plan.placements),
        moves=_moves(view, command.plan, given),
        moved=() if is_observed else settling.baseline(view, command.nodes, moment)[:MOVED_MAX],
    )
    body: dict[str, Any] = {
        "apiVersion": DISRUPTIONS.api_version,
        "kind": DISRUPTIONS.kind,
        "metadata": {"name": name},
        "spec": msgspec.to_builtins(spec),
    }
    if is_observed:
        body["metadata"]["labels"] = {names.OBSERVED: names.TRUE}
        return Create(
            ref=Ref("Disruption", name), body=body, why=f"observed: {_said(command, spec)}"
        )
    labels = {"action": command.action, "deprovisioner": str(command.method)}
    return Create(
        ref=Ref("Disruption", name),
        body=body,
        why=_said(command, spec),
        facts=(Fact("deprovisioning_actions_performed", labels),),
    )


def _is_observed(view: View, command: Command, one: DisruptedNode) -> bool:
    node = view.node(one.name)
    provisioner = view.provisioner(node.provisioner_name) if node is not None else None
    if provisioner is None:
        return view.identity.is_observing
    return bool(observing.why(view, command.method, provisioner))


def _said(command: Command, spec: DisruptionSpec) -> str:
    """What is done, as the log has it (spec 10.3)."""
    instead = f" by {spec.replacement_summary}" if spec.replacement_summary else ""
    return f"{command.action} of {spec.summary}{instead}: {command.reason}"


def name_of(view: View, command: Command) -> str:
    """Name a command after its method and nodes; a number tells it from its forerunners."""
    uids = "\n".join(sorted(node.uid for node in command.nodes))
    digest = hashlib.sha256(uids.encode()).hexdigest()[:HASH_CHARS]
    name = base = f"{command.method}-{digest}"
    number = 1
    while _is_taken(view, name):
        number += 1
        name = f"{base}-{number}"
    return name


def _is_taken(view: View, name: str) -> bool:
    """A command of this name is over, on its way out, or cannot be read: another would not be."""
    held = view.disruption(name)
    if held is not None:
        return not held.is_running
    return ("", name) in view.broken(DISRUPTIONS)


def names_of(view: View, command: str, planned: Iterable[NewMachine]) -> dict[str, str]:
    """Return what the replacements of a command will be called, by their names in its plan."""
    found: dict[str, str] = {}
    for number, one in enumerate(planned):
        purpose = f"{command}/{number}"
        found[one.name] = new_machine.name_after(view, one.provisioner, purpose, found.values())
    return found


def planned(command: Disruption, replacement: Replacement) -> NewMachine:
    """Return the machine as it was planned. Raises RequirementError or QuantityError: somebody has
    written something that means nothing.
    """
    price = replacement.price_usd_per_hour
    pods = command.spec.moves.get(f"{MACHINE}{replacement.name}", ())
    return NewMachine(
        name=replacement.name,
        provisioner=replacement.provisioner,
        requirements=Requirements.from_api(replacement.requirements),
        instance_types=replacement.instance_types,
        requests=resources.parse_resources(replacement.requests),
        pods=tuple(map(key_of, pods)),
        price_usd_per_h=_amount(price),
        price_book=replacement.price_book,
    )


def key_of(pod: str) -> Key:
    """Return the key of a pod that is written as ``namespace/name``."""
    namespace, _, name = pod.partition("/")
    return namespace, name


def _written(one: NewMachine, name: str) -> Replacement:
    price = one.price_usd_per_h
    return Replacement(
        name=name,
        provisioner=one.provisioner,
        requirements=one.requirements.to_api(),
        instance_types=one.instance_types,
        requests=dict(resources.render(one.requests)),
        price_usd_per_hour="" if price is None else usd(price),
        price_book=one.price_book,
    )


def _amount(text: str) -> float | None:
    """What means no amount of money is one that nobody knows."""
    try:
        amount = float(text)
    except ValueError:
        return None
    return amount if 0 <= amount < inf else None


def _signed(amount: float | None) -> str:
    if amount is None:
        return ""
    return usd(amount) if amount >= 0 else f"-{usd(-amount)}"


def _summary(planned: Sequence[NewMachine]) -> str:
    """``m5.large or 11 more``; of several, how many there are comes first."""
    said = [_types(one) for one in planned[:NAMED_REPLACEMENTS_MAX]]
    more = len(planned) - len(said)
    text = ", ".join(said) + (f" and {more} more" if more > 0 else "")
    return f"{len(planned)}: {text}" if len(planned) > 1 else text


def _types(one: NewMachine) -> str:
    first, *others = one.instance_types or ("any type",)
    return f"{first} or {len(others)} more" if others else first


def _moves(view: View, plan: Plan, given: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for is_new in (True, False):
        for pod, site in plan.placements.items():
            if (site in given) is is_new:
                found.setdefault(_place(view, site, given), []).append("/".join(pod))
    left, moves = MOVES_MAX, {}
    for place, pods in found.items():
        if left > 0:
            moves[place] = tuple(pods[:left])
            left -= len(pods)
    return moves


def _place(view: View, site: str, given: Mapping[str, str]) -> str:
    if site in given:
        return f"{MACHINE}{given[site]}"
    is_node = view.node(site) is not None
    return f"{NODE}{site}" if is_node else f"{MACHINE}{machine_of_site(site)}"
