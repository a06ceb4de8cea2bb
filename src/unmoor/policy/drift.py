"""Which nodes are not as they would be made now? (001:133-194, 002, spec 3.2, R15)

The Machine's ``MachineDrifted`` condition says so and what differs. Nodes are replaced, never
changed in place. ``unmoor.driftShareMost`` may hold all of it while a larger share of one
provisioner's machines has drifted: a slip in a template is no reason to renew a fleet. And where
what came in place of a drifted node has drifted in the same way, the next one would, too: others
of its provisioner that drifted in this way wait, and one is tried again after a while (R54).

Must not: set the condition (``lifecycle``), or compare anything (``drifted``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from unmoor.model.disruption import Disruption
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.machine import MACHINE_DRIFTED
from unmoor.model.moment import Moment
from unmoor.policy import budgets, graceful
from unmoor.policy.candidates import BLOCKED
from unmoor.policy.command import Candidate, Found, Judged, Proposal, refused, wanted
from unmoor.policy.graceful import Way
from unmoor.policy.look import Look
from unmoor.policy.verdict import Method, Reason, Verdict

WAY = Way(Method.DRIFT, MACHINE_DRIFTED, "drifted", budgets.DRIFTED)


def propose(look: Look) -> Proposal:
    """Return one command for all drifted nodes without pods, else for the one drifted longest."""
    found = _within_share(look, _with_gate(look, graceful.find(look, WAY, wants)))
    found = _in_vain(look, found)
    return graceful.propose(look, WAY, found, _words(found))


def wants(candidate: Candidate, moment: Moment) -> Verdict:
    """Say whether the node has drifted."""
    node = candidate.node
    condition = candidate.machine.condition(MACHINE_DRIFTED)
    drifted_s = graceful.age_s(candidate, MACHINE_DRIFTED, moment)
    if drifted_s is None or condition is None:
        message = f"node {node.name} is not known to have drifted"
        return refused(candidate, Method.DRIFT, Reason.NOT_DRIFTED, message)
    if (others := graceful.others_mark(candidate, WAY)) is not None:
        return others
    message = f"node {node.name} has drifted, {condition.reason}: {condition.message}"
    return wanted(candidate, Method.DRIFT, Reason.DRIFTED, message, drifted_s=drifted_s)


def _words(found: Found) -> Mapping[str, str]:
    conditions = {one.node.uid: one.machine.condition(MACHINE_DRIFTED) for one in found.candidates}
    return {uid: f"{one.reason}: {one.message}" for uid, one in conditions.items() if one}


def _with_gate(look: Look, found: Found) -> Found:
    """The gate may have been shut since the condition was written (T042)."""
    if look.view.settings.drift_enabled is not False:
        return found
    message = "featureGates.driftEnabled is false"
    return _refused(found, lambda _: message, Reason.NOT_CONFIGURED)


def _within_share(look: Look, found: Found) -> Found:
    most = look.view.settings.drift_share_most
    if most >= 1:
        return found
    held = {}
    for name in sorted({one.provisioner.name for one in found.candidates}):
        machines = look.view.machines_launched_by(name)
        drifted = sum(one.has(MACHINE_DRIFTED) for one in machines)
        if drifted > most * len(machines):
            held[name] = (
                f"{drifted} of the {len(machines)} machines of provisioner {name} have drifted, "
                f"more than unmoor.driftShareMost ({most:g}) lets go at once"
            )
    return _refused(found, lambda one: held.get(one.provisioner.name, ""), Reason.TOO_MANY_DRIFTED)


def _in_vain(look: Look, found: Found) -> Found:
    """Hold those whose replacement would have drifted when it comes up, as another's had."""
    made_by = {
        made.name: command
        for command in look.view.sorted(DISRUPTIONS)
        if command.spec.method == Method.DRIFT
        for made in command.spec.replacements
    }
    held: dict[tuple[str, str], str] = {}
    for one in found.candidates:
        command = made_by.get(one.machine.name)
        if command is not None and (words := _born_drifted(look, one, command)) is not None:
            held.setdefault((one.provisioner.name, _way(one)), words)
    if not held:
        return found
    return _refused(
        found,
        lambda one: held.get((one.provisioner.name, _way(one)), ""),
        Reason.BORN_DRIFTED,
        BLOCKED,
    )


def _born_drifted(look: Look, one: Candidate, command: Disruption) -> str | None:
    """Say that the machine was made because of what it has itself, lately; None when it was not."""
    born = one.machine.metadata.creation_timestamp
    for_s = look.view.settings.cadence.replacement_backoff_most_s
    if born is None or look.moment.since_s(born) >= for_s:
        return None
    old = [name for node in command.spec.nodes for name in (node.name, node.machine)]
    if not _nameless(command.spec.reason, old).startswith(f"{_way(one)}; "):
        return None
    return (
        f"drift is blocked: machine {one.machine.name} was made in place of "
        f"{', '.join(node.name for node in command.spec.nodes)} by {command.name}, and has drifted "
        f"in the same way; whoever makes machines does not give them what is asked for, so another "
        f"one is tried {round(for_s / 60)} minutes after it, or at once when it is deleted"
    )


def _way(one: Candidate) -> str:
    """In which way a node has drifted, whatever it is called."""
    condition = one.machine.condition(MACHINE_DRIFTED)
    words = "" if condition is None else f"{condition.reason}: {condition.message}"
    return _nameless(words, (one.node.name, one.machine.name))


def _nameless(words: str, called: Iterable[str]) -> str:
    for name in sorted(filter(None, called), key=len, reverse=True):
        words = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", "it", words)
    return words


def _refused(
    found: Found, why: Callable[[Candidate], str], reason: Reason, event: str = ""
) -> Found:
    """Refuse the candidates for which there is a reason."""
    judged = []
    for one in found.judged:
        message = "" if one.candidate is None else why(one.candidate)
        if one.candidate is None or not message:
            judged.append(one)
        else:
            verdict = refused(one.candidate, Method.DRIFT, reason, message)
            judged.append(Judged(msgspec.structs.replace(verdict, event=event)))
    return Found(found.method, tuple(judged))
