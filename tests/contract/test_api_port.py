"""What every Api gives: objects by name, lists, and the server's no, on each face alike."""

from typing import Any

import pytest

from tests.contract.faces import Place, causes, exists, refused
from unmoor.model.kinds import (
    CONFIG_MAPS,
    MACHINES,
    NAMESPACES,
    NODES,
    PODS,
    Resource,
)
from unmoor.runtime.ports import Query

# ----------------------------------------------------------------------------------------- reading


async def test_a_created_object_can_be_read(place: Place) -> None:
    created = await place.create(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})

    found = await place.api.get(place.ref(CONFIG_MAPS, "a"))

    assert found["data"] == {"k": "v"}
    assert found["metadata"] == created["metadata"]
    assert found["kind"] == "ConfigMap"
    assert found["apiVersion"] == "v1"


@pytest.mark.parametrize(
    ("resource", "name"),
    [(NODES, "nodes"), (PODS, "pods"), (MACHINES, "machines.karpenter.sh")],
    ids=["node", "pod", "custom"],
)
async def test_what_is_not_there_is_not_found(
    place: Place, resource: Resource[Any], name: str
) -> None:
    error = await refused(place.api.get(place.ref(resource, "nobody")))

    assert (error.code, error.reason) == (404, "NotFound")
    assert error.message == f'{name} "nobody" not found'
    assert error.status["details"]["kind"] == resource.plural
    assert error.status["details"]["name"] == "nobody"


async def test_a_list_is_sorted_by_name_and_decoded(place: Place) -> None:
    for name in ("b", "c", "a"):
        await place.pod(name)

    page = await place.api.list(PODS, place.selection)

    assert [pod.name for pod in page.items] == ["a", "b", "c"]
    assert page.next == ""
    assert int(page.resource_version) > 0


async def test_raw_lists_have_every_field(place: Place) -> None:
    await place.config_map()

    page = await place.api.list(CONFIG_MAPS.raw(), place.selection)

    assert page.items[0]["data"] == {"a": "1"}


async def test_a_namespace_narrows_a_list(place: Place) -> None:
    await place.config_map()

    here = await place.api.list(CONFIG_MAPS, Query(namespace=place.namespace))
    elsewhere = await place.api.list(CONFIG_MAPS, Query(namespace="nowhere"))

    assert [one.name for one in here.items if one.name != "kube-root-ca.crt"] == ["config"]
    assert elsewhere.items == ()


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("tier=web", ["a"]),
        ("tier!=web", ["b", "c"]),
        ("tier in (web,db)", ["a", "b"]),
        ("tier notin (web)", ["b", "c"]),
        ("tier", ["a", "b"]),
        ("!tier", ["c"]),
        ("tier=web,tier=db", []),
    ],
)
async def test_label_selectors(place: Place, selector: str, names: list[str]) -> None:
    for name, tier in (("a", {"tier": "web"}), ("b", {"tier": "db"}), ("c", {})):
        await place.config_map(name, labels=place.labels | tier)

    page = await place.api.list(CONFIG_MAPS, Query(labels=f"{place.selection.labels},{selector}"))

    assert [one.name for one in page.items] == names


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("spec.nodeName=n1", ["a"]),
        ("spec.nodeName=", ["c"]),
        ("spec.nodeName!=n1", ["b", "c"]),
        ("status.phase=Running", ["b"]),
        ("status.phase!=Running", ["a", "c"]),
        ("metadata.name=b", ["b"]),
        ("metadata.name!=b,spec.nodeName!=n1", ["c"]),
    ],
)
async def test_field_selectors_of_pods(place: Place, selector: str, names: list[str]) -> None:
    await place.pod("a", spec={"nodeName": "n1"})
    await place.pod("b", phase="Running")
    await place.pod("c")

    page = await place.api.list(PODS, Query(namespace=place.namespace, fields=selector))

    assert [pod.name for pod in page.items] == names


@pytest.mark.parametrize(("value", "stem"), [("true", "a"), ("false", "b")])
async def test_field_selector_of_cordoned_nodes(place: Place, value: str, stem: str) -> None:
    await place.node("a", spec={"unschedulable": True})
    await place.node("b")

    query = Query(labels=place.selection.labels, fields=f"spec.unschedulable={value}")
    page = await place.api.list(NODES, query)

    assert [node.name for node in page.items] == [place.name(stem)]


async def test_field_selector_of_a_custom_kind(place: Place) -> None:
    await place.machine("a")
    await place.machine("b")

    query = Query(labels=place.selection.labels, fields=f"metadata.name={place.name('b')}")
    page = await place.api.list(MACHINES, query)

    assert [machine.name for machine in page.items] == [place.name("b")]


@pytest.mark.parametrize(
    "query", [Query(labels="a b"), Query(labels="a in ()x"), Query(fields="spec.color=red")]
)
async def test_a_bad_selector_is_a_bad_request(place: Place, query: Query) -> None:
    error = await refused(place.api.list(NODES, query))

    assert (error.code, error.reason) == (400, "BadRequest")


