"""The alternatives of a pod: each in full what a node to come would have to be.

A pod's node selector holds always; of its required node affinity one term must hold; of each of its
volumes, one of the places from which it can be reached. Multiplied out, each combination is one way
in which a new node may suit, tried in the order written.

Must not: look at a node that is there. It is judged by the terms themselves, as the scheduler does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.volumes import Need
from unmoor.model.node_selector import FIELD_NAME, NodeSelectorTerm
from unmoor.model.requirement import (
    IN,
    NOT_IN,
    NodeSelectorRequirement,
    Requirement,
    RequirementError,
    Requirements,
)

WAYS_MAX = 64
"""More combinations than these are not tried; nobody has written them by hand."""


def ways_of(
    selector: Mapping[str, str],
    terms: tuple[NodeSelectorTerm, ...] | None,
    preference: NodeSelectorTerm | None,
    needs: Iterable[Need],
) -> tuple[tuple[Requirements, ...], tuple[Refusal, ...]]:
    """Return the alternatives, and what is wrong when none of them means anything."""
    always = [Requirement.of(key, IN, (value,)) for key, value in selector.items()]
    choices = [
        (None,) if terms is None else terms,
        *(where for need in needs for where in need.where),
    ]
    count = 1
    for one in choices:
        count *= len(one)
    if count > WAYS_MAX:
        words = f"terms and volumes combine in {count} ways, more than {WAYS_MAX}: use fewer terms"
        return (), (Refusal(Constraint.INVALID, "node affinity", words),)
    found, problem = [], ""
    for combination in product(*choices):
        parts = [term for term in (*combination, preference) if term is not None]
        try:
            wanted = [one for term in parts for one in _requirements(term)]
        except RequirementError as error:
            problem = problem or str(error)
            continue
        found.append(Requirements.all_of((*always, *wanted)))
    if found:
        return tuple(found), ()
    return (), (Refusal(Constraint.NODE_AFFINITY, "node affinity", problem or "no term at all"),)


def _requirements(term: NodeSelectorTerm) -> list[Requirement]:
    """Raises RequirementError also for what no node to come can satisfy: a name, or nothing.

    Whoever wants any node but a named one may have one to come: it has another name.
    """
    if not term.match_expressions and not term.match_fields:
        raise RequirementError("an empty term matches no node")
    if not all(_is_another(one) for one in term.match_fields):
        raise RequirementError("a term that names a node never matches one that is to come")
    return [Requirement.of(one.key, one.operator, one.values) for one in term.match_expressions]


def _is_another(field: NodeSelectorRequirement) -> bool:
    return (field.key, field.operator, len(field.values)) == (FIELD_NAME, NOT_IN, 1)
