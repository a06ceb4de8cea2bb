"""Which simulated instances does a dump need?"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from unmoor.app.manifests import Objects
from unmoor.app.simulated_instances import with_instances
from unmoor.model import kinds, names
from unmoor.model.base import JSON

LABELS = {
    names.INSTANCE_TYPE: "m5.large",
    "failure-domain.beta.kubernetes.io/zone": "us-east-1b",
    names.CAPACITY_TYPE: names.SPOT,
}


def machine(name: str = "m", provider_id: str = "aws:///us-east-1b/i-1", **meta: Any) -> JSON:
    return {
        "metadata": {"name": name, "uid": f"u-{name}", **meta},
        "status": {"providerID": provider_id},
    }


def node(provider_id: str = "aws:///us-east-1b/i-1", **meta: Any) -> JSON:
    return {"metadata": {"name": "ip-1.internal", **meta}, "spec": {"providerID": provider_id}}


def dump(*bodies: JSON) -> Objects:
    """Those with a status are machines."""
    return [
        (
            (kinds.MACHINES if "status" in one else kinds.NODES).ref(one["metadata"]["name"]),
            one,
        )
        for one in bodies
    ]


def made(objects: Objects) -> list[JSON]:
    return [body for ref, body in objects if ref.kind == "Instance"]


def test_a_foreign_machine_and_its_node_are_moved_to_an_instance_of_their_shape() -> None:
    linked = {names.LINKED: "aws:///us-east-1b/i-1", names.MANAGED_BY: "prod"}
    given = dump(machine(annotations=linked, creationTimestamp="2024"), node(labels=LABELS))

    objects, replaced = with_instances(given, cluster="sim")

    (instance,) = made(objects)
    new = "sim:///us-east-1b/ip-1.internal"
    assert replaced == Counter({"aws": 1})
    assert instance["metadata"]["name"] == "ip-1.internal"
    assert instance["metadata"]["creationTimestamp"] == "2024"
    spec = instance["spec"]
    assert (spec["instanceType"], spec["zone"], spec["capacityType"]) == (
        "m5.large", "us-east-1b", "spot",
    )  # fmt: skip
    assert (spec["cluster"], spec["machine"]) == ("prod", "m")
    assert instance["status"]["phase"] == "Running"
    assert objects[0][1]["status"]["providerID"] == new
    assert objects[0][1]["metadata"]["annotations"][names.LINKED] == new
    assert objects[1][1]["spec"]["providerID"] == new
    assert given[1][1]["spec"]["providerID"] == "aws:///us-east-1b/i-1", "what was read is kept"


def test_a_simulated_machine_keeps_its_id() -> None:
    given = dump(machine(provider_id="sim:///a/i-1"), node(provider_id="sim:///a/i-1"))

    objects, replaced = with_instances(given, cluster="sim")

    assert objects[:2] == given
    assert not replaced
    assert [one["metadata"]["name"] for one in made(objects)] == ["i-1"]
    again, _ = with_instances(objects, cluster="sim")
    assert again == objects, "one that is there is not made again"


@pytest.mark.parametrize(
    "body",
    [machine(provider_id=""), {**machine(), "metadata": {"name": "m"}}],
    ids=["not launched", "a manifest, whose status no server keeps"],
)
def test_a_machine_that_waits_for_its_launch_is_left_alone(body: JSON) -> None:
    assert with_instances(dump(body), cluster="sim") == (dump(body), Counter())


@pytest.mark.parametrize("provider_id", ["i-1", "sim:///a", "azure:///subscriptions/x/vm/0"])
def test_without_a_node_or_labels_there_is_an_id_all_the_same(provider_id: str) -> None:
    objects, replaced = with_instances(dump(machine(provider_id=provider_id)), cluster="sim")

    assert replaced.total() == 1
    assert objects[0][1]["status"]["providerID"] == "sim:///nowhere/m"
    assert [one["metadata"]["name"] for one in made(objects)] == ["m"]
