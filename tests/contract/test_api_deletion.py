"""What a DELETE does: at once, after a grace period, after finalizers; on each face alike."""

from datetime import datetime
from typing import Any

import pytest

from tests.contract.faces import WORKLOAD, Place, causes, exists, refused
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import ATTACHMENTS, CONFIG_MAPS, CSI_NODES, DEPLOYMENTS, LEASES, PODS
from unmoor.runtime.ports import DeleteOptions


def seconds_between(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


# ------------------------------------------------------------------------------------ plain objects


@pytest.mark.parametrize("kind", ["node", "machine", "config_map"])
async def test_a_plain_object_goes_at_once(place: Place, kind: str) -> None:
    ref: Ref = await getattr(place, kind)()
    uid = (await place.api.get(ref))["metadata"]["uid"]
    answer = await place.delete(ref)

    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert (answer["details"]["name"], answer["details"]["uid"]) == (ref.name, uid)
    assert not await exists(place.api, ref)


async def test_some_kinds_answer_with_what_they_deleted(place: Place) -> None:
    attachment = {
        "metadata": {"name": place.name("a")},
        "spec": {"attacher": "x", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
    }
    await place.create(ATTACHMENTS, attachment)
    csi = {"metadata": {"name": place.name("c")}, "spec": {"drivers": []}}
    await place.create(CSI_NODES, csi)

    for resource, stem in ((ATTACHMENTS, "a"), (CSI_NODES, "c")):
        answer = await place.delete(resource.ref(place.name(stem)))
        assert answer["kind"] == resource.kind
        assert "deletionTimestamp" not in answer["metadata"]


async def test_what_is_not_there_cannot_be_deleted(place: Place) -> None:
    error = await refused(place.delete(place.ref(CONFIG_MAPS, "no")))

    assert (error.code, error.reason) == (404, "NotFound")


async def test_a_dry_run_deletes_nothing(place: Place) -> None:
    ref = await place.node()
    answer = await place.delete(ref, dry_run=True)

    assert answer["status"] == "Success"
    assert await exists(place.api, ref)


# ------------------------------------------------------------------------------------ preconditions


async def test_another_uid_is_a_conflict(place: Place) -> None:
    ref = await place.node()
    uid = (await place.api.get(ref))["metadata"]["uid"]
    error = await refused(place.delete(ref, uid="another"))

    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        f'Operation cannot be fulfilled on Node "{ref.name}": the UID in the precondition '
        f"(another) does not match the UID in record ({uid}). The object might have been deleted "
        "and then recreated"
    )
    assert await exists(place.api, ref)


async def test_another_version_is_a_conflict(place: Place) -> None:
    ref = await place.machine()
    error = await refused(place.delete(ref, resource_version="1"))

    assert (error.code, error.reason) == (409, "Conflict")
    assert error.status["details"]["kind"] == "Machine"


async def test_preconditions_that_hold(place: Place) -> None:
    ref = await place.machine()
    meta = (await place.api.get(ref))["metadata"]
    await place.delete(ref, uid=meta["uid"], resource_version=meta["resourceVersion"])

    assert not await exists(place.api, ref)


async def test_preconditions_hold_for_a_pod(place: Place) -> None:
    ref = await place.pod(phase="Running")
    error = await refused(place.delete(ref, uid="another"))

    assert (error.code, error.reason) == (409, "Conflict")


# --------------------------------------------------------------------------------------- finalizers


async def test_a_finalizer_holds_an_object(place: Place) -> None:
    ref = await place.node(metadata={"finalizers": ["a.b/c"], "generation": 3})
    going = await place.delete(ref)
    again = await place.delete(ref)

    assert going["kind"] == "Node"
    assert going["metadata"]["deletionTimestamp"]
    assert going["metadata"]["deletionGracePeriodSeconds"] == 0
    assert going["metadata"]["generation"] == 4
    assert again == going


async def test_an_object_without_generation_does_not_start_to_count(place: Place) -> None:
    ref = await place.node(metadata={"finalizers": ["a.b/c"]})

    assert "generation" not in (await place.delete(ref))["metadata"]


async def test_the_last_finalizer_lets_it_go(place: Place) -> None:
    ref = await place.machine(metadata={"finalizers": ["a.b/c", "a.b/d"]})
    going = await place.delete(ref)
    one_left = await place.api.patch(ref, {"metadata": {"finalizers": ["a.b/d"]}})
    last = await place.api.patch(ref, {"metadata": {"finalizers": None}})

    assert one_left["metadata"]["generation"] == going["metadata"]["generation"] == 2
    assert last["metadata"]["resourceVersion"] == one_left["metadata"]["resourceVersion"]
    assert "finalizers" not in last["metadata"]
    assert not await exists(place.api, ref)


async def test_the_last_finalizer_goes_through_status_too(place: Place) -> None:
    ref = await place.node(metadata={"finalizers": ["a.b/c"]})
    await place.delete(ref)
    await place.api.patch(ref, {"metadata": {"finalizers": None}}, subresource="status")

    assert not await exists(place.api, ref)


async def test_a_deleting_object_can_still_be_edited(place: Place) -> None:
    ref = await place.node(metadata={"finalizers": ["a.b/c"]})
    await place.delete(ref)
    edited = await place.api.patch(ref, {"spec": {"unschedulable": True}})

    assert edited["spec"]["unschedulable"] is True
    assert edited["metadata"]["deletionTimestamp"]


async def test_a_deletion_is_not_taken_back(place: Place) -> None:
    ref = await place.machine(metadata={"finalizers": ["a.b/c"]})
    going = await place.delete(ref)
    nothing: JSON = {"deletionTimestamp": None, "deletionGracePeriodSeconds": None}
    after = await place.api.patch(ref, {"metadata": nothing})

    assert after == going


async def test_no_finalizer_is_added_to_what_is_deleted(place: Place) -> None:
    ref = await place.node(metadata={"finalizers": ["a.b/c"]})
    await place.delete(ref)
    error = await refused(place.api.patch(ref, {"metadata": {"finalizers": ["a.b/c", "a.b/d"]}}))

    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message == (
        f'Node "{ref.name}" is invalid: metadata.finalizers: Forbidden: no new finalizers can be '
        'added if the object is being deleted, found new finalizers []string{"a.b/d"}'
    )
    assert causes(error) == [("FieldValueForbidden", "metadata.finalizers")]


# --------------------------------------------------------------------------------------------- pods


async def test_a_running_pod_gets_its_grace_period(place: Place) -> None:
    ref = await place.pod(phase="Running", spec={"terminationGracePeriodSeconds": 90})
    going = await place.delete(ref)
    meta = going["metadata"]

    assert meta["deletionGracePeriodSeconds"] == 90
    assert seconds_between(meta["creationTimestamp"], meta["deletionTimestamp"]) >= 90
    assert meta["generation"] == 2
    assert await place.api.get(ref) == going


@pytest.mark.parametrize(("grace_s", "stays"), [(60, 30), (30, 30), (5, 5), (None, 30)])
async def test_a_second_deletion_only_shortens(
    place: Place, grace_s: int | None, stays: int
) -> None:
    ref = await place.pod(phase="Running")
    first = (await place.delete(ref))["metadata"]
    second = (await place.delete(ref, grace_s=grace_s))["metadata"]
    moved = seconds_between(second["deletionTimestamp"], first["deletionTimestamp"])

    assert second["deletionGracePeriodSeconds"] == stays
    assert moved == 30 - stays
    assert second["generation"] == first["generation"]


async def test_grace_zero_is_at_once(place: Place) -> None:
    ref = await place.pod(phase="Running")
    last = await place.delete(ref, grace_s=0)

    assert last["kind"] == "Pod"
    assert last["metadata"]["deletionGracePeriodSeconds"] == 0
    assert not await exists(place.api, ref)


async def test_the_kubelet_has_the_last_word(place: Place) -> None:
    ref = await place.pod(phase="Running")
    await place.delete(ref)
    await place.delete(ref, grace_s=0)

    assert not await exists(place.api, ref)


@pytest.mark.parametrize("phase", ["", "Succeeded", "Failed"])
async def test_a_pod_that_nobody_runs_goes_at_once(place: Place, phase: str) -> None:
    ref = await place.pod(phase=phase)
    last = await place.delete(ref)

    assert last["metadata"]["deletionGracePeriodSeconds"] == 0
    assert not await exists(place.api, ref)


async def test_a_pending_pod_on_a_node_gets_its_grace_period(place: Place) -> None:
    ref = await place.pod(spec={"nodeName": "n"})

    assert (await place.delete(ref))["metadata"]["deletionGracePeriodSeconds"] == 30


async def test_a_negative_grace_is_a_second(place: Place) -> None:
    ref = await place.pod(phase="Running")

    assert (await place.delete(ref, grace_s=-1))["metadata"]["deletionGracePeriodSeconds"] == 1


async def test_a_finalizer_holds_a_pod_without_grace(place: Place) -> None:
    ref = await place.pod(phase="Running", metadata={"finalizers": ["a.b/c"]})
    going = await place.delete(ref, grace_s=0)
    await place.api.patch(ref, {"metadata": {"finalizers": None}})

    assert going["metadata"]["finalizers"] == ["a.b/c"]
    assert not await exists(place.api, ref)


async def test_a_pod_waits_for_its_kubelet_without_finalizers(place: Place) -> None:
    ref = await place.pod(phase="Running", metadata={"finalizers": ["a.b/c"]})
    await place.delete(ref)
    await place.api.patch(ref, {"metadata": {"finalizers": None}})

    assert await exists(place.api, ref)


async def test_a_dry_run_of_a_pods_deletion(place: Place) -> None:
    ref = await place.pod(phase="Running")
    before = await place.api.get(ref)
    answer = await place.delete(ref, dry_run=True)

    assert answer["metadata"]["deletionGracePeriodSeconds"] == 30
    assert await place.api.get(ref) == before


# -------------------------------------------------------------------------------------- propagation


@pytest.mark.parametrize(
    ("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")]
)
async def test_propagation_is_a_finalizer(place: Place, policy: Any, finalizer: str) -> None:
    ref = await place.machine()
    going = await place.delete(ref, propagation=policy)

    assert going["metadata"]["finalizers"] == [finalizer]
    assert going["metadata"]["deletionTimestamp"]
    assert await exists(place.api, ref)


