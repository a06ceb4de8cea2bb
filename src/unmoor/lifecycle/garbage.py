"""What exists on one side only: machines without an instance, instances without a machine (6.2).

The cloud's list may lag behind the truth in both directions, so it only raises a suspicion: each
suspect is asked for by itself, after the list was made, before anything is done; of an instance,
the API server is asked for its machine and for nodes as well. An instance of
another cluster, a young one, one whose launch is still being written down, and one whose
provisioner nobody knows (case T03) are left alone; but not what an attempt of ours has left behind
before it became a node.

An instance with a node is not ended under its pods: the node is deleted, and its termination drains
it first.

Must not: act on a machine or a node that is not ours.
"""

from __future__ import annotations

from typing import Any

import msgspec

from unmoor.lifecycle import roll_call
from unmoor.lifecycle.effects import AnyEffect, Observe, Terminate, adopt, retire, say_all
from unmoor.lifecycle.launch import given_up, token_of
from unmoor.lifecycle.step import Step
from unmoor.lifecycle.whereabouts import (
    is_disputed,
    is_going,
    refused,
    told_again_at,
)
from unmoor.model import names
from unmoor.model.base import Ref
from unmoor.model.instance import CloudInstance, InstanceState
from unmoor.model.kinds import MACHINES, NODES, PROVISIONERS, ref_of
from unmoor.model.machine import MACHINE_LAUNCHED, Machine
from unmoor.model.moment import Moment, earliest
from unmoor.model.node import Node
from unmoor.model.observation import Answer, Asked, Problem
from unmoor.model.snapshot import View
from unmoor.policy.ownership import is_our_machine, is_our_scheme, is_ours
from unmoor.policy.verdict import Method, Reason, Verdict

SUSPECTS_MAX = 1_000
"""So many machines, and so many instances, are dealt with in one step; the rest in the next."""

LEFT_ALONE = frozenset(
    {
        Reason.MACHINE_DISPUTED,
        Reason.NOT_CONFIRMED,
        Reason.INVALID,
        Reason.NODE_DOUBTFUL,
        Reason.PROVISIONER_MISSING,
        Reason.NOT_OURS,
        Reason.TERMINATION_REFUSED,
    }
)
TOLD_MAX = 20
"""So many are named of what is left alone; with the wrong credentials it would be everything."""


class Memory(msgspec.Struct, frozen=True):
    """Droppable: how many lists were asked for, and when the last one was."""

    rounds: int = 0
    asked_at: float | None = None


