"""Equal parts of different objects are one, and every object says what it said."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kube.server import event, listing
from unmoor.kube import sharing
from unmoor.kube.codec import Codec
from unmoor.kube.sharing import Sharing
from unmoor.model.base import JSON
from unmoor.model.kinds import KINDS, NODES, PODS
from unmoor.model.pod import Pod, PodSpec
from unmoor.runtime.ports import Change


def pod(name: str, **other: Any) -> JSON:
    """A pod of a workload, as the server sends it."""
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-{name}",
            "labels": {"app": "web"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "u"}],
        }
        | other.get("metadata", {}),
        "spec": {
            "nodeName": "a",
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}],
            "tolerations": [{"key": "spot", "operator": "Exists"}],
        }
        | other.get("spec", {}),
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": f"2026-01-0{len(name)}"}
            ],
        },
    }


def page(*bodies: JSON) -> tuple[Pod, ...]:
    return Codec(PODS).page(json.dumps(listing(*bodies)).encode()).items


def test_what_is_equal_is_kept_once() -> None:
    one, other = page(pod("a"), pod("bcd"))

    assert one.metadata.labels is other.metadata.labels
    assert one.metadata.owner_references is other.metadata.owner_references
    assert one.metadata.namespace is other.metadata.namespace
    assert one.spec.containers is other.spec.containers
    assert one.spec.tolerations is other.spec.tolerations
    assert one.spec.node_selector is other.spec.node_selector
    assert one.spec.node_name is other.spec.node_name
    assert one.status.conditions is other.status.conditions
    assert (one.name, other.name) == ("a", "bcd")


def test_what_differs_does_not_meet() -> None:
    one, other = page(pod("a"), pod("b", metadata={"labels": {"app": "api"}}))

    assert one.metadata.labels == {"app": "web"}
    assert other.metadata.labels == {"app": "api"}


def test_the_same_text_in_two_fields_is_two_things() -> None:
    """Both encode to the same bytes; one is a map and the other a part with a name."""
    [one] = page(pod("a", metadata={"labels": {"nodeAffinity": ""}}, spec={"affinity": {}}))

    assert one.metadata.labels == {"nodeAffinity": ""}
    assert one.spec.affinity == msgspec.convert({}, type(one.spec.affinity))


def test_events_share_with_lists() -> None:
    codec = Codec(PODS)
    [listed] = codec.page(json.dumps(listing(pod("a"))).encode()).items
    told = codec.event(event("MODIFIED", pod("b")))

    assert isinstance(told, Change)
    assert told.object.metadata.labels is listed.metadata.labels


def test_defaults_stay_as_they_are() -> None:
    bare = {"metadata": {"name": "bare"}}
    page(bare, pod("a"), bare)

    assert Pod().spec == PodSpec()
    assert Pod().status.conditions == ()
    assert Pod().spec.node_selector == {}


def test_plain_json_is_left_alone() -> None:
    [one, other] = Codec(PODS.raw()).page(json.dumps(listing(pod("a"), pod("b"))).encode()).items

    assert one["metadata"]["labels"] is not other["metadata"]["labels"]


def test_a_full_table_begins_anew() -> None:
    table = Sharing(PODS.type)
    labels = next(
        field.known
        for section, fields in table._plan
        if section == "metadata"
        for field in fields
        if field.name == "labels"
    )
    pods = [
        msgspec.convert(pod("a", metadata={"labels": {"n": str(number)}}), Pod)
        for number in range(sharing.PARTS_KEPT + 10)
    ]
    for one in pods:
        table.share(one)

    assert len(labels) == 10
    assert [one.metadata.labels["n"] for one in pods[-2:]] == ["50008", "50009"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_can_be_shared(kind: str) -> None:
    resource = KINDS[kind]
    body = {"metadata": {"name": "a", "labels": {"x": "y"}}}
    one, other = (msgspec.convert(body, resource.type) for _ in range(2))
    share = Sharing(resource.type).share
    share(one)
    share(other)

    assert one == other == msgspec.convert(body, resource.type)
    assert one.metadata.labels is other.metadata.labels


TEXTS = st.sampled_from(["", "a", "b"])
MAPS = st.dictionaries(TEXTS, TEXTS, max_size=2)
PODS_OF_ANY_KIND = st.builds(
    lambda labels, selector, tolerations, node, conditions: {
        "metadata": {"name": "x", "labels": labels, "annotations": selector},
        "spec": {"nodeSelector": selector, "tolerations": tolerations, "nodeName": node},
        "status": {"conditions": conditions, "reason": node},
    },
    MAPS,
    MAPS,
    st.lists(st.fixed_dictionaries({"key": TEXTS}, optional={"value": TEXTS}), max_size=2),
    TEXTS,
    st.lists(st.fixed_dictionaries({"type": TEXTS, "status": TEXTS}), max_size=2),
)


@given(st.lists(PODS_OF_ANY_KIND, max_size=6))
def test_nothing_is_said_otherwise(bodies: list[JSON]) -> None:
    assert list(page(*bodies)) == [msgspec.convert(body, Pod) for body in bodies]


def test_times_are_not_worth_a_table() -> None:
    """A node's conditions tell when they changed, so hardly two are equal."""
    fields = {field.name for _, fields in Sharing(NODES.type)._plan for field in fields}

    assert "conditions" not in fields
    assert {"labels", "allocatable"} <= fields
