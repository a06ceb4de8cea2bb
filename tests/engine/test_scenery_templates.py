"""What may the next machines be, and those that are started? Who cannot be used says why."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests import builders
from tests.builders import changed, machine, node, provisioner
from tests.engine.pieces import (
    GIB,
    daemon_set,
    in_flight,
    instance_type,
    spec_of,
    view_of,
    wants,
    with_spec,
)
from unmoor.engine.scene import Doubts, Scene, Started, Template
from unmoor.engine.scenery import Scenery, scene_of
from unmoor.engine.sites import offerings_of
from unmoor.model import names
from unmoor.model.instance import InstanceType
from unmoor.model.requirement import Requirements
from unmoor.model.taint import Taint

SMALL, LARGE = instance_type("m.small", cpu=2), instance_type("m.large", cpu=8)
MINE = Taint(key="example.org/mine", effect="NoSchedule")


def scene(*objects: Any, types: tuple[InstanceType, ...] = (SMALL, LARGE)) -> Scene:
    return scene_of(view_of(*objects), types)


def template(*objects: Any, types: tuple[InstanceType, ...] = (SMALL, LARGE)) -> Template:
    (only,) = scene(*objects, types=types).templates
    return only


def started(*objects: Any, types: tuple[InstanceType, ...] = (SMALL, LARGE)) -> Started:
    (only,) = scene(*objects, types=types).started
    return only


def types_of(one: Template | Started) -> list[str]:
    return [each.name for each in one.types]


def requiring(*parts: Any, **more: Any) -> Any:
    return with_spec(provisioner(), requirements=parts, **more)


# --------------------------------------------------------------------------------------- templates


def test_a_template_is_what_the_next_machine_would_be() -> None:
    one = template(with_spec(provisioner(weight=7), taints=(MINE,), labels={"team": "red"}))

    assert (one.provisioner, one.weight, one.taints, one.problem) == ("default", 7, (MINE,), "")
    assert one.requirements.get("team").only_value == "red"
    assert one.requirements.get(names.PROVISIONER_NAME).only_value == "default"
    assert types_of(one) == ["m.small", "m.large"]


def test_the_heaviest_comes_first_then_by_name() -> None:
    given = (
        provisioner("c"),
        provisioner("b", weight=1),
        provisioner("a"),
        provisioner("d", weight=9),
    )

    assert [one.provisioner for one in scene(*given).templates] == ["d", "b", "a", "c"]


def test_a_provisioner_that_is_being_deleted_has_no_template() -> None:
    assert scene(provisioner(deleted_at=builders.NOW)).templates == ()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            requiring(wants(names.INSTANCE_TYPE, "In", "m.small")), ["m.small"], id="type"
        ),
        pytest.param(
            requiring(wants(names.INSTANCE_TYPE, "NotIn", "m.small")), ["m.large"], id="not"
        ),
        pytest.param(requiring(wants(names.ZONE, "In", "z1")), ["m.small", "m.large"], id="zone"),
        pytest.param(requiring(wants(names.ZONE, "In", "z9")), [], id="no such zone"),
        pytest.param(
            requiring(wants(names.CAPACITY_TYPE, "In", "spot")), ["m.small", "m.large"], id="spot"
        ),
        pytest.param(requiring(wants(names.CAPACITY_TYPE, "In", "barter")), [], id="no such kind"),
        pytest.param(requiring(wants(names.ARCH, "In", "arm64")), [], id="arch"),
        pytest.param(requiring(wants("team", "In", "red")), ["m.small", "m.large"], id="its own"),
        pytest.param(
            requiring(wants("karpenter.k8s.aws/instance-gpu-count", "Gt", "0")), [], id="no device"
        ),
        pytest.param(
            requiring(wants("karpenter.k8s.aws/instance-gpu-count", "DoesNotExist")),
            ["m.small", "m.large"],
            id="devices unwanted",
        ),
        pytest.param(
            requiring(wants("karpenter.k8s.aws/instance-generation", "Lt", "5")), [], id="old"
        ),
    ],
)
def test_types_are_those_that_suit(given: Any, expected: list[str]) -> None:
    assert types_of(template(given)) == expected


def test_types_that_are_out_of_stock_are_left_out() -> None:
    gone = instance_type("m.gone", is_available=False)

    assert types_of(template(provisioner(), types=(gone, LARGE))) == ["m.large"]


def test_offerings_that_one_provisioner_avoids_are_there_for_others() -> None:
    """And for its machines that are started: those are launched as they were ordered."""
    view = view_of(provisioner("a"), provisioner("b"), machine("m-a", is_new=True, provisioner="a"))
    gone = {f"m.small {one.zone} {one.capacity_type}" for one in SMALL.offerings}
    kept = Scenery()
    some = Doubts(avoided={"a": dict.fromkeys(sorted(gone)[:1], "noon")})
    every = Doubts(avoided={"a": dict.fromkeys(gone, "noon")})
    looks = [kept.scene_of(view, (SMALL, LARGE), doubts=one) for one in (some, every, Doubts())]

    assert [[types_of(one) for one in look.templates] for look in looks] == [
        [["m.small", "m.large"], ["m.small", "m.large"]],
        [["m.large"], ["m.small", "m.large"]],
        [["m.small", "m.large"], ["m.small", "m.large"]],
    ]
    assert [types_of(look.started[0]) for look in looks] == [["m.small", "m.large"]] * 3
    (small, _) = looks[0].templates[0].types
    assert len(offerings_of(small, Requirements({}))) == len(SMALL.offerings) - 1


def test_why_nothing_is_to_be_had_and_until_when() -> None:
    """Our own memory is named as such: to allow more types for it would be a pity."""
    name = f"m.small {SMALL.offerings[0].zone} {SMALL.offerings[0].capacity_type}"
    one = msgspec.structs.replace(SMALL, offerings=SMALL.offerings[:1])
    gone = one.without({name})
    view, kept = view_of(provisioner()), Scenery()
    avoided = Doubts(avoided={"default": {name: "12:15"}})
    sold_out = Doubts(sold_out={name: "12:03", "m.large z spot": "12:01"})
    looks = [
        kept.scene_of(view, types, doubts=doubts).templates[0].problem
        for types, doubts in (((one,), avoided), ((gone,), sold_out), ((gone,), Doubts()))
    ]

    head = "provisioner/default: spec.requirements:"
    none = f"{head} m.small would suit, none is to be had now in an allowed zone and capacity type"
    assert looks[0] == (
        f"{head} {name} would suit, and its machines have not come up there; it asks for the first "
        "of them again at 12:15: see why they do not, or allow more"
    )
    assert looks[1:] == [
        f"{none}; the first are asked for again at 12:03; wait, or allow more",
        f"{none}; wait, or allow more",
    ]


@pytest.mark.parametrize(
    ("given", "types", "problem"),
    [
        pytest.param(
            provisioner(weight=200),
            (SMALL,),
            "provisioner/default: spec.weight is '200': it is above 100; use 1 to 100",
            id="invalid",
        ),
        pytest.param(
            with_spec(provisioner(weight=200), limits={"cpu": "many"}),
            (SMALL,),
            "provisioner/default: spec.limits.resources.cpu is 'many': it is not a quantity",
            id="a limit that is no quantity",
        ),
        pytest.param(
            requiring(wants("team", "Sounds", "good")),
            (SMALL,),
            "provisioner/default: spec.requirements[0].operator is 'Sounds'",
            id="a requirement that means nothing",
        ),
        pytest.param(
            requiring(wants(names.ARCH, "In", "arm64")),
            (SMALL,),
            "provisioner/default: spec.requirements: nothing is sold with kubernetes.io/arch In "
            "[arm64]; there is amd64",
            id="no type suits",
        ),
        pytest.param(provisioner(), (), "no instance type suits them", id="nothing on sale"),
        pytest.param(
            requiring(wants("team", "In", "a"), wants("team", "NotIn", "a")),
            (SMALL,),
            "spec.requirements: team allows nothing, because they contradict each other",
            id="a contradiction about a label of its own",
        ),
        pytest.param(
            provisioner(),
            tuple(instance_type(f"m.{n}", is_available=False) for n in range(5)),
            "m.0, m.1, m.2 and 2 more would suit, none is to be had now",
            id="all out of stock",
        ),
    ],
)
def test_a_provisioner_that_cannot_be_used_says_why(
    given: Any, types: tuple[InstanceType, ...], problem: str
) -> None:
    one = template(given, types=types)

    assert problem in one.problem
    assert one.types == ()


def test_a_provisioner_that_cannot_be_used_stops_no_other() -> None:
    found = scene(provisioner("bad", weight=200), provisioner("good")).templates

    assert [(one.provisioner, bool(one.problem)) for one in found] == [
        ("bad", True),
        ("good", False),
    ]


# ------------------------------------------------------------------------------------------ limits


def limited(**limits: str | float) -> Any:
    return with_spec(provisioner(), limits=limits)


@pytest.mark.parametrize(
    ("objects", "cpu_left"),
    [
        pytest.param((), 20_000, id="nothing there"),
        pytest.param((node("a"), machine("m-a")), 16_000, id="a node counts with its capacity"),
        pytest.param((node("a"), node("b")), 12_000, id="also without a machine"),
        pytest.param((in_flight("m-a"),), 16_000, id="a machine in flight"),
        pytest.param((machine("m-a"),), 16_000, id="a machine that has lost its node"),
        pytest.param((machine("m-a", is_new=True),), 12_000, id="a started one, at its largest"),
        pytest.param(
            (
                machine(
                    "m-a",
                    is_new=True,
                    requirements=(wants(names.INSTANCE_TYPE, "In", "m.small"),),
                ),
            ),
            18_000,
            id="of the types that it may become",
        ),
        pytest.param((node("a", deleted_at=builders.NOW),), 20_000, id="not what is going"),
        pytest.param((in_flight("m-a", deleted_at=builders.NOW),), 20_000, id="nor machines"),
        pytest.param((in_flight("m-a", provisioner="other"),), 20_000, id="nor others'"),
        pytest.param(
            (changed(in_flight("m-a"), status__capacity={"cpu": "four"}),),
            20_000,
            id="what cannot be read counts as nothing",
        ),
        pytest.param(
            (node("a", capacity={"cpu": "four"}), machine("m-a")),
            16_000,
            id="or as its machine says",
        ),
        pytest.param((node("a", capacity={"cpu": "-8"}),), 20_000, id="none makes room for others"),
        pytest.param(tuple(node(str(n)) for n in range(6)), -4_000, id="already beyond"),
    ],
)
def test_what_the_limits_leave(objects: tuple[Any, ...], cpu_left: int) -> None:
    assert template(limited(cpu="20"), *objects).remaining == {"cpu": cpu_left}


def test_what_is_to_go_does_not_count() -> None:
    view = view_of(limited(cpu="20"), node("a"), machine("m-a"), machine("m-b", is_new=True))
    found = scene_of(view, (SMALL,), without=["a", "m-b"])

    assert found.templates[0].remaining == {"cpu": 20_000}


def test_only_what_is_limited_is_counted() -> None:
    one = template(limited(memory="10Gi", **{"example.org/gpu": 2}), node("a"))

    assert one.remaining == {"memory": 2 * GIB, "example.org/gpu": 2}
    assert template(provisioner(), node("a")).remaining == {}


# ----------------------------------------------------------------------------------------- started


def test_a_started_machine_may_become_what_its_requirements_name() -> None:
    wanted = (
        wants(names.INSTANCE_TYPE, "In", "m.large", "m.gone", "m.unheard-of"),
        wants(names.ZONE, "In", "z1"),
    )
    gone = instance_type("m.gone", is_available=False)
    begun = machine("m-a", is_new=True, requirements=wanted, taints=(MINE,), labels={"team": "red"})
    one = started(begun, types=(gone, SMALL, LARGE))

    assert (one.name, one.provisioner, one.taints) == ("m-a", "default", (MINE,))
    assert types_of(one) == ["m.large"]
    assert one.requirements.get(names.ZONE).only_value == "z1"
    assert one.requirements.get("team").only_value == "red"


@pytest.mark.parametrize(
    ("given", "types"),
    [
        pytest.param("m.large", ["m.large"], id="on sale"),
        pytest.param("m.unheard-of", ["m.small"], id="not on sale: as it asked"),
    ],
)
def test_what_the_cloud_gave_holds_whatever_the_machine_asks_for(
    given: str, types: list[str]
) -> None:
    """Its labels tell before its status does."""
    wanted = (wants(names.INSTANCE_TYPE, "In", "m.small"), wants("size", "In", "small"))
    labels = {names.INSTANCE_TYPE: given, names.ZONE: "z1", "size": "other"}
    one = started(machine("m-a", is_new=True, requirements=wanted, labels=labels))

    assert types_of(one) == types
    assert one.requirements.get("size").only_value == "other"


def test_a_started_machine_lies_where_the_cloud_says_be_its_types_sold_there_or_not() -> None:
    """Otherwise it is no place, and its pods get a second one."""
    labels = {
        names.INSTANCE_TYPE: "m.unheard-of",
        names.ZONE: "z9",
        names.CAPACITY_TYPE: "on-demand",
    }
    one = started(machine("m-a", is_new=True, labels=labels))

    assert types_of(one) == ["m.small", "m.large"]
    assert {sold.zone for sold in offerings_of(one.types[0], one.requirements)} == {"z9"}


def test_a_started_machine_stays_a_place_when_all_its_types_are_sold_out() -> None:
    """The cloud has not been asked for it yet; it may have some again by then."""
    gone = instance_type("m.gone", is_available=False)
    wanted = (wants(names.INSTANCE_TYPE, "In", "m.gone"), wants(names.ZONE, "In", "z1"))
    begun = [machine(name, is_new=True, requirements=wanted) for name in ("m-a", "m-b")]
    one, other = scene(*begun, types=(gone, LARGE)).started

    assert types_of(one) == ["m.gone"]
    assert {sold.zone for sold in offerings_of(one.types[0], one.requirements)} == {"z1"}
    assert one.types[0] is other.types[0]
    assert not any(sold.is_available for sold in gone.offerings)


def test_started_machines_come_by_name() -> None:
    given = [machine(name, is_new=True) for name in ("m-b", "m-a")]

    assert [one.name for one in scene(*given).started] == ["m-a", "m-b"]


def test_a_machine_whose_requirements_mean_nothing_is_left_out() -> None:
    """It will never be launched (the lifecycle says so), and others are not affected."""
    bad = machine("m-a", is_new=True, requirements=(wants("team", "Sounds", "good"),))
    found = scene(bad, machine("m-b", is_new=True), limited(cpu="20"))

    assert [one.name for one in found.started] == ["m-b"]
    assert found.templates[0].remaining == {"cpu": 12_000}


def test_daemon_sets_will_ask_for_their_share() -> None:
    agent = daemon_set("agent", spec_of({"cpu": "1"}, node_selector={names.ZONE: "z1"}))
    begun = machine("m-a", is_new=True, labels={names.ZONE: "z2"})

    assert template(provisioner(), agent).daemons == {"cpu": 1000, "pods": 1}
    assert started(begun, agent).daemons == {}


def test_machines_that_differ_in_their_taints_alone_are_told_apart() -> None:
    begun = [machine("m-a", is_new=True, taints=(MINE,)), machine("m-b", is_new=True)]

    found = scene(daemon_set(), *begun).started

    assert [(one.taints, one.daemons) for one in found] == [
        ((MINE,), {}),
        ((), {"cpu": 1000, "pods": 1}),
    ]


def test_what_was_found_out_is_kept_as_long_as_a_provisioner_asks_for_the_same() -> None:
    scenery, new = Scenery(), machine("m-new", is_new=True)
    before = scenery.scene_of(view_of(provisioner(), new), (SMALL, LARGE))
    scenery.rest()
    reported = changed(provisioner(), status__resources={"cpu": "4"})
    after = scenery.scene_of(view_of(reported, new, node("a")), (SMALL, LARGE))
    other = scenery.scene_of(view_of(requiring(wants(names.ARCH, "In", "arm64")), new), (LARGE,))

    assert after.templates[0] is before.templates[0]
    assert after.started[0].types is before.started[0].types
    assert (types_of(other.templates[0]), types_of(other.started[0])) == ([], ["m.large"])
