"""The one loop: a running command is carried on; else the next one is looked for (001:13-24).

One command at a time. Writing down the ``Disruption`` is the commit (``commitment``). What is only
observed does not run, and nobody waits for it (``observed``).

Must not: decide what is worth doing (``policy.methods``).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from unmoor.lifecycle import command as running
from unmoor.lifecycle import doubtful, ledger, observed, on_sale
from unmoor.lifecycle.command_phases import Memory
from unmoor.lifecycle.commitment import commit
from unmoor.lifecycle.effects import AnyEffect, Fact, Publish, say_all
from unmoor.lifecycle.step import Step, join, spoken
from unmoor.model.kinds import CONFIG_MAPS, DISRUPTIONS
from unmoor.model.moment import Moment
from unmoor.model.settings import CONFIG_MAP_NAME, NAMESPACE
from unmoor.model.snapshot import View
from unmoor.policy import brakes, methods, observing
from unmoor.policy.command import Proposal
from unmoor.policy.look import Look
from unmoor.policy.verdict import Method, Reason, Verdict

TOLD_MAX = 100
"""So many refusals become events in one pass; the rest wait for the next."""


def advance(view: View, key: str, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """Take one step of the loop; ``key`` is the same always."""
    del key
    tidied = ledger.tidy(view, moment)
    commands = [one for one in view.sorted(DISRUPTIONS) if one.is_running]
    if commands and not view.identity.is_observing:
        # Of several, as two instances may have made, the first is done with first.
        first = min(commands, key=lambda one: one.order)
        return join(tidied, running.advance(view, first, memory, moment))
    # What is let go now is not proposed in the same breath: it still bears a mark.
    return join(tidied, _look(view, memory or Memory(), moment))


def _look(view: View, memory: Memory, moment: Moment) -> Step[Memory]:
    if held := brakes.why(view, memory.simulator.looking_since(moment), moment):
        return _held(view, held, memory, moment)
    stands = observed.advance(view, memory, moment)
    found = _found(view, memory, moment)
    proposal, command, cadence = found.proposal, found.proposal.command, view.settings.cadence
    told, until = _told(proposal, memory.told)
    asks = on_sale.asked(view, moment) if found.is_simulated else ()
    said: tuple[AnyEffect, ...] = (*asks, *told)
    if command is not None:
        seen = observed.told(command) if found.is_observed else ()
        said = (commit(view, command, moment), *seen, *said)
    checked = stands.memory.checked if stands.memory is not None else 0
    look = Step(
        effects=said,
        memory=Memory(told=until, checked=checked, simulator=memory.simulator),
        verdicts=proposal.verdicts,
        wake_at=moment.after(
            cadence.deprovisioning_poll_s if command is None else cadence.deprovisioning_again_s
        ),
        facts=(*_eligible(proposal), *observed.figures(view)),
    )
    return join(stands, look)


def _eligible(proposal: Proposal) -> Iterable[Fact]:
    return (
        Fact("deprovisioning_eligible_machines", {"deprovisioner": str(method)}, count)
        for method, count in proposal.eligible.items()
    )


class _Found(msgspec.Struct, frozen=True):
    """What was found, whether a simulation was needed, and whether it is only observed."""

    proposal: Proposal
    is_simulated: bool
    is_observed: bool


def _found(view: View, memory: Memory, moment: Moment) -> _Found:
    """Look for what to do; where there is nothing, for what would be done if it were not observed.

    Neither stands in the other's way.
    """
    doubts = doubtful.doubts(view, {}, moment)
    acting = Look(view, moment, memory.simulator, doubts)
    first = Proposal() if view.identity.is_observing else methods.propose(acting)
    if first.command is not None or not observing.is_any(view):
        return _Found(first, acting.is_simulated, is_observed=False)
    watching = Look(
        view, moment, memory.simulator, doubts, is_observing=True, gone=observing.gone(view)
    )
    second = methods.propose(watching)
    is_simulated = acting.is_simulated or watching.is_simulated
    return _Found(_together(first, second), is_simulated, is_observed=True)


def _together(first: Proposal, second: Proposal) -> Proposal:
    """What both looks say; of a node that only one is about, what that one says."""
    said = [one for one in first.verdicts if one.reason is not Reason.OBSERVED]
    known = {(one.subject, one.method) for one in said}
    more = [one for one in second.verdicts if (one.subject, one.method) not in known]
    asked = (*first.eligible, *second.eligible)
    return Proposal(
        command=second.command,
        verdicts=(*said, *more),
        eligible={
            method: first.eligible.get(method, 0) + second.eligible.get(method, 0)
            for method in dict.fromkeys(asked)
        },
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


def _told(proposal: Proposal, since: int) -> tuple[tuple[Publish, ...], int]:
    """Go on where the last look ended; return how far it is told now, 0 for all of it."""
    loud = [verdict for verdict in proposal.verdicts if verdict.event]
    until = since + TOLD_MAX
    return say_all(loud[since:until]), until if until < len(loud) else 0
