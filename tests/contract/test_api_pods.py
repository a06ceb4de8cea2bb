"""What is special about pods and nodes: edits, binding, scale; on each face alike."""

import pytest

from tests.contract.faces import WORKLOAD, Place, causes, refused
from unmoor.model.base import JSON
from unmoor.model.kinds import DEPLOYMENTS, MACHINES, PODS

# ---------------------------------------------------------------------------------- pods, and nodes


@pytest.mark.parametrize(
    "change", [{"nodeName": "other"}, {"terminationGracePeriodSeconds": 3}, {"hostname": "h"}]
)
async def test_a_pod_cannot_be_made_another(place: Place, change: JSON) -> None:
    ref = await place.pod(spec={"nodeName": "n"})
    error = await refused(place.api.patch(ref, {"spec": change}))

    assert (error.code, error.reason) == (422, "Invalid")
    assert causes(error) == [("FieldValueForbidden", "spec")]


async def test_a_pods_image_may_change(place: Place) -> None:
    ref = await place.pod()
    body = {"spec": {"containers": [{"name": "main", "image": "img:2"}]}}
    patched = await place.api.patch(ref, body, how="strategic")

    assert patched["spec"]["containers"][0]["image"] == "img:2"
    assert patched["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("taints", "cause"),
    [
        (
            [{"key": "a", "effect": "Never"}],
            ("FieldValueNotSupported", "metadata.taints[0].effect"),
        ),
        ([{"key": "a", "effect": "NoSchedule"}] * 2, ("FieldValueDuplicate", "metadata.taints[1]")),
    ],
)
async def test_bad_taints_are_invalid(
    place: Place, taints: list[JSON], cause: tuple[str, str]
) -> None:
    ref = await place.node()
    error = await refused(place.api.patch(ref, {"spec": {"taints": taints}}))

    assert (error.code, error.reason) == (422, "Invalid")
    assert causes(error) == [cause]


async def test_a_quantity_that_is_none_in_a_patch_is_invalid(place: Place) -> None:
    ref = await place.node()
    error = await refused(place.set_status(ref, {"capacity": {"cpu": "much"}}))

    assert (error.code, error.reason) == (422, "Invalid")


async def test_a_label_that_is_no_text_in_a_patch_is_invalid(place: Place) -> None:
    ref = await place.node()
    error = await refused(place.api.patch(ref, {"metadata": {"labels": {"a": 5}}}))

    assert (error.code, error.reason) == (422, "Invalid")
    assert causes(error) == [("FieldValueInvalid", "patch")]


# ------------------------------------------------------------------------------- binding, and scale


async def test_a_binding_puts_a_pod_on_a_node(place: Place) -> None:
    ref = await place.pod()
    await place.bind(ref, "some-node")
    pod = await place.api.get(ref)

    assert pod["spec"]["nodeName"] == "some-node"
    assert pod["metadata"]["generation"] == 1
    [condition] = pod["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


async def test_a_pod_is_bound_once(place: Place) -> None:
    ref = await place.pod(spec={"nodeName": "n"})
    error = await refused(place.bind(ref, "other"))

    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Operation cannot be fulfilled on pods/binding "pod": pod pod is already assigned to node '
        '"n"'
    )


async def test_another_pod_of_the_name_is_not_bound(place: Place) -> None:
    ref = await place.pod()
    error = await refused(place.bind(ref, "n", uid="another"))

    assert (error.code, error.reason) == (409, "Conflict")


async def test_a_pod_that_goes_is_not_bound(place: Place) -> None:
    ref = await place.pod(metadata={"finalizers": ["a.b/c"]})
    await place.delete(ref)
    error = await refused(place.bind(ref, "n"))

    assert (error.code, error.reason) == (409, "Conflict")


async def test_a_gated_pod_is_not_bound(place: Place) -> None:
    ref = await place.pod(spec={"schedulingGates": [{"name": "wait"}]})
    error = await refused(place.bind(ref, "n"))

    assert (error.code, error.reason) == (409, "Conflict")


async def test_no_pod_no_binding(place: Place) -> None:
    error = await refused(place.bind(place.ref(PODS, "no"), "n"))

    assert (error.code, error.reason) == (404, "NotFound")


async def test_scale(place: Place) -> None:
    await place.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": WORKLOAD})
    ref = place.ref(DEPLOYMENTS, "web")
    scale = await place.api.patch(ref, {"spec": {"replicas": 4}}, subresource="scale")
    found = await place.api.get(ref)

    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == (
        "Scale",
        {"replicas": 4},
        "app=web",
    )
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (4, 2)


async def test_machines_do_not_scale(place: Place) -> None:
    ref = await place.machine()
    error = await refused(place.api.patch(ref, {"spec": {"replicas": 4}}, subresource="scale"))

    assert (error.code, error.reason, ref.kind) == (404, "NotFound", MACHINES.kind)
