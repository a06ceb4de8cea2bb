"""Which nodes a pod or a volume may use: node selector terms, as the scheduler reads them.

Must not: normalise older label names (the scheduler does not), or know preferences.
"""

from __future__ import annotations

from collections.abc import Mapping

from unmoor.model.base import Struct
from unmoor.model.requirement import NodeSelectorRequirement, Requirement, RequirementError, integer
from unmoor.model.selector import SelectorError

FIELD_NAME = "metadata.name"
"""The only field that ``matchFields`` may name (API reference: core/v1 NodeSelectorTerm)."""


class NodeSelectorTerm(Struct):
    """All of ``match_expressions`` and ``match_fields``; an empty term matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """True when a node with these labels and this name is meant.

        Raises SelectorError for a part that cannot be evaluated.
        """
        if not self.match_expressions and not self.match_fields:
            return False
        agreed = [_agrees(one, labels.get(one.key)) for one in self.match_expressions]
        agreed += [_agrees_on_field(one, name) for one in self.match_fields]
        return all(agreed)


class NodeSelector(Struct):
    """One of the terms must match; without terms, no node does (core/v1 NodeSelector)."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """True when some term matches the node.

        A term that cannot be evaluated does not hide one that matches. Raises SelectorError when
        none matches and one of them could not be evaluated.
        """
        bad: SelectorError | None = None
        for term in self.node_selector_terms:
            try:
                if term.matches(labels, name):
                    return True
            except SelectorError as error:
                bad = bad or error
        if bad is not None:
            raise bad
        return False


def matches(selector: NodeSelector | None, labels: Mapping[str, str], name: str) -> bool:
    """True when the node is selected; no selector selects every node. Raises SelectorError."""
    return selector is None or selector.matches(labels, name)


def _agrees(one: NodeSelectorRequirement, value: str | None) -> bool:
    match one.operator:
        case "In" if one.values:
            return value in one.values
        case "NotIn" if one.values:
            return value not in one.values
        case "Exists" if not one.values:
            return value is not None
        case "DoesNotExist" if not one.values:
            return value is None
        case "Gt" | "Lt" if len(one.values) == 1 and integer(one.values[0]) is not None:
            return Requirement.of(one.key, one.operator, one.values).allows(value)
        case _:
            raise SelectorError(f"node selector {one}: {_problem(one)}")


def _agrees_on_field(one: NodeSelectorRequirement, name: str) -> bool:
    if one.key != FIELD_NAME or one.operator not in {"In", "NotIn"} or len(one.values) != 1:
        raise SelectorError(
            f"node selector field {one}: only {FIELD_NAME}, In or NotIn, with one value is possible"
        )
    return (name == one.values[0]) == (one.operator == "In")


def _problem(one: NodeSelectorRequirement) -> str:
    if one.operator in {"Exists", "DoesNotExist"}:
        return "remove the values"
    if one.operator in {"In", "NotIn"}:
        return "name at least one value"
    try:
        Requirement.of(one.key, one.operator, one.values)
    except RequirementError as error:
        return str(error)
    return "the Kubernetes API has no such operator"
