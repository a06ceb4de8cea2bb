"""What becomes of a PUT or a PATCH, on each face alike."""

from typing import Any

import pytest

from tests.contract.faces import WORKLOAD, Place, causes, refused
from unmoor.model.base import JSON
from unmoor.model.kinds import CONFIG_MAPS, DEPLOYMENTS, LEASES
from unmoor.runtime.ports import PatchType

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)

# ------------------------------------------------------------------------------------ merge patch


async def test_a_merge_patch_sets_merges_and_removes(place: Place) -> None:
    ref = await place.config_map(annotations={"keep": "1", "drop": "2", "edit": "3"})
    body = {"metadata": {"annotations": {"drop": None, "edit": "4", "new": "5"}}}
    patched = await place.api.patch(ref, body)

    assert patched["metadata"]["annotations"] == {"keep": "1", "edit": "4", "new": "5"}
    assert await place.api.get(ref) == patched


async def test_a_patch_that_changes_nothing_is_no_write(place: Place) -> None:
    ref = await place.config_map()
    before = await place.api.get(ref)
    patched = await place.api.patch(ref, {"data": {"a": "1"}, "metadata": {"labels": {"x": None}}})

    assert patched["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_emptied_metadata_is_left_out(place: Place) -> None:
    ref = await place.config_map(finalizers=["a.b/c"], annotations={"x": "y"})
    body = {"metadata": {"finalizers": [], "annotations": {"x": None}}}
    patched = await place.api.patch(ref, body)

    assert "finalizers" not in patched["metadata"]
    assert "annotations" not in patched["metadata"]


async def test_a_merge_patch_replaces_lists(place: Place) -> None:
    ref = await place.node()
    taint = {"key": "a", "effect": "NoSchedule"}
    await place.api.patch(ref, {"spec": {"taints": [taint]}})
    patched = await place.api.patch(ref, {"spec": {"taints": [{**taint, "key": "b"}]}})

    assert [one["key"] for one in patched["spec"]["taints"]] == ["b"]


async def test_cordon_and_uncordon(place: Place) -> None:
    ref = await place.node()
    cordoned = await place.api.patch(ref, {"spec": {"unschedulable": True}})
    uncordoned = await place.api.patch(ref, {"spec": {"unschedulable": None}})
    by_value = await place.api.patch(ref, {"spec": {"unschedulable": False}})

    assert cordoned["spec"]["unschedulable"] is True
    assert "unschedulable" not in uncordoned["spec"]
    assert by_value["metadata"]["resourceVersion"] == uncordoned["metadata"]["resourceVersion"]


@pytest.mark.parametrize("how", ["merge", "strategic", "json"])
async def test_a_patch_of_nothing_is_not_found(place: Place, how: PatchType) -> None:
    error = await refused(
        place.api.patch(CONFIG_MAPS.ref("no", place.namespace), _labelling(how), how=how)
    )

    assert (error.code, error.reason) == (404, "NotFound")


@pytest.mark.parametrize("how", ["merge", "strategic", "json"])
async def test_a_dry_run_of_a_patch_changes_nothing(place: Place, how: PatchType) -> None:
    ref = await place.config_map()
    before = await place.api.get(ref)
    patched = await place.api.patch(ref, _labelling(how), how=how, dry_run=True)

    assert patched["metadata"]["labels"]["new"] == "label"
    assert await place.api.get(ref) == before


def _labelling(how: PatchType) -> Any:
    if how == "json":
        return [{"op": "add", "path": "/metadata/labels/new", "value": "label"}]
    return {"metadata": {"labels": {"new": "label"}}}


# --------------------------------------------------------------------------------- preconditions


async def test_a_stale_version_is_a_conflict(place: Place) -> None:
    ref = await place.node()
    stale = (await place.api.get(ref))["metadata"]["resourceVersion"]
    await place.api.patch(ref, {"spec": {"unschedulable": True}})
    error = await refused(
        place.api.patch(ref, {"metadata": {"resourceVersion": stale, "labels": {"a": "b"}}})
    )

    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == f'Operation cannot be fulfilled on nodes "{ref.name}": {MODIFIED}'


async def test_the_current_version_and_uid_are_no_obstacle(place: Place) -> None:
    ref = await place.machine()
    meta = (await place.api.get(ref))["metadata"]
    body = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"], "labels": {"a": "b"}}
    patched = await place.api.patch(ref, {"metadata": body})

    assert patched["metadata"]["labels"]["a"] == "b"


async def test_another_uid_in_a_patch_is_invalid(place: Place) -> None:
    """Not a conflict: the real server takes it for an edit of an immutable field."""
    ref = await place.config_map()
    error = await refused(
        place.api.patch(ref, {"metadata": {"uid": "another", "labels": {"a": "b"}}})
    )

    assert (error.code, error.reason) == (422, "Invalid")
    assert causes(error) == [("FieldValueInvalid", "metadata.uid")]


async def test_another_uid_and_a_stale_version_is_a_conflict(place: Place) -> None:
    ref = await place.config_map()
    body = {"metadata": {"uid": "another", "resourceVersion": "1", "labels": {"a": "b"}}}
    error = await refused(place.api.patch(ref, body))

    assert (error.code, error.reason) == (409, "Conflict")


async def test_another_uid_in_a_put_is_a_conflict(place: Place) -> None:
    ref = await place.config_map()
    body = await place.api.get(ref)
    changed = {**body, "metadata": {**body["metadata"], "uid": "another"}, "data": {}}
    error = await refused(place.api.replace(ref, changed))

    assert (error.code, error.reason) == (409, "Conflict")


async def test_a_name_cannot_change(place: Place) -> None:
    ref = await place.config_map()
    error = await refused(place.api.patch(ref, {"metadata": {"name": "other"}}))

    assert (error.code, error.reason) == (400, "BadRequest")
    assert error.message == (
        "the name of the object (other) does not match the name on the URL (config)"
    )


@pytest.mark.parametrize(
    "change", [{"creationTimestamp": "2020-01-01T00:00:00Z"}, {"generation": 99}, {"uid": None}]
)
async def test_what_only_the_server_writes_stays(place: Place, change: JSON) -> None:
    ref = await place.machine()
    before = await place.api.get(ref)

    assert await place.api.patch(ref, {"metadata": change}) == before


async def test_nobody_else_deletes(place: Place) -> None:
    ref = await place.node()
    change = {"deletionTimestamp": "2020-01-01T00:00:00Z"}
    error = await refused(place.api.patch(ref, {"metadata": change}))

    assert (error.code, error.reason) == (422, "Invalid")
    assert causes(error) == [("FieldValueInvalid", "metadata.deletionTimestamp")]


# ------------------------------------------------------------------------------------- generation


async def test_generation_counts_changes_of_the_spec(place: Place) -> None:
    created = await place.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": WORKLOAD})
    ref = place.ref(DEPLOYMENTS, "web")
    labelled = await place.api.patch(ref, {"metadata": {"labels": {"a": "b"}}})
    scaled = await place.api.patch(ref, {"spec": {"replicas": 3}})
    reported = await place.set_status(ref, {"replicas": 3})
    found = [one["metadata"]["generation"] for one in (created, labelled, scaled, reported)]

    assert found == [1, 1, 2, 2]


async def test_generation_of_a_custom_object(place: Place) -> None:
    ref = await place.machine(spec={"taints": []})
    labelled = await place.api.patch(ref, {"metadata": {"labels": {"a": "b"}}})
    changed = await place.api.patch(ref, {"spec": {"taints": [{"key": "a"}]}})
    reported = await place.set_status(ref, {"nodeName": "n"})
    found = [one["metadata"]["generation"] for one in (labelled, changed, reported)]

    assert found == [1, 2, 2]


# ----------------------------------------------------------------------------------------- status


async def test_main_and_status_do_not_touch_each_other(place: Place) -> None:
    ref = await place.machine(spec={"taints": []})
    body = {"spec": {"taints": [{"key": "a"}]}, "status": {"nodeName": "n"}}
    main = await place.api.patch(ref, body)
    body = {"spec": {"taints": [{"key": "b"}]}, "status": {"nodeName": "m"}}
    status = await place.api.patch(ref, body, subresource="status")

    assert "status" not in main
    assert main["spec"]["taints"] == status["spec"]["taints"] == [{"key": "a"}]
    assert status["status"] == {"nodeName": "m"}


async def test_a_main_write_of_only_the_status_is_no_write(place: Place) -> None:
    ref = await place.node()
    before = await place.api.get(ref)

    assert await place.api.patch(ref, {"status": {"capacity": {"cpu": "9"}}}) == before


async def test_status_of_a_custom_object_leaves_its_metadata(place: Place) -> None:
    ref = await place.machine()
    before = await place.api.get(ref)
    body = {"metadata": {"labels": {"a": "b"}, "finalizers": ["x.y/z"]}, "status": {}}
    after = await place.api.patch(ref, body, subresource="status")

    assert after["metadata"].get("finalizers") is None
    assert after["metadata"]["labels"] == before["metadata"]["labels"]


async def test_status_of_a_node_writes_labels(place: Place) -> None:
    ref = await place.node()
    body = {"metadata": {"labels": {"a": "b"}}, "spec": {"unschedulable": True}}
    after = await place.api.patch(ref, body, subresource="status")

    assert after["metadata"]["labels"]["a"] == "b"
    assert "unschedulable" not in after["spec"]


async def test_status_of_a_pod_leaves_its_owners(place: Place) -> None:
    ref = await place.pod()
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}
    body = {"metadata": {"ownerReferences": [owner], "annotations": {"a": "b"}}}
    after = await place.api.patch(ref, body, subresource="status")

    assert "ownerReferences" not in after["metadata"]
    assert after["metadata"]["annotations"] == {"a": "b"}


