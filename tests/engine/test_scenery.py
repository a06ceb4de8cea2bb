"""What places are there, and what is each worth to pods while it comes up and goes (spec 9.5)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from tests import builders
from tests.builders import changed, machine, node, pod
from tests.engine.pieces import (
    csi_node,
    in_flight,
    instance_type,
    uninitialized,
    unregistered,
    view_of,
    wants,
)
from unmoor.engine.scene import Place, Scene
from unmoor.engine.scenery import scene_of
from unmoor.model import names
from unmoor.model.base import Key
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.taint import GOING_SOON, Taint

GPU = "example.org/gpu"
STARTUP = Taint(key="example.org/agent", effect="NoExecute")
MINE = Taint(key="example.org/mine", value="1", effect="NoSchedule")
OTHER = Taint(key="example.org/other", effect="NoSchedule")
EPHEMERAL = tuple(Taint(key=key, effect=effect) for key, effect in names.EPHEMERAL_TAINTS)


def scene(*objects: Any, without: Collection[str] = (), placing: Collection[Key] = ()) -> Scene:
    return scene_of(view_of(*objects), (instance_type(),), without=without, placing=placing)


def places(*objects: Any) -> list[Place]:
    return list(scene(*objects).places)


def the_place(*objects: Any) -> Place:
    (only,) = places(*objects)
    return only


def called(*objects: Any, **more: Any) -> list[str]:
    return [place.name for place in scene(*objects, **more).places]


# --------------------------------------------------------------------------------- which there are


def test_t165_a_machine_without_an_instance_is_no_place() -> None:
    found = scene(machine("m-a", is_new=True))

    assert found.places == ()
    assert [one.name for one in found.started] == ["m-a"]


def test_t166_a_launched_machine_is_a_place_before_its_node_joins() -> None:
    place = the_place(in_flight("m-a"))

    assert (place.name, place.is_node, place.is_initialized) == ("m-a", False, False)
    assert place.labels[names.HOSTNAME] == "m-a"
    assert place.provisioner == "default"


def test_a_machine_whose_node_is_there_is_the_same_place() -> None:
    assert called(node("a"), machine("m-a")) == ["a"]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param((node("a", deleted_at=builders.NOW),), id="T186"),  # T186
        pytest.param(
            (node("a"), machine("m-a", deleted_at=builders.NOW)),  # T187
            id="T187",
        ),
        pytest.param((node("a", deleted_at=builders.NOW), machine("m-a")), id="node first"),
        pytest.param((in_flight("m-a", deleted_at=builders.NOW),), id="in flight"),
        pytest.param((machine("m-a", is_new=True, deleted_at=builders.NOW),), id="not launched"),
        pytest.param(
            (
                node("a"),
                machine("m-a"),
                machine("m-b", provider_id="sim:///a", deleted_at=builders.NOW),
            ),
            id="one of two machines that stand for it",
        ),
    ],
)
def test_what_is_being_deleted_is_no_place(objects: tuple[Any, ...]) -> None:
    found = scene(*objects)

    assert found.places == ()
    assert found.started == ()


@pytest.mark.parametrize(
    ("without", "left"),
    [
        pytest.param({"a"}, ["b", "m-c"], id="a node"),
        pytest.param({"m-a"}, ["b", "m-c"], id="the machine of a node"),
        pytest.param({"m-c"}, ["a", "b"], id="a machine in flight"),
        pytest.param({"nobody"}, ["a", "b", "m-c"], id="nobody"),
    ],
)
def test_what_is_to_go_is_no_place(without: set[str], left: list[str]) -> None:
    objects = (node("a"), machine("m-a"), node("b"), machine("m-b"), in_flight("m-c"))

    assert called(*objects, without=without) == left


def test_the_mark_of_a_node_that_is_to_go_soon_is_none_to_the_engine() -> None:
    theirs = changed(GOING_SOON, value="by-hand")

    assert the_place(node("a", taints=(GOING_SOON, EPHEMERAL[2]))).taints == ()
    assert the_place(node("a", taints=(theirs,))).taints == (theirs,)


def test_a_machine_that_is_not_launched_may_be_left_out_too() -> None:
    assert scene(machine("m-a", is_new=True), without=["m-a"]).started == ()


def test_t176_a_node_and_a_machine_of_the_same_name_are_told_apart() -> None:
    other = in_flight("a", provider_id="sim:///other")

    assert called(node("a"), other) == ["a", "machine/a"]
    assert [place.is_node for place in places(node("a"), other)] == [True, False]
    assert called(other) == ["a"]
    assert called() == []


def test_t189_a_node_that_gets_its_provider_id_late_is_one_place_all_the_time() -> None:
    early = unregistered("a", provider_id="", taints=(EPHEMERAL[2],))
    labelled = node("a", provider_id="")

    assert called(early, in_flight("m-a")) == ["m-a"]
    assert called(labelled, in_flight("m-a")) == ["m-a"]
    assert called(unregistered("a"), in_flight("m-a")) == ["a"]


def test_a_node_that_nobody_manages_is_a_place() -> None:
    plain = unregistered("plain", provider_id="")
    place = the_place(plain)

    assert (place.name, place.provisioner, place.is_initialized) == ("plain", "", True)


def test_a_machine_that_has_lost_its_node_promises_nothing() -> None:
    """The lifecycle gives it up, or a kubelet brings the node back."""
    assert called(machine("m-a")) == []


def test_an_instance_that_two_machines_claim_is_one_place() -> None:
    assert called(in_flight("m-a"), in_flight("m-b", provider_id="sim:///a")) == ["m-a"]


def test_initialized_places_come_first_then_by_name() -> None:
    objects = (uninitialized("a"), machine("m-a"), node("c"), node("b"), in_flight("m-d"))

    assert called(*objects) == ["b", "c", "a", "m-d"]


def test_a_node_may_be_cordoned_or_not_ready() -> None:
    place = the_place(node("a", is_cordoned=True, is_ready=False))

    assert (place.is_cordoned, place.is_ready) == (True, False)


# ----------------------------------------------------------------------------------- what they have


def test_t162_a_machine_in_flight_offers_what_its_type_has() -> None:
    """What the cloud said of the type at the launch stands in the machine's status."""
    place = the_place(in_flight("m-a"))

    assert place.allocatable == {"cpu": 4000, "memory": 8 * 2**30, "pods": 110}


