"""Who owns which field after which write, on each face alike."""

import pytest

from tests.contract.faces import Place
from tests.contract.wire import Wire, applied, data, deployed, fields
from unmoor.model.base import JSON
from unmoor.model.kinds import BUDGETS, CONFIG_MAPS, LEASES, MACHINES, NODES, PODS


@pytest.fixture
def wire(place: Place) -> Wire:
    return Wire.of(place)


# ------------------------------------------------------------------------------------ custom kinds


async def test_owners_of_a_custom_object(place: Place, wire: Wire) -> None:
    ref = MACHINES.ref(place.name("machine"))
    spec = {"resources": {"requests": {"cpu": 1}}, "taints": [{"key": "k", "effect": "NoExecute"}]}
    body = {"metadata": {"finalizers": ["x.y/z"]}, "spec": spec, "status": {"nodeName": "n"}}
    answer = await applied(wire, ref, "m", body)

    assert answer.code == 201
    assert "status" not in answer.body
    assert answer.owners == {
        ("m", "Apply"): {
            "f:metadata": {"f:finalizers": {'v:"x.y/z"': {}}},
            "f:spec": {"f:resources": {"f:requests": fields("cpu")}, "f:taints": {}},
        }
    }


async def test_an_applied_status_of_a_custom_object(place: Place, wire: Wire) -> None:
    ref = MACHINES.ref(place.name("machine"))
    await applied(wire, ref, "m", {"spec": {}})
    body = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"taints": []},
        "status": {"nodeName": "n", "conditions": [{"type": "A", "status": "True"}]},
    }
    answer = await wire.apply(ref, body, door="status", fieldManager="s")

    assert answer.body["status"] == body["status"]
    assert "labels" not in answer.body["metadata"]
    assert answer.owners["s", "Apply", "status"] == {"f:status": fields("conditions", "nodeName")}


async def test_a_created_custom_object_has_owners(place: Place, wire: Wire) -> None:
    head = {"apiVersion": MACHINES.api_version, "kind": "Machine"}
    spec = {"taints": [], "machineTemplateRef": {"name": "t"}}
    body = {**head, "metadata": {"name": place.name("machine")}, "spec": spec}
    answer = await wire.create(MACHINES, body, fieldManager="c")

    assert answer.owners == {
        ("c", "Update"): {
            "f:spec": {
                ".": {},
                "f:machineTemplateRef": {".": {}, "f:name": {}},
                "f:taints": {},
            }
        }
    }


async def test_fields_that_a_custom_schema_lacks(place: Place, wire: Wire) -> None:
    ref = MACHINES.ref(place.name("machine"))
    answer = await applied(wire, ref, "m", {"spec": {"color": "red"}})

    assert (answer.code, answer.reason) == (500, "")
    assert answer.message == (
        f"failed to create typed patch object (/{ref.name}; karpenter.sh/v1alpha5, Kind=Machine): "
        ".spec.color: field not declared in schema"
    )


# ------------------------------------------------------------------------ what updates are noted as


async def test_a_created_object_has_owners(place: Place, wire: Wire) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u"}
    meta = {
        "generateName": "g",
        "finalizers": ["a/b"],
        "ownerReferences": [owner],
        "annotations": {"q": "r"},
    }
    body = {"metadata": meta, "data": {"k": "1"}}
    answer = await wire.create(CONFIG_MAPS, body, namespace=place.namespace, fieldManager="c")

    assert answer.owners == {
        ("c", "Update"): {
            "f:data": {".": {}, "f:k": {}},
            "f:metadata": {
                "f:annotations": {".": {}, "f:q": {}},
                "f:finalizers": {".": {}, 'v:"a/b"': {}},
                "f:generateName": {},
                "f:ownerReferences": {".": {}, 'k:{"uid":"u"}': {}},
            },
        }
    }


async def test_a_created_pod_has_owners(place: Place, wire: Wire) -> None:
    container = {"name": "c", "image": "i"}
    body = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    answer = await wire.create(PODS, body, namespace=place.namespace, fieldManager="c")

    names = ("image", "imagePullPolicy", "name", "resources", "terminationMessagePath")
    main = {".": {}, **fields(*names, "terminationMessagePolicy")}
    assert answer.owners == {
        ("c", "Update"): {
            "f:spec": {
                "f:containers": {'k:{"name":"c"}': main},
                **fields("dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName"),
                **fields("securityContext", "terminationGracePeriodSeconds"),
            }
        }
    }


async def test_a_created_node_has_owners(place: Place, wire: Wire) -> None:
    meta = {"name": place.name("node"), "labels": {"a": "b"}}
    body = {"metadata": meta, "spec": {"providerID": "x"}, "status": {"capacity": {"cpu": "1"}}}
    answer = await wire.create(NODES, body, fieldManager="c")

    assert answer.owners == {
        ("c", "Update"): {
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {"f:providerID": {}},
        }
    }


