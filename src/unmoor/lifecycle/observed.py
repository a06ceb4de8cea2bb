"""Commands that are recorded and not carried out: which stand, and what may be seen besides.

Each is a ``Disruption`` with ``observed: true``. It never runs. Its phase is Observed as long as
the same would be decided, each in the light of those that were before it; then it is Cancelled, and
its message says why. So what is decided once is recorded once, and not at each look.

Must not: touch a node, a pod or a machine; :func:`harmless` holds a whole process to that.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import isfinite
from typing import Any, TypeVar

import msgspec

from unmoor.lifecycle import doubtful
from unmoor.lifecycle.command_phases import Memory
from unmoor.lifecycle.effects import (
    AnyEffect,
    Avoid,
    Create,
    Delete,
    Fact,
    Nominate,
    Observe,
    Patch,
    Publish,
    Suppose,
    patch_as_seen,
)
from unmoor.lifecycle.step import Step
from unmoor.model.base import Condition, Ref
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.kinds import DISRUPTIONS, MACHINES, NODES
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View
from unmoor.policy import holding, methods, observing
from unmoor.policy.command import Candidate, Command
from unmoor.policy.look import Look

M = TypeVar("M")
CHECKED_MAX = 20
"""So many that stand are looked at again in one look; the others in the next ones."""
TOLD_MAX = 20
"""On so many of its nodes it is said what would be done."""


def advance(view: View, memory: Memory, moment: Moment) -> Step[Memory]:
    """Look again at commands that stand: some of them in each look."""
    stands = sorted(observing.standing(view), key=_order)
    new = [one for one in stands if one.phase is not DisruptionPhase.OBSERVED]
    effects = [_written(one, DisruptionPhase.OBSERVED, moment) for one in new]
    begin = memory.checked if memory.checked < len(stands) else 0
    for number, command in enumerate(stands[begin : begin + CHECKED_MAX], start=begin):
        if command in new:
            continue
        before = [node.name for one in stands[:number] for node in one.nodes]
        if why := _why_over(view, command, before, memory, moment):
            effects.append(_written(command, DisruptionPhase.CANCELLED, moment, why))
    known = msgspec.structs.replace(memory, checked=begin + CHECKED_MAX)
    return Step(effects=tuple(effects), memory=known)


def figures(view: View) -> tuple[Fact, ...]:
    """Count by method what stands: commands, nodes, and what they would save in an hour."""
    stands = observing.standing(view)
    found: list[Fact] = []
    for row in methods.METHODS:
        mine = [one for one in stands if one.spec.method == row.method]
        labels = {"deprovisioner": str(row.method)}
        saving = sum(_saving(one) for one in mine)
        found += (
            Fact("deprovisioning_observed_commands", labels, len(mine)),
            Fact("deprovisioning_observed_machines", labels, sum(len(one.nodes) for one in mine)),
            Fact("deprovisioning_observed_saving_usd_per_hour", labels, saving),
        )
    return tuple(found)


def _saving(command: Disruption) -> float:
    """A hand-made object may say anything; what nobody knew counts as nothing."""
    try:
        saving = float(command.spec.saving_per_hour or 0.0)
    except ValueError:
        return 0.0
    return saving if isfinite(saving) else 0.0


def told(command: Command) -> tuple[Publish, ...]:
    """Say on the nodes what would be done with them."""
    message = f"observed only: {command.action} of {command.summary} would begin: {command.reason}"
    return tuple(
        Publish(
            regarding=Ref(NODES.kind, one.name, uid=one.uid),
            reason="DeprovisioningObserved",
            message=message,
        )
        for one in command.nodes[:TOLD_MAX]
    )


def harmless(step: Step[M]) -> Step[M]:
    """Return what is left of a step in a process that only observes.

    What would be written of a machine's conditions is remembered instead: methods go by them.
    """
    kept = (_kept(one) for one in step.effects)
    return msgspec.structs.replace(step, effects=tuple(one for one in kept if one is not None))


def _kept(effect: AnyEffect) -> AnyEffect | None:
    """What asks or tells something, or is about the record."""
    match effect:
        case Observe() | Publish() | Nominate() | Avoid() | Suppose():
            return effect
        case Patch() if effect.ref.kind == MACHINES.kind and effect.subresource == "status":
            written = effect.body["status"].get("conditions", ())
            conditions = msgspec.convert(written, tuple[Condition, ...])
            return Suppose(machine=effect.ref, conditions=conditions)
        case Create() | Patch() | Delete():
            return effect if effect.ref.kind == DISRUPTIONS.kind else None
        case _:
            return None


def _order(command: Disruption) -> tuple[str, str, str]:
    """As they were decided on."""
    times = (command.metadata.creation_timestamp, command.status.started_at)
    made, seen = (one.isoformat() if one is not None else "" for one in times)
    return made, seen, command.name


def _why_over(
    view: View, command: Disruption, before: Collection[str], memory: Memory, moment: Moment
) -> str:
    """Why the same would not be decided any more, "" while it would."""
    there: list[Candidate] = []
    for one in command.nodes:
        node = view.node(one.name)
        if node is None or node.uid != one.uid:
            return f"node {one.name} is gone"
        judged = methods.judged_again(view, command, node, moment)
        if judged.candidate is None:
            return judged.verdict.message
        there.append(judged.candidate)
    doubts = doubtful.doubts(view, {}, moment)
    look = Look(view, moment, memory.simulator, doubts, is_observing=True, gone=before)
    return _why_wrong(look, command, there)


def _why_wrong(look: Look, command: Disruption, there: Sequence[Candidate]) -> str:
    if holding.is_simple(command, there) or look.simulation is None:
        return ""
    wrong = holding.why_not(look, command, there)
    return "" if wrong is None else wrong.message


def _written(
    command: Disruption, phase: DisruptionPhase, moment: Moment, message: str = ""
) -> Patch:
    status: dict[str, Any] = {"phase": phase}
    if phase is not command.phase:
        status["phaseSince"] = moment.wall
    if command.status.started_at is None:
        status["startedAt"] = moment.wall
    if phase.is_final:
        status |= {"finishedAt": moment.wall, "message": f"observed only: {message}"}
    body = {"status": msgspec.to_builtins(status)}
    return patch_as_seen(command, body, subresource="status", why=message or f"phase {phase}")
