"""When has a machine drifted, by what, and what does its node say then? (11.14, 11.15, R11-R15)"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests import builders
from tests.builders import changed, condition, instance, machine, node
from tests.lifecycle.driver import World
from tests.lifecycle.pending import provisioner
from tests.lifecycle.rows import CONDITIONS, NODE_TEMPLATE
from tests.lifecycle.test_node_template import FOUND, template
from tests.lifecycle.worlds import the_machine, the_node
from unmoor.lifecycle.effects import Observe
from unmoor.model import names
from unmoor.model.base import Condition, Object
from unmoor.model.instance import CloudInstance
from unmoor.model.machine import (
    MACHINE_DRIFTED,
    MACHINE_INITIALIZED,
    MACHINE_LAUNCHED,
)
from unmoor.model.node_template import AMI
from unmoor.model.provisioner import Provisioner
from unmoor.model.selection import Selection
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View
from unmoor.model.static_hash import hash_of
from unmoor.policy import made_from

UP = (condition(MACHINE_LAUNCHED), condition(MACHINE_INITIALIZED))
DRIFTED = condition(MACHINE_DRIFTED)
MARK = names.VOLUNTARY_DISRUPTION
LABELS = {
    names.OS: "linux",
    names.ARCH: "amd64",
    names.CAPACITY_TYPE: "on-demand",
    names.INSTANCE_TYPE: "5",
}
AS_LAUNCHED = msgspec.structs.replace(
    instance(), image="ami-2", subnet="subnet-a", security_groups=("sg-1",)
)


def owner(**spec: Any) -> Provisioner:
    """A provisioner whose hash stands on it; its nodes are made by the template."""
    one = provisioner("default", **{"providerRef": {"name": "default"}} | spec)
    meta = msgspec.structs.replace(one.metadata, annotations={names.PROVISIONER_HASH: hash_of(one)})
    return changed(one, metadata=meta)


def world_of(
    *others: Object,
    now: Provisioner | None = None,
    cloud: CloudInstance = AS_LAUNCHED,
    selection: Selection | None = FOUND,
    gate: bool | None = None,
    **given: Any,
) -> World:
    """A machine that was made when the provisioner was as ``before``, its node, and a provisioner.

    ``given``: also ``node_labels`` and ``node_annotations``.
    """
    stamps = made_from.stamps(View.of(template()), given.pop("before", owner()))
    on_node = LABELS | given.pop("node_labels", {})
    marks = given.pop("node_annotations", {})
    given.setdefault("conditions", UP)
    annotations = {names.LAUNCH_ATTEMPT: "1"} | stamps | given.pop("annotations", {})
    made = machine(annotations=annotations, **{"labels": LABELS} | given)
    up = node(labels=on_node, annotations=marks)
    settings = Settings(drift_enabled=gate)
    objects = [template(), now or owner(), made, up, *others]
    world = World(*objects, instances=[cloud], settings=settings)
    world.selection = selection
    return world


def drift(world: World) -> Condition | None:
    world.settle(NODE_TEMPLATE, CONDITIONS)
    return the_machine(world).condition(MACHINE_DRIFTED)


def said(world: World) -> tuple[str, str]:
    found = drift(world)
    return ("", "") if found is None else (found.reason, found.message)


def mark(world: World) -> str | None:
    return the_node(world).metadata.annotations.get(MARK)


def image(name: str, **fields: Any) -> Selection:
    return msgspec.structs.replace(FOUND, images=(AMI(id=name), *FOUND.images), **fields)


def test_what_is_as_it_would_be_made_has_not_drifted() -> None:
    world = world_of()

    assert said(world) == ("", "")
    assert mark(world) is None


# What the cloud says (T087).


def test_t087_a_newer_image_is_drift() -> None:
    world = world_of(selection=image("ami-3"))

    assert said(world) == ("AMIDrift", "image ami-2 -> ami-3")
    assert mark(world) == "drifted"
    kinds = {"type": "AMIDrift", "provisioner": "default"}
    assert [fact.labels for fact in world.facts if fact.name == "machines_drifted"] == [kinds]
    assert world.counted("machines_disrupted") == 1


def test_a_new_image_is_seen_without_any_change_of_an_object() -> None:
    world = world_of()
    assert drift(world) is None
    world.selection = image("ami-3")
    world.wait(300)

    assert said(world)[0] == "AMIDrift"


def test_an_image_for_another_architecture_is_none_for_it() -> None:
    arm = {"key": names.ARCH, "operator": "In", "values": ["arm64"]}
    other = msgspec.convert({"id": "ami-9", "requirements": [arm]}, AMI)
    found = msgspec.structs.replace(FOUND, images=(other, *FOUND.images))

    assert said(world_of(selection=found)) == ("", "")


@pytest.mark.parametrize(
    ("cloud", "expected"),
    [
        ({"security_groups": ("sg-1", "sg-2")}, ("SecurityGroupDrift", "sg-1, sg-2 -> sg-1")),
        ({"security_groups": ("sg-3",)}, ("SecurityGroupDrift", "security groups sg-3 -> sg-1")),
        ({"subnet": "subnet-b"}, ("SubnetDrift", "subnet subnet-b -> one of subnet-a")),
        ({"image": "ami-1"}, ("AMIDrift", "image ami-1 -> ami-2")),
        ({"image": "", "subnet": "", "security_groups": ()}, ("", "")),  # the cloud says nothing
    ],
)
def test_r11_the_instance_as_it_is_now(cloud: dict[str, Any], expected: tuple[str, str]) -> None:
    reason, message = said(world_of(cloud=msgspec.structs.replace(AS_LAUNCHED, **cloud)))

    assert reason == expected[0]
    assert message.endswith(expected[1])


def test_everything_that_differs_is_told_and_the_first_gives_the_reason() -> None:
    stamps = made_from.stamps(View.of(template(context="old")), owner())
    gone = msgspec.structs.replace(AS_LAUNCHED, image="ami-1", subnet="subnet-b")
    reason, message = said(world_of(cloud=gone, annotations=stamps))

    assert reason == "AMIDrift"
    assert message == (
        'image ami-1 -> ami-2; subnet subnet-b -> one of subnet-a; context: "old" -> "c"'
    )


@pytest.mark.parametrize("is_drifted", [True, False])
@pytest.mark.parametrize("selection", [None, Selection()], ids=["no answer", "nothing found"])
def test_what_cannot_be_told_leaves_it_as_it_is(
    selection: Selection | None, *, is_drifted: bool
) -> None:
    """D08."""
    there = (*UP, DRIFTED) if is_drifted else UP
    world = world_of(selection=selection, conditions=there)

    assert (drift(world) is not None) == is_drifted
    assert len(world.effects) < 20


def test_an_instance_that_the_cloud_does_not_know_leaves_it_as_it_is() -> None:
    world = world_of(conditions=(*UP, DRIFTED))
    world.cloud.clear()

    assert drift(world) is not None


def test_with_a_launch_template_image_and_groups_are_nobodys_business() -> None:
    world = world_of(selection=image("ami-3", security_groups=()))
    spec = msgspec.structs.replace(template().spec, launch_template="mine", ami_selector={})
    world.change(template(), spec=spec)
    world.settle(NODE_TEMPLATE, CONDITIONS)

    assert "AMIDrift" not in said(world)[0]
    assert "image" not in said(world)[1]


def test_the_instance_is_asked_for_once_in_five_minutes() -> None:
    world = world_of()
    drift(world)
    world.run(CONDITIONS, for_s=299)
    asked = [one for one in world.done(Observe) if one.asked == "instance"]

    assert len(asked) == 1
    world.run(CONDITIONS, for_s=2)
    assert len([one for one in world.done(Observe) if one.asked == "instance"]) == 2


# Static fields.


def test_t088_a_static_field_comes_before_what_the_cloud_says() -> None:
    world = world_of(now=owner(labels={"a": "b"}), selection=image("ami-3"))
    reason, message = said(world)

    assert reason == "ProvisionerDrifted"
    assert message == 'labels: nothing -> {"a":"b"}; image ami-2 -> ami-3'


@pytest.mark.parametrize(
    "spec",
    [
        {"annotations": {"a": "b"}},
        {"labels": {"a": "b"}},
        {"taints": [{"key": "a", "effect": "NoSchedule"}]},
        {"startupTaints": [{"key": "a", "effect": "NoSchedule"}]},
        {"kubeletConfiguration": {"maxPods": 9}},
    ],
    ids=lambda spec: next(iter(spec)),
)
def test_t105_static_fields(spec: dict[str, Any]) -> None:
    reason, message = said(world_of(now=owner(**spec)))

    assert reason == "ProvisionerDrifted"
    assert message.startswith(f"{next(iter(spec))}: nothing -> ")


@pytest.mark.parametrize(
    "spec",
    [
        {"weight": 5},
        {"limits": {"resources": {"cpu": "1"}}},
        {"ttlSecondsAfterEmpty": 5},
        {"ttlSecondsUntilExpired": 10**9},
        {"consolidation": {"enabled": True}},
    ],
    ids=lambda spec: next(iter(spec)),
)
def test_behavioural_fields_are_no_drift(spec: dict[str, Any]) -> None:
    assert said(world_of(now=owner(**spec))) == ("", "")


def test_r12_a_reserved_amount_is_drift_and_another_unit_is_not() -> None:
    def reserved(memory: str) -> Provisioner:
        return owner(kubeletConfiguration={"kubeReserved": {"memory": memory}})

    assert said(world_of(before=reserved("1Gi"), now=reserved("1024Mi"))) == ("", "")
    assert said(world_of(before=reserved("1Gi"), now=reserved("2Gi")))[0] == "ProvisionerDrifted"


def test_t095_taking_the_edit_back_takes_the_drift_back() -> None:
    world = world_of(now=owner(labels={"a": "b"}))
    assert drift(world) is not None
    assert mark(world) == "drifted"
    world.put(owner())

    assert drift(world) is None
    assert mark(world) is None


def test_t106_without_a_hash_on_the_provisioner() -> None:
    bare = provisioner("default", providerRef={"name": "default"}, labels={"a": "b"})

    assert said(world_of(now=bare)) == ("", "")


def test_t107_without_a_hash_on_the_machine_it_is_stamped() -> None:
    world = world_of(now=owner(labels={"a": "b"}))
    world.change(
        the_machine(world),
        metadata__annotations={names.MANAGED_BY: builders.CLUSTER, names.LAUNCH_ATTEMPT: "1"},
    )

    assert said(world) == ("", "")
    held = the_machine(world).metadata.annotations
    assert held[names.PROVISIONER_HASH] == hash_of(owner(labels={"a": "b"}))


# When it is asked at all.


# T091
@pytest.mark.parametrize(
    ("gate", "annotations", "is_drifted"),
    [
        (False, {}, False),  # T090, T091
        (None, {}, True),
        (True, {}, True),
        (None, {names.LINKED: "test:///a"}, False),  # R15: adopted
        (True, {names.LINKED: "test:///a"}, True),
    ],
)
@pytest.mark.parametrize("there", [UP, (*UP, DRIFTED)], ids=["T090", "T091"])
def test_t090_t091_the_gate(
    there: tuple[Condition, ...],
    annotations: dict[str, str],
    *,
    gate: bool | None,
    is_drifted: bool,
) -> None:
    world = world_of(
        selection=image("ami-3"),
        gate=gate,
        conditions=there,
        annotations=annotations,
        node_annotations={MARK: "drifted"},
    )

    assert (drift(world) is not None) == is_drifted
    assert (mark(world) == "drifted") == is_drifted


# T093
@pytest.mark.parametrize(
    "launched", [(), (condition(MACHINE_LAUNCHED, "False"),)], ids=["T093", "T092"]
)
def test_t092_t093_one_that_is_not_launched_has_not_drifted(
    launched: tuple[Condition, ...],
) -> None:
    world = world_of(conditions=(*launched, DRIFTED), now=owner(labels={"a": "b"}))

    world.settle(CONDITIONS)
    assert the_machine(world).condition(MACHINE_DRIFTED) is None


def test_t094_without_a_provisioner_nothing_is_said() -> None:
    world = world_of(conditions=(*UP, DRIFTED))
    world.drop(world.view.provisioner("default"))
    world.settle(CONDITIONS)

    assert world.effects == []


def test_r5_another_reason_does_not_move_the_clock() -> None:
    world = world_of(selection=image("ami-3"))
    first = drift(world)
    assert first is not None
    world.wait(60)
    world.put(owner(labels={"a": "b"}))
    second = drift(world)

    assert second is not None
    assert second.reason != first.reason
    assert second.last_transition_time == first.last_transition_time
    assert world.counted("machines_drifted") == 1
