"""What makes no machine drift, and what drift itself never does (002:59-75)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests import builders
from tests.builders import changed
from tests.lifecycle.test_drifted import (
    AS_LAUNCHED,
    DRIFTED,
    LABELS,
    MARK,
    UP,
    drift,
    image,
    owner,
    said,
    world_of,
)
from tests.lifecycle.test_node_template import template
from tests.lifecycle.worlds import the_machine, the_node
from unmoor.lifecycle.effects import Observe, Patch
from unmoor.model import names
from unmoor.model.node_template import AWSNodeTemplate
from unmoor.model.taint import Taint

# What others edit (002:67).


@pytest.mark.parametrize(
    "edit",
    [
        {"metadata__annotations": {"other": "x", names.MANAGED_BY: builders.CLUSTER}},
        {"spec__taints": (msgspec.convert({"key": "a", "effect": "NoSchedule"}, Taint),)},
        {"metadata__labels": LABELS | {"cilium.io/x": "y", names.INITIALIZED: "true"}},
    ],
    ids=["annotations", "taints", "labels"],
)
def test_what_others_write_on_a_node_is_no_drift(edit: dict[str, Any]) -> None:
    world = world_of()
    world.change(the_node(world), **edit)

    assert said(world) == ("", "")


def test_a_label_of_a_node_that_a_requirement_names_is_drift() -> None:
    wanted = [{"key": names.ARCH, "operator": "In", "values": ["amd64"]}]
    reason, message = said(
        world_of(now=owner(requirements=wanted), node_labels={names.ARCH: "arm64"})
    )

    assert reason == "RequirementsDrifted"
    assert message == "kubernetes.io/arch In [amd64], and node a has arm64"


@pytest.mark.parametrize(
    "edit",
    [
        {"labels": {"cost-centre": "7"}},
        {"machine": "somebody-elses-name"},
        {"capacity": {"cpu": 1000}},
        {"token": "somebody-elses"},
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_what_others_write_on_an_instance_is_no_drift(edit: dict[str, Any]) -> None:
    """Its tags are not even read; only image, subnet and groups are looked at."""
    assert said(world_of(cloud=msgspec.structs.replace(AS_LAUNCHED, **edit))) == ("", "")


# What people write in a node template.


def test_r43_another_node_template_is_drift_only_by_what_it_says_otherwise() -> None:
    """A machine drifts by the fields of a template, never by its name."""

    def other(**spec: Any) -> AWSNodeTemplate:
        one = template(**spec)
        meta = msgspec.structs.replace(one.metadata, name="other", uid="uid-other")
        return changed(one, metadata=meta)

    now = owner(providerRef={"name": "other"})

    assert said(world_of(other(), now=now)) == ("", "")
    assert said(world_of(other(context="d"), now=now)) == (
        "NodeTemplateDrift",
        'context: "c" -> "d"',
    )


def test_a_slip_of_the_pen_in_a_template_is_no_drift() -> None:
    """As in a provisioner (R37): until it is mended, machines stay as they are marked."""
    wrong = template(amiFamily="Bottlerokcet")
    world = world_of()
    world.put(wrong)
    assert drift(world) is None

    world = world_of(conditions=(*UP, DRIFTED), selection=image("ami-3"))
    world.put(wrong)
    assert drift(world) is not None


# Nodes are replaced (002:75).


@pytest.mark.parametrize(
    "spec",
    [
        {"labels": {"team": "web"}},
        {"annotations": {"edition": "2"}},
        {"taints": [{"key": "a", "effect": "NoSchedule"}]},
    ],
    ids=lambda spec: next(iter(spec)),
)
def test_nothing_is_changed_in_place(spec: dict[str, Any]) -> None:
    """Not even a label that could simply be added: the node is marked, and that is all."""
    world = world_of(now=owner(**spec))
    before, machine = the_node(world), the_machine(world)
    assert drift(world) is not None
    after, told = the_node(world), the_machine(world)

    assert after.spec == before.spec
    assert after.metadata.labels == before.metadata.labels
    assert after.metadata.annotations == {**before.metadata.annotations, MARK: "drifted"}
    assert told.spec == machine.spec
    assert told.metadata.labels == machine.metadata.labels
    assert told.metadata.annotations == machine.metadata.annotations
    assert {type(one) for one in world.effects} <= {Patch, Observe}
