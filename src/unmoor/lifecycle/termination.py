"""How a deleted node goes: its machine with it, drained first, and only then released (001:25-32).

The finalizer holds the Node until its cloud machine has been told to go. The phase is read off the
world at every step, so a restart loses nothing but the back-off of evictions. A machine is ended
only when its node is drained; if it is gone already, there is nothing left to be careful about and
the finalizer goes at once (R20). But a cloud that knows no such machine while its node is alive is
not believed: the drain goes on, and then waits for a person, or for the node to fall silent.

The finalizer is shared with Karpenter: a node whose Machine is not ours is never touched. Other
people's finalizers stay.

Must not: delete a node, or believe that an effect has worked before the view shows it.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

import msgspec

from unmoor.lifecycle import detach, drain, telling, whereabouts
from unmoor.lifecycle.effects import Delete, Fact, Observe, Patch, Terminate, remove_finalizer, say
from unmoor.lifecycle.eviction import Memory, remembered
from unmoor.lifecycle.step import Step, join
from unmoor.model import names
from unmoor.model.kinds import ref_of
from unmoor.model.moment import Moment, earliest
from unmoor.model.node import Node
from unmoor.model.observation import Asked
from unmoor.model.snapshot import View
from unmoor.model.wording import counted
from unmoor.policy.drain import deadline_of
from unmoor.policy.ownership import is_our_machine, is_our_scheme, is_ours, why_not_ours
from unmoor.policy.verdict import Method, Reason, Verdict


class Nothing(msgspec.Struct, frozen=True):
    """No such node, not being deleted, or without our finalizer."""


class NotOurs(msgspec.Struct, frozen=True):
    """Bears the finalizer, but somebody else answers for it."""

    node: Node


class MachineGone(msgspec.Struct, frozen=True):
    """The cloud says that there is no such machine any more."""

    node: Node


class Draining(msgspec.Struct, frozen=True):
    """Pods are still waited for, or the API server is asked whether there are any."""

    node: Node
    progress: drain.Progress


class Detaching(msgspec.Struct, frozen=True):
    """Volumes of evicted pods are still attached."""

    node: Node
    volumes: tuple[str, ...]
    until: float
    progress: drain.Progress


class Disputed(msgspec.Struct, frozen=True):
    """Drained, but the cloud knows no such machine, and the node is alive: whom to tell to go?"""

    node: Node
    progress: drain.Progress


class Ending(msgspec.Struct, frozen=True):
    """Drained: the machine is to be told to go."""

    node: Node
    progress: drain.Progress


class Releasing(msgspec.Struct, frozen=True):
    """The machine was told to go, or another node of it will, or there never was one."""

    node: Node
    why: str


Phase: TypeAlias = (
    Nothing | NotOurs | MachineGone | Draining | Detaching | Disputed | Ending | Releasing
)


def phase_of(view: View, key: str, memory: Memory | None, moment: Moment) -> Phase:
    """Read the phase off the world."""
    node = view.node(key)
    if node is None or not node.is_deleting:
        return Nothing()
    if names.TERMINATION_FINALIZER not in node.metadata.finalizers:
        return Nothing()
    if not is_ours(view, node):
        return NotOurs(node)
    is_disputed = whereabouts.is_disputed(view, node.provider_id, moment)
    if whereabouts.is_gone(view, node.provider_id) and not is_disputed:
        return MachineGone(node)
    if whereabouts.is_told_to_go(view, node.provider_id):
        return Releasing(node, "its machine was told to go")
    progress = drain.advance(view, node, order_of(view, node), memory, moment)
    if not progress.is_drained:
        return Draining(node, progress)
    return _when_drained(view, node, progress, moment)


def _when_drained(view: View, node: Node, progress: drain.Progress, moment: Moment) -> Phase:
    until = _detaching_since(progress, moment) + view.settings.cadence.detach_limit_s
    volumes = detach.awaited(view, node)
    if volumes and not progress.is_over and moment.mono < until:
        return Detaching(node, volumes, until, progress)
    progress = drain.confirmed(view, node, Method.TERMINATION, progress, moment)
    if not progress.is_drained:
        return Draining(node, progress)
    if others := [one.name for one in view.nodes_of(node.provider_id) if one.uid != node.uid]:
        return Releasing(node, f"the last node of its machine ends it, and {others[0]} is left")
    if whereabouts.is_disputed(view, node.provider_id, moment):
        return Disputed(node, progress)
    if node.provider_id:
        return Ending(node, progress)
    return Releasing(node, "it has no machine")


def _detaching_since(progress: drain.Progress, moment: Moment) -> float:
    since = progress.memory.detaching_at
    return moment.mono if since is None else since


def order_of(view: View, node: Node) -> drain.Order:
    """What a termination asks of the drain."""
    return drain.Order(
        method=Method.TERMINATION,
        leaves_load_balancers=True,
        deadline=deadline_of(node, view.settings.drain_deadline_s),
    )


def advance(view: View, key: str, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """Take one step for the node called ``key``."""
    phase = phase_of(view, key, memory, moment)
    match phase:
        case Nothing():
            return Step()
        case NotOurs(node):
            return _saying(view, node, _not_ours(view, node), memory, moment)
        case MachineGone(node):
            return _gone(view, node, memory, moment)
        case Draining(node, progress) | Disputed(node, progress):
            return _awaiting(view, node, progress.step, moment)
        case Detaching():
            return _detaching(view, phase, moment)
        case Ending(node, progress):
            return join(progress.step, _end(view, node, progress, moment))
        case Releasing(node, why):
            return Step(effects=(_release(node, why, moment),), memory=memory)
        case never:
            assert_never(never)


def _machines(view: View, node: Node) -> Step[Memory]:
    """Spec 5.1 step 1: the machines go with the node. Theirs waits for the node (spec 5.4)."""
    return Step(
        effects=tuple(
            Delete(ref=ref_of(machine), why=f"its node {node.name} is being deleted")
            for machine in view.machines_claiming(node.provider_id)
            if not machine.is_deleting and is_our_machine(machine, view.identity)
        )
    )


def _awaiting(view: View, node: Node, step: Step[Memory], moment: Moment) -> Step[Memory]:
    """Whatever is waited for, the machine is looked for meanwhile."""
    whole = join(join(_machines(view, node), step), _look(view, node, moment))
    if not whereabouts.is_disputed(view, node.provider_id, moment):
        return whole
    return join(whole, _saying(view, node, _disputed(node), whole.memory, moment))


def _saying(
    view: View, node: Node, verdict: Verdict, memory: Memory | None, moment: Moment
) -> Step[Memory]:
    """Say it, as an event not at each look."""
    known = remembered(node, memory, moment)
    said, told = telling.once(view, say(verdict), known.told, moment)
    spoken = msgspec.structs.replace(known, told=told)
    return Step(effects=said, memory=spoken, verdicts=(verdict,))


def _disputed(node: Node) -> Verdict:
    return Verdict(
        subject=ref_of(node),
        method=Method.TERMINATION,
        reason=Reason.MACHINE_DISPUTED,
        message=(
            f"the cloud knows no machine {node.provider_id}, but node {node.name} is Ready and "
            "its kubelet renews its lease: it is drained, and stays until the cloud finds the "
            "machine or the node falls silent; look whether our credentials are those of the "
            "machine's account and region, or end the machine yourself"
        ),
        evidence={"provider_id": node.provider_id},
        event="MachineDisputed",
        is_warning=True,
    )


def _look(view: View, node: Node, moment: Moment) -> Step[Memory]:
    """001:29 while waiting, find out whether the machine still exists."""
    if not node.provider_id:
        return Step()
    every_s = view.settings.cadence.instance_look_s
    answer = view.instance(node.provider_id)
    due = moment.mono if answer is None else answer.again_at(every_s)
    if moment.mono < due:
        return Step(wake_at=due)
    look = Observe(asked=Asked.INSTANCE, subject=node.provider_id, why="is it still there?")
    return Step(effects=(look,), wake_at=moment.after(every_s))


def _detaching(view: View, phase: Detaching, moment: Moment) -> Step[Memory]:
    node, volumes = phase.node, phase.volumes
    since = _detaching_since(phase.progress, moment)
    verdict = Verdict(
        subject=ref_of(node),
        method=Method.TERMINATION,
        reason=Reason.VOLUMES_ATTACHED,
        message=(
            f"{counted(len(volumes), 'volume')} of evicted pods still attached "
            f"({', '.join(volumes[:3])}): the machine goes when they are detached, or "
            f"{view.settings.cadence.detach_limit_s:g} s after its pods (cadence.detachLimit)"
        ),
        evidence={"volumes": len(volumes), "left_s": round(phase.until - moment.mono)},
        event="AwaitingVolumeDetachment",
    )
    known = msgspec.structs.replace(phase.progress.memory, detaching_at=since)
    poll_at = moment.after(view.settings.cadence.drain_poll_s)
    waiting = join(
        _saying(view, node, verdict, known, moment),
        Step(wake_at=earliest(poll_at, phase.until)),
    )
    return _awaiting(view, node, join(phase.progress.step, waiting), moment)


def _end(view: View, node: Node, progress: drain.Progress, moment: Moment) -> Step[Memory]:
    """001: only when the node is drained is its machine terminated."""
    machines = _machines(view, node)
    due = whereabouts.told_again_at(view, node.provider_id)
    if due is not None and moment.mono < due:
        refused = whereabouts.refused(view, ref_of(node), Method.TERMINATION, node.provider_id)
        said = _saying(view, node, refused, progress.memory, moment)
        return join(join(machines, said), Step(wake_at=due))
    machine = view.machine_of(node)
    terminate = Terminate(
        provider_id=node.provider_id,
        machine=ref_of(machine) if machine is not None else None,
        why=progress.how,
    )
    again_at = moment.after(view.settings.cadence.terminate_again_s)
    return join(machines, Step(effects=(terminate,), wake_at=again_at))


def _gone(view: View, node: Node, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """R20, T077: nothing is left to drain from."""
    verdict = Verdict(
        subject=ref_of(node),
        method=Method.TERMINATION,
        reason=Reason.MACHINE_GONE,
        message=f"the machine {node.provider_id} of node {node.name} does not exist any more",
        evidence={"provider_id": node.provider_id},
        is_refusal=False,
    )
    release = _release(node, "its machine does not exist any more", moment)
    return join(_machines(view, node), Step(effects=(release,), memory=memory, verdicts=(verdict,)))


def _release(node: Node, why: str, moment: Moment) -> Patch:
    """Spec 5.1 step 5; what happened is counted when the API has accepted it (T079, T080)."""
    labels = {"provisioner": node.provisioner_name}
    took_s = moment.since_s(node.metadata.deletion_timestamp)
    facts = (
        Fact("nodes_terminated", labels),
        Fact("nodes_termination_time_seconds", labels, took_s),
    )
    patch = remove_finalizer(node, names.TERMINATION_FINALIZER, why=why)
    return msgspec.structs.replace(patch, facts=facts)


def _not_ours(view: View, node: Node) -> Verdict:
    is_known = is_our_scheme(node.provider_id, view.identity)
    return Verdict(
        subject=ref_of(node),
        method=Method.TERMINATION,
        reason=Reason.NOT_OURS if is_known else Reason.MACHINE_UNKNOWN,
        message=why_not_ours(view, node),
        evidence={"provider_id": node.provider_id},
        event="NotOurs" if is_known else "MachineUnknown",
        is_warning=not is_known,
    )
