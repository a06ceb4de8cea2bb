"""Bytes become structs; what real servers send besides is understood, and the rest is Broken."""

import json
from typing import Any

import pytest

from tests.kube.server import event, listing, node
from unmoor.kube.codec import Malformed, ServerSaid, codec_of
from unmoor.model.kinds import CSI_NODES, NODES, PODS, Resource
from unmoor.runtime.ports import Bookmark, Broken, Change


def page_of(resource: Resource[Any], *items: Any) -> Any:
    return codec_of(resource).page(json.dumps(listing(*items)).encode())


def test_a_page_is_decoded_whole() -> None:
    text = json.dumps(listing(node("a"), node("b"), version="7", **{"continue": "more"})).encode()

    page = codec_of(NODES).page(text)

    assert [item.name for item in page.items] == ["a", "b"]
    assert (page.resource_version, page.next, page.broken) == ("7", "more", ())


def test_plain_json_keeps_every_field_and_every_null() -> None:
    whole = {"metadata": {"name": "a", "creationTimestamp": None}, "more": {"x": [1, None]}}

    assert page_of(NODES.raw(), whole).items == (whole,)


@pytest.mark.parametrize(
    "text",
    [
        b'{"items":null}',
        b'{"metadata":null,"items":[]}',
        b'{"metadata":{"resourceVersion":null,"continue":null},"items":null}',
    ],
)
def test_a_list_of_nothing_is_empty(text: bytes) -> None:
    page = codec_of(NODES).page(text)

    assert (page.items, page.broken, page.next) == ((), (), "")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"null",
        b"[]",
        b'"nodes"',
        b"<html>",
        b'{"kind":"NodeList"}',
        b'{"items":[{"metadata":{"name":"a"}}',
        b'{"items":{"a":1}}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
    ids=lambda text: repr(text[:20]),
)
def test_what_is_no_list_is_malformed(text: bytes) -> None:
    with pytest.raises(Malformed):
        codec_of(NODES).page(text)


@pytest.mark.parametrize(
    "odd",
    [
        {"metadata": {"name": "a", "creationTimestamp": None}},
        {"metadata": {"name": "a", "labels": None, "annotations": None, "finalizers": None}},
        {"metadata": {"name": "a", "labels": {"x": None}, "ownerReferences": [None]}},
        {"metadata": {"name": "a", "generation": None, "uid": None, "resourceVersion": None}},
        {"metadata": {"name": "a"}, "spec": None, "status": None},
        {"metadata": {"name": "a"}, "spec": {"taints": None, "providerID": None}},
        {"metadata": {"name": "a"}, "status": {"conditions": [{"type": "x", "status": None}]}},
    ],
    ids=json.dumps,
)
def test_null_means_not_there(odd: dict[str, Any]) -> None:
    page = page_of(NODES, odd, node("b"))

    assert page.broken == ()
    assert [item.name for item in page.items] == ["a", "b"]
    assert page.items[0].metadata.labels == {}
    assert page.items[0].spec == NODES.type().spec


def test_a_csi_node_without_drivers_has_null_on_the_wire() -> None:
    page = page_of(CSI_NODES, {"metadata": {"name": "a"}, "spec": {"drivers": None}})

    assert page.items[0].spec.drivers == ()


@pytest.mark.parametrize(
    ("odd", "problem"),
    [
        ({"spec": {"unschedulable": "yes"}}, "Expected `bool`, got `str` - at `$.spec"),
        ({"spec": {"taints": {}}}, "Expected `array`, got `object`"),
        (
            {"status": {"conditions": [{"type": "x", "lastTransitionTime": "soon"}]}},
            "Invalid RFC3339",
        ),
    ],
)
def test_what_does_not_fit_is_broken_and_hides_nobody(odd: dict[str, Any], problem: str) -> None:
    page = page_of(NODES, node("a"), node("odd", "5") | odd, node("b"))

    assert [item.name for item in page.items] == ["a", "b"]
    (broken,) = page.broken
    assert broken.ref.name == "odd"
    assert problem in broken.problem


def test_broken_says_which_object_it_is() -> None:
    (broken,) = page_of(PODS, {**node("odd", "5"), "spec": 7}).broken

    assert broken.ref == PODS.ref("odd", uid="uid-odd")
    assert broken.resource_version == "5"


@pytest.mark.parametrize("odd", [None, 7, [], {}, {"metadata": 7}, {"metadata": {"name": 7}}])
def test_even_what_is_no_object_at_all_hides_nobody(odd: Any) -> None:
    page = page_of(NODES, node("a"), odd)

    assert page.items[0].name == "a"
    assert len(page.items) + len(page.broken) == 2


def test_invalid_utf8_breaks_one_object_only() -> None:
    text = json.dumps(listing(node("a"), node("bad", spoilt="X"), node("b"))).encode()
    text = text.replace(b'"uid": "uid-bad"', b'"uid": "\xff"')

    page = codec_of(NODES).page(text)

    assert [item.name for item in page.items] == ["a", "b"]
    assert page.broken[0].ref.name == "bad"


def test_events_of_a_watch() -> None:
    codec = codec_of(NODES)

    added = codec.event(event("ADDED", node("a")))
    gone = codec.event(event("DELETED", {"metadata": {"name": "a", "labels": None}}))
    mark = codec.event(event("BOOKMARK", {"metadata": {"resourceVersion": "12"}, "spec": None}))
    broken = codec.event(event("MODIFIED", {"metadata": {"name": "a"}, "spec": 1}))

    assert isinstance(added, Change)
    assert (added.type, added.object.name) == ("ADDED", "a")
    assert isinstance(gone, Change)
    assert (gone.type, gone.object.metadata.labels) == ("DELETED", {})
    assert mark == Bookmark("12")
    assert isinstance(broken, Broken)
    assert not broken.is_deleted


def test_a_deletion_that_does_not_decode_is_one_still() -> None:
    told = codec_of(NODES).event(event("DELETED", {**node("a"), "spec": 1}))

    assert isinstance(told, Broken)
    assert told.is_deleted


def test_an_error_event_carries_the_status() -> None:
    with pytest.raises(ServerSaid) as said:
        codec_of(PODS).event(event("ERROR", {"kind": "Status", "code": 410}))

    assert said.value.status == {"kind": "Status", "code": 410}


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b'{"type":"ADDED"}', b'{"type":"NEWS","object":{}}', b'{"object":{}}', b"\xff"],
)
def test_a_line_that_is_no_event_is_malformed(line: bytes) -> None:
    with pytest.raises(Malformed):
        codec_of(PODS).event(line)
