"""Label and field selectors: what they select, how they are written, what is wrong with them."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmoor.model import selector
from unmoor.model.selector import FieldRequirement, LabelSelector, LabelSelectorRequirement

LABELS = {"app": "web", "tier": "front", "empty": ""}


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    one = LabelSelectorRequirement(key=key, operator=operator, values=values)
    return LabelSelector(match_expressions=(one,))


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert not selector.matches(None, LABELS)
    assert selector.matches(LabelSelector(), LABELS)
    assert selector.matches(LabelSelector(), {})
    assert LabelSelector().is_empty


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (LabelSelector(match_labels={"app": "web"}), True),
        (LabelSelector(match_labels={"app": "web", "tier": "back"}), False),
        (LabelSelector(match_labels={"gone": ""}), False),
        (LabelSelector(match_labels={"empty": ""}), True),
        (expression("app", "In", "web", "api"), True),
        (expression("app", "In", "api"), False),
        (expression("gone", "In", "web"), False),
        (expression("app", "NotIn", "api"), True),
        (expression("app", "NotIn", "web"), False),
        (expression("gone", "NotIn", "web"), True),
        (expression("app", "Exists"), True),
        (expression("gone", "Exists"), False),
        (expression("app", "DoesNotExist"), False),
        (expression("gone", "DoesNotExist"), True),
    ],
)
def test_what_is_selected(one: LabelSelector, *, expected: bool) -> None:
    assert selector.matches(one, LABELS) is expected
    assert selector.problem(one) == ""


@pytest.mark.parametrize(
    ("one", "named"),
    [
        (expression("app", "in", "web"), "'in' on 'app' is no operator"),
        (expression("app", "Gt", "1"), "'Gt' on 'app' is no operator"),
        (expression("app", "In"), "operator In on 'app' has no values"),
        (expression("app", "NotIn"), "operator NotIn on 'app' has no values"),
        (expression("app", "Exists", "x"), "operator Exists on 'app' has values"),
        (expression("app", "DoesNotExist", "x"), "operator DoesNotExist on 'app' has values"),
    ],
)
def test_a_bad_selector_decodes_and_is_judged_when_it_is_used(
    one: LabelSelector, named: str
) -> None:
    decoded = msgspec.json.decode(msgspec.json.encode(one), type=LabelSelector)

    for labels in (LABELS, {}):
        with pytest.raises(selector.SelectorError, match=named):
            selector.matches(decoded, labels)
    assert named in selector.problem(decoded)


def test_labels_that_do_not_match_cannot_hide_a_bad_expression() -> None:
    bad = LabelSelectorRequirement(key="app", operator="Near")
    both = LabelSelector(match_labels={"app": "api"}, match_expressions=(bad,))

    with pytest.raises(selector.SelectorError):
        selector.matches(both, LABELS)
    assert selector.problem(None) == ""


@pytest.mark.parametrize(
    ("text", "labels", "expressions"),
    [
        ("", {}, []),
        ("  ", {}, []),
        ("a=b", {"a": "b"}, []),
        ("a==b", {"a": "b"}, []),
        (" a = b ", {"a": "b"}, []),
        ("a=", {"a": ""}, []),
        ("a=b,c=d", {"a": "b", "c": "d"}, []),
        ("a=b,a=c", {"a": "b"}, [("a", "In", ("c",))]),
        ("a!=b", {}, [("a", "NotIn", ("b",))]),
        ("e in (x,y)", {}, [("e", "In", ("x", "y"))]),
        ("e in ( x , y )", {}, [("e", "In", ("x", "y"))]),
        ("e in (x)", {}, [("e", "In", ("x",))]),
        ("e in (,x)", {}, [("e", "In", ("", "x"))]),
        ("e notin (x,y)", {}, [("e", "NotIn", ("x", "y"))]),
        ("g", {}, [("g", "Exists", ())]),
        ("!f", {}, [("f", "DoesNotExist", ())]),
        ("! f", {}, [("f", "DoesNotExist", ())]),
        ("in in (in)", {}, [("in", "In", ("in",))]),
        ("karpenter.sh/provisioner-name=default", {"karpenter.sh/provisioner-name": "default"}, []),
    ],
)
def test_text_is_read_as_kubectl_reads_it(
    text: str, labels: dict[str, str], expressions: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    parsed = selector.parse(text)

    assert parsed.match_labels == labels
    assert [(e.key, e.operator, e.values) for e in parsed.match_expressions] == expressions


@pytest.mark.parametrize(
    "text",
    [
        ",",
        "a=b,",
        ",a",
        "a=b c",
        "a in x",
        "a in (x",
        "a in",
        "=b",
        "!",
        "a>1",
        "a=(b)",
        "a@b",
        "a!",
    ],
)
def test_text_that_is_no_selector_is_refused_by_name(text: str) -> None:
    with pytest.raises(selector.SelectorError) as refused:
        selector.parse(text)

    assert repr(text) in str(refused.value)


words = st.sampled_from(["a", "b", "app", "x.y/z", "in", "notin", "1"])
values = st.sampled_from(["", "web", "v-1", "in", "1.2"])
expressions = st.one_of(
    st.builds(
        LabelSelectorRequirement,
        key=words,
        operator=st.sampled_from(["In", "NotIn"]),
        values=st.lists(values, min_size=1, max_size=3, unique=True).map(tuple),
    ),
    st.builds(
        LabelSelectorRequirement, key=words, operator=st.sampled_from(["Exists", "DoesNotExist"])
    ),
)
selectors = st.builds(
    LabelSelector,
    match_labels=st.dictionaries(words, values, max_size=2),
    match_expressions=st.lists(expressions, max_size=3).map(tuple),
)


@given(selectors, st.dictionaries(words, values))
def test_a_selector_means_the_same_after_a_trip_through_text(
    one: LabelSelector, labels: dict[str, str]
) -> None:
    parts = [f"{key}={value}" for key, value in one.match_labels.items()]
    again = selector.parse(",".join([*parts, *map(str, one.match_expressions)]))

    assert selector.matches(again, labels) is selector.matches(one, labels)


def test_field_selectors() -> None:
    parsed = selector.parse_fields("metadata.name=x,spec.nodeName!=y, status.phase==Running")

    assert parsed == (
        FieldRequirement(path="metadata.name", value="x"),
        FieldRequirement(path="spec.nodeName", value="y", is_equal=False),
        FieldRequirement(path="status.phase", value="Running"),
    )
    assert ",".join(map(str, parsed)) == "metadata.name=x,spec.nodeName!=y,status.phase=Running"
    assert selector.parse_fields("") == ()


def test_field_values_may_be_empty_or_escaped() -> None:
    assert selector.parse_fields("spec.nodeName=") == (
        FieldRequirement(path="spec.nodeName", value=""),
    )

    (escaped,) = selector.parse_fields(r"a=b\,c\=d\\e")
    assert escaped.value == r"b,c=d\e"
    assert str(escaped) == r"a=b\,c\=d\\e"


@pytest.mark.parametrize("text", ["a", "=b", "a=b=c", "a>b"])
def test_what_is_no_field_selector_is_refused_by_name(text: str) -> None:
    with pytest.raises(selector.SelectorError, match="is no field selector"):
        selector.parse_fields(text)
