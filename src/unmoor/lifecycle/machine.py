"""How a machine comes to life and lives (spec 6.1).

The phases in order: its finalizer and its owner, launch, registration, initialization, life. A
machine that never gets a node is given up after a while (liveness). What becomes of one whose node
was taken away is told in ``lost_node``, how a deleted one goes in ``machine_end``.

Must not: act on a machine that is not ours.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

import msgspec

from unmoor.lifecycle import launch, lost_node, machine_end, registration
from unmoor.lifecycle.effects import Avoid, add_finalizer, own, owner
from unmoor.lifecycle.launch import given_up
from unmoor.lifecycle.step import Step, join, spoken
from unmoor.model import names
from unmoor.model.kinds import ref_of
from unmoor.model.machine import MACHINE_REGISTERED, Machine
from unmoor.model.moment import Moment
from unmoor.model.provisioner import Provisioner
from unmoor.model.snapshot import View
from unmoor.policy import no_shows
from unmoor.policy.no_shows import NoShow
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


class Losing(msgspec.Struct, frozen=True):
    """Its node is gone, and nobody let it go."""

    machine: Machine


class Stillborn(msgspec.Struct, frozen=True):
    """No node has joined, or come back, for too long."""

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


Phase: TypeAlias = (
    Nothing
    | NotOurs
    | Unclaimed
    | Unowned
    | Losing
    | Stillborn
    | Launching
    | Registering
    | Initializing
    | Living
    | machine_end.Phase
)


def phase_of(view: View, key: str, moment: Moment) -> Phase:
    """Read the phase off the world."""
    machine = view.machine(key)
    if machine is None:
        return Nothing()
    if not is_our_machine(machine, view.identity):
        return NotOurs(machine)
    if machine.is_deleting:
        is_held = names.TERMINATION_FINALIZER in machine.metadata.finalizers
        return machine_end.phase_of(view, machine) if is_held else Nothing()
    if names.TERMINATION_FINALIZER not in machine.metadata.finalizers:
        return Unclaimed(machine)  # T148
    provisioner = view.provisioner(machine.provisioner_name)
    if provisioner is not None and not _is_owned(machine):
        return Unowned(machine, provisioner)
    if not machine.is_registered and _is_given_up(view, machine, moment):
        return Stillborn(machine)
    if not machine.is_launched:
        return Launching(machine)
    if not machine.is_registered:
        return Registering(machine)
    if lost_node.is_losing(view, machine):
        return Losing(machine)
    return Living(machine) if machine.is_initialized else Initializing(machine)


def _is_owned(machine: Machine) -> bool:
    return any(one.kind == "Provisioner" for one in machine.metadata.owner_references)


def _is_given_up(view: View, machine: Machine, moment: Moment) -> bool:
    if liveness_at(view, machine, moment) > moment.mono:
        return False
    return not machine.node_name or lost_node.has_lost_its_node(view, machine)


def liveness_at(view: View, machine: Machine, moment: Moment) -> float:
    """Return when a machine without a node is given up: 15 min after it became so (T128).

    One that has lost its node gets longer: somebody may bring it back.
    """
    cadence = view.settings.cadence
    limit_s = cadence.lost_node_limit_s if machine.node_name else cadence.registration_limit_s
    return moment.mono + limit_s - moment.since_s(lost_node.without_since(machine, moment))


def advance(view: View, key: str, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """Take one step for the machine called ``key``."""
    step = _advance(view, phase_of(view, key, moment), memory, moment)
    verdict = _claimed_twice(view, key)
    return step if verdict is None else join(step, spoken(verdict))


def _claimed_twice(view: View, key: str) -> Verdict | None:
    """One instance may have one machine; which is the right one only a person knows."""
    machine = view.machine(key)
    if machine is None or machine.is_deleting or not is_our_machine(machine, view.identity):
        return None
    for provider_id in machine.claims:
        others = machine_end.sharers_of(view, machine, provider_id)
        if others:
            return Verdict(
                subject=ref_of(machine),
                method=Method.LIFECYCLE,
                reason=Reason.CLAIMED_TWICE,
                message=(
                    f"machine {machine.name} stands for instance {provider_id}, and so does "
                    f"{', '.join(one.name for one in others)}: delete the one that should not; the "
                    "instance stays for as long as one of them does"
                ),
                evidence={"provider_id": provider_id, "others": len(others)},
                event="ClaimedTwice",
                is_warning=True,
            )
    return None


def _advance(view: View, phase: Phase, memory: Memory | None, moment: Moment) -> Step[Memory]:
    match phase:
        case Nothing():
            return Step()
        case NotOurs(machine):
            return _not_ours(view, machine)
        case Unclaimed(machine):
            return _claim(machine)
        case Unowned(machine, provisioner):
            return _own(machine, provisioner)
        case Losing(machine):
            return _lose(view, machine, moment)
        case Stillborn(machine):
            return _give_up(view, machine, moment)
        case Launching(machine):
            return _launching(view, machine, memory, moment)
        case Registering(machine):
            return _register(view, machine, moment)
        case Initializing(machine) | Living(machine):
            return join(registration.reassert(view, machine), _up(view, phase, moment))
        case _:
            return machine_end.advance(view, phase, moment)


def _up(view: View, phase: Initializing | Living, moment: Moment) -> Step[Memory]:
    match phase:
        case Initializing(machine):
            return registration.initialize(view, machine, moment)
        case Living(machine):
            return registration.reinitialize(view, machine)
        case never:
            assert_never(never)


def _not_ours(view: View, machine: Machine) -> Step[Memory]:
    """Whoever has handed it to us is told why nothing happens, and whoever waits for its end.

    The many that are none of our business are left in peace.
    """
    is_handed_over = bears_our_name(machine.metadata.annotations, view.identity)
    is_awaited = machine.is_deleting and names.TERMINATION_FINALIZER in machine.metadata.finalizers
    event = "MachineUnknown" if is_handed_over else "NotOurs"
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.MACHINE_UNKNOWN if is_handed_over else Reason.NOT_OURS,
        message=why_not_our_machine(machine, view.identity),
        evidence={"provider_id": machine.provider_id},
        event=event if is_handed_over or is_awaited else "",
        is_warning=is_handed_over,
    )
    return spoken(verdict)


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


def _register(view: View, machine: Machine, moment: Moment) -> Step[Memory]:
    step: Step[Memory] = registration.register(view, machine, moment)
    due = liveness_at(view, machine, moment)
    if due <= moment.mono:
        # Some node may be its own after all, though it does not say so yet.
        due = moment.after(view.settings.cadence.resync_s)
    return join(join(step, Step(wake_at=due)), lost_node.tell(view, machine, moment))


def _lose(view: View, machine: Machine, moment: Moment) -> Step[Memory]:
    """Its clock begins; it is written down, so a restart does not begin it again."""
    asking = lost_node.ask(view, machine, moment)
    return _register(view, machine, moment) if asking is None else asking


def _give_up(view: View, machine: Machine, moment: Moment) -> Step[Memory]:
    if machine.node_name:
        return lost_node.give_up(view, machine, moment)
    limit_min = view.settings.cadence.registration_limit_s / 60
    no_show = no_shows.no_show_of(view, machine, moment)
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.NEVER_REGISTERED,
        message=(
            f"no node has joined for machine {machine.name} in {limit_min:g} min: it is given up; "
            "look at the instance's console, its user data and its way to the API server"
            f"{_said_of(machine, no_show)}"
        ),
        evidence={"provider_id": machine.provider_id},
        event="NeverRegistered",
        is_warning=True,
    )
    step: Step[Memory] = given_up(machine, verdict, why="no node has joined", counted_as="liveness")
    if no_show is None:
        return step
    avoid = Avoid(subject=no_show.subject, times=no_show.times, why="it did not come up")
    return join(step, Step(effects=(avoid,)))


def _said_of(machine: Machine, no_show: NoShow | None) -> str:
    """Which offering is left alone, if it is known."""
    if no_show is None:
        return ""
    times = f", the {no_show.times}. time in a row" if no_show.times > 1 else ""
    return (
        f". Provisioner {machine.provisioner_name} does not ask for {no_show.offering} for "
        f"{no_show.avoided_s / 60:g} min{times}"
    )
