"""In which order are the methods tried? One row each (001:15, R8).

Expiration, Drift, Emptiness, Consolidation: the first that has a command wins, and the search
starts again at the top when that command is done.

Must not: contain a method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from unmoor.model.cadence import Cadence
from unmoor.model.disruption import Disruption
from unmoor.model.kinds import ref_of
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.snapshot import View
from unmoor.policy import (
    allowance,
    budgets,
    candidates,
    consolidation,
    drift,
    emptiness,
    expiration,
    observing,
    ownership,
)
from unmoor.policy.candidates import Wants
from unmoor.policy.command import Candidate, Judged, Proposal, refused
from unmoor.policy.look import Look
from unmoor.policy.verdict import Method, Reason, Verdict

Holds: TypeAlias = Callable[[Look, Disruption, Sequence[Candidate]], Verdict | None]
"""Why a command that was decided on is not right any more, None while it is."""


def _quiet_s(cadence: Cadence) -> float:
    return cadence.cordon_quiet_s


def _validation_s(cadence: Cadence) -> float:
    """Spec 3.10; the nodes are cordoned meanwhile, so nothing refills them."""
    return max(cadence.cordon_quiet_s, cadence.consolidation_validation_s)


class Row(msgspec.Struct, frozen=True):
    """A method.

    ``budget``: what it makes a node go for, as budgets name it.

    ``wants`` looks again at each node of a running command, ``holds`` at the command as a whole,
    both on fresh state; that the pods still fit is looked at anyway. ``pays`` looks once more when
    replacements are up and some nodes have been left out. ``quiet_s``: from the cordon to the first
    of these looks, at least. ``is_for_price``: what it replaces does not come back so soon.
    """

    method: Method
    propose: Callable[[Look], Proposal]
    wants: Wants
    budget: Callable[[Candidate], str]
    holds: Holds | None = None
    pays: Holds | None = None
    quiet_s: Callable[[Cadence], float] = _quiet_s
    is_for_price: bool = False


METHODS: tuple[Row, ...] = (
    Row(Method.EXPIRATION, expiration.propose, expiration.wants, lambda _: budgets.EXPIRED),
    Row(Method.DRIFT, drift.propose, drift.wants, lambda _: budgets.DRIFTED),
    Row(Method.EMPTINESS, emptiness.propose, emptiness.wants, lambda _: budgets.EMPTY),
    Row(
        Method.CONSOLIDATION,
        consolidation.propose,
        consolidation.wants,
        consolidation.reason_of,
        consolidation.holds,
        consolidation.pays,
        _validation_s,
        is_for_price=True,
    ),
)
"""In the brief's order. A new method is a module and a row here."""


def propose(look: Look) -> Proposal:
    """Return the first command that a method has, with the verdicts of all that were asked."""
    verdicts: list[Verdict] = []
    eligible: dict[Method, int] = {}
    for row in METHODS:
        proposal = row.propose(look)
        verdicts += proposal.verdicts
        eligible |= proposal.eligible
        if proposal.command is not None:
            return Proposal(proposal.command, tuple(verdicts), eligible)
    return Proposal(verdicts=tuple(verdicts), eligible=eligible)


def row_of(disruption: Disruption) -> Row | None:
    """Return the method of a command; a hand-made object may name one that does not exist."""
    return next((row for row in METHODS if row.method == disruption.spec.method), None)


def judged_again(view: View, disruption: Disruption, node: Node, moment: Moment) -> Judged:
    """Look at a node of a running command once more: should it still go?"""
    row = row_of(disruption)
    if row is None:
        unknown = Verdict(
            subject=ref_of(node),
            method=Method.LIFECYCLE,
            reason=Reason.NOT_CONFIGURED,
            message=f'nobody knows the method "{disruption.spec.method}"',
        )
        return Judged(unknown)
    judged = candidates.judge(view, node, row.method, row.wants, moment, running=disruption.name)
    if judged.candidate is None or disruption.is_observed:
        return judged
    if words := observing.why(view, row.method, judged.candidate.provisioner):
        message = f"it is only observed from now on: {words}"
        return Judged(refused(judged.candidate, row.method, Reason.OBSERVED, message))
    return judged


def still_holds(view: View, disruption: Disruption, node: Node, moment: Moment) -> Verdict | None:
    """Return why a node of a running command should not go after all, None when it should."""
    judged = judged_again(view, disruption, node, moment)
    return judged.verdict if judged.candidate is None else None


def spent(
    view: View, disruption: Disruption, nodes: Sequence[Candidate], moment: Moment
) -> tuple[Verdict, ...]:
    """Return which nodes of a running command may not go, as fewer may by now."""
    row = row_of(disruption)
    if row is None:
        return ()
    return allowance.spent(Look(view, moment), disruption, nodes, row.method, row.budget)


def quiet_s(view: View, disruption: Disruption) -> float:
    """Return how long the nodes of a command are cordoned before the last look at them."""
    row, cadence = row_of(disruption), view.settings.cadence
    return cadence.cordon_quiet_s if row is None else row.quiet_s(cadence)


def still_ours(view: View, disruption: Disruption, node: Node) -> Verdict | None:
    """Return why a node is none of our business any more, None while it is."""
    if ownership.is_ours(view, node):
        return None
    return Verdict(
        subject=ref_of(node),
        method=method_of(disruption),
        reason=Reason.NOT_OURS,
        message=ownership.why_not_ours(view, node),
        evidence={"disruption": disruption.name},
    )


def method_of(disruption: Disruption) -> Method:
    """Return its method; a hand-made object may name one that does not exist."""
    known = {str(method): method for method in Method}
    return known.get(disruption.spec.method, Method.LIFECYCLE)
