"""What becomes of objects of kinds that nobody acts on here: defaults, names, answers."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.contract.faces import Place
from tests.contract.wire import Wire
from unmoor.model.base import JSON
from unmoor.sim.stored import STORED

RBAC = "rbac.authorization.k8s.io"
GIVEN = "given out"
WEB: JSON = {"selector": {"app": "web"}}
ALWAYS: JSON = {
    "clusterIP": GIVEN,
    "clusterIPs": [GIVEN],
    "internalTrafficPolicy": "Cluster",
    "ipFamilies": ["IPv4"],
    "ipFamilyPolicy": "SingleStack",
    "sessionAffinity": "None",
    "type": "ClusterIP",
}
HEADLESS: JSON = {**ALWAYS, "clusterIP": "None", "clusterIPs": ["None"]}
OUTWARD: JSON = {**ALWAYS, "externalTrafficPolicy": "Cluster"}
PORT: JSON = {"port": 80, "protocol": "TCP", "targetPort": 80}
NO_BALANCER: JSON = {"status": {"loadBalancer": {}}}
ROLE: JSON = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
SUBJECTS: list[JSON] = [
    {"kind": "ServiceAccount", "name": "a", "namespace": "default"},
    {"kind": "User", "name": "alice"},
]
FULL_SUBJECTS = [SUBJECTS[0], {**SUBJECTS[1], "apiGroup": RBAC}]
BACKEND: JSON = {"service": {"name": "web", "port": {"number": 80}}}
LIMIT: JSON = {"type": "Container", "default": {"cpu": "2"}, "max": {"memory": "1Gi"}}
HARD: JSON = {"spec": {"hard": {"pods": "10"}}}

CASES: dict[str, tuple[str, JSON, JSON]] = {
    "service": (
        "Service",
        {"spec": {**WEB, "ports": [{"port": 80, "targetPort": "http"}]}},
        {"spec": {**ALWAYS, **WEB, "ports": [{**PORT, "targetPort": "http"}]}, **NO_BALANCER},
    ),
    "headless service": (
        "Service",
        {"spec": {**WEB, "clusterIP": "None", "ports": [{"port": 80}]}},
        {"spec": {**HEADLESS, **WEB, "ports": [PORT]}, **NO_BALANCER},
    ),
    "headless service of nobody": (
        "Service",
        {"spec": {"clusterIP": "None", "ports": [{"port": 80}]}},
        {
            "spec": {
                **HEADLESS,
                "ipFamilies": ["IPv4", "IPv6"],
                "ipFamilyPolicy": "RequireDualStack",
                "ports": [PORT],
            },
            **NO_BALANCER,
        },
    ),
    "node port": (
        "Service",
        {"spec": {"type": "NodePort", "ports": [{"port": 80}]}},
        {
            "spec": {**OUTWARD, "type": "NodePort", "ports": [{**PORT, "nodePort": GIVEN}]},
            **NO_BALANCER,
        },
    ),
    "load balancer": (
        "Service",
        {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}},
        {
            "spec": {
                **OUTWARD,
                "type": "LoadBalancer",
                "allocateLoadBalancerNodePorts": True,
                "ports": [{**PORT, "nodePort": GIVEN}],
            },
            **NO_BALANCER,
        },
    ),
    "external name": (
        "Service",
        {"spec": {"type": "ExternalName", "externalName": "example.com"}},
        {
            "spec": {
                "type": "ExternalName",
                "externalName": "example.com",
                "sessionAffinity": "None",
            },
            **NO_BALANCER,
        },
    ),
    "sticky service": (
        "Service",
        {"spec": {"sessionAffinity": "ClientIP", "ports": [{"port": 80}]}},
        {
            "spec": {
                **ALWAYS,
                "sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
                "ports": [PORT],
            },
            **NO_BALANCER,
        },
    ),
    "secret": (
        "Secret",
        {"stringData": {"a": "b"}, "data": {"c": "ZA=="}},
        {"data": {"a": "Yg==", "c": "ZA=="}, "type": "Opaque"},
    ),
    "typed secret": (
        "Secret",
        {"type": "a.b/c", "stringData": {"c": "x"}, "data": {"c": "ZA=="}},
        {"type": "a.b/c", "data": {"c": base64.b64encode(b"x").decode()}},
    ),
    "service account": (
        "ServiceAccount",
        {"imagePullSecrets": [{"name": "a"}]},
        {"imagePullSecrets": [{"name": "a"}]},
    ),
    "quota": ("ResourceQuota", HARD, {**HARD, "status": {}}),
    "limits": (
        "LimitRange",
        {"spec": {"limits": [{**LIMIT, "min": {"memory": "1Mi", "cpu": "1"}}, {"type": "Pod"}]}},
        {
            "spec": {
                "limits": [
                    {
                        "type": "Container",
                        "default": {"cpu": "2", "memory": "1Gi"},
                        "defaultRequest": {"cpu": "2", "memory": "1Gi"},
                        "max": {"memory": "1Gi"},
                        "min": {"memory": "1Mi", "cpu": "1"},
                    },
                    {"type": "Pod"},
                ]
            }
        },
    ),
    "role": ("Role", ROLE, ROLE),
    "cluster role": ("ClusterRole", ROLE, ROLE),
    "binding": (
        "RoleBinding",
        {"roleRef": {"kind": "Role", "name": "a", "apiGroup": RBAC}, "subjects": SUBJECTS},
        {"roleRef": {"kind": "Role", "name": "a", "apiGroup": RBAC}, "subjects": FULL_SUBJECTS},
    ),
    "cluster binding": (
        "ClusterRoleBinding",
        {"roleRef": {"kind": "ClusterRole", "name": "a", "apiGroup": ""}, "subjects": SUBJECTS},
        {
            "roleRef": {"kind": "ClusterRole", "name": "a", "apiGroup": RBAC},
            "subjects": FULL_SUBJECTS,
        },
    ),
    "ingress": (
        "Ingress",
        {"spec": {"defaultBackend": BACKEND}},
        {"spec": {"defaultBackend": BACKEND}, **NO_BALANCER},
    ),
    "ingress class": (
        "IngressClass",
        {"spec": {"controller": "example.com/a"}},
        {"spec": {"controller": "example.com/a"}},
    ),
    "network policy": (
        "NetworkPolicy",
        {"spec": {"podSelector": {}}},
        {"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}},
    ),
    "network policy outward": (
        "NetworkPolicy",
        {"spec": {"podSelector": {}, "egress": [{"ports": [{"port": 53}]}]}},
        {
            "spec": {
                "podSelector": {},
                "policyTypes": ["Ingress", "Egress"],
                "egress": [{"ports": [{"port": 53, "protocol": "TCP"}]}],
            }
        },
    ),
    "runtime class": (
        "RuntimeClass",
        {"handler": "kata", "overhead": {"podFixed": {"cpu": "100m"}}},
        {"handler": "kata", "overhead": {"podFixed": {"cpu": "100m"}}},
    ),
}
"""What it is, its kind, what is created, and what is kept."""
COUNTED = {"Ingress", "IngressClass", "NetworkPolicy"}
RETURNED = {"Service", "ServiceAccount", "ResourceQuota"}


@pytest.fixture
def wire(place: Place) -> Wire:
    return Wire.of(place)


def shown(obj: JSON) -> JSON:
    """Without metadata, and without what no two servers give out alike."""
    return {
        name: _given(one)
        for name, one in obj.items()
        if name not in {"apiVersion", "kind", "metadata"}
    }


def _given(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _given(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_given(one, name) for one in value]
    return GIVEN if name in {"clusterIP", "clusterIPs", "nodePort"} and value != "None" else value


@pytest.mark.parametrize("case", CASES)
async def test_what_is_kept_and_what_a_deletion_answers(
    case: str, place: Place, wire: Wire
) -> None:
    kind, given, kept = CASES[case]
    resource = STORED[kind]
    ref = place.ref(resource, place.name("one"))
    made = await wire.create(
        resource, {"metadata": {"name": ref.name}, **given}, namespace=ref.namespace
    )
    found = await wire.get(ref)
    gone = await wire.delete(ref)

    assert made.code == 201, made
    assert shown(made.body) == kept
    assert shown(found.body) == kept
    assert found.body["metadata"].get("generation") == (1 if kind in COUNTED else None)
    assert gone.body["kind"] == (kind if kind in RETURNED else "Status")
    assert (await wire.get(ref)).code == 404


def service(*ports: JSON, **spec: Any) -> JSON:
    return {"metadata": {"name": "web"}, "spec": {"ports": list(ports), **spec}}


async def test_a_service_keeps_its_address_and_its_ports(place: Place, wire: Wire) -> None:
    ref = place.ref(STORED["Service"], "web")
    body = service({"port": 80}, type="NodePort")
    made = (await wire.create(STORED["Service"], body, namespace=ref.namespace)).body["spec"]
    replaced = (await wire.replace(ref, body)).body["spec"]
    narrower = (await wire.patch(ref, {"spec": {"type": "ClusterIP"}})).body["spec"]
    wider = (await wire.patch(ref, {"spec": {"type": "NodePort"}})).body["spec"]

    assert replaced == made
    assert narrower["clusterIP"] == made["clusterIP"]
    assert "nodePort" not in narrower["ports"][0]
    assert 30_000 <= wider["ports"][0]["nodePort"] < 32_768


async def test_each_port_of_a_service_has_a_node_port_of_its_own(place: Place, wire: Wire) -> None:
    body = service({"name": "a", "port": 80}, {"name": "b", "port": 81}, type="NodePort")
    made = await wire.create(STORED["Service"], body, namespace=place.namespace)

    assert len({one["nodePort"] for one in made.body["spec"]["ports"]}) == 2


async def test_a_service_keeps_an_address_that_a_client_chose(place: Place, wire: Wire) -> None:
    ref = place.ref(STORED["Service"], "web")
    body = service({"port": 80})
    free = (await wire.create(STORED["Service"], body, namespace=ref.namespace)).body["spec"]
    await wire.delete(ref)
    chosen = service({"port": 80}, clusterIP=free["clusterIP"])
    await wire.create(STORED["Service"], chosen, namespace=ref.namespace)
    kept = (await wire.replace(ref, body)).body["spec"]

    assert kept["clusterIP"] == free["clusterIP"]


async def test_ports_of_a_service_merge_by_number(place: Place, wire: Wire) -> None:
    ref = place.ref(STORED["Service"], "web")
    body = service({"name": "a", "port": 80})
    await wire.create(STORED["Service"], body, namespace=ref.namespace)
    patch = {"spec": {"ports": [{"name": "b", "port": 81}]}}
    found = await wire.patch(ref, patch, how="strategic")

    assert sorted(one["port"] for one in found.body["spec"]["ports"]) == [80, 81]


@pytest.mark.parametrize(
    ("kind", "name", "is_taken"),
    [
        ("ClusterRole", "system:{}", True),
        ("Role", "Upper:{}", True),
        ("ClusterRole", "half%{}", False),
        ("Secret", "system:{}", False),
        ("NetworkPolicy", "Upper{}", False),
    ],
)
async def test_names(kind: str, name: str, is_taken: bool, place: Place, wire: Wire) -> None:  # noqa: FBT001
    ref = place.ref(STORED[kind], name.format(place.unique))
    body = {"metadata": {"name": ref.name}, **ROLE}
    if kind == "NetworkPolicy":
        body = {"metadata": {"name": ref.name}, "spec": {"podSelector": {}}}
    made = await wire.create(STORED[kind], body, namespace=ref.namespace, dryRun="All")

    assert made.code == (201 if is_taken else 422), made.message


@pytest.mark.parametrize("kind", STORED)
async def test_a_put_makes_some_that_are_not_there(kind: str, place: Place, wire: Wire) -> None:
    given = next(one for found, one, _ in CASES.values() if found == kind)
    ref = place.ref(STORED[kind], place.name("put"))
    made = await wire.replace(ref, {"metadata": {"name": ref.name}, **given}, dryRun="All")

    is_made = kind in {"Service", "LimitRange", "RuntimeClass"} or STORED[kind].group == RBAC
    assert made.code in ({200, 201} if is_made else {404}), made
