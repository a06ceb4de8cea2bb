"""How a machine comes to life, lives, and ends (spec 6.1, 5.4).

The phases in order: its finalizer and its owner, launch, registration, initialization, life. A
machine that never gets a node is given up after a while (liveness). A deleted one waits for its
nodes, which are drained by their own finalizer, then ends its instance and is released.

Must not: act on a machine that is not ours, or end an instance while a node of it is there.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

import msgspec

from unmoor.lifecycle import launch, registration, roll_call
from unmoor.lifecycle.effects import (
    Patch,
    Terminate,
    add_finalizer,
    own,
    owner,
    remove_finalizer,
    retire,
    say,
)
from unmoor.lifecycle.launch import given_up, linked_to, token_of
from unmoor.lifecycle.step import Step, join
from unmoor.lifecycle.whereabouts import is_gone, is_told_to_go, told_again_at
from unmoor.model import names
from unmoor.model.kinds import ref_of
from unmoor.model.machine import MACHINE_REGISTERED, Machine
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.observation import Asked
from unmoor.model.provisioner import Provisioner
from unmoor.model.snapshot import View
from unmoor.policy.ownership import bears_our_name, is_our_machine, why_not_our_machine
from unmoor.policy.verdict import Method, Reason, Verdict


class Memory(msgspec.Struct, frozen=True):
    """Droppable: how many answers to the current launch were lost in a row."""

    lost: int = 0


class Nothing(msgspec.Struct, frozen=True):
    """No such machine, or deleted and without our finalizer."""


class NotOurs(msgspec.Struct, frozen=True):
    """Somebody else answers for it, or nobody can."""

    machine: Machine


class Unclaimed(msgspec.Struct, frozen=True):
    """Without our finalizer."""

    machine: Machine


class Unowned(msgspec.Struct, frozen=True):
    """Its provisioner exists and does not own it yet (R4)."""

    machine: Machine
    provisioner: Provisioner


class Stillborn(msgspec.Struct, frozen=True):
    """No node has joined for too long."""

    machine: Machine


class Launching(msgspec.Struct, frozen=True):
    """Without an instance."""

    machine: Machine


class Registering(msgspec.Struct, frozen=True):
    """Without a node that we know as its own."""

    machine: Machine


class Initializing(msgspec.Struct, frozen=True):
    """With a node that is not yet all that was promised."""

    machine: Machine


class Living(msgspec.Struct, frozen=True):
    """Up."""

    machine: Machine


class AwaitingNodes(msgspec.Struct, frozen=True):
    """Deleted, and so are its nodes; the last of them is waited for."""

    machine: Machine
    nodes: tuple[Node, ...]


class Ending(msgspec.Struct, frozen=True):
    """Deleted and without a node: the instance is to be told to go."""

    machine: Machine
    provider_id: str


class Releasing(msgspec.Struct, frozen=True):
    """Deleted, and there is no instance that was not told to go."""

    machine: Machine


Going: TypeAlias = AwaitingNodes | Ending | Releasing
Phase: TypeAlias = (
    Nothing
    | NotOurs
    | Unclaimed
    | Unowned
    | Stillborn
    | Launching
    | Registering
    | Initializing
    | Living
    | Going
)


def phase_of(view: View, key: str, moment: Moment) -> Phase:
    """Read the phase off the world."""
    machine = view.machine(key)
    if machine is None:
        return Nothing()
    if not is_our_machine(machine, view.identity):
        return NotOurs(machine)
    if machine.is_deleting:
        return _phase_of_deleted(view, machine)
    if names.TERMINATION_FINALIZER not in machine.metadata.finalizers:
        return Unclaimed(machine)  # T148
    provisioner = view.provisioner(machine.provisioner_name)
    if provisioner is not None and not _is_owned(machine):
        return Unowned(machine, provisioner)
    if not machine.is_registered and liveness_at(view, machine, moment) <= moment.mono:
        return Stillborn(machine)
    if not machine.is_launched:
        return Launching(machine)
    if not machine.is_registered:
        return Registering(machine)
    return Living(machine) if machine.is_initialized else Initializing(machine)


def _phase_of_deleted(view: View, machine: Machine) -> Phase:
    if names.TERMINATION_FINALIZER not in machine.metadata.finalizers:
        return Nothing()
    provider_id = instance_of(view, machine)
    nodes = view.nodes_of(provider_id)  # T086: none without a providerID
    if nodes:
        return AwaitingNodes(machine, nodes)
    if not provider_id or is_gone(view, provider_id) or is_told_to_go(view, provider_id):
        return Releasing(machine)
    return Ending(machine, provider_id)


def _is_owned(machine: Machine) -> bool:
    return any(one.kind == "Provisioner" for one in machine.metadata.owner_references)


def instance_of(view: View, machine: Machine) -> str:
    """Return the instance to end: from the status, the link (T083), or a launch just answered."""
    if machine.provider_id or linked_to(machine):
        return machine.provider_id or linked_to(machine)
    token = token_of(machine)
    answer = view.answer(Asked.LAUNCH, token) if token else None
    return answer.result.provider_id if answer is not None and answer.result else ""


def liveness_at(view: View, machine: Machine, moment: Moment) -> float:
    """Return when a machine without a node is given up: 15 min after it became so (T128)."""
    condition = machine.condition(MACHINE_REGISTERED)
    since = condition.last_transition_time if condition else None
    if since is None:
        since = moment.wall  # nobody has looked at it yet: the clock begins now
    return moment.mono + view.settings.cadence.registration_limit_s - moment.since_s(since)


def advance(view: View, key: str, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """Take one step for the machine called ``key``."""
    phase = phase_of(view, key, moment)
    match phase:
        case Nothing():
            return Step()
        case NotOurs(machine):
            return _not_ours(view, machine)
        case Unclaimed(machine):
            return _claim(machine)
        case Unowned(machine, provisioner):
            return _own(machine, provisioner)
        case Stillborn(machine):
            return _give_up(view, machine)
        case Launching(machine):
            return _launching(view, machine, memory, moment)
        case Registering(machine):
            step = registration.register(view, machine, moment)
            return join(step, Step(wake_at=liveness_at(view, machine, moment)))
        case Initializing(machine) | Living(machine):
            return join(registration.reassert(view, machine), _up(view, phase, moment))
        case AwaitingNodes() | Ending() | Releasing():
            return _going(view, phase, moment)
        case never:
            assert_never(never)


def _up(view: View, phase: Initializing | Living, moment: Moment) -> Step[Memory]:
    """What a machine with a node does."""
    match phase:
        case Initializing(machine):
            return registration.initialize(view, machine, moment)
        case Living(machine):
            return registration.reinitialize(view, machine)
        case never:
            assert_never(never)


def _going(view: View, phase: Going, moment: Moment) -> Step[Memory]:
    """What a deleted machine does."""
    match phase:
        case AwaitingNodes(machine, nodes):
            return _delete_nodes(view, machine, nodes, moment)
        case Ending(machine, provider_id):
            return _end(view, machine, provider_id, moment)
        case Releasing(machine):
            return Step(effects=(_release(machine),))
        case never:
            assert_never(never)


def _not_ours(view: View, machine: Machine) -> Step[Memory]:
    """Whoever has handed it to us is told why nothing happens."""
    is_handed_over = bears_our_name(machine.metadata.annotations, view.identity)
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.MACHINE_UNKNOWN if is_handed_over else Reason.NOT_OURS,
        message=why_not_our_machine(machine, view.identity),
        evidence={"provider_id": machine.provider_id},
        event="MachineUnknown" if is_handed_over else "",
        is_warning=is_handed_over,
    )
    return Step(effects=say(verdict), verdicts=(verdict,))


def _claim(machine: Machine) -> Step[Memory]:
    patch = add_finalizer(machine, names.TERMINATION_FINALIZER, why="it is ours")
    return Step(effects=(patch,))


def _own(machine: Machine, provisioner: Provisioner) -> Step[Memory]:
    """R4: deleting the provisioner deletes its machines, and they their nodes."""
    owners = (*machine.metadata.owner_references, owner(provisioner))
    patch = own(machine, owners, why=f"provisioner {provisioner.name} launched it")
    return Step(effects=(patch,))


def _launching(view: View, machine: Machine, memory: Memory | None, moment: Moment) -> Step[Memory]:
    if machine.condition(MACHINE_REGISTERED) is None:
        # The liveness clock must be in the API before the first attempt (T129).
        return registration.register(view, machine, moment)
    step = launch.advance(view, machine, memory.lost if memory else 0, moment)
    return Step(
        effects=step.effects,
        memory=None if step.memory is None else Memory(lost=step.memory),
        verdicts=step.verdicts,
        wake_at=min(
            liveness_at(view, machine, moment),
            step.wake_at if step.wake_at is not None else float("inf"),
        ),
    )


def _give_up(view: View, machine: Machine) -> Step[Memory]:
    limit_min = view.settings.cadence.registration_limit_s / 60
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.NEVER_REGISTERED,
        message=(
            f"no node has joined for machine {machine.name} in {limit_min:g} min: it is given up; "
            "look at the instance's console, its user data and its way to the API server"
        ),
        evidence={"provider_id": machine.provider_id},
        event="NeverRegistered",
        is_warning=True,
    )
    return given_up(machine, verdict, why="no node has joined", counted_as="liveness")


def _delete_nodes(
    view: View, machine: Machine, nodes: tuple[Node, ...], moment: Moment
) -> Step[Memory]:
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
    )
    why = f"its machine {machine.name} is being deleted"
    ends = tuple(
        retire(node, view.identity.cluster, why=why) for node in nodes if not node.is_deleting
    )
    # A node whose machine has not written down its providerID yet cannot wake the machine.
    again = moment.after(view.settings.cadence.resync_s)
    return Step(effects=ends, verdicts=(verdict,), wake_at=again)


def _end(view: View, machine: Machine, provider_id: str, moment: Moment) -> Step[Memory]:
    due = told_again_at(view, provider_id)
    if due is not None and moment.mono < due:
        return Step(wake_at=due)
    if machine.node_name:
        # Its node may only be missing from what a watch has brought.
        asking = roll_call.step_for(view, roll_call.node_of(view, machine), 0.0, moment)
        if asking is not None:
            return asking
    terminate = Terminate(
        provider_id=provider_id, machine=ref_of(machine), why="its last node is gone"
    )
    return Step(effects=(terminate,), wake_at=moment.after(view.settings.cadence.terminate_again_s))


def _release(machine: Machine) -> Patch:
    return remove_finalizer(machine, names.TERMINATION_FINALIZER, why="its instance is going")
