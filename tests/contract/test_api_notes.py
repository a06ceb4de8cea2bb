"""Two ways of applying meet, on each face alike: kubectl leaves a note when it applies itself."""

import json

import pytest

from tests.contract.faces import Place
from tests.contract.wire import Wire, applied, data
from unmoor.model.base import JSON
from unmoor.model.kinds import CONFIG_MAPS

NOTE = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.fixture
def wire(place: Place) -> Wire:
    return Wire.of(place)


async def noted(place: Place, wire: Wire, **before: str) -> JSON:
    """A ConfigMap of a client-side apply, as kubectl makes it."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, **data(**before)}
    annotated = {"name": "a", "annotations": {NOTE: json.dumps(body)}}
    made = {**body, "metadata": annotated}
    answer = await wire.create(
        CONFIG_MAPS, made, namespace=place.namespace, fieldManager="kubectl-client-side-apply"
    )
    return answer.body


async def test_kubectl_may_change_what_its_note_has(place: Place, wire: Wire) -> None:
    await noted(place, wire, k="1")
    ref = place.ref(CONFIG_MAPS, "a")
    stranger = await applied(wire, ref, "other", data(k="2"))
    answer = await applied(wire, ref, "kubectl", data(k="2"))

    assert stranger.code == 409
    assert answer.body["data"] == {"k": "2"}


async def test_a_note_follows_what_kubectl_applies(place: Place, wire: Wire) -> None:
    await noted(place, wire, k="1")
    answer = await applied(wire, place.ref(CONFIG_MAPS, "a"), "kubectl", data(k="2"))

    assert answer.body["metadata"]["annotations"][NOTE] == (
        '{"apiVersion":"v1","data":{"k":"2"},"kind":"ConfigMap","metadata":{"name":"a"}}\n'
    )


async def test_no_note_is_made_where_there_is_none(place: Place, wire: Wire) -> None:
    answer = await applied(wire, place.ref(CONFIG_MAPS, "a"), "kubectl", data(k="1"))

    assert "annotations" not in answer.body["metadata"]


async def test_what_was_changed_since_the_note_is_another_s(place: Place, wire: Wire) -> None:
    await noted(place, wire, k="1", l="1")
    ref = place.ref(CONFIG_MAPS, "a")
    await wire.patch(ref, data(k="5"), fieldManager="ed")
    answer = await applied(wire, ref, "kubectl", data(k="2", l="2"))

    assert answer.code == 409
    assert answer.causes == [("FieldManagerConflict", 'conflict with "ed" using v1', ".data.k")]


async def test_a_note_that_cannot_be_read_allows_nothing(place: Place, wire: Wire) -> None:
    await noted(place, wire, k="1")
    ref = place.ref(CONFIG_MAPS, "a")
    await wire.patch(ref, {"metadata": {"annotations": {NOTE: "{not json"}}}, fieldManager="ed")
    answer = await applied(wire, ref, "kubectl", data(k="2"))

    assert answer.code == 409


async def test_who_says_what_is_there_has_no_time(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    await applied(wire, ref, "m", data(k="1"))
    answer = await applied(wire, ref, "n", data(k="1"))
    timed = {one["manager"]: "time" in one for one in answer.body["metadata"]["managedFields"]}

    assert timed == {"m": True, "n": False}