def test_t163_what_it_offers_does_not_change_with_the_type() -> None:
    view = view_of(in_flight("m-a"))
    before = scene_of(view, (instance_type(cpu=4),))
    after = scene_of(view, (instance_type(cpu=64),))

    assert before.places == after.places


def test_t164_what_a_node_has_not_reported_is_taken_from_its_machine() -> None:
    partly = uninitialized("a", allocatable={"cpu": "3"})
    place = the_place(partly, machine("m-a"))

    assert place.allocatable == {"cpu": 3000, "memory": 8 * 2**30, "pods": 110}


def test_t167_a_machine_in_flight_offers_what_its_status_says() -> None:
    odd = changed(in_flight("m-a"), status__allocatable={"cpu": "1500m", GPU: 2})

    assert the_place(odd).allocatable == {"cpu": 1500, GPU: 2}


def test_t168_a_machine_fills_in_until_its_node_is_initialized() -> None:
    promised = changed(machine("m-a"), status__allocatable={"cpu": "4", GPU: 2})
    reported: dict[str, str | int | float] = {"cpu": "3"}

    def offered(one: Node) -> dict[str, int]:
        return dict(the_place(one, promised).allocatable)

    assert offered(unregistered("a", allocatable=reported)) == {"cpu": 3000, GPU: 2}
    assert offered(uninitialized("a", allocatable=reported)) == {"cpu": 3000, GPU: 2}
    assert offered(node("a", allocatable=reported)) == {"cpu": 3000}


def test_t173_a_device_that_is_still_zero_is_taken_from_the_machine() -> None:
    promised = changed(machine("m-a"), status__allocatable={"cpu": "4", GPU: 2})
    zero: dict[str, str | int | float] = {"cpu": "4", GPU: "0"}

    assert the_place(uninitialized("a", allocatable=zero), promised).allocatable[GPU] == 2
    assert the_place(node("a", allocatable=zero), promised).allocatable[GPU] == 0


@pytest.mark.parametrize(
    "allocatable",
    [
        pytest.param({"cpu": "four", "pods": "110"}, id="no quantity"),
        pytest.param({}, id="absent"),
    ],
)
@pytest.mark.parametrize("is_node", [True, False])
def test_a_place_that_does_not_say_what_it_has_offers_nothing(
    allocatable: dict[str, str | int | float], *, is_node: bool
) -> None:
    made = node("a", allocatable=allocatable) if is_node else in_flight("m-a")
    if isinstance(made, Machine):
        made = changed(made, status__allocatable=allocatable)

    assert the_place(made).allocatable == {}


def test_what_cannot_be_read_on_the_machine_does_not_spoil_its_node() -> None:
    odd = changed(machine("m-a"), status__allocatable={"cpu": "four"})

    assert the_place(uninitialized("a", allocatable={"cpu": "3"}), odd).allocatable == {"cpu": 3000}


