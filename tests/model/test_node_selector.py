"""Node selectors, as the scheduler reads them: terms are alternatives, parts of a term are not."""

import msgspec
import pytest

from unmoor.model import node_selector
from unmoor.model.node_selector import NodeSelector, NodeSelectorTerm
from unmoor.model.requirement import NodeSelectorRequirement
from unmoor.model.selector import SelectorError

LABELS = {"zone": "a", "cpu": "4"}


def one(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


def term(*expressions: NodeSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=expressions)


def field(operator: str, *values: str, key: str = "metadata.name") -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=(one(key, operator, *values),))


def selected(*terms: NodeSelectorTerm) -> bool:
    return node_selector.matches(NodeSelector(node_selector_terms=terms), LABELS, "n1")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (one("zone", "In", "a", "b"), True),
        (one("zone", "In", "b"), False),
        (one("gone", "In", "a"), False),
        (one("zone", "NotIn", "a"), False),
        (one("gone", "NotIn", "a"), True),
        (one("zone", "Exists"), True),
        (one("gone", "Exists"), False),
        (one("gone", "DoesNotExist"), True),
        (one("cpu", "Gt", "3"), True),
        (one("cpu", "Gt", "4"), False),
        (one("cpu", "Lt", "5"), True),
        (one("gone", "Lt", "5"), False),
        (one("zone", "Gt", "3"), False),
    ],
    ids=str,
)
def test_expressions(expression: NodeSelectorRequirement, *, expected: bool) -> None:
    assert selected(term(expression)) is expected


def test_all_of_a_term_and_any_of_the_terms() -> None:
    yes, no = one("zone", "In", "a"), one("zone", "In", "b")

    assert not selected(term(yes, no))
    assert selected(term(no), term(yes))
    assert not selected(term(no), term(no))


def test_no_selector_selects_every_node_and_an_empty_term_none() -> None:
    assert node_selector.matches(None, LABELS, "n1")
    assert not selected()
    assert not selected(NodeSelectorTerm())


def test_the_name_is_a_field() -> None:
    assert selected(field("In", "n1"))
    assert not selected(field("In", "n2"))
    assert selected(field("NotIn", "n2"))


def test_older_label_names_are_not_the_same_label_to_the_scheduler() -> None:
    labels = {"kubernetes.io/arch": "amd64"}
    old = NodeSelector(node_selector_terms=(term(one("beta.kubernetes.io/arch", "In", "amd64")),))

    assert not node_selector.matches(old, labels, "n1")


@pytest.mark.parametrize(
    "bad",
    [
        term(one("zone", "in", "a")),
        term(one("zone", "Gte", "1")),
        term(one("zone", "In")),
        term(one("zone", "NotIn")),
        term(one("zone", "Exists", "a")),
        term(one("zone", "Gt", "a")),
        term(one("zone", "Gt", "1", "2")),
        field("In", "n1", "n2"),
        field("Exists"),
        field("In", "x", key="spec.unschedulable"),
    ],
)
def test_a_bad_term_decodes_hides_no_good_one_and_is_named(bad: NodeSelectorTerm) -> None:
    decoded = msgspec.json.decode(msgspec.json.encode(bad), type=NodeSelectorTerm)

    assert selected(decoded, term(one("zone", "In", "a")))
    with pytest.raises(SelectorError, match="node selector"):
        selected(decoded, term(one("zone", "In", "b")))