async def test_status_of_a_deployment_leaves_its_labels(place: Place) -> None:
    await place.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": WORKLOAD})
    body = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "status": {}}
    after = await place.api.patch(place.ref(DEPLOYMENTS, "web"), body, subresource="status")

    assert "labels" not in after["metadata"]
    assert after["metadata"]["annotations"] == {"c": "d"}


async def test_a_stale_status_is_a_conflict(place: Place) -> None:
    ref = await place.machine()
    body = {"metadata": {"resourceVersion": "1"}, "status": {"nodeName": "n"}}
    error = await refused(place.api.patch(ref, body, subresource="status"))

    assert (error.code, error.reason) == (409, "Conflict")


async def test_a_kind_without_a_status_has_no_such_page(place: Place) -> None:
    ref = await place.config_map()
    error = await refused(place.api.patch(ref, {"status": {}}, subresource="status"))

    assert (error.code, error.reason) == (404, "NotFound")


async def test_a_negative_budget_is_invalid(place: Place) -> None:
    ref = await place.budget()
    error = await refused(place.set_status(ref, {"disruptionsAllowed": -1}))

    assert (error.code, error.reason) == (422, "Invalid")
    assert causes(error) == [("FieldValueInvalid", "status.disruptionsAllowed")]


# ---------------------------------------------------------------------------------------- replace


