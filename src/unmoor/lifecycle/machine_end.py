"""How a deleted machine goes (spec 5.4): its nodes first, then its instance, then it is released.

Its nodes are drained by their own finalizer. An instance for which another machine stands as well
is not ended, nor is its node deleted: the machine is let go alone. Its node is handed over before,
as a node whose only owner is gone would be collected. So the instance ends with the last of them.

Must not: end an instance while a node of it is there, or another machine stands for it.
"""

from __future__ import annotations

from typing import Any, TypeAlias, assert_never

import msgspec

from unmoor.lifecycle import roll_call, whereabouts
from unmoor.lifecycle.effects import Patch, Terminate, own, owner, remove_finalizer, retire, say
from unmoor.lifecycle.launch import token_of
from unmoor.lifecycle.step import Step, spoken
from unmoor.model import names
from unmoor.model.kinds import NODES, ref_of
from unmoor.model.machine import Machine
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.observation import Asked, ProblemKind
from unmoor.model.snapshot import View
from unmoor.policy.ownership import bears_our_name, is_our_machine, is_our_scheme
from unmoor.policy.verdict import Method, Reason, Verdict


class Sharing(msgspec.Struct, frozen=True):
    """Deleted, and ``others`` stand for its instance."""

    machine: Machine
    provider_id: str
    others: tuple[Machine, ...]


class AwaitingNodes(msgspec.Struct, frozen=True):
    """Deleted, and so are its nodes; the last of them is waited for."""

    machine: Machine
    nodes: tuple[Node, ...]


class Doubtful(msgspec.Struct, frozen=True):
    """Deleted, and a node may be its own that does not say so, or cannot be read: ``why``."""

    machine: Machine
    why: str


class Ending(msgspec.Struct, frozen=True):
    """Deleted and without a node: the instance is to be told to go."""

    machine: Machine
    provider_id: str


class Releasing(msgspec.Struct, frozen=True):
    """Deleted, and there is no instance that was not told to go."""

    machine: Machine


Phase: TypeAlias = Sharing | AwaitingNodes | Doubtful | Ending | Releasing


def phase_of(view: View, machine: Machine) -> Phase:
    """Read the phase of a deleted machine that bears our finalizer off the world."""
    provider_id = instance_of(view, machine)
    if others := sharers_of(view, machine, provider_id):
        return Sharing(machine, provider_id, others)
    nodes = view.nodes_of(provider_id)  # T086: none without a providerID
    if nodes:
        return AwaitingNodes(machine, nodes)
    if not provider_id or _is_over(view, machine, provider_id):
        return Releasing(machine)
    if why := _what_may_be_its_node(view, machine):
        return Doubtful(machine, why)
    return Ending(machine, provider_id)


def _what_may_be_its_node(view: View, machine: Machine) -> str:
    """Say which node may be its own after all, and bear pods; "" when none may.

    A kubelet that registers once more may do so before the cloud has said which machine it is on.
    One that never had a node may have got any that cannot be read.
    """
    broken, name = view.broken(NODES), machine.node_name
    for _, odd in sorted(broken):
        if name in {"", odd}:
            return f"node {odd} cannot be read ({broken['', odd]}): mend it"
    named = view.node(name)
    if named is not None and not named.provider_id:
        return f"node {name} has no providerID yet: the cloud's controller must set it"
    return ""


def instance_of(view: View, machine: Machine) -> str:
    """Return the instance to end: from the status, the link (T083), or a launch just answered."""
    if machine.provider_id:
        return machine.provider_id
    if machine.linked_to:
        # Nobody has ever seen that instance; one of another cloud is none of our business.
        return machine.linked_to if is_our_scheme(machine.linked_to, view.identity) else ""
    token = token_of(machine)
    answer = view.answer(Asked.LAUNCH, token) if token else None
    return answer.result.provider_id if answer is not None and answer.result else ""


def sharers_of(view: View, machine: Machine, provider_id: str) -> tuple[Machine, ...]:
    """Return the other machines, ours or not, that stand for an instance and are to stay."""
    return tuple(
        one
        for one in view.machines_claiming(provider_id)
        if one.uid != machine.uid and not one.is_deleting
    )


def _is_over(view: View, machine: Machine, provider_id: str) -> bool:
    if whereabouts.is_going(view, provider_id):
        return True
    # A link that no cloud can make sense of: nothing stands behind it.
    answer = view.answer(Asked.TERMINATION, provider_id)
    is_nonsense = (
        answer is not None
        and answer.problem is not None
        and answer.problem.kind is ProblemKind.INVALID
    )
    return is_nonsense and not machine.provider_id


