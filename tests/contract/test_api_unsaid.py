"""What is in objects though nobody wrote it: counts, times, keys; on each face alike."""

import pytest

from tests.contract.faces import WORKLOAD, Place, causes, refused
from tests.contract.wire import Wire, deployed
from unmoor.model.kinds import DAEMON_SETS, JOBS

COUNT = "deprecated.daemonset.template.generation"


@pytest.fixture
def wire(place: Place) -> Wire:
    return Wire.of(place)


# ------------------------------------------------------------------------------------------ scale


async def test_a_scale_is_put(place: Place, wire: Wire) -> None:
    ref = await deployed(place, wire, "m")
    scale = (await wire.get(ref, "scale")).body
    answer = await wire.replace(ref, {**scale, "spec": {"replicas": 3}}, door="scale")
    stale = await wire.replace(ref, {**scale, "spec": {"replicas": 4}}, door="scale")

    assert answer.body["spec"] == {"replicas": 3}
    assert (await place.api.get(ref))["spec"]["replicas"] == 3
    assert (stale.code, stale.reason) == (409, "Conflict")


async def test_a_scale_of_nothing_says_nothing(place: Place, wire: Wire) -> None:
    ref = await deployed(place, wire, "m", replicas=0)
    scale = (await wire.get(ref, "scale")).body

    assert scale["spec"] == {}
    assert scale["status"]["replicas"] == 0


# ---------------------------------------------------------------------------------- what is kept


@pytest.mark.parametrize("key", ["not ok", "a/b/c", "UP.example/-x", "x" * 64])
async def test_keys_of_annotations_are_held_to_a_rule(place: Place, key: str) -> None:
    error = await refused(place.config_map(annotations={key: "x"}))

    assert error.code == 422
    assert causes(error) == [("FieldValueInvalid", "metadata.annotations")]


async def test_keys_of_annotations_may_be_in_upper_case(place: Place) -> None:
    ref = await place.config_map(annotations={"A.Example/B": "any words at all"})

    assert (await place.api.get(ref))["metadata"]["annotations"] == {
        "A.Example/B": "any words at all"
    }


async def test_a_status_has_what_every_pod_has(place: Place) -> None:
    ref = await place.pod()
    container = {"name": "main", "image": "i", "imageID": "", "ready": True, "restartCount": 0}
    condition = {"type": "Ready", "status": "True"}
    status = {"conditions": [condition], "containerStatuses": [container]}
    found = await place.set_status(ref, status)

    assert found["status"]["conditions"] == [
        {**condition, "lastProbeTime": None, "lastTransitionTime": None}
    ]
    assert found["status"]["containerStatuses"] == [{**container, "state": {}, "lastState": {}}]


async def test_a_node_says_what_it_does_not_know(place: Place) -> None:
    ref = await place.node()
    made = (await place.api.get(ref))["status"]
    status = {
        "nodeInfo": {"architecture": "arm64"},
        "conditions": [{"type": "X", "status": "True"}],
    }
    found = (await place.set_status(ref, status))["status"]

    assert made["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}
    assert made["nodeInfo"].keys() >= {"architecture", "kubeletVersion", "osImage"}
    assert set(made["nodeInfo"].values()) == {""}
    assert found["nodeInfo"] == {**made["nodeInfo"], "architecture": "arm64"}
    times = {"lastHeartbeatTime": None, "lastTransitionTime": None}
    assert {"type": "X", "status": "True", **times} in found["conditions"]


async def test_counts_of_nothing_are_left_out(place: Place, wire: Wire) -> None:
    ref = await deployed(place, wire, "m", replicas=0)
    zeroes = dict.fromkeys(("replicas", "readyReplicas", "unavailableReplicas"), 0)
    found = await place.set_status(ref, {**zeroes, "observedGeneration": 1})
    meta = {"name": "sum"}
    template = {**WORKLOAD["template"]["spec"], "restartPolicy": "Never"}
    await place.create(JOBS, {"metadata": meta, "spec": {"template": {"spec": template}}})
    job = await place.set_status(place.ref(JOBS, "sum"), {"active": 0, "failed": 0, "ready": 0})

    assert found["status"] == {"observedGeneration": 1}
    assert job["status"] == {"ready": 0}


async def test_changes_of_a_daemon_set_s_template_are_counted(place: Place) -> None:
    ref = place.ref(DAEMON_SETS, "agent")
    made = await place.create(DAEMON_SETS, {"metadata": {"name": "agent"}, "spec": WORKLOAD})
    labelled = await place.api.patch(ref, {"metadata": {"labels": {"x": "y"}}})
    image = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "img:2"}]
    changed = await place.api.patch(ref, image, how="json")
    forged = await place.api.patch(ref, {"metadata": {"annotations": {COUNT: "77"}}})

    counts = [one["metadata"]["annotations"][COUNT] for one in (made, labelled, changed, forged)]
    assert counts == ["1", "1", "2", "2"]
