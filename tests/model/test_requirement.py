"""The algebra of requirements: laws for any two of them, and the tables of T382."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmoor.model import names, requirement
from unmoor.model.requirement import (
    NodeSelectorRequirement,
    Requirement,
    RequirementError,
    Requirements,
)

# Every kind of value that matters: small integers, other text, the label missing.
PROBES = (None, "", "a", "b", "z", *map(str, range(-2, 13)), "007")


def of(operator: str, *values: str, key: str = "key") -> Requirement:
    return Requirement.of(key, operator, values)


def allowed(one: Requirement) -> list[str | None]:
    return [value for value in PROBES if one.allows(value)]


TWELVE = (
    of("Exists"),
    of("DoesNotExist"),
    of("In", "a"),
    of("In", "b"),
    of("In", "a", "b"),
    of("NotIn", "a"),
    of("NotIn", "b"),
    of("NotIn", "a", "b"),
    of("In", "1", "9"),
    of("NotIn", "1"),
    of("Gt", "1"),
    of("Lt", "9"),
)


@pytest.mark.parametrize(("one", "other"), list(itertools.product(TWELVE, TWELVE)), ids=str)
def test_t382_an_intersection_allows_exactly_what_both_allow(
    one: Requirement, other: Requirement
) -> None:
    both = one.intersection(other)

    assert allowed(both) == [v for v in PROBES if one.allows(v) and other.allows(v)]
    assert one.has_intersection(other) is bool(allowed(both))


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (of("In", "a"), ["a"]),
        (of("NotIn", "a"), [v for v in PROBES if v != "a"]),
        (of("NotIn"), list(PROBES)),
        (of("Exists"), [v for v in PROBES if v is not None]),
        (of("DoesNotExist"), [None]),
        (of("Gt", "10"), ["11", "12"]),
        (of("Gte", "11"), ["11", "12"]),
        (of("Lt", "0"), ["-2", "-1"]),
        (of("Lte", "-1"), ["-2", "-1"]),
        (of("Gt", "6").intersection(of("Lt", "8")), ["7", "007"]),
        (of("Gt", "6").intersection(of("Lt", "7")), []),
        (of("Gt", "9").intersection(of("Lt", "3")), []),
        (of("Gt", "6").intersection(of("In", "a", "7", "6")), ["7"]),
        (of("Exists").intersection(of("NotIn", "a")), [v for v in PROBES if v not in {"a", None}]),
        (of("In", "a").intersection(of("In", "b")), []),
        (of("In", "a").intersection(of("DoesNotExist")), []),
        (of("NotIn", "a").intersection(of("DoesNotExist")), [None]),
        (requirement.anything("key"), list(PROBES)),
    ],
    ids=lambda one: str(one) if isinstance(one, Requirement) else "",
)
def test_what_is_allowed(one: Requirement, expected: list[str | None]) -> None:
    assert allowed(one) == expected
    assert one.is_nothing is not bool(expected)


@pytest.mark.parametrize(
    ("operator", "values", "named"),
    [
        ("in", ["a"], "'in' on key is no operator"),
        ("", ["a"], "'' on key is no operator"),
        ("In", [], r"key In \[\]: name at least one value"),
        ("Gt", [], "key Gt .*exactly one integer"),
        ("Gt", ["1", "2"], "exactly one integer"),
        ("Lt", ["many"], "exactly one integer"),
        ("Gte", ["1.5"], "exactly one integer"),
    ],
)
def test_what_means_nothing_is_refused_by_name(
    operator: str, values: list[str], named: str
) -> None:
    with pytest.raises(RequirementError, match=named):
        Requirement.of("key", operator, values)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (of("In", "b", "a"), "key In [a, b]"),
        (of("NotIn", "b", "a"), "key NotIn [a, b]"),
        (of("Exists"), "key Exists"),
        (of("DoesNotExist"), "key DoesNotExist"),
        (of("Gt", "1").intersection(of("Lt", "9")), "key > 1 and < 9"),
        (of("Gt", "1").intersection(of("NotIn", "5")), "key > 1 and NotIn [5]"),
        (of("In", "a").intersection(of("In", "b")), "key allows nothing"),
        (requirement.anything("key"), "key may be anything"),
    ],
)
def test_the_text_is_sorted_and_stable(one: Requirement, text: str) -> None:
    """T382: stable string order."""
    assert str(one) == text


label_values = st.sampled_from(["a", "b", "z", "1", "5", "9", "007"])
single = st.one_of(
    st.builds(
        lambda operator, values: of(operator, *values),
        st.sampled_from(["In", "NotIn"]),
        st.sets(label_values, min_size=1, max_size=3),
    ),
    st.sampled_from([of("Exists"), of("DoesNotExist"), of("NotIn"), requirement.anything("key")]),
    st.builds(
        lambda operator, bound: of(operator, str(bound)),
        st.sampled_from(["Gt", "Lt", "Gte", "Lte"]),
        st.integers(-1, 11),
    ),
)
some = st.lists(single, min_size=1, max_size=4).map(
    lambda parts: next(iter(Requirements.all_of(parts)))
)


@given(some, some)
def test_intersection_commutes(one: Requirement, other: Requirement) -> None:
    assert one.intersection(other) == other.intersection(one)


@given(some, some, some)
def test_intersection_is_associative(
    one: Requirement, two: Requirement, three: Requirement
) -> None:
    left = one.intersection(two).intersection(three)

    assert left == one.intersection(two.intersection(three))


@given(some)
def test_a_requirement_with_itself_or_with_anything_is_itself(one: Requirement) -> None:
    assert one.intersection(one) == one
    assert one.intersection(requirement.anything("key")) == one


@given(some, some)
def test_there_is_an_intersection_exactly_when_it_is_not_empty(
    one: Requirement, other: Requirement
) -> None:
    both = one.intersection(other)

    assert one.has_intersection(other) is not both.is_nothing
    assert allowed(both) == [v for v in PROBES if one.allows(v) and other.allows(v)]
    if both.is_nothing:
        assert allowed(both) == []


@given(some)
def test_the_api_form_means_the_same(one: Requirement) -> None:
    """T382: conversion round trip."""
    again = Requirements.from_api(one.to_api()).get("key")

    assert again == one


@given(some)
def test_the_only_value_is_the_only_one_allowed(one: Requirement) -> None:
    if one.only_value is not None:
        assert allowed(one) == [one.only_value]


ZONES = Requirements.all_of([of("In", "a", "b", key=names.ZONE), of("In", "x", key="team")])


@pytest.mark.parametrize(
    ("wanted", "lenient", "strict"),
    [
        ([], True, True),
        ([of("In", "a", key=names.ZONE)], True, True),
        ([of("In", "c", key=names.ZONE)], False, False),
        ([of("In", "x", key="team")], True, True),
        ([of("In", "y", key="team")], False, False),
        ([of("DoesNotExist", key="team")], False, False),
        ([of("NotIn", "x", key="team")], False, False),
        ([of("NotIn", "y", key="team")], True, True),
        ([of("In", "x", key="unknown")], False, False),
        ([of("Exists", key="unknown")], False, False),
        ([of("NotIn", "x", key="unknown")], True, True),
        ([of("DoesNotExist", key="unknown")], True, True),
        ([of("In", "amd64", key=names.ARCH)], True, False),
        ([of("Exists", key=names.ARCH)], True, False),
        ([of("NotIn", "amd64", key=names.ARCH)], True, True),
    ],
)
def test_t382_compatibility_and_the_rule_for_absence(
    wanted: list[Requirement], *, lenient: bool, strict: bool
) -> None:
    asked = Requirements.all_of(wanted)

    assert ZONES.compatible(asked, undefined=names.WELL_KNOWN_LABELS) is lenient
    assert ZONES.compatible(asked) is strict


def test_a_conflict_says_what_was_wanted_what_there_is_and_what_was_meant() -> None:
    zone = ZONES.first_incompatibility(Requirements.all_of([of("In", "c", key=names.ZONE)]))
    assert str(zone) == (
        "wanted topology.kubernetes.io/zone In [c], but topology.kubernetes.io/zone In [a, b]"
    )

    typo = ZONES.first_incompatibility(
        Requirements.all_of([of("In", "a", key="topology.kubernetesio/zone")])
    )
    assert str(typo) == (
        "wanted topology.kubernetesio/zone In [a], but the label topology.kubernetesio/zone "
        "has no known values (did you mean topology.kubernetes.io/zone?)"
    )

    own = ZONES.first_incompatibility(Requirements.all_of([of("In", "blue", key="crew")]))
    assert str(own) == (
        "wanted crew In [blue], but the label crew has no known values "
        "(a provisioner whose spec.labels or spec.requirements have it would do)"
    )


def test_requirements_on_one_label_are_intersected_and_older_names_are_the_same_label() -> None:
    both = Requirements.all_of(
        [of("In", "a", "b", key="beta.kubernetes.io/arch"), of("NotIn", "a", key=names.ARCH)]
    )

    assert str(both) == "kubernetes.io/arch In [b]"
    assert "beta.kubernetes.io/arch" in both
    assert both.get("beta.kubernetes.io/arch").only_value == "b"
    assert both.labels() == {names.ARCH: "b"}
    assert len(both) == 1


def test_labels_are_requirements_and_single_values_are_labels() -> None:
    labels = {"zone": "a", "team": "x"}

    assert Requirements.from_labels(labels).labels() == labels
    assert Requirements.all_of([of("In", "a", "b"), of("Exists", key="x")]).labels() == {}
    assert Requirements.all_of([]).labels() == {}


@pytest.mark.parametrize(
    ("operator", "values", "labels", "is_satisfied"),
    [
        ("In", ["a"], {"k": "a"}, True),
        ("In", ["a"], {"k": "b"}, False),
        ("In", ["a"], {}, False),
        ("NotIn", ["a"], {}, True),
        ("NotIn", ["a"], {"k": "a"}, False),
        ("Exists", [], {}, False),
        ("DoesNotExist", [], {}, True),
        ("DoesNotExist", [], {"k": "a"}, False),
        ("Gt", ["4"], {"k": "5"}, True),
        ("Gt", ["4"], {"k": "4"}, False),
        ("Gt", ["4"], {}, False),
        ("Lt", ["4"], {"k": "3"}, True),
        ("Lt", ["4"], {"k": "three"}, False),
    ],
)
def test_r11_labels_satisfy_requirements(
    operator: str, values: list[str], labels: dict[str, str], *, is_satisfied: bool
) -> None:
    """R11: a missing label satisfies only NotIn and DoesNotExist."""
    one = NodeSelectorRequirement(key="k", operator=operator, values=tuple(values))
    all_of = Requirements.from_api([one])

    assert all_of.allows(labels) is is_satisfied
    assert (all_of.first_unsatisfied(labels) is None) is is_satisfied


def test_whole_sets_of_requirements_intersect_and_are_written_in_the_api_s_terms() -> None:
    zone = Requirements.all_of([of("NotIn", "b", key=names.ZONE)])

    both = ZONES.intersection(zone)

    assert str(both) == "team In [x], topology.kubernetes.io/zone In [a]"
    assert ZONES.has_intersection(zone)
    assert not both.has_intersection(Requirements.from_labels({names.ZONE: "b"}))
    assert Requirements.from_api(both.to_api()) == both
    assert [str(one) for one in both.to_api()] == [
        "team In [x]",
        "topology.kubernetes.io/zone In [a]",
    ]


def test_the_order_of_what_is_given_does_not_matter() -> None:
    parts = [of("In", "a", "b", key="z"), of("NotIn", "c", key="a"), of("Exists", key="m")]
    texts = {str(Requirements.all_of(order)) for order in itertools.permutations(parts)}

    assert texts == {"a NotIn [c], m Exists, z In [a, b]"}
