"""How particular the embedded server is, by what it is told to be; and what that rests on."""

from datetime import UTC, datetime

import pytest

from unmoor.model.base import JSON, Ref
from unmoor.model.crds import machine
from unmoor.model.kinds import CONFIG_MAPS, DEPLOYMENTS, KINDS, MACHINES, PODS
from unmoor.runtime.ports import ApiError
from unmoor.sim.apiserver import BARE, EASY, FAITHFUL, Manners, Server, Terms
from unmoor.sim.apiserver.definitions import DEFINITIONS
from unmoor.sim.apiserver.fields.shape import ANY
from unmoor.sim.apiserver.forms import shape_of
from unmoor.sim.apiserver.rules import CUSTOM

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 2, 1, tzinfo=UTC)
CONFIG: JSON = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
REF = CONFIG_MAPS.ref("a", "default")


def server(manners: Manners = EASY) -> Server:
    return Server(lambda: NOW, seed=1, manners=manners)


def owners(obj: JSON) -> list[str]:
    return [entry["manager"] for entry in obj["metadata"].get("managedFields", [])]


def test_nobody_owns_anything_before_the_first_apply() -> None:
    ours = server()
    created = ours.create(REF, {**CONFIG, "data": {"a": "1"}}, terms=Terms(manager="c"))
    body = {**CONFIG, "data": {"b": "2"}}
    applied = ours.patch(REF, body, how="apply", terms=Terms(manager="m"))
    patched = ours.patch(REF, {"data": {"a": "3"}}, terms=Terms(manager="p"))

    assert owners(created) == []
    assert owners(applied) == ["m", "before-first-apply"]
    assert owners(patched) == ["m", "before-first-apply", "p"]


def test_owners_are_kept_from_the_beginning_when_asked_for() -> None:
    created = server(FAITHFUL).create(REF, CONFIG | {"data": {"a": "1"}}, terms=Terms(manager="c"))

    assert owners(created) == ["c"]


def test_wrong_types_are_stored_or_refused() -> None:
    labels = {"app": "a"}
    pod: JSON = {"containers": [{"name": "c", "image": "i"}]}
    template: JSON = {"metadata": {"labels": labels}, "spec": pod}
    spec: JSON = {"replicas": "many", "selector": {"matchLabels": labels}, "template": template}
    body = {"metadata": {"name": "a"}, "spec": spec}
    ref = DEPLOYMENTS.ref("a", "default")
    stored = server().create(ref, body)
    with pytest.raises(ApiError) as caught:
        server(FAITHFUL).create(ref, body)

    assert stored["spec"]["replicas"] == "many"
    assert caught.value.code == 400


def test_definitions_of_ours_are_shown_when_asked_for() -> None:
    listed = [len(server(one).list(DEFINITIONS).items) for one in (EASY, FAITHFUL, BARE)]

    assert listed == [0, 5, 0]


def test_a_bare_server_waits_for_definitions() -> None:
    ours = server(BARE)
    ref = MACHINES.ref("m")
    body = {"metadata": {"name": "m"}, "spec": {}}
    with pytest.raises(ApiError) as caught:
        ours.create(ref, body)
    ours.create(Ref(DEFINITIONS.kind, ""), machine())

    assert caught.value.code == 404
    assert ours.create(ref, body)["kind"] == "Machine"


def test_a_definition_of_ours_can_be_created_where_its_kind_is_served_already() -> None:
    ours = server()
    ours.create(MACHINES.ref("m"), {"metadata": {"name": "m"}, "spec": {}})
    ours.create(Ref(DEFINITIONS.kind, ""), machine())
    found = ours.get(Ref(DEFINITIONS.kind, "machines.karpenter.sh"))

    assert {one["type"]: one["status"] for one in found["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert ours.has(MACHINES.ref("m"))


def test_every_kind_has_a_schema() -> None:
    """If one has not: run hack/openapi_extract.py."""
    tables = server().store.tables
    without = [kind for kind in KINDS if shape_of(tables[kind]) is ANY]

    assert without == []


def test_our_own_kinds_follow_from_their_definitions() -> None:
    rules = {kind: table.rules for kind, table in server().store.tables.items()}

    assert rules["Machine"] == CUSTOM


def test_what_another_server_had_is_put_back_as_it_was() -> None:
    """Identity, times, owners and status stay; the version is the new server's."""
    first, second = server(FAITHFUL), Server(lambda: LATER, seed=2, manners=FAITHFUL)
    ref = PODS.ref("web", "default")
    spec: JSON = {"nodeName": "a", "containers": [{"name": "c", "image": "i"}]}
    first.create(ref, {"metadata": {"name": "web"}, "spec": spec})
    had = first.patch(ref, {"status": {"phase": "Running"}}, subresource="status")

    second.restore(ref, had)
    found = second.get(ref)

    assert found["status"]["phase"] == "Running"
    assert found["spec"] == had["spec"]
    for field in ("uid", "creationTimestamp", "generation", "managedFields"):
        assert found["metadata"][field] == had["metadata"][field]
    assert found["metadata"]["resourceVersion"] == second.version


@pytest.mark.parametrize(
    "broken",
    [
        {"spec": {"containers": "none"}},
        {"metadata": {"name": "no such name", "namespace": "default", "uid": "u"}},
        {"kind": "Node"},
    ],
    ids=["types", "name", "kind"],
)
def test_what_no_server_can_have_had_is_refused(broken: JSON) -> None:
    meta = {"name": "web", "namespace": "default", "uid": "u"}
    body = {"kind": "Pod", "metadata": meta, "spec": {"containers": []}}
    with pytest.raises(ApiError) as caught:
        server(FAITHFUL).restore(PODS.ref("web", "default"), {**body, **broken})

    assert caught.value.code in {400, 422}