def advance(view: View, phase: Phase, moment: Moment) -> Step[Any]:
    """Take one step for a deleted machine."""
    match phase:
        case Sharing():
            return _share(view, phase)
        case AwaitingNodes(machine, nodes):
            return _delete_nodes(view, machine, nodes, moment)
        case Doubtful(machine, why):
            return _doubt(view, machine, why, moment)
        case Ending(machine, provider_id):
            return _end(view, machine, provider_id, moment)
        case Releasing(machine):
            return Step(effects=(_release(machine, "its instance is going"),))
        case never:
            assert_never(never)


def _share(view: View, phase: Sharing) -> Step[Any]:
    """The node gets other owners first, in a step of its own."""
    machine, others = phase.machine, phase.others
    named = ", ".join(one.name for one in others)
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.CLAIMED_TWICE,
        message=(
            f"machine {machine.name} goes alone: instance {phase.provider_id} and its node stay, "
            f"as machine {named} stands for it as well; delete that one, too, to end it"
        ),
        evidence={"provider_id": phase.provider_id, "others": len(others)},
        event="ClaimedTwice",
        is_warning=True,
        is_refusal=False,
        also_on=tuple(ref_of(one) for one in others),
    )
    heirs = tuple(one for one in others if is_our_machine(one, view.identity))
    handed = tuple(
        _hand_over(node, machine, heirs)
        for node in view.nodes_of(phase.provider_id)
        if node.metadata.is_owned_by(machine.uid)
        and bears_our_name(node.metadata.annotations, view.identity)
    )
    if handed:
        return Step(effects=handed, verdicts=(verdict,))
    release = _release(machine, f"machine {named} stands for its instance")
    return Step(effects=(release, *say(verdict)), verdicts=(verdict,))


def _hand_over(node: Node, machine: Machine, heirs: tuple[Machine, ...]) -> Patch:
    leaving = {machine.uid, *(heir.uid for heir in heirs)}
    kept = tuple(one for one in node.metadata.owner_references if one.uid not in leaving)
    owners = (*kept, *(owner(heir) for heir in heirs))
    return own(node, owners, why=f"its machine {machine.name} goes, and another stays")


def _delete_nodes(
    view: View, machine: Machine, nodes: tuple[Node, ...], moment: Moment
) -> Step[Any]:
    """Spec 5.4, T082: every node of it goes first, drained by its own finalizer."""
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.NODES_LEFT,
        message=(
            f"machine {machine.name} waits for its nodes to be drained: "
            f"{', '.join(node.name for node in nodes)}"
        ),
        evidence={"nodes": len(nodes)},
        event="AwaitingNodes",
    )
    why = f"its machine {machine.name} is being deleted"
    ends = tuple(
        retire(node, view.identity.cluster, why=why) for node in nodes if not node.is_deleting
    )
    # A node whose machine has not written down its providerID yet cannot wake the machine.
    again = moment.after(view.settings.cadence.resync_s)
    return Step(effects=(*ends, *say(verdict)), verdicts=(verdict,), wake_at=again)


def _doubt(view: View, machine: Machine, why: str, moment: Moment) -> Step[Any]:
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.NODE_DOUBTFUL,
        message=(
            f"machine {machine.name} is kept, and so is its instance, as there may be pods: {why}, "
            "or delete it if it is another's"
        ),
        event="NodeDoubtful",
        is_warning=True,
    )
    again = moment.after(view.settings.cadence.resync_s)
    return spoken(verdict, wake_at=again)


def _end(view: View, machine: Machine, provider_id: str, moment: Moment) -> Step[Any]:
    due = whereabouts.told_again_at(view, provider_id)
    if due is not None and moment.mono < due:
        verdict = whereabouts.refused(view, ref_of(machine), Method.LIFECYCLE, provider_id)
        return spoken(verdict, wake_at=due)
    # Its node may only be missing from what a watch has brought.
    known = bool(machine.node_name)
    question = roll_call.node_of(view, machine) if known else roll_call.all_nodes(view, machine)
    asking = roll_call.step_for(view, question, 0.0, moment)
    if asking is not None:
        return asking
    terminate = Terminate(
        provider_id=provider_id, machine=ref_of(machine), why="its last node is gone"
    )
    return Step(effects=(terminate,), wake_at=moment.after(view.settings.cadence.terminate_again_s))


def _release(machine: Machine, why: str) -> Patch:
    return remove_finalizer(machine, names.TERMINATION_FINALIZER, why=why)
