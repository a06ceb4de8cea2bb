"""Which nodes are to go soon, so that pods that move now had better not land on them?

While a command runs, that is: those that a method certainly wants, and of those that consolidation
may take the emptiest, as it takes these first. A node on which the command has planned somebody is
none of them, nor is one that anything protects, or that is only observed.

What bears the mark already keeps it a little longer than another would get it, so that marks do not
come and go with every pod.

Must not: write anything (``lifecycle.steering``).
"""

from __future__ import annotations

from collections.abc import Iterable

from unmoor.engine.sites import Tenants
from unmoor.model import resources
from unmoor.model.disruption import Disruption
from unmoor.model.kinds import NODES
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.quantity import QuantityError
from unmoor.model.snapshot import View
from unmoor.policy import candidates, methods, observing
from unmoor.policy.command import Candidate
from unmoor.policy.methods import Row
from unmoor.policy.verdict import Reason

FILL_MOST = 0.5
"""A fuller node is not likely to be taken next."""
KEPT_FOR = 0.1
"""One that bears the mark counts as so much emptier."""
NODES_MOST = 50
"""So many nodes bear the mark at the same time; each is written to twice."""
SHARE_MOST = 0.25
"""A larger share of the candidates does not: where all are marked, none is."""
NODE = f"{NODES.kind.lower()}/"
PASSING = frozenset({Reason.BUDGET, Reason.NOMINATED})
"""What keeps a node from going for a moment: nothing is written for that."""


def soon(view: View, command: Disruption, moment: Moment) -> tuple[Node, ...]:
    """Return the nodes that are to go soon after this command, those that are surest first."""
    going = {one.name for one in command.nodes}
    kept_out = going | _destinations(command)
    found: dict[str, Node] = {}
    for row in methods.METHODS:
        wanted = [
            one
            for one in candidates.find(view, row.method, row.wants, moment).candidates
            if one.node.name not in going and _is_acted_on(view, row, one)
        ]
        most = len(wanted)
        if row.is_for_price:
            most = int(SHARE_MOST * most)
            wanted = _emptiest([one for one in wanted if one.node.name not in kept_out])
        for one in wanted[:most]:
            if not one.node.is_cordoned:
                found.setdefault(one.node.name, one.node)
    return tuple(found.values())[:NODES_MOST]


def is_still(view: View, node: Node, moment: Moment) -> bool:
    """True while a method that acts wants the node, and nothing protects it for long."""
    if node.is_deleting or node.is_cordoned or node.disruption:
        return False
    for row in methods.METHODS:
        judged = candidates.judge(view, node, row.method, row.wants, moment)
        if judged.verdict.reason in PASSING:
            return True
        if judged.candidate is not None and _is_acted_on(view, row, judged.candidate):
            return True
    return False


def marked(view: View) -> tuple[Node, ...]:
    """Return the nodes that bear our mark, by name."""
    return tuple(node for node in view.sorted(NODES) if node.is_going_soon)


def _is_acted_on(view: View, row: Row, candidate: Candidate) -> bool:
    return not observing.why(view, row.method, candidate.provisioner)


def _destinations(command: Disruption) -> set[str]:
    return {place[len(NODE) :] for place in command.spec.moves if place.startswith(NODE)}


def _emptiest(found: Iterable[Candidate]) -> list[Candidate]:
    tenants = Tenants()
    filled = [(_fill(one, tenants) - _kept_for(one), one.node.name, one) for one in found]
    return [one for fill, _, one in sorted(filled, key=lambda each: each[:2]) if fill <= FILL_MOST]


def _kept_for(candidate: Candidate) -> float:
    return KEPT_FOR if candidate.node.is_going_soon else 0.0


def _fill(candidate: Candidate, tenants: Tenants) -> float:
    """The share of its cpu or memory, whichever is more, that its pods ask for."""
    try:
        there = resources.parse_resources(candidate.node.status.allocatable)
    except QuantityError:
        return 1.0
    used = resources.total(tenants.of(pod)[1] for pod in candidate.pods)
    shares = (
        used.get(name, 0) / there[name]
        for name in (resources.CPU, resources.MEMORY)
        if there.get(name)
    )
    return max(shares, default=1.0)
