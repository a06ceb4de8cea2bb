"""Server-side apply: merging, conflicts and refusals, on each face alike."""

import pytest

from tests.contract.faces import Place
from tests.contract.wire import Wire, applied, data, deployed, fields
from unmoor.model.base import JSON
from unmoor.model.kinds import BUDGETS, CONFIG_MAPS, NODES


@pytest.fixture
def wire(place: Place) -> Wire:
    return Wire.of(place)


# --------------------------------------------------------------------------------- create and merge


async def test_an_apply_creates(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    body = {"metadata": {"labels": {"x": "y"}}, "data": {"k": "1"}}
    answer = await applied(wire, ref, "m", body)

    assert answer.code == 201
    assert answer.body["data"] == {"k": "1"}
    assert answer.owners == {
        ("m", "Apply"): {"f:data": {"f:k": {}}, "f:metadata": {"f:labels": {"f:x": {}}}}
    }


async def test_our_port_applies_by_force(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    await applied(wire, ref, "m", data(k="1", l="1"))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, **data(k="2")}
    answer = await place.api.patch(ref, body, how="apply")
    found = await wire.get(ref)

    assert answer["data"] == {"k": "2", "l": "1"}
    assert found.owners["unmoor", "Apply"] == {"f:data": fields("k")}


async def test_the_same_again_is_no_write(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    first = await applied(wire, ref, "m", data(k="1"))
    again = await applied(wire, ref, "m", data(k="1"))

    assert (first.code, again.code) == (201, 200)
    assert again.body == first.body


async def test_what_is_applied_no_more_goes(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    await applied(wire, ref, "m", {"metadata": {"labels": {"x": "y"}}, **data(k="1", l="2")})
    answer = await applied(wire, ref, "m", data(k="1"))

    assert answer.body["data"] == {"k": "1"}
    assert "labels" not in answer.body["metadata"]
    assert answer.owners == {("m", "Apply"): {"f:data": fields("k")}}


async def test_what_another_owns_as_well_stays(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    await applied(wire, ref, "m", data(k="1", l="2"))
    shared = await applied(wire, ref, "n", data(k="1"))
    answer = await applied(wire, ref, "m", data(l="2"))

    assert shared.code == 200
    assert answer.body["data"] == {"k": "1", "l": "2"}
    assert answer.owners == {
        ("m", "Apply"): {"f:data": fields("l")},
        ("n", "Apply"): {"f:data": fields("k")},
    }


async def test_sharing_a_field_is_a_write(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    first = await applied(wire, ref, "m", data(k="1"))
    shared = await applied(wire, ref, "n", data(k="1"))

    versions = [one.body["metadata"]["resourceVersion"] for one in (first, shared)]
    assert versions[0] != versions[1]


async def test_a_dry_run_leaves_everything(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    rehearsed = await applied(wire, ref, "m", data(k="1"), dryRun="All")
    missing = await wire.get(ref)

    assert (rehearsed.code, missing.code) == (201, 404)


# --------------------------------------------------------------------------------------- conflicts


async def test_one_conflict(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    await applied(wire, ref, "m", data(k="1"))
    answer = await applied(wire, ref, "n", data(k="2"))

    assert (answer.code, answer.reason) == (409, "Conflict")
    assert answer.message == 'Apply failed with 1 conflict: conflict with "m": .data.k'
    assert answer.causes == [("FieldManagerConflict", 'conflict with "m"', ".data.k")]


async def test_two_conflicts_with_an_update(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    await applied(wire, ref, "m", data(k="1", l="1"))
    await wire.patch(ref, data(k="2", l="2"), fieldManager="ed")
    answer = await applied(wire, ref, "m", data(k="1", l="1"))

    assert answer.message == (
        'Apply failed with 2 conflicts: conflicts with "ed" using v1:\n- .data.k\n- .data.l'
    )


async def test_conflicts_with_two_managers(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    await applied(wire, ref, "m", data(k="1"))
    await applied(wire, ref, "n", data(l="1"))
    answer = await applied(wire, ref, "o", data(k="2", l="2"))

    assert answer.message == (
        'Apply failed with 2 conflicts: conflicts with "m":\n- .data.k\n'
        'conflicts with "n":\n- .data.l'
    )
    assert [field for _, _, field in answer.causes] == [".data.k", ".data.l"]


async def test_force_takes_a_field_over(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    await applied(wire, ref, "m", data(k="1", l="1"))
    answer = await applied(wire, ref, "n", data(k="2"), force="true")

    assert answer.body["data"] == {"k": "2", "l": "1"}
    assert answer.owners == {
        ("m", "Apply"): {"f:data": fields("l")},
        ("n", "Apply"): {"f:data": fields("k")},
    }


async def test_a_conflict_in_a_list(place: Place, wire: Wire) -> None:
    ref = await deployed(place, wire, "m")
    container = {"name": "main", "image": "img:2"}
    body = {"spec": {"template": {"spec": {"containers": [container]}}}}
    answer = await applied(wire, ref, "n", body)

    assert answer.message == (
        'Apply failed with 1 conflict: conflict with "m": '
        '.spec.template.spec.containers[name="main"].image'
    )


async def test_an_update_takes_over_what_it_changes(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    await applied(wire, ref, "m", data(k="1", l="1"))
    answer = await wire.patch(ref, data(k="2", z="3"), fieldManager="ed")

    assert answer.owners == {
        ("m", "Apply"): {"f:data": fields("l")},
        ("ed", "Update"): {"f:data": fields("k", "z")},
    }


async def test_an_update_that_removes_a_field_leaves_no_owner(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    await applied(wire, ref, "m", data(k="1", l="1"))
    answer = await wire.patch(ref, {"data": {"k": None}}, fieldManager="ed")

    assert answer.owners == {("m", "Apply"): {"f:data": fields("l")}}


# ---------------------------------------------------------------------------------- lists and maps


async def test_owners_of_a_deployment(place: Place, wire: Wire) -> None:
    ref = await deployed(place, wire, "m", replicas=2)
    answer = await wire.get(ref)

    main = {
        ".": {},
        **fields("image", "name"),
        "f:env": {'k:{"name":"E"}': {".": {}, **fields("name", "value")}},
        "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
        "f:resources": {"f:requests": fields("cpu")},
    }
    assert answer.owners == {
        ("m", "Apply"): {
            "f:spec": {
                **fields("replicas", "selector"),
                "f:template": {
                    "f:metadata": {"f:labels": fields("app")},
                    "f:spec": {"f:containers": {'k:{"name":"main"}': main}},
                },
            }
        }
    }


async def test_a_second_manager_adds_a_container(place: Place, wire: Wire) -> None:
    ref = await deployed(place, wire, "m")
    side = {"name": "side", "image": "s"}
    body = {"spec": {"template": {"spec": {"containers": [side]}}}}
    answer = await applied(wire, ref, "n", body)
    found = answer.body["spec"]["template"]["spec"]["containers"]

    assert [(one["name"], one["image"]) for one in found] == [("main", "img:1"), ("side", "s")]
    assert found[1]["imagePullPolicy"] == "Always"
    assert answer.owners["n", "Apply"]["f:spec"]["f:template"]["f:spec"]["f:containers"] == {
        'k:{"name":"side"}': {".": {}, **fields("image", "name")}
    }


async def test_an_applier_takes_its_container_back(place: Place, wire: Wire) -> None:
    ref = await deployed(place, wire, "m")
    side = {"name": "side", "image": "s"}
    await applied(wire, ref, "n", {"spec": {"template": {"spec": {"containers": [side]}}}})
    answer = await applied(wire, ref, "n", {"metadata": {"labels": {"x": "y"}}})
    found = answer.body["spec"]["template"]["spec"]["containers"]

    assert [one["name"] for one in found] == ["main"]


@pytest.mark.parametrize(
    ("config", "after"),
    [
        (["a/c"], ["a/a", "a/b", "a/c"]),
        (["a/b", "a/a"], ["a/b", "a/a"]),
        (["a/c", "a/b", "a/a"], ["a/c", "a/b", "a/a"]),
        (["a/b", "a/c"], ["a/a", "a/b", "a/c"]),
    ],
)
async def test_a_set_is_merged_in_order(
    place: Place, wire: Wire, config: list[str], after: list[str]
) -> None:
    ref = await place.config_map("a", finalizers=["a/a", "a/b"])
    answer = await applied(wire, ref, "n", {"metadata": {"finalizers": config}})

    assert answer.body["metadata"]["finalizers"] == after
    own = answer.owners["n", "Apply"]["f:metadata"]["f:finalizers"]
    assert own == {f'v:"{one}"': {} for one in config}


async def test_an_atomic_list_has_one_owner(place: Place, wire: Wire) -> None:
    ref = NODES.ref(place.name("node"))
    taint = {"key": "a", "effect": "NoSchedule"}
    await applied(wire, ref, "m", {"spec": {"taints": [taint]}})
    answer = await applied(wire, ref, "n", {"spec": {"taints": [{**taint, "key": "b"}]}})

    assert answer.message.endswith(": .spec.taints")


async def test_a_selector_has_one_owner(place: Place, wire: Wire) -> None:
    ref = place.ref(BUDGETS, "b")
    selector = {"matchLabels": {"a": "b"}}
    answer = await applied(wire, ref, "m", {"spec": {"minAvailable": 1, "selector": selector}})

    assert answer.owners == {("m", "Apply"): {"f:spec": fields("minAvailable", "selector")}}


# ----------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({}, "Required value: is required for apply patch"),
        ({"fieldManager": "x" * 129}, "Too long: may not be more than 128 bytes"),
    ],
)
async def test_options_of_an_apply(
    place: Place, wire: Wire, options: dict[str, str], cause: str
) -> None:
    answer = await wire.apply(place.ref(CONFIG_MAPS, "a"), data(k="1"), **options)

    assert answer.code == 422
    assert answer.message == f'PatchOptions.meta.k8s.io "" is invalid: fieldManager: {cause}'


async def test_force_is_for_an_apply(place: Place, wire: Wire) -> None:
    ref = await place.config_map("a")
    answer = await wire.patch(ref, data(k="1"), force="true")

    assert answer.code == 422
    assert answer.causes == [
        ("FieldValueForbidden", "Forbidden: may not be specified for non-apply patch", "force")
    ]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"kind": "Secret"}, "invalid object type: /v1, Kind=Secret"),
        ({"apiVersion": "v2"}, "invalid object type: /v2, Kind=ConfigMap"),
        ({"apiVersion": "", "kind": ""}, "invalid object type: /, Kind="),
        (
            {"metadata": {"managedFields": [{"manager": "q"}]}},
            "metadata.managedFields must be nil",
        ),
    ],
)
async def test_what_is_no_configuration(place: Place, wire: Wire, body: JSON, message: str) -> None:
    ref = await place.config_map("a")
    answer = await applied(wire, ref, "m", body)

    assert (answer.code, answer.message) == (400, message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"x": 1}, ".x: field not declared in schema"),
        (
            {"data": {"k": 9}},
            ".data.k: expected string, got &value.valueUnstructured{Value:9}",
        ),
        ({"data": [1]}, ".data: expected map, got &{[1]}"),
        (
            {"data": "q", "immutable": "x"},
            "errors:\n  .data: expected map, got &{q}\n  .immutable: expected boolean, got &{x}",
        ),
        (
            {"metadata": {"finalizers": ["a/b", "a/b"]}},
            '.metadata.finalizers: duplicate entries for key [="a/b"]',
        ),
    ],
)
async def test_what_does_not_fit_the_schema(
    place: Place, wire: Wire, body: JSON, message: str
) -> None:
    ref = await place.config_map("a")
    answer = await applied(wire, ref, "m", body)
    text = "failed to create typed patch object (/a; /v1, Kind=ConfigMap): "

    assert (answer.code, answer.reason) == (500, "")
    # The real server lists several in any order.
    assert sorted(answer.message.split("\n")) == sorted((text + message).split("\n"))


async def test_an_apply_with_an_old_version(place: Place, wire: Wire) -> None:
    ref = await place.config_map("a")
    body = {"metadata": {"resourceVersion": "1"}, "data": {"k": "1"}}
    answer = await applied(wire, ref, "m", body)

    assert (answer.code, answer.reason) == (409, "Conflict")
    assert "the object has been modified" in answer.message


async def test_an_apply_to_an_object_that_is_gone(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "gone")
    answer = await applied(wire, ref, "m", {"metadata": {"uid": "1"}})

    assert (answer.code, answer.reason) == (409, "Conflict")
    assert answer.message.endswith(
        "uid mismatch: the provided object specified uid 1, and no existing object was found"
    )


async def test_an_apply_with_another_name(place: Place, wire: Wire) -> None:
    ref = place.ref(CONFIG_MAPS, "a")
    answer = await applied(wire, ref, "m", {"metadata": {"name": "b"}})

    assert answer.code == 400
    assert answer.message == "the name of the object (b) does not match the name on the URL (a)"


async def test_an_applied_status_of_nothing(place: Place, wire: Wire) -> None:
    ref = NODES.ref(place.name("nothing"))
    answer = await wire.apply(ref, {"status": {}}, door="status", fieldManager="m")

    assert (answer.code, answer.reason) == (404, "NotFound")