def test_absurd_and_negative_amounts_are_kept_within_bounds() -> None:
    place = the_place(node("a", allocatable={"cpu": "9E", "memory": "-5Gi"}))

    assert place.allocatable == {"cpu": 2**62 - 1, "memory": -5 * 2**30}


# ------------------------------------------------------------------------------- labels and taints


def test_the_labels_of_a_machine_hold_until_its_node_is_registered() -> None:
    labelled = machine("m-a", labels={"team": "red"})

    early = the_place(unregistered("a", labels={"team": "blue", "own": "yes"}), labelled)
    late = the_place(node("a", labels={"team": "blue"}), labelled)

    assert (early.labels["team"], early.labels["own"]) == ("red", "yes")
    assert early.labels[names.HOSTNAME] == "a"
    assert early.provisioner == "default"
    assert late.labels["team"] == "blue"


def test_a_requirement_with_one_value_is_a_label_to_come() -> None:
    wanted = (
        wants("failure-domain.beta.kubernetes.io/zone", "In", "z9"),
        wants("team", "In", "red"),
        wants("tier", "In", "a", "b"),
        wants("odd", "Sounds", "good"),
        wants(names.HOSTNAME, "In", "elsewhere"),
    )
    place = the_place(in_flight("m-a", requirements=wanted))

    assert place.labels["team"] == "red"
    assert place.labels[names.ZONE] == "z1"  # what was launched wins
    assert place.labels[names.HOSTNAME] == "m-a"
    assert {"tier", "odd"}.isdisjoint(place.labels)


def test_a_node_without_a_hostname_label_gets_none_from_us() -> None:
    """For kube-scheduler it lies in no domain of hosts; kubelets set the label."""
    bare = changed(node("a"), metadata__labels={})

    assert the_place(bare).labels == {}


def test_t169_a_startup_taint_is_overlooked_until_the_node_is_initialized() -> None:
    up = uninitialized("a", taints=(STARTUP, MINE))

    assert the_place(up, machine("m-a", startup_taints=(STARTUP,))).taints == (MINE,)


def test_t170_afterwards_it_counts() -> None:
    up = node("a", taints=(STARTUP, MINE))

    assert the_place(up, machine("m-a", startup_taints=(STARTUP,))).taints == (STARTUP, MINE)


def test_t171_the_startup_taints_are_those_the_machine_was_made_with() -> None:
    """What the provisioner says by now does not matter."""
    provisioner = changed(builders.provisioner(), spec__startup_taints=(OTHER,))
    up = uninitialized("a", taints=(STARTUP, OTHER))

    place = the_place(up, machine("m-a", startup_taints=(STARTUP,)), provisioner)

    assert place.taints == (OTHER,)


@pytest.mark.parametrize("make", [node, uninitialized, unregistered])
def test_t172_taints_that_go_by_themselves_are_overlooked(make: Any) -> None:
    marked = tuple(changed(one, value="true") for one in EPHEMERAL)
    place = the_place(make("a", taints=(*marked, MINE)), machine("m-a", taints=(MINE,)))

    assert place.taints == (MINE,)


def test_the_taints_of_a_machine_hold_until_its_node_is_registered() -> None:
    tainted = machine("m-a", taints=(MINE,), startup_taints=(STARTUP,))

    assert the_place(unregistered("a", taints=(OTHER,)), tainted).taints == (MINE,)
    assert the_place(uninitialized("a", taints=(OTHER,)), tainted).taints == (OTHER,)
    assert the_place(in_flight("m-a", taints=(MINE,), startup_taints=(STARTUP,))).taints == (MINE,)


# ------------------------------------------------------------------------------- pods and volumes


def test_pods_that_are_bound_and_not_finished_are_there() -> None:
    there = pod("there")
    ending = pod("ending", gone_by=builders.NOW)
    others = (pod("done", phase="Succeeded"), pod("failed", phase="Failed"), pod("new", on=""))

    assert the_place(node("a"), there, ending, *others).pods == (ending, there)


def test_pods_that_are_placed_anew_are_nowhere() -> None:
    stays, moves = pod("stays"), pod("moves")
    found = scene(node("a"), node("b"), stays, moves, pod("other", on="b"), placing={moves.key})

    assert [[one.name for one in place.pods] for place in found.places] == [["stays"], ["other"]]


def test_placing_somebody_unknown_changes_nothing() -> None:
    assert scene(node("a"), pod("p"), placing={("shop", "nobody")}).places[0].pods == (pod("p"),)


def test_volume_room_is_what_each_driver_says() -> None:
    says = csi_node("a", **{"ebs.csi.aws.com": 25, "nfs.csi.k8s.io": None})

    assert the_place(node("a"), says).volume_room == {"ebs.csi.aws.com": 25}
    assert the_place(node("a")).volume_room == {}
