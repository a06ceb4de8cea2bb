"""Whatever stands in API objects, a scene comes of it, and what is sound in it is as ever."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import changed, machine, node, pod, provisioner
from tests.engine.pieces import (
    affinity,
    csi_node,
    daemon_set,
    in_flight,
    instance_type,
    spec_of,
    view_of,
    wants,
    with_spec,
)
from unmoor.engine.scenery import scene_of
from unmoor.model import names, resources
from unmoor.model.requirement import NodeSelectorRequirement
from unmoor.model.taint import Taint, Toleration

TYPES = (instance_type("m.small", cpu=2), instance_type("m.large", cpu=8))
WORDS = st.sampled_from(
    (
        "",
        "a",
        "4",
        "-1",
        "9" * 40,
        "not a label/ at all",
        names.ZONE,
        names.INSTANCE_TYPE,
        "m.large",
    )
)
KEYS = WORDS | st.sampled_from((names.HOSTNAME, names.ARCH, names.PROVISIONER_NAME, "beta.x/y"))
AMOUNTS: st.SearchStrategy[str | int | float] = st.sampled_from(
    ("", "four", "-3", "9E", "1e400", "1" * 300, 0, 2.5, -7, float("nan"))
)
QUANTITIES = st.dictionaries(st.sampled_from(("cpu", "memory", "pods", "", "gpu")), AMOUNTS)
LABELS = st.dictionaries(KEYS, WORDS, max_size=4)
EFFECTS = st.sampled_from(("NoSchedule", "NoExecute", "PreferNoSchedule", "Maybe", ""))
TAINTS = st.lists(st.builds(Taint, key=KEYS, value=WORDS, effect=EFFECTS), max_size=3).map(tuple)
OPERATORS = st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Sounds", ""))
REQUIREMENTS = st.lists(
    st.builds(
        NodeSelectorRequirement,
        key=KEYS,
        operator=OPERATORS,
        values=st.lists(WORDS, max_size=3).map(tuple),
    ),
    max_size=4,
).map(tuple)
TOLERATIONS = st.lists(
    st.builds(Toleration, key=KEYS, operator=WORDS | OPERATORS, value=WORDS, effect=EFFECTS),
    max_size=2,
).map(tuple)

SOUND = (
    node("sound"),
    pod("sound", on="sound"),
    in_flight("m-sound", provider_id="sim:///sound-2"),
    machine("m-begun", is_new=True),
    with_spec(provisioner("sound"), requirements=(wants("team", "In", "red"),)),
)


@st.composite
def odd(draw: st.DrawFn) -> tuple[Any, ...]:
    """One of each kind, and nothing about it is certain."""
    made = node("odd", taints=draw(TAINTS), allocatable=draw(QUANTITIES), capacity=draw(QUANTITIES))
    flying = in_flight("m-odd", requirements=draw(REQUIREMENTS), taints=draw(TAINTS))
    owner = spec_of(
        draw(QUANTITIES),
        tolerations=draw(TOLERATIONS),
        node_selector={"of the": "odd", **draw(LABELS)},
        affinity=affinity(draw(REQUIREMENTS), draw(REQUIREMENTS)),
    )
    return (
        changed(made, metadata__labels=draw(LABELS)),
        changed(
            flying,
            metadata__labels=draw(LABELS),
            status__allocatable=draw(QUANTITIES),
            status__capacity=draw(QUANTITIES),
        ),
        machine("m-new", is_new=True, requirements=draw(REQUIREMENTS), labels=draw(LABELS)),
        daemon_set("odd", owner),
        csi_node("odd", **{draw(WORDS): draw(st.sampled_from((None, -5, 10**30)))}),
        changed(
            provisioner("odd", weight=draw(st.sampled_from((None, -1, 10**9)))),
            spec__requirements=draw(REQUIREMENTS),
            spec__labels=draw(LABELS),
            spec__taints=draw(TAINTS),
        ),
        with_spec(provisioner("limited"), limits=draw(QUANTITIES)),
    )


@settings(max_examples=50)
@given(odd())
def test_whatever_stands_there_a_scene_comes_of_it(objects: tuple[Any, ...]) -> None:
    found = scene_of(view_of(*SOUND, *objects), TYPES)
    alone = scene_of(view_of(*SOUND), TYPES)

    for place in alone.places:
        assert place in found.places
    for template in alone.templates:
        assert template in found.templates
    for started in alone.started:
        assert started in found.started
    assert {one.provisioner for one in found.templates} == {"sound", "odd", "limited"}
    for amounts in (place.allocatable for place in found.places):
        assert all(abs(amount) <= resources.AMOUNT_LIMIT for amount in amounts.values())


def test_a_thousand_terms_cost_no_time_and_count_as_nothing_to_come() -> None:
    terms = [(wants("team", "NotIn", str(number)),) for number in range(1000)]
    owner = daemon_set("agent", spec_of({"cpu": "1"}, affinity=affinity(*terms)))
    found = scene_of(view_of(owner, *SOUND), TYPES)

    assert [one.daemons for one in found.templates] == [{}]


def test_a_bound_that_no_64_bits_hold_is_its_provisioner_s_problem_and_nobody_else_s() -> None:
    beyond = wants(names.INSTANCE_CPU, "Gt", "9223372036854775808")
    view = view_of(with_spec(provisioner("broken"), requirements=(beyond,)), provisioner("sound"))

    problems = {one.provisioner: one.problem for one in scene_of(view, TYPES).templates}

    assert problems["sound"] == ""
    assert "spec.requirements[0].values is '9223372036854775808'" in problems["broken"]