async def test_pages_are_one_snapshot(place: Place) -> None:
    for number in range(5):
        await place.config_map(f"c{number}")

    first = await place.api.list(CONFIG_MAPS, place.selection, limit=2)
    await place.config_map("c9")
    await place.delete(place.ref(CONFIG_MAPS, "c4"))
    second = await place.api.list(CONFIG_MAPS, place.selection, limit=2, after=first.next)
    third = await place.api.list(CONFIG_MAPS, place.selection, limit=2, after=second.next)

    pages = [[one.name for one in page.items] for page in (first, second, third)]
    assert pages == [["c0", "c1"], ["c2", "c3"], ["c4"]]
    assert third.next == ""
    assert first.resource_version == second.resource_version == third.resource_version


async def test_a_page_with_room_left_is_the_last(place: Place) -> None:
    await place.config_map()

    page = await place.api.list(CONFIG_MAPS, place.selection, limit=2)

    assert page.next == ""


async def test_a_bad_page_token_is_a_bad_request(place: Place) -> None:
    error = await refused(place.api.list(CONFIG_MAPS, limit=2, after="nonsense"))

    assert (error.code, error.reason) == (400, "BadRequest")


# ---------------------------------------------------------------------------------------- creating


async def test_a_new_object_gets_an_identity(place: Place) -> None:
    first = await place.create(CONFIG_MAPS, {"metadata": {"name": "a", "uid": "mine"}})
    second = await place.create(CONFIG_MAPS, {"metadata": {"name": "b"}})

    assert len(first["metadata"]["uid"]) == 36
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    assert int(first["metadata"]["resourceVersion"]) < int(second["metadata"]["resourceVersion"])
    assert first["metadata"]["creationTimestamp"].endswith("Z")
    assert first["metadata"]["namespace"] == place.namespace


async def test_a_taken_name_is_refused(place: Place) -> None:
    await place.config_map("a")

    error = await refused(place.config_map("a"))

    assert (error.code, error.reason) == (409, "AlreadyExists")
    assert error.message == 'configmaps "a" already exists'


async def test_a_generated_name(place: Place) -> None:
    created = await place.create(CONFIG_MAPS, {"metadata": {"generateName": "some-"}})

    assert len(created["metadata"]["name"]) == len("some-") + 5
    assert await exists(place.api, place.ref(CONFIG_MAPS, created["metadata"]["name"]))


async def test_a_dry_run_creates_nothing(place: Place) -> None:
    created = await place.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, dry_run=True)

    assert created["metadata"]["uid"]
    assert "resourceVersion" not in created["metadata"]
    assert not await exists(place.api, place.ref(CONFIG_MAPS, "a"))


@pytest.mark.parametrize(
    ("name", "reason"), [("Bad_Name", "FieldValueInvalid"), ("", "FieldValueRequired")]
)
async def test_a_bad_name_is_invalid(place: Place, name: str, reason: str) -> None:
    error = await refused(place.create(NODES, {"metadata": {"name": name}}))

    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message.startswith(f'Node "{name}" is invalid: metadata.name: ')
    assert causes(error) == [(reason, "metadata.name")]


async def test_a_version_may_not_be_given(place: Place) -> None:
    error = await refused(
        place.create(CONFIG_MAPS, {"metadata": {"name": "a", "resourceVersion": "7"}})
    )

    assert error.code == 500
    assert error.message == "resourceVersion should not be set on objects to be created"


async def test_another_kind_is_refused(place: Place) -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    error = await refused(place.api.create(place.ref(CONFIG_MAPS, "a"), body))

    assert (error.code, error.reason) == (400, "BadRequest")


async def test_another_namespace_is_refused(place: Place) -> None:
    body = {"metadata": {"name": "a", "namespace": "elsewhere"}}
    error = await refused(place.create(CONFIG_MAPS, body))

    assert (error.code, error.reason) == (400, "BadRequest")


async def test_nothing_is_created_where_there_is_no_namespace(place: Place) -> None:
    body = {"metadata": {"name": "a"}}
    error = await refused(place.api.create(CONFIG_MAPS.ref("a", "nowhere"), body))

    assert (error.code, error.reason) == (404, "NotFound")
    assert error.message == 'namespaces "nowhere" not found'


async def test_nothing_is_created_in_a_namespace_that_goes(place: Place) -> None:
    going = await place.delete(NAMESPACES.ref(place.namespace))
    error = await refused(place.config_map())

    assert going["status"]["phase"] == "Terminating"
    assert (error.code, error.reason) == (403, "Forbidden")
    assert causes(error) == [("NamespaceTerminating", "metadata.namespace")]


async def test_the_namespaces_of_every_cluster_are_there(place: Place) -> None:
    assert (await place.api.get(NAMESPACES.ref("default")))["status"]["phase"] == "Active"
    assert await exists(place.api, NAMESPACES.ref("kube-system"))