def advance(view: View, key: str, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """Compare both sides; ``key`` is the same always."""
    del key
    if not view.identity.cluster or not view.identity.scheme:
        return Step()  # without a name or a cloud there is nothing that could be ours
    known = memory or Memory()
    listed = view.answer(Asked.INSTANCES, view.identity.cluster)
    due = max(_due(view, known), 0.0 if listed is None else listed.again_at(0.0))
    effects: list[AnyEffect] = []
    if moment.mono >= due:
        cluster = view.identity.cluster
        effects.append(Observe(asked=Asked.INSTANCES, subject=cluster, why="what is there?"))
        known = Memory(known.rounds + 1, moment.mono)
        due = _due(view, known)
    verdicts: list[Verdict] = []
    if listed is not None and listed.result is not None:
        for suspects in (
            _machines_without_instance(view, listed, moment),
            _instances_without_machine(view, listed, moment),
        ):
            now = _first(suspects)
            for step in now:
                effects += step.effects
                verdicts += step.verdicts
                due = earliest(due, step.wake_at) or due
            if len(now) < len(suspects):
                due = moment.mono
    # What is left alone is told, if not of everybody; who ends something says so there.
    effects += say_all((one for one in verdicts if one.reason in LEFT_ALONE), TOLD_MAX)
    return Step(tuple(effects), known, tuple(verdicts), due)


def _due(view: View, memory: Memory) -> float:
    """Every 10 s at first, so that what a crash has left is found soon; then every 2 min."""
    if memory.asked_at is None:
        return 0.0
    cadence = view.settings.cadence
    is_start = memory.rounds < view.settings.instance_gc_start_rounds
    return memory.asked_at + (cadence.instance_gc_start_s if is_start else cadence.instance_gc_s)


def _first(suspects: list[Step[Memory]]) -> list[Step[Memory]]:
    """Leave out what would be too much for one step."""
    acting = [number for number, step in enumerate(suspects) if step.effects]
    return suspects if len(acting) <= SUSPECTS_MAX else suspects[: acting[SUSPECTS_MAX]]


Listed = Answer[tuple[CloudInstance, ...]]


def _machines_without_instance(view: View, listed: Listed, moment: Moment) -> list[Step[Memory]]:
    alive = {one.provider_id for one in listed.result or () if not one.state.is_going}
    steps = []
    disputed: list[Machine] = []
    unlisted = [one for one in view.all(MACHINES).values() if one.provider_id not in alive]
    for machine in sorted(unlisted, key=lambda one: one.key):
        if not _is_settled(view, machine, listed):
            continue
        answer = view.instance(machine.provider_id)
        if answer is None or answer.at.mono < listed.at.mono:
            if answer is not None and moment.mono < answer.again_at(0.0):
                continue  # the cloud asked us to wait
            look = Observe(
                asked=Asked.INSTANCE,
                subject=machine.provider_id,
                why=f"machine {machine.name} has no instance in the list",
            )
            steps.append(Step[Memory](effects=(look,)))
        elif is_disputed(view, machine.provider_id, moment):
            disputed.append(machine)
        elif answer.is_missing or (answer.result is not None and answer.result.state.is_going):
            steps.append(_collect_machine(machine, moment))
        elif answer.problem is not None:
            why = f"is instance {machine.provider_id} there?"
            look = Observe(asked=Asked.INSTANCE, subject=machine.provider_id, why=why)
            told = roll_call.unanswered(ref_of(machine), Method.LIFECYCLE, look, answer.problem)
            steps.append(Step(verdicts=(told,)))
    return [*steps, _kept(disputed)]


def _is_settled(view: View, machine: Machine, listed: Listed) -> bool:
    """Ours, launched some time before the list was made, and not on its way out anyway."""
    if machine.is_deleting or not machine.provider_id:
        return False
    launched_at = machine.since(MACHINE_LAUNCHED)
    if launched_at is None or not is_our_machine(machine, view.identity):
        return False
    return listed.at.since_s(launched_at) > view.settings.cadence.machine_gc_grace_s


def _collect_machine(machine: Machine, moment: Moment) -> Step[Memory]:
    """T149."""
    verdict = Verdict(
        subject=ref_of(machine),
        method=Method.LIFECYCLE,
        reason=Reason.INSTANCE_MISSING,
        message=f"the instance {machine.provider_id} of machine {machine.name} is gone",
        evidence={"provider_id": machine.provider_id, "age_s": round(_age_s(machine, moment))},
        event="InstanceMissing",
        is_warning=True,
    )
    return given_up(machine, verdict, why="its instance is gone", counted_as="garbage_collected")


def _kept(disputed: list[Machine]) -> Step[Memory]:
    """A cloud that knows none of our machines may be the wrong one: their nodes know better."""
    verdicts = tuple(
        Verdict(
            subject=ref_of(machine),
            method=Method.LIFECYCLE,
            reason=Reason.MACHINE_DISPUTED,
            message=(
                f"the cloud knows no instance {machine.provider_id}, but node {machine.node_name} "
                f"is Ready and its kubelet renews its lease: machine {machine.name} is kept; look "
                "whether our credentials are those of the instance's account and region"
            ),
            evidence={"provider_id": machine.provider_id, "machines": len(disputed)},
            event="MachineDisputed",
            is_warning=True,
        )
        for machine in disputed[:TOLD_MAX]
    )
    return Step(verdicts=verdicts)


def _age_s(machine: Machine, moment: Moment) -> float:
    return moment.since_s(machine.metadata.creation_timestamp)


def _instances_without_machine(view: View, listed: Listed, moment: Moment) -> list[Step[Memory]]:
    if unreadable := sorted(view.broken(MACHINES)):
        # One of them may stand for any instance: absence proves nothing now.
        return [Step(verdicts=(_unreadable(view, unreadable[0][1]),))]
    tokens = _live_tokens(view)
    unclaimed = [
        one
        for one in listed.result or ()
        if not view.is_claimed(one.provider_id) and one.token not in tokens
    ]
    return [
        _suspect(view, instance, listed, moment)
        for instance in sorted(unclaimed, key=lambda one: one.provider_id)
        if _is_ripe(view, instance, listed)
    ]


def _live_tokens(view: View) -> frozenset[str]:
    """Return the attempts of all machines, ours or not, that no instance is known to be of."""
    machines = view.all(MACHINES).values()
    tokens = {token_of(machine) for machine in machines if not machine.provider_id}
    return frozenset(tokens - {""})


def _is_ripe(view: View, instance: CloudInstance, listed: Listed) -> bool:
    if instance.cluster != view.identity.cluster or instance.state.is_going:
        return False
    if not is_our_scheme(instance.provider_id, view.identity):
        return False
    age_s = listed.at.since_s(instance.launched_at)
    return age_s >= view.settings.cadence.instance_gc_grace_s


def _suspect(view: View, instance: CloudInstance, listed: Listed, moment: Moment) -> Step[Memory]:
    provisioner = instance.labels.get(names.PROVISIONER_NAME, "")
    is_known = not provisioner or view.provisioner(provisioner) is not None
    if not is_known and not _is_unfinished(view, instance):
        return Step(verdicts=(_unknown_provisioner(view, instance, provisioner),))
    look = Observe(
        asked=Asked.INSTANCE, subject=instance.provider_id, why="no machine stands for it"
    )
    answer = _answer_to(view, look, listed)
    if answer is None:
        return Step(effects=(look,))
    found = answer.result
    if answer.problem is not None and not answer.is_missing:
        return _no_answer(view, instance, look, answer.problem)
    if found is None or found.state.is_going or found.cluster != view.identity.cluster:
        return Step()
    return _asking(view, instance, listed) or _collect_instance(view, instance, moment)


def _asking(view: View, instance: CloudInstance, listed: Listed) -> Step[Memory] | None:
    """Ask the API server for machine and node; a watch may have missed them. None: it has said."""
    ref = MACHINES.ref(instance.machine)
    named = Observe(asked=Asked.OBJECT, subject=str(ref), ref=ref, why="is there none?")
    looks = (named,) if instance.machine else ()
    if not view.nodes_of(instance.provider_id):
        looks = (*looks, roll_call.LOOK_FOR_NODES)
    for look in looks:
        word = _answer_to(view, look, listed)
        if word is None:
            return Step(effects=(look,))
        if word.problem is not None and not word.is_missing:
            return _no_answer(view, instance, look, word.problem)
    return None


def _answer_to(view: View, look: Observe, listed: Listed) -> Answer[Any] | None:
    """Return what was answered since the list was made."""
    answer = view.answer(look.asked, look.subject)
    return answer if answer is not None and answer.at.mono >= listed.at.mono else None


def _is_unfinished(view: View, instance: CloudInstance) -> bool:
    """An attempt of ours on which nobody has built yet: no node of it was ever claimed.

    Were all our kinds deleted at once, every node would be claimed, and nothing be ended.
    """
    nodes = view.nodes_of(instance.provider_id)
    return bool(instance.token) and all(_is_unclaimed(view, node) for node in nodes)


def _unreadable(view: View, name: str) -> Verdict:
    return Verdict(
        subject=MACHINES.ref(name),
        method=Method.LIFECYCLE,
        reason=Reason.INVALID,
        message=(
            f"machine {name} cannot be read ({view.broken(MACHINES)['', name]}): until it is "
            "mended or deleted, no instance is collected"
        ),
        event="Invalid",
        is_warning=True,
    )


def _unknown_provisioner(view: View, instance: CloudInstance, provisioner: str) -> Verdict:
    """T03 of the bug reports: who knows what it is for? Not we."""
    return _left_alone(
        view,
        instance,
        Reason.PROVISIONER_MISSING,
        f"instance {instance.provider_id} has no machine, and its provisioner {provisioner} does "
        "not exist: it is left alone; terminate it, or create the provisioner again",
    )


def _collect_instance(view: View, instance: CloudInstance, moment: Moment) -> Step[Memory]:
    message = f"instance {instance.provider_id} has no machine"
    nodes = view.nodes_of(instance.provider_id)
    if not nodes and (unreadable := sorted(view.broken(NODES))):
        odd = unreadable[0][1]
        message += f", but node {odd} cannot be read, and may be its own: mend it, or delete it"
        return Step(verdicts=(_left_alone(view, instance, Reason.NODE_DOUBTFUL, message),))
    if not nodes:
        return _terminate(view, instance, message, moment)
    unclaimed = tuple(node for node in nodes if _is_unclaimed(view, node))
    if unclaimed and instance.token:
        cluster = view.identity.cluster
        adoptions = tuple(adopt(node, cluster, why=message) for node in unclaimed)
        return Step(effects=adoptions, verdicts=(_about(instance, Reason.NO_MACHINE, message),))
    if not all(is_ours(view, node) for node in nodes):
        message += f", but node {nodes[0].name} is not ours: it is left alone"
        return Step(verdicts=(_left_alone(view, instance, Reason.NOT_OURS, message),))
    cluster = view.identity.cluster
    ends = tuple(retire(node, cluster, why=message) for node in nodes if not node.is_deleting)
    return Step(effects=ends, verdicts=(_about(instance, Reason.NO_MACHINE, message),))


def _is_unclaimed(view: View, node: Node) -> bool:
    """Nobody has said whose it is: its machine went before it was registered."""
    meta = node.metadata
    is_claimed = (
        names.MANAGED_BY in meta.annotations
        or names.REGISTERED in meta.labels
        or names.TERMINATION_FINALIZER in meta.finalizers
    )
    return not (is_claimed or node.is_deleting or view.machines_of(node.provider_id))


def _terminate(view: View, instance: CloudInstance, message: str, moment: Moment) -> Step[Memory]:
    verdict = _about(instance, Reason.NO_MACHINE, message)
    if is_going(view, instance.provider_id):
        return Step(verdicts=(verdict,))
    due = told_again_at(view, instance.provider_id)
    if due is not None and moment.mono < due:
        told = refused(view, verdict.subject, Method.LIFECYCLE, instance.provider_id)
        return Step(verdicts=(verdict, _on_objects(view, instance, told)), wake_at=due)
    terminate = Terminate(provider_id=instance.provider_id, why="no machine stands for it")
    return Step(effects=(terminate,), verdicts=(verdict,))


def _no_answer(
    view: View, instance: CloudInstance, look: Observe, problem: Problem
) -> Step[Memory]:
    """Nobody could say whether it may end."""
    told = roll_call.unanswered(_ref_of(instance), Method.LIFECYCLE, look, problem)
    return Step(verdicts=(_on_objects(view, instance, told),))


def _left_alone(view: View, instance: CloudInstance, reason: Reason, message: str) -> Verdict:
    told = msgspec.structs.replace(
        _about(instance, reason, message), event="InstanceLeftAlone", is_warning=True
    )
    return _on_objects(view, instance, told)


def _on_objects(view: View, instance: CloudInstance, verdict: Verdict) -> Verdict:
    """An instance is no API object: events go to its nodes, or to whom it was made for."""
    nodes = tuple(ref_of(node) for node in view.nodes_of(instance.provider_id))
    provisioner = instance.labels.get(names.PROVISIONER_NAME, "")
    named = ((MACHINES, instance.machine), (PROVISIONERS, provisioner))
    known = nodes or tuple(resource.ref(name) for resource, name in named if name)[:1]
    if not known:
        return msgspec.structs.replace(verdict, event="")
    return msgspec.structs.replace(verdict, subject=known[0], also_on=known[1:])


def _ref_of(instance: CloudInstance) -> Ref:
    return Ref("Instance", instance.provider_id)


def _about(instance: CloudInstance, reason: Reason, message: str) -> Verdict:
    return Verdict(
        subject=_ref_of(instance),
        method=Method.LIFECYCLE,
        reason=reason,
        message=message,
        evidence={
            "provider_id": instance.provider_id,
            "state": InstanceState(instance.state),
            "token": instance.token,
        },
    )
