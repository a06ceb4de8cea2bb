"""What the server fills in and what it refuses in a new object, on each face alike."""

import pytest

from tests.contract.faces import WORKLOAD, Place, causes, refused
from unmoor.model.base import JSON
from unmoor.model.kinds import CONFIG_MAPS, DEPLOYMENTS, LEASES, PRIORITY_CLASSES

# ----------------------------------------------------------------------------------------- defaults


async def test_a_new_pod(place: Place) -> None:
    limits = {"limits": {"cpu": "1"}, "requests": {"memory": "1Gi"}}
    container = {"name": "main", "image": "img", "resources": limits}
    ref = await place.pod(spec={"containers": [container]})
    pod = await place.api.get(ref)

    assert pod["status"] == {"phase": "Pending", "qosClass": "Burstable"}
    assert pod["metadata"]["generation"] == 1
    expected = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    assert {name: pod["spec"][name] for name in expected} == expected
    assert pod["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "1"},
        "requests": {"cpu": "1", "memory": "1Gi"},
    }
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == "Always"
    assert [(t["key"], t["tolerationSeconds"]) for t in pod["spec"]["tolerations"]] == [
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    ]


async def test_a_pod_that_tolerates_everything_keeps_its_tolerations(place: Place) -> None:
    ref = await place.pod(spec={"tolerations": [{"operator": "Exists"}]})

    pod = await place.api.get(ref)

    assert pod["spec"]["tolerations"] == [{"operator": "Exists"}]


@pytest.mark.parametrize(
    ("name", "priority"),
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)],
)
async def test_system_priorities(place: Place, name: str, priority: int) -> None:
    ref = await place.pod(spec={"priorityClassName": name})

    assert (await place.api.get(ref))["spec"]["priority"] == priority


async def test_a_priority_class_gives_a_pod_its_priority(place: Place) -> None:
    name = place.name("important")
    body = {"metadata": {"name": name}, "value": 1234, "preemptionPolicy": "Never"}
    await place.create(PRIORITY_CLASSES, body)
    ref = await place.pod(spec={"priorityClassName": name})
    pod = await place.api.get(ref)

    assert (pod["spec"]["priority"], pod["spec"]["preemptionPolicy"]) == (1234, "Never")


async def test_an_unknown_priority_class_is_forbidden(place: Place) -> None:
    error = await refused(place.pod(spec={"priorityClassName": "nope"}))

    assert (error.code, error.reason) == (403, "Forbidden")
    assert error.message == ('pods "pod" is forbidden: no PriorityClass with name nope was found')


async def test_a_priority_without_a_class_is_forbidden(place: Place) -> None:
    error = await refused(place.pod(spec={"priority": 5}))

    assert (error.code, error.reason) == (403, "Forbidden")


async def test_a_new_node_is_tainted_and_keeps_its_status(place: Place) -> None:
    ref = await place.node(status={"capacity": {"cpu": "4"}})
    node = await place.api.get(ref)

    assert node["spec"]["taints"] == [
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    ]
    assert node["status"]["capacity"] == node["status"]["allocatable"] == {"cpu": "4"}
    assert "generation" not in node["metadata"]


async def test_a_new_deployment(place: Place) -> None:
    body = {"metadata": {"name": "web"}, "spec": WORKLOAD, "status": {"replicas": 5}}
    created = await place.create(DEPLOYMENTS, body)

    assert created["spec"]["replicas"] == 1
    assert created["metadata"]["generation"] == 1
    assert created["status"] == {}


async def test_a_new_custom_object_has_no_status(place: Place) -> None:
    ref = await place.machine(status={"providerID": "x"}, metadata={"generation": 9})
    machine = await place.api.get(ref)

    assert "status" not in machine
    assert machine["metadata"]["generation"] == 1


# --------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"containers": []}, "spec.containers"),
        ({"containers": [{"name": "main"}]}, "spec.containers[0].image"),
    ],
)
async def test_a_pod_needs_containers(place: Place, spec: JSON, field: str) -> None:
    error = await refused(place.pod(spec=spec))

    assert (error.code, error.reason) == (422, "Invalid")
    assert causes(error) == [("FieldValueRequired", field)]


async def test_a_quantity_that_is_none_is_refused(place: Place) -> None:
    resources = {"requests": {"cpu": "much"}}
    container = {"name": "main", "image": "img", "resources": resources}
    error = await refused(place.pod(spec={"containers": [container]}))

    assert (error.code, error.reason) == (400, "BadRequest")
    assert "quantities must match the regular expression" in error.message


@pytest.mark.parametrize(
    ("labels", "code"),
    [({"bad key!": "x"}, 422), ({"k": "bad value!"}, 422), ({"k": "x" * 64}, 422), ({"k": 5}, 400)],
)
async def test_bad_labels_are_refused(place: Place, labels: JSON, code: int) -> None:
    error = await refused(place.create(CONFIG_MAPS, {"metadata": {"name": "a", "labels": labels}}))

    assert error.code == code


async def test_a_finalizer_of_a_built_in_kind_has_a_domain(place: Place) -> None:
    error = await refused(place.config_map("a", finalizers=["plain"]))

    assert (error.code, error.reason) == (422, "Invalid")


async def test_a_custom_field_of_the_wrong_type_is_refused(place: Place) -> None:
    error = await refused(place.machine(spec={"taints": "none"}))

    assert (error.code, error.reason) == (422, "Invalid")
    assert causes(error) == [("FieldValueTypeInvalid", "spec.taints")]


async def test_what_a_custom_schema_does_not_know_is_dropped(place: Place) -> None:
    ref = await place.machine(spec={"color": "red", "taints": []})

    assert (await place.api.get(ref))["spec"] == {"taints": []}


async def test_a_lease_keeps_its_times(place: Place) -> None:
    spec = {"holderIdentity": "me", "renewTime": "2026-01-01T00:00:00.123456Z"}
    created = await place.create(LEASES, {"metadata": {"name": "l"}, "spec": spec})

    assert created["spec"] == spec
