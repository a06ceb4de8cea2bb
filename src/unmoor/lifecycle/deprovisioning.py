"""The one loop: a running command is carried on; else the next one is looked for (001:13-24).

One command at a time. Writing down the ``Disruption`` is the commit (``commitment``).

Must not: decide what is worth doing (``policy.methods``).
"""

from __future__ import annotations

from unmoor.lifecycle import command as running
from unmoor.lifecycle import doubtful, ledger, on_sale
from unmoor.lifecycle.command_phases import Memory
from unmoor.lifecycle.commitment import commit
from unmoor.lifecycle.effects import AnyEffect, Fact, Publish, say_all
from unmoor.lifecycle.step import Step, join, spoken
from unmoor.model.kinds import CONFIG_MAPS, DISRUPTIONS
from unmoor.model.moment import Moment
from unmoor.model.settings import CONFIG_MAP_NAME, NAMESPACE
from unmoor.model.snapshot import View
from unmoor.policy import brakes, methods
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
    asks = on_sale.asked(view, moment) if look.is_simulated else ()
    said: tuple[AnyEffect, ...] = (*asks, *told)
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


def _told(proposal: Proposal, since: int) -> tuple[tuple[Publish, ...], int]:
    """Go on where the last look ended; return how far it is told now, 0 for all of it."""
    loud = [verdict for verdict in proposal.verdicts if verdict.event]
    until = since + TOLD_MAX
    return say_all(loud[since:until]), until if until < len(loud) else 0
