"""Which nodes cost more than what runs on them needs? (001:77-107, spec 3.4 to 3.10, R8 to R10)

Three searches, in the page's order: all empty nodes at once; several nodes together; each by
itself, the least disruptive first, and every one of them in every look. A node goes when its pods
fit onto the others, or onto those and one machine more that is cheaper. Only provisioners with
``consolidation.enabled: true`` are concerned; for each node of theirs that stays there is a reason,
which is told as the event ``Unconsolidatable``.

Must not: carry anything out, or wait (``lifecycle``).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from unmoor.model import names, resources
from unmoor.model.disruption import Disruption
from unmoor.model.kinds import ref_of
from unmoor.model.moment import Moment
from unmoor.model.money import usd_per_h
from unmoor.model.resources import Resources
from unmoor.model.wording import counted
from unmoor.policy import (
    allowance,
    budgets,
    candidates,
    disruption_cost,
    multi_node,
    nomination,
    second_thoughts,
)
from unmoor.policy.command import (
    NODES_MAX,
    Candidate,
    Found,
    Judged,
    Proposal,
    proposal,
    refused,
    wanted,
)
from unmoor.policy.look import Look
from unmoor.policy.removal import Refused, Removal, no_place, price_at, price_of, removal_of
from unmoor.policy.verdict import Method, Reason, Verdict

METHOD = Method.CONSOLIDATION
UNCONSOLIDATABLE = "Unconsolidatable"
LACKS_ROOM = frozenset({Reason.NO_PLACE, Reason.NEEDS_MACHINES, Reason.NOT_CHEAPER})
"""Reasons that may end when a node that is coming up is ready for pods (T022)."""
YOUNG = "its pods would fit onto a node that is not initialized yet"


def wants(candidate: Candidate, moment: Moment) -> Verdict:
    """Say whether the node may be consolidated at all; whether it pays is found out together."""
    del moment
    node, provisioner = candidate.node, candidate.provisioner
    if not provisioner.is_consolidation_enabled:
        message = f"provisioner {provisioner.name} does not set consolidation.enabled"
        return refused(candidate, Method.CONSOLIDATION, Reason.NOT_CONFIGURED, message)
    if node.metadata.annotations.get(names.DO_NOT_CONSOLIDATE) == names.TRUE:  # R16
        message = f'it carries the annotation "{names.DO_NOT_CONSOLIDATE}"; remove it to allow this'
        return _told(candidate, Refused(Reason.DO_NOT_CONSOLIDATE, message))
    message = f"node {node.name} may be consolidated"
    return wanted(candidate, Method.CONSOLIDATION, Reason.UNDERUTILIZED, message)


def propose(look: Look) -> Proposal:
    """Return the first command of the three searches, or why each node stays."""
    every = _with_budgets(candidates.find(look.view, Method.CONSOLIDATION, wants, look.moment))
    order = look.view.settings.consolidation_order
    ordered = disruption_cost.ordered(every.candidates, order, look.moment)
    empties = [one for one in ordered if not one.pods]
    found, empty = allowance.within(look, every, empties, budgets.EMPTY)
    together = _chosen(look, empty[:NODES_MAX]) if empty else None
    if isinstance(together, Removal) and not together.is_replacement:
        return _proposed(found, together, "empty")
    # Else some of them are needed for pods that have none yet.
    others = [one for one in ordered if one.pods]
    found, filled = allowance.within(look, found, others, budgets.UNDERUTILIZED, empty)
    removal = multi_node.find(
        look, (*empty, *filled), lambda one: second_thoughts.about(look, one, METHOD) is None
    )
    if removal is not None:
        return _proposed(found, removal, _words(removal))
    return _one_by_one(look, every, (*empties, *others))


def _one_by_one(look: Look, found: Found, ordered: Sequence[Candidate]) -> Proposal:
    """001:87: each by itself, until one can go; how many may go at once is no matter here."""
    found, eligible = allowance.alone(look, found, ordered, reason_of)
    refusals = _hopeless(look, eligible)
    for one in eligible:
        if one.node.uid in refusals:
            continue
        single = _chosen(look, [one])
        if isinstance(single, Removal):
            return _proposed(found, single, _words(single))
        refusals[one.node.uid] = single
    return proposal(_with_reasons(look, found, refusals), (), "")


def _chosen(look: Look, nodes: Sequence[Candidate]) -> Removal | Refused:
    """What it takes, unless the same was withdrawn lately."""
    found = removal_of(look, nodes)
    if isinstance(found, Refused):
        return found
    return second_thoughts.about(look, found, METHOD) or found


def reason_of(one: Candidate) -> str:
    """As budgets name it."""
    return budgets.UNDERUTILIZED if one.pods else budgets.EMPTY


def _hopeless(look: Look, eligible: Sequence[Candidate]) -> dict[str, Refused]:
    """Those of which it is certain before anything is simulated, by the uid of the node."""
    if not eligible or look.simulation is None:
        return {}
    why = look.simulation.hopeless([one.node.name for one in eligible])
    return {one.node.uid: no_place(why[one.node.name]) for one in eligible if one.node.name in why}


def holds(look: Look, command: Disruption, nodes: Sequence[Candidate]) -> Verdict | None:
    """Return why a command is not right any more, None while it is (spec 3.10)."""
    if look.simulation is None:
        return None
    removal = removal_of(look, nodes)
    if not isinstance(removal, Removal):
        return _told(nodes[0], removal)
    known = {name for one in removal.plan.machines for name in one.instance_types}
    for name in (name for one in command.spec.replacements for name in one.instance_types):
        if name not in known:
            message = f"a machine of type {name} may come for it, which is not cheaper any more"
            return _told(nodes[0], Refused(Reason.NOT_CHEAPER, message))
    return None


def pays(look: Look, command: Disruption, nodes: Sequence[Candidate]) -> Verdict | None:
    """Return why it costs more to go on than not to, None where it does not: fewer nodes go."""
    simulation = look.simulation
    if simulation is None:
        return None
    price = price_of(nodes, simulation)
    machines = (look.view.machine(one.name) for one in command.spec.replacements)
    there = [price_at(one.metadata.labels, simulation) for one in machines if one is not None]
    costs = sum(one or 0.0 for one in there)
    if price is not None and all(there) and price > costs:
        return None
    message = (
        f"of its {counted(len(command.spec.nodes), 'node')} only {len(nodes)} would go, which cost "
        f"{usd_per_h(price)}; what came for them costs {usd_per_h(costs if all(there) else None)}"
    )
    return _told(nodes[0], Refused(Reason.NOT_CHEAPER, message))


def _proposed(found: Found, removal: Removal, reason: str) -> Proposal:
    return proposal(found, removal.nodes, reason, removal.plan, removal.saving_usd_per_h)


def _words(removal: Removal) -> str:
    """Why, as the command says it."""
    moved = counted(len(removal.plan.placements), "pod")
    saved = f", saves {usd_per_h(removal.saving_usd_per_h)}" if removal.saving_usd_per_h else ""
    if removal.is_replacement:
        return f"{moved} fit elsewhere with one cheaper machine{saved}"
    return f"{moved} fit elsewhere{saved}"


def _with_reasons(look: Look, found: Found, refusals: dict[str, Refused]) -> Found:
    """Say of each node that could go, but for this, why it stays."""
    rooms = _rooms_to_come(look, found) if refusals else []

    def told(candidate: Candidate) -> Verdict:
        why, simulation = refusals[candidate.node.uid], look.simulation
        if rooms and simulation is not None and why.reason in LACKS_ROOM:
            used = simulation.load_of(candidate.node.name).used
            if any(resources.fits(used, room) for room in rooms):
                why = Refused(why.reason, f"{why.message}; {YOUNG}")
        return _told(candidate, why)

    judged = tuple(
        one
        if one.candidate is None or one.candidate.node.uid not in refusals
        else Judged(told(one.candidate))
        for one in found.judged
    )
    return Found(found.method, judged)


def _rooms_to_come(look: Look, found: Found) -> list[Resources]:
    """What is free on each node that is coming up, and not for somebody who waits."""
    if look.simulation is None:
        return []
    names_of = (
        one.verdict.subject.name
        for one in found.judged
        if one.verdict.reason is Reason.NOT_INITIALIZED
    )
    nodes = (look.view.node(name) for name in names_of)
    return [
        look.simulation.load_of(node.name).free
        for node in nodes
        if node is not None and nomination.nominated_for(look.view, node, look.moment) is None
    ]


def _with_budgets(found: Found) -> Found:
    """R10: what a budget keeps from being consolidated is told like every other reason for it."""
    return Found(found.method, tuple(map(_with_budget, found.judged)))


def _with_budget(judged: Judged) -> Judged:
    verdict = judged.verdict
    if verdict.reason is not Reason.BUDGET:
        return judged
    message = f"pdb {verdict.evidence['budget']} prevents pod evictions"  # 001:106
    return Judged(msgspec.structs.replace(verdict, message=message, event=UNCONSOLIDATABLE))


def _told(candidate: Candidate, why: Refused) -> Verdict:
    verdict = refused(candidate, Method.CONSOLIDATION, why.reason, why.message)
    if why.reason is Reason.TYPES_UNKNOWN:
        return verdict  # a moment after the start, and no reason of this node's
    return msgspec.structs.replace(
        verdict,
        event=UNCONSOLIDATABLE,
        also_on=(ref_of(candidate.machine),),
        evidence={"machine": candidate.machine.name},
    )
