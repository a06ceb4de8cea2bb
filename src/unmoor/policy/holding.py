"""Is a command that was decided on still right? (spec 3.10)

What was simulated when it was decided is simulated again, on fresh state: all pods of its nodes
must find places, with as many new machines as were announced, and with none once those are up. What
a method asks besides (whether it still pays) is that method's own question: before anything is paid
for, and once more where fewer nodes go than it was paid for.

Must not: know any method.
"""

from __future__ import annotations

from collections.abc import Sequence

from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.kinds import ref_of
from unmoor.model.wording import counted
from unmoor.policy import methods
from unmoor.policy.command import Candidate, refused
from unmoor.policy.look import Look
from unmoor.policy.simulation import Outcome
from unmoor.policy.verdict import Reason, Verdict

_NOT_BEGUN = frozenset({DisruptionPhase.PENDING, DisruptionPhase.OBSERVED})


def is_simple(command: Disruption, nodes: Sequence[Candidate]) -> bool:
    """True when nobody has to find a place, and no machine is to come for nobody."""
    is_bought = bool(command.spec.replacements) and command.phase in _NOT_BEGUN
    return not (is_bought or any(one.pods for one in nodes))


def why_not(look: Look, command: Disruption, nodes: Sequence[Candidate]) -> Verdict | None:
    """Return why a command is not right any more, None while it is. The types must be known."""
    if is_simple(command, nodes):
        return None
    assert look.simulation is not None
    outcome = look.simulation.without([one.node.name for one in nodes])
    if words := _misfit(command, outcome):
        return _withdrawn(command, words)
    row = methods.row_of(command)
    if row is None:
        return None
    if command.phase in _NOT_BEGUN:
        return row.holds(look, command, nodes) if row.holds is not None else None
    if row.pays is None or not command.status.left_out:
        return None  # What was paid for is not weighed again.
    return row.pays(look, command, nodes)


def too_many(look: Look, command: Disruption, nodes: Sequence[Candidate]) -> tuple[Verdict, ...]:
    """Return those of several nodes that had better stay, so that the others may go; () for none.

    Pods that have come since have their place, or those of these nodes have none.
    """
    if command.phase in _NOT_BEGUN and command.spec.replacements:
        return ()  # One machine was to come for all.
    assert look.simulation is not None
    outcome = look.simulation.without([one.node.name for one in nodes])
    outside = {key for one in outcome.machines for key in one.pods} | set(outcome.refused)
    staying = [(one, next((p for p in one.pods if p.key in outside), None)) for one in nodes]
    found = [(one, pod) for one, pod in staying if pod is not None]
    if len(found) == len(nodes):
        return ()
    return tuple(
        refused(
            one,
            methods.method_of(command),
            Reason.NO_PLACE,
            f"pod {pod.namespace}/{pod.name} would find no place any more",
        )
        for one, pod in found
    )


def types_unknown(command: Disruption, words: str) -> Verdict:
    """Say that nobody knows whether the pods would find a place."""
    return _withdrawn(command, f"the cloud does not say what it sells: {words}")


def _misfit(command: Disruption, outcome: Outcome) -> str:
    if not outcome.is_possible:
        return f"not all pods would find a place any more: {outcome.why_not}"
    is_begun = command.phase not in _NOT_BEGUN
    announced = () if is_begun else command.spec.replacements
    if len(outcome.machines) != len(announced):
        needed = counted(len(outcome.machines), "new machine")
        beside = f" beside its {len(command.spec.replacements)}" if is_begun else ""
        planned = "" if is_begun else f", not {len(announced)}"
        return f"its pods would need {needed}{beside}{planned}"
    if len(announced) == 1:
        # What is to come must still do for these pods, whatever the cloud picks of it.
        lacking = set(announced[0].instance_types) - set(outcome.machines[0].instance_types)
        if lacking:
            return f"its pods would not fit onto a machine of type {min(lacking)} any more"
    return ""


def _withdrawn(command: Disruption, words: str) -> Verdict:
    return Verdict(
        subject=ref_of(command),
        method=methods.method_of(command),
        reason=Reason.NO_LONGER_RIGHT,
        message=f"{command.name} is cancelled: {words}",
        evidence={"phase": command.phase},
        event="DeprovisioningCancelled",
    )
