"""The one loop: a running command is carried on; else the next one is looked for (001:13-24).

One command at a time. Writing down the ``Disruption`` is the commit; its name follows from its
nodes, so proposing the same again, after a lost answer, finds it instead of making a second.

Must not: decide what is worth doing (``policy.methods``).
"""

from __future__ import annotations

import hashlib

import msgspec

from unmoor.lifecycle import command as running
from unmoor.lifecycle import doubtful, ledger
from unmoor.lifecycle.command import Memory
from unmoor.lifecycle.effects import (
    AnyEffect,
    Create,
    Fact,
    Observe,
    Publish,
    say_all,
)
from unmoor.lifecycle.step import Step, join, spoken
from unmoor.model.base import Ref
from unmoor.model.disruption import DisruptionSpec
from unmoor.model.kinds import CONFIG_MAPS, DISRUPTIONS
from unmoor.model.moment import Moment
from unmoor.model.observation import Asked
from unmoor.model.settings import CONFIG_MAP_NAME, NAMESPACE
from unmoor.model.snapshot import View
from unmoor.policy import brakes, methods, settling, stock
from unmoor.policy.command import Command, Proposal
from unmoor.policy.look import Look
from unmoor.policy.verdict import Method, Reason, Verdict

TOLD_MAX = 100
"""So many refusals become events in one pass; the rest wait for the next."""
HASH_CHARS = 10


def advance(view: View, key: str, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """Take one step of the loop; ``key`` is the same always."""
    del key
    tidied = ledger.tidy(view, moment)
    commands = [one for one in view.sorted(DISRUPTIONS) if ledger.is_running(one)]
    if commands:
        return join(tidied, running.advance(view, commands[0], memory, moment))
    # What is let go now is not proposed in the same breath: it still bears a mark.
    return join(tidied, _look(view, memory or Memory(), moment))


def _look(view: View, memory: Memory, moment: Moment) -> Step[Memory]:
    if held := brakes.why(view, memory.simulator.looking_since(moment), moment):
        return _held(view, held, memory, moment)
    doubts = doubtful.doubts(view, {}, moment)
    look = Look(view, moment, memory.simulator, doubts)
    proposal = methods.propose(look)
    command, cadence = proposal.command, view.settings.cadence
    told, until = _told(proposal, memory.told)
    said: tuple[AnyEffect, ...] = (*_asks(look), *told)
    return Step(
        effects=said if command is None else (commit(view, command, moment), *said),
        memory=Memory(told=until, simulator=memory.simulator),
        verdicts=proposal.verdicts,
        wake_at=moment.after(
            cadence.deprovisioning_poll_s if command is None else cadence.deprovisioning_again_s
        ),
        facts=tuple(
            Fact("deprovisioning_eligible_machines", {"deprovisioner": str(method)}, count)
            for method, count in proposal.eligible.items()
        ),
    )


def _held(view: View, why: tuple[str, ...], memory: Memory, moment: Moment) -> Step[Memory]:
    """Say what is in the way, where a person sets how much of it is too much."""
    verdicts = tuple(
        Verdict(
            subject=CONFIG_MAPS.ref(CONFIG_MAP_NAME, NAMESPACE),
            method=Method.LIFECYCLE,
            reason=Reason.BRAKED,
            message=f"no node is made to go now: {words}",
            event="DeprovisioningHeld",
            is_warning=True,
        )
        for words in why
    )
    again = moment.after(view.settings.cadence.deprovisioning_poll_s)
    return join(Step(memory=memory), spoken(*verdicts, wake_at=again))


def _asks(look: Look) -> tuple[Observe, ...]:
    """Ask what the cloud sells, where a method needs to know what machines there could be."""
    sold, scheme = stock.types_of(look.view), look.view.identity.scheme
    is_due = sold is None or look.moment.mono >= stock.ask_again_at(look.view, sold)
    if not (look.is_simulated and is_due and scheme):
        return ()
    return (Observe(asked=Asked.INSTANCE_TYPES, subject=scheme),)


def _told(proposal: Proposal, since: int) -> tuple[tuple[Publish, ...], int]:
    """Go on where the last look ended; return how far it is told now, 0 for all of it."""
    loud = [verdict for verdict in proposal.verdicts if verdict.event]
    until = since + TOLD_MAX
    return say_all(loud[since:until]), until if until < len(loud) else 0


def commit(view: View, command: Command, moment: Moment) -> Create:
    """Write a command down, and whose pods must be ready again after it (R3), whatever method."""
    name = name_of(view, command)
    spec = DisruptionSpec(
        method=command.method,
        reason=command.reason,
        summary=command.summary,
        nodes=command.nodes,
        moved=settling.baseline(view, command.nodes, moment),
    )
    body = {
        "apiVersion": DISRUPTIONS.api_version,
        "kind": DISRUPTIONS.kind,
        "metadata": {"name": name},
        "spec": msgspec.to_builtins(spec),
    }
    labels = {"action": command.action, "deprovisioner": str(command.method)}
    return Create(
        ref=Ref("Disruption", name),
        body=body,
        why=command.reason,
        facts=(Fact("deprovisioning_actions_performed", labels),),
    )


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
        return not ledger.is_running(held)
    return ("", name) in view.broken(DISRUPTIONS)
