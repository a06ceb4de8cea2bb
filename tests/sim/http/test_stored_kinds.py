"""How kinds look that are only stored: names, doors and columns, as a real server has them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.http.client import TABLE, Client
from tests.sim.http.test_discovery import plain
from unmoor.model.base import JSON
from unmoor.model.kinds import Resource
from unmoor.sim.stored import STORED

RBAC = "rbac.authorization.k8s.io"
ROLE_REF: JSON = {"kind": "Role", "name": "reader", "apiGroup": RBAC}
SUBJECTS: list[JSON] = [
    {"kind": "ServiceAccount", "name": "a", "namespace": "ns"},
    {"kind": "User", "name": "alice"},
    {"kind": "Group", "name": "team"},
]
HTTP: JSON = {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"resource": {}}}]}
EXPRESSION: JSON = {"key": "tier", "operator": "In", "values": ["b", "a"]}
SELECTOR: JSON = {"matchLabels": {"app": "web"}, "matchExpressions": [EXPRESSION]}
SERVICE = ["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector"]
BINDING = ["Name", "Role", "Age", "Users", "Groups", "ServiceAccounts"]
INGRESS = ["Name", "Class", "Hosts", "Address", "Ports", "Age"]
CREATED = ["Name", "Created At"]
AT = "2026-03-01T12:00:00Z"
ROWS: list[tuple[str, JSON, list[str], list[Any]]] = [
    (
        "Service",
        {"spec": {"clusterIP": "10.96.0.1", "selector": {"a": "b"}, "ports": [{"port": 80}]}},
        SERVICE,
        ["one", "ClusterIP", "10.96.0.1", "<none>", "80/TCP", "0s", "a=b"],
    ),
    (
        "Service",
        {
            "spec": {
                "type": "LoadBalancer",
                "clusterIP": "10.96.0.1",
                "ports": [{"port": 80, "nodePort": 30080}, {"port": 53, "protocol": "UDP"}],
                "allocateLoadBalancerNodePorts": False,
            }
        },
        SERVICE,
        ["one", "LoadBalancer", "10.96.0.1", "<pending>", "80:30080/TCP,53/UDP", "0s", "<none>"],
    ),
    (
        "Service",
        {"spec": {"type": "ExternalName", "externalName": "example.com"}},
        SERVICE,
        ["one", "ExternalName", "<none>", "example.com", "<none>", "0s", "<none>"],
    ),
    (
        "Secret",
        {"stringData": {"a": "1", "b": "2"}},
        ["Name", "Type", "Data", "Age"],
        ["one", "Opaque", 2, "0s"],
    ),
    ("ServiceAccount", {}, ["Name", "Age"], ["one", "0s"]),
    (
        "ResourceQuota",
        {"spec": {"hard": {"pods": "1"}}},
        ["Name", "Request", "Limit", "Age"],
        ["one", "", "", "0s"],
    ),
    ("LimitRange", {"spec": {"limits": []}}, CREATED, ["one", AT]),
    ("Role", {"rules": []}, CREATED, ["one", AT]),
    ("ClusterRole", {"rules": []}, CREATED, ["one", AT]),
    (
        "RoleBinding",
        {"roleRef": ROLE_REF, "subjects": SUBJECTS},
        BINDING,
        ["one", "Role/reader", "0s", "alice", "team", "ns/a"],
    ),
    (
        "ClusterRoleBinding",
        {"roleRef": ROLE_REF},
        BINDING,
        ["one", "Role/reader", "0s", "", "", ""],
    ),
    (
        "Ingress",
        {"spec": {"rules": [{"http": HTTP}]}},
        INGRESS,
        ["one", "<none>", "*", "", "80", "0s"],
    ),
    (
        "Ingress",
        {
            "spec": {
                "ingressClassName": "c",
                "tls": [{}],
                "rules": [{"host": host, "http": HTTP} for host in ("a.b", "b.b", "c.b", "d.b")],
            }
        },
        INGRESS,
        ["one", "c", "a.b,b.b,c.b + 1 more...", "", "80, 443", "0s"],
    ),
    (
        "IngressClass",
        {"spec": {"controller": "a.b/c", "parameters": {"kind": "P", "name": "p"}}},
        ["Name", "Controller", "Parameters", "Age"],
        ["one", "a.b/c", "P/p", "0s"],
    ),
    (
        "NetworkPolicy",
        {"spec": {"podSelector": SELECTOR}},
        ["Name", "Pod-Selector", "Age"],
        ["one", "app=web,tier in (a,b)", "0s"],
    ),
    ("RuntimeClass", {"handler": "kata"}, ["Name", "Handler", "Age"], ["one", "kata", "0s"]),
]
SHORT = {
    "Service": ["svc"],
    "ServiceAccount": ["sa"],
    "ResourceQuota": ["quota"],
    "LimitRange": ["limits"],
    "Ingress": ["ing"],
    "NetworkPolicy": ["netpol"],
}


def collection(resource: Resource[Any]) -> str:
    return resource.path("default")


@pytest.mark.parametrize(("kind", "body", "columns", "cells"), ROWS)
async def test_columns(
    kind: str, body: JSON, columns: list[str], cells: list[Any], client: Client
) -> None:
    path = collection(STORED[kind])
    api_version = STORED[kind].api_version
    whole = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "one"}, **body}
    made = await client.send("POST", path, whole)
    table = (await client.get(path, TABLE)).body

    assert made.code == 201, made.raw
    assert [one["name"] for one in table["columnDefinitions"]] == columns
    assert [row["cells"] for row in table["rows"]] == [cells]


async def test_what_a_quota_counts_is_shown(client: Client) -> None:
    """Somebody else may count."""
    path = collection(STORED["ResourceQuota"])
    await client.create(path, "ResourceQuota", "one", spec={"hard": {"pods": "1"}})
    status = {"hard": {"pods": "1", "limits.cpu": "2"}, "used": {"limits.cpu": "1"}}
    found = (await client.get(f"{path}/one")).body
    await client.send("PUT", f"{path}/one/status", {**found, "status": status})
    table = (await client.get(path, TABLE)).body

    assert table["rows"][0]["cells"][1:3] == ["pods: 0/1", "limits.cpu: 1/2"]


@pytest.mark.parametrize("resource", STORED.values(), ids=STORED)
async def test_names_and_verbs(resource: Resource[Any], client: Client) -> None:
    found = await plain(client)
    one = found[resource.group, resource.plural]

    assert one["singularName"] == resource.kind.lower()
    assert one["namespaced"] == resource.is_namespaced
    assert len(one["verbs"]) == 8
    assert one.get("shortNames", []) == SHORT.get(resource.kind, [])
    assert one.get("categories", []) == (["all"] if resource.kind == "Service" else [])
    has_status = (resource.group, f"{resource.plural}/status") in found
    assert has_status == (resource.kind in {"Service", "ResourceQuota", "Ingress"})


async def test_two_services_do_not_get_the_same(client: Client) -> None:
    path = collection(STORED["Service"])
    for name in ("a", "b", "c"):
        spec = {"type": "NodePort", "ports": [{"port": 80}, {"port": 81}]}
        await client.create(path, "Service", name, spec=spec)
    specs = [one["spec"] for one in (await client.get(path)).body["items"]]

    assert len({one["clusterIP"] for one in specs}) == 3
    assert len({port["nodePort"] for one in specs for port in one["ports"]}) == 6


async def test_what_was_given_as_text_is_not_shown_as_text(client: Client) -> None:
    path = collection(STORED["Secret"])
    await client.send(
        "POST", path, {"apiVersion": "v1", "metadata": {"name": "a"}, "stringData": {"k": "said"}}
    )

    assert b"said" not in (await client.get(f"{path}/a")).raw