async def test_a_put_replaces(place: Place) -> None:
    ref = await place.config_map()
    body = await place.api.get(ref)
    replaced = await place.api.replace(ref, {**body, "data": {"b": "2"}})

    assert replaced["data"] == {"b": "2"}


async def test_a_stale_put_is_a_conflict(place: Place) -> None:
    ref = await place.config_map()
    body = await place.api.get(ref)
    await place.api.replace(ref, {**body, "data": {"b": "2"}})
    error = await refused(place.api.replace(ref, {**body, "data": {"b": "3"}}))

    assert (error.code, error.reason) == (409, "Conflict")


async def test_a_put_of_nothing_is_not_found(place: Place) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "no"}}
    error = await refused(place.api.replace(place.ref(CONFIG_MAPS, "no"), body))

    assert (error.code, error.reason) == (404, "NotFound")


async def test_a_put_of_a_lease_creates_it(place: Place) -> None:
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l", "namespace": place.namespace},
        "spec": {"holderIdentity": "me"},
    }
    created = await place.api.replace(place.ref(LEASES, "l"), body)

    assert created["metadata"]["uid"]


async def test_a_custom_put_needs_a_version(place: Place) -> None:
    ref = await place.machine()
    body = await place.api.get(ref)
    meta = {"name": ref.name, "labels": place.labels}
    error = await refused(place.api.replace(ref, {**body, "metadata": meta, "spec": {}}))

    assert (error.code, error.reason) == (422, "Invalid")
    assert causes(error) == [("FieldValueInvalid", "metadata.resourceVersion")]


async def test_a_put_of_status(place: Place) -> None:
    ref = await place.machine()
    body = await place.api.get(ref)
    status = {"nodeName": "n"}
    replaced = await place.api.replace(ref, {**body, "status": status}, subresource="status")

    assert replaced["status"] == status