async def test_background_has_no_finalizer(place: Place) -> None:
    await place.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": WORKLOAD})
    await place.delete(place.ref(DEPLOYMENTS, "web"), propagation="Background")

    assert not await exists(place.api, place.ref(DEPLOYMENTS, "web"))


async def test_a_policy_takes_the_other_policys_finalizer_off(place: Place) -> None:
    ref = await place.config_map(finalizers=["orphan", "a.b/c"])
    going = await place.delete(ref, propagation="Foreground")

    assert sorted(going["metadata"]["finalizers"]) == ["a.b/c", "foregroundDeletion"]


async def test_a_foreground_deletion_of_a_pod_that_nobody_runs(place: Place) -> None:
    ref = await place.pod()
    going = await place.delete(ref, propagation="Foreground")

    assert going["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert going["metadata"]["deletionGracePeriodSeconds"] == 0


async def test_a_second_policy_replaces_the_first(place: Place) -> None:
    ref = await place.machine()
    await place.delete(ref, propagation="Foreground")
    again = await place.delete(ref, propagation="Orphan")

    assert again["metadata"]["finalizers"] == ["orphan"]


async def test_a_lease_goes_like_anything(place: Place) -> None:
    await place.create(LEASES, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}})
    answer = await place.api.delete(place.ref(LEASES, "l"), DeleteOptions(grace_s=30))

    assert answer["status"] == "Success"


async def test_a_name_can_be_used_again(place: Place) -> None:
    ref = await place.pod()
    first = (await place.api.get(ref))["metadata"]["uid"]
    await place.delete(ref)
    await place.pod()

    assert (await place.api.get(place.ref(PODS, "pod")))["metadata"]["uid"] != first