async def test_a_status_is_owned_apart(place: Place, wire: Wire) -> None:
    ref = await place.node()
    status = {"addresses": [{"type": "Hostname", "address": "h"}], "capacity": {"cpu": "4"}}
    body = {"metadata": {"labels": {"p": "q"}}, "spec": {"providerID": "x"}, "status": status}
    answer = await wire.patch(ref, body, door="status", fieldManager="k")

    assert answer.owners["k", "Update", "status"] == {
        "f:metadata": {"f:labels": {"f:p": {}}},
        "f:status": {
            "f:addresses": {
                ".": {},
                'k:{"type":"Hostname"}': {".": {}, **fields("address", "type")},
            },
            "f:allocatable": {".": {}, "f:cpu": {}},
            "f:capacity": {".": {}, "f:cpu": {}},
        },
    }


async def test_a_zero_is_nobodys(place: Place, wire: Wire) -> None:
    selector = {"matchLabels": {"a": "b"}}
    body = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}}
    await wire.create(BUDGETS, body, namespace=place.namespace, fieldManager="c")
    status = {"status": {"disruptionsAllowed": 1, "currentHealthy": 0}}
    ref = place.ref(BUDGETS, "b")
    answer = await wire.patch(ref, status, door="status", fieldManager="k")

    assert answer.owners["k", "Update", "status"] == {"f:status": fields("disruptionsAllowed")}


async def test_a_lease_that_a_put_creates(place: Place, wire: Wire) -> None:
    ref = place.ref(LEASES, "l")
    body = {
        "apiVersion": LEASES.api_version,
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"holderIdentity": "x", "leaseDurationSeconds": 1},
    }
    answer = await wire.replace(ref, body, fieldManager="c")

    names = fields("holderIdentity", "leaseDurationSeconds")
    assert answer.owners == {("c", "Update"): {"f:spec": names}}


async def test_an_item_that_a_json_patch_changes(place: Place, wire: Wire) -> None:
    ref = await deployed(place, wire, "m")
    where = "/spec/template/spec/containers/0/image"
    operation = {"op": "replace", "path": where, "value": "img:2"}
    answer = await wire.patch(ref, [operation], how="json", fieldManager="j")

    containers: JSON = {'k:{"name":"main"}': {"f:image": {}}}
    template = {"f:template": {"f:spec": {"f:containers": containers}}}
    assert answer.owners["j", "Update"] == {"f:spec": template}


# -------------------------------------------------------------------------------------------- scale


async def test_scale_owns_replicas_when_they_are_owned(place: Place, wire: Wire) -> None:
    ref = await deployed(place, wire, "m", replicas=2)
    body = {"spec": {"replicas": 3}}
    await wire.patch(ref, body, door="scale", fieldManager="s")
    answer = await wire.get(ref)

    assert answer.body["spec"]["replicas"] == 3
    assert answer.owners["s", "Update", "scale"] == {"f:spec": fields("replicas")}
    assert "f:replicas" not in answer.owners["m", "Apply"]["f:spec"]
    refused = await applied(wire, ref, "m", {"spec": {"replicas": 2}})
    assert refused.message == (
        'Apply failed with 1 conflict: conflict with "s" with subresource "scale" using apps/v1: '
        ".spec.replicas"
    )


async def test_scale_of_replicas_that_nobody_owns(place: Place, wire: Wire) -> None:
    ref = await deployed(place, wire, "m")
    await wire.patch(ref, {"spec": {"replicas": 3}}, door="scale", fieldManager="s")

    assert list((await wire.get(ref)).owners) == [("m", "Apply")]


async def test_an_applied_scale(place: Place, wire: Wire) -> None:
    ref = await deployed(place, wire, "m")
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}}
    refused = await wire.apply(ref, scale, door="scale", fieldManager="s")
    answer = await wire.apply(ref, scale, door="scale", fieldManager="s", force="true")

    assert refused.causes == [
        (
            "FieldManagerConflict",
            'conflict with "before-first-apply" with subresource "scale" using autoscaling/v1',
            ".spec.replicas",
        )
    ]
    assert (answer.code, answer.body["spec"]) == (200, {"replicas": 3})
    found = (await wire.get(ref)).owners
    assert found["s", "Apply", "scale"] == {"f:spec": fields("replicas")}


# ------------------------------------------------------------------------- entries that are written


async def test_entries_can_be_dropped_and_come_back(place: Place, wire: Wire) -> None:
    ref = await place.config_map("a")
    dropped = await wire.patch(ref, {"metadata": {"managedFields": [{}]}}, fieldManager="x")
    quiet = await wire.patch(ref, {"data": {"b": "2"}}, fieldManager="x")
    again = await applied(wire, ref, "m", data(b="2"))

    assert dropped.owners == quiet.owners == {}
    found = again.owners
    assert set(found) == {("m", "Apply"), ("before-first-apply", "Update")}
    assert found["before-first-apply", "Update"]["f:data"] == {".": {}, **fields("a", "b")}


async def test_entries_can_be_written(place: Place, wire: Wire) -> None:
    ref = await place.config_map("a")
    entry = {
        "manager": "z",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }
    answer = await wire.patch(ref, {"metadata": {"managedFields": [entry]}}, fieldManager="x")
    removed = await applied(wire, ref, "z", data(b="1"))

    assert answer.owners == {("z", "Apply"): {"f:data": {"f:a": {}}}}
    assert removed.body["data"] == {"b": "1"}
