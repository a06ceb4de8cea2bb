"""What a client learns about the server before it does anything."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.http.client import AGGREGATED, Client
from unmoor.model.kinds import KINDS


async def plain(client: Client) -> dict[tuple[str, str], dict[str, Any]]:
    """Every resource, asked group by group."""
    found = {}
    groups = (await client.get("/apis")).body["groups"]
    versions = [("", "/api/v1")]
    versions += [
        (group["name"], f"/apis/{one['groupVersion']}")
        for group in groups
        for one in group["versions"]
    ]
    for group, path in versions:
        for one in (await client.get(path)).body["resources"]:
            found[group, one["name"]] = one
    return found


async def aggregated(client: Client) -> dict[tuple[str, str], dict[str, Any]]:
    """Every resource, asked at once; doors under the names that the plain form has."""
    found = {}
    for path in ("/api", "/apis"):
        answer = await client.get(path, f"{AGGREGATED},application/json")
        assert answer.headers["Content-Type"] == AGGREGATED
        for group, one in resources(answer.body):
            found[group, one["resource"]] = one
            for door in one.get("subresources", ()):
                found[group, f"{one['resource']}/{door['subresource']}"] = door
    return found


def resources(listing: Any) -> list[tuple[str, Any]]:
    return [
        (group["metadata"].get("name", ""), one)
        for group in listing["items"]
        for version in group["versions"]
        for one in version["resources"]
    ]


async def test_both_ways_of_asking_tell_the_same(client: Client) -> None:
    one, other = await plain(client), await aggregated(client)

    assert one.keys() == other.keys()
    for key, resource in one.items():
        assert resource["kind"] == other[key]["responseKind"]["kind"]
        assert resource["verbs"] == other[key]["verbs"]
        assert resource.get("shortNames") == other[key].get("shortNames")
        assert resource.get("categories") == other[key].get("categories")


@pytest.mark.parametrize("resource", KINDS.values(), ids=KINDS)
async def test_every_kind_of_ours_is_there(client: Client, resource: Any) -> None:
    found = (await plain(client))[resource.group, resource.plural]

    assert found["kind"] == resource.kind
    assert found["namespaced"] == resource.is_namespaced
    assert {"get", "list", "watch"} <= set(found["verbs"])
    assert (await client.get(resource.path())).code == 200


async def test_doors(client: Client) -> None:
    found = await plain(client)

    eviction = found["", "pods/eviction"]
    assert (eviction["group"], eviction["version"], eviction["kind"]) == (
        "policy",
        "v1",
        "Eviction",
    )
    assert found["apps", "deployments/scale"]["kind"] == "Scale"
    assert ("apps", "daemonsets/scale") not in found
    assert found["karpenter.sh", "machines/status"]["verbs"] == ["get", "patch", "update"]
    assert found["", "namespaces/finalize"]["verbs"] == ["update"]


async def test_events_are_there_under_two_names(client: Client) -> None:
    found = await plain(client)

    assert found["", "events"]["kind"] == found["events.k8s.io", "events"]["kind"] == "Event"


async def test_an_older_aggregated_form_and_the_plain_one(client: Client) -> None:
    old = AGGREGATED.replace("v=v2", "v=v2beta1")

    assert (await client.get("/apis", old)).body["apiVersion"] == "apidiscovery.k8s.io/v2beta1"
    assert (await client.get("/apis")).body["kind"] == "APIGroupList"
    assert (await client.get("/api")).body["versions"] == ["v1"]
    assert (await client.get("/apis/apps")).body["preferredVersion"]["version"] == "v1"


async def test_schemas_name_only_what_is_there(client: Client) -> None:
    index = (await client.get("/openapi/v3")).body["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/karpenter.sh/v1alpha5"} <= index.keys()
    for name, where in index.items():
        document = (await client.get(where["serverRelativeURL"])).body
        schemas = document["components"]["schemas"]
        missing = references(document) - schemas.keys()
        assert missing == set(), name
        for path, methods in document["paths"].items():
            assert methods, path


async def test_strict_validation_is_left_to_the_server(client: Client) -> None:
    document = (await client.get("/openapi/v3/apis/karpenter.sh/v1alpha5")).body
    patch = document["paths"]["/apis/karpenter.sh/v1alpha5/machines/{name}"]["patch"]

    assert "fieldValidation" in {one["name"] for one in patch["parameters"]}
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "Machine"


def references(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(references, value))
    if not isinstance(value, dict):
        return set()
    found = set().union(*map(references, value.values()))
    if isinstance(value.get("$ref"), str):
        found.add(value["$ref"].removeprefix("#/components/schemas/"))
    return found


async def test_all_paths_are_listed_at_the_root(client: Client) -> None:
    paths = (await client.get("/")).body["paths"]

    for path in paths:
        assert (await client.get(path)).code == 200, path
