"""Every request that makes no sense gets a Status that says so, with the code a real server has."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sim.http.client import MAPS, Client, opened

MACHINES = "/apis/karpenter.sh/v1alpha5/machines"
PODS = "/api/v1/namespaces/default/pods"
MERGE = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
YAML = {"Content-Type": "application/yaml"}
PROTOBUF = {"Content-Type": "application/vnd.kubernetes.protobuf"}
LAUGHS = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(8)
)


def deep(depth: int) -> bytes:
    return b'{"data":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"


POSTS: dict[str, tuple[bytes, dict[str, str], int]] = {
    "no JSON": (b"hello", {}, 400),
    "nothing": (b"", {}, 400),
    "half": (b'{"metadata":', {}, 400),
    "too much": (b"{} {}", {}, 400),
    "a list": (b"[]", {}, 400),
    "a number": (b"5", {}, 400),
    "null": (b"null", {}, 400),
    "no text": (b'"\xff', {}, 400),
    "NaN": (b'{"metadata":{"name":"a"},"data":NaN}', {}, 400),
    "endless number": (b'{"metadata":{"name":"a","generation":1e999}}', {}, 400),
    "long number": (b'{"metadata":{"name":"a","generation":%s}}' % (b"9" * 400), {}, 400),
    "metadata list": (b'{"metadata":[]}', {}, 400),
    "metadata text": (b'{"metadata":"a"}', {}, 400),
    "metadata null": (b'{"metadata":null}', {}, 422),
    "name number": (b'{"metadata":{"name":5}}', {}, 400),
    "labels list": (b'{"metadata":{"name":"a","labels":[]}}', {}, 400),
    "label number": (b'{"metadata":{"name":"a","labels":{"x":5}}}', {}, 400),
    "owners text": (b'{"metadata":{"name":"a","ownerReferences":"x"}}', {}, 400),
    "owner text": (b'{"metadata":{"name":"a","ownerReferences":["x"]}}', {}, 400),
    "finalizer number": (b'{"metadata":{"name":"a","finalizers":[5]}}', {}, 400),
    "data list": (b'{"metadata":{"name":"a"},"data":[]}', {}, 400),
    "kind number": (b'{"kind":5}', {}, 400),
    "another kind": (b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}', {}, 400),
    "another version": (b'{"kind":"ConfigMap","apiVersion":"v7"}', {}, 400),
    "bad name": (b'{"metadata":{"name":"../a"}}', {}, 422),
    "deep": (deep(400), {}, 400),
    "bottomless": (b'{"data":' + b"[" * 100_000, {}, 400),
    "bottomless, whole": (deep(100_000), {}, 400),
    "text": (b"{}", {"Content-Type": "text/plain"}, 415),
    "a form": (b"a=b", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
    "a type that is none": (b"{}", {"Content-Type": "/;;="}, 415),
    "packed": (b"\x1f\x8b\x08", {"Content-Encoding": "gzip"}, 415),
    "laughs": (LAUGHS, YAML, 400),
    "bad YAML": (b"a: [", YAML, 400),
    "YAML with a set": (b"a: !!set {x}", YAML, 400),
    "YAML with an object": (b"a: !!python/object:os.system {}", YAML, 400),
    "YAML that is no text": (b"\xff\xfe\x00", YAML, 400),
    "deep YAML": (b"[" * 5000, YAML, 400),
    "no protobuf": (b"{}", PROTOBUF, 400),
    "half protobuf": (b"k8s\x00\x0a\xff", PROTOBUF, 400),
    "another kind in protobuf": (b"k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod", PROTOBUF, 400),
    "unknown in protobuf": (b"k8s\x00\x0a\x09\x0a\x02v1\x12\x03Foo", PROTOBUF, 400),
}


@pytest.mark.parametrize(("body", "headers", "code"), POSTS.values(), ids=POSTS)
async def test_what_cannot_be_created(
    client: Client, body: bytes, headers: dict[str, str], code: int
) -> None:
    answer = await client.send("POST", MAPS, body, headers)

    assert answer.code == code, answer.raw
    assert answer.reason
    assert (await client.get(MAPS)).body["items"] == []


async def test_what_is_too_big_is_not_read(client: Client) -> None:
    big = b'{"metadata":{"name":"a"},"data":{"a":"' + b"x" * 3_200_000 + b'"}}'

    answer = await client.send("POST", MAPS, big)

    assert (answer.code, answer.reason) == (413, "RequestEntityTooLarge")
    assert answer.message == "Request entity too large: limit is 3145728"


PATCHES: dict[str, tuple[bytes, dict[str, str], int]] = {
    "plain JSON": (b"{}", {"Content-Type": "application/json"}, 415),
    "no type": (b"{}", {"Content-Type": ""}, 415),
    "no JSON": (b"hello", MERGE, 400),
    "nothing": (b"", MERGE, 400),
    "a list": (b"[]", MERGE, 400),
    "null": (b"null", MERGE, 400),
    "deep": (deep(11_000), MERGE, 400),
    "metadata number": (b'{"metadata":5}', MERGE, 422),
    "kind number": (b'{"kind":5}', MERGE, 422),
    "another kind": (b'{"kind":"Pod"}', MERGE, 422),
    "another version": (b'{"apiVersion":"v7"}', MERGE, 422),
    "data number": (b'{"data":5}', MERGE, 422),
    "operations as an object": (b"{}", JSON_PATCH, 400),
    "operations of text": (b'["x"]', JSON_PATCH, 400),
    "no operation": (b"[{}]", JSON_PATCH, 422),
    "operation unknown": (b'[{"op":"fly","path":"/data"}]', JSON_PATCH, 422),
    "path number": (b'[{"op":"remove","path":5}]', JSON_PATCH, 422),
    "nothing there": (b'[{"op":"remove","path":"/data/x/y"}]', JSON_PATCH, 422),
    "all replaced": (b'[{"op":"replace","path":"","value":5}]', JSON_PATCH, 422),
    "bomb": (
        json.dumps([{"op": "add", "path": "/data", "value": {}}] * 10_001).encode(),
        JSON_PATCH,
        413,
    ),
    "strategic list": (b"[]", STRATEGIC, 400),
    # A real server answers these two with 500 and without a reason, too.
    "strategic directive": (b'{"metadata":{"$patch":"explode"}}', STRATEGIC, 500),
    "strategic order": (b'{"metadata":{"$setElementOrder/finalizers":5}}', STRATEGIC, 500),
    "strategic keys": (b'{"data":{"$retainKeys":5}}', STRATEGIC, 400),
    "apply without a kind": (b"{}", {**APPLY, "Accept": "application/json"}, 422),
}


@pytest.mark.parametrize(("body", "headers", "code"), PATCHES.values(), ids=PATCHES)
async def test_what_cannot_be_patched(
    client: Client, body: bytes, headers: dict[str, str], code: int
) -> None:
    await client.create(MAPS, "ConfigMap", "a", data={"k": "v"})

    answer = await client.send("PATCH", f"{MAPS}/a", body, headers)

    assert answer.code == code, answer.raw
    assert answer.body["kind"] == "Status"
    assert answer.body.get("reason") != "InternalError"
    assert (await client.get(f"{MAPS}/a")).body["data"] == {"k": "v"}


async def test_a_doubling_patch_stays_within_bounds(client: Client) -> None:
    await client.create(MAPS, "ConfigMap", "a", data={"k": "v"})
    doubling: list[Any] = [{"op": "add", "path": "/data/x", "value": "y" * 1000}]
    doubling += [{"op": "copy", "from": "/data", "path": f"/data/c{n}"} for n in range(60)]

    answer = await client.send(
        "PATCH", f"{MAPS}/a", doubling, {"Content-Type": "application/json-patch+json"}
    )

    assert answer.code // 100 == 4, answer.raw[:300]


QUERIES = {
    "limit=x": 400,
    "limit=99999999999999999999": 400,
    "limit=1_0": 400,
    "timeoutSeconds=1.5": 400,
    "resourceVersion=x": 400,
    "resourceVersion=-1": 400,
    "resourceVersion=%C2%B2": 400,
    "resourceVersion=99999999999999999999999999": 400,
    "resourceVersion=99999": 504,
    "resourceVersionMatch=Exact": 422,
    "resourceVersionMatch=Foo&resourceVersion=1": 422,
    "resourceVersionMatch=Exact&resourceVersion=0": 422,
    "sendInitialEvents=true": 422,
    "watch=1&sendInitialEvents=true": 422,
    "watch=1&resourceVersionMatch=NotOlderThan": 422,
    "labelSelector=a%20b": 400,
    "labelSelector=%00": 400,
    "fieldSelector=spec.color%3Dred": 400,
    "fieldSelector=a": 400,
    "continue=nonsense": 400,
    "continue=bnVsbA": 400,
    "continue=eyJsaXN0IjogMX0": 400,
}


@pytest.mark.parametrize(("query", "code"), QUERIES.items(), ids=QUERIES)
async def test_what_cannot_be_listed(client: Client, query: str, code: int) -> None:
    answer = await client.get(f"{MAPS}?{query}")

    assert answer.code == code, answer.raw
    assert answer.reason


@pytest.mark.parametrize(
    "query",
    ["dryRun=Some", "fieldManager=%01", "fieldManager=" + "x" * 129, "fieldValidation=Hard"],
)
async def test_options_that_are_none(client: Client, query: str) -> None:
    answer = await client.send("POST", f"{MAPS}?{query}", {"metadata": {"name": "a"}})

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert answer.message.startswith("CreateOptions.meta.k8s.io")


DELETIONS: dict[str, tuple[str, bytes, int]] = {
    "no JSON": ("", b"hello", 400),
    "a list": ("", b"[1]", 400),
    "another kind": ("", b'{"kind":"Pod","apiVersion":"v1"}', 400),
    "grace text": ("", b'{"gracePeriodSeconds":"x"}', 400),
    "grace bool": ("", b'{"gracePeriodSeconds":true}', 400),
    "preconditions list": ("", b'{"preconditions":[]}', 400),
    "uid number": ("", b'{"preconditions":{"uid":5}}', 400),
    "policy": ("", b'{"propagationPolicy":"Sometimes"}', 422),
    "dry run": ("", b'{"dryRun":["x"]}', 422),
    "dry run text": ("", b'{"dryRun":"All"}', 400),
    "policy number": ("", b'{"propagationPolicy":5}', 400),
    "grace query": ("?gracePeriodSeconds=x", b"", 400),
    "two policies": ("?orphanDependents=true&propagationPolicy=Foreground", b"", 422),
}


@pytest.mark.parametrize(("query", "body", "code"), DELETIONS.values(), ids=DELETIONS)
async def test_what_cannot_be_deleted(client: Client, query: str, body: bytes, code: int) -> None:
    await client.create(MAPS, "ConfigMap", "a")

    answer = await client.send("DELETE", f"{MAPS}/a{query}", body)

    assert answer.code == code, answer.raw
    assert (await client.get(f"{MAPS}/a")).code == 200


PATHS = {
    "/nowhere": 404,
    "/api/v2": 404,
    "/api/v1/foos": 404,
    "/api/v1//configmaps": 404,
    "/apis/apps": 200,
    "/apis/": 200,
    "/apis/nobody.example/v1": 404,
    "/apis/apps/v1/deployments/a/b/c/d": 404,
    "/api/v1/pods/a": 404,
    "/api/v1/namespaces/default/nodes": 404,
    "/api/v1/namespaces/default/configmaps/%FF": 404,
    "/api/v1/namespaces/default/configmaps/a%2Fb": 404,
    "/api/v1/namespaces/default/configmaps/%00": 404,
    "/api/v1/namespaces/%2e%2e/configmaps/a": 404,
    "/openapi/v3/apis/nobody/v1": 404,
}


@pytest.mark.parametrize(("path", "code"), PATHS.items(), ids=PATHS)
async def test_paths(client: Client, path: str, code: int) -> None:
    assert (await client.get(path)).code == code


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", MAPS),
        ("PATCH", MAPS),
        ("POST", f"{MAPS}/a"),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
        ("GET", f"{PODS}/a/eviction"),
        ("POST", f"{PODS}/a/status"),
        ("DELETE", f"{PODS}/a/status"),
        ("HEAD", MAPS),
        ("OPTIONS", MAPS),
        ("POST", "/apis"),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
    ],
)
async def test_methods_that_are_not_there(client: Client, method: str, path: str) -> None:
    answer = await client.send(method, path, {} if method in {"PUT", "PATCH", "POST"} else None)

    assert answer.code == 405


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "application/json;as=Foo;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v9;g=meta.k8s.io",
        "application/vnd.kubernetes.protobuf",
        "application/json;q=0",
    ],
)
async def test_forms_that_are_not_there(client: Client, accept: str) -> None:
    answer = await client.get(MAPS, accept)

    assert (answer.code, answer.reason) == (406, "NotAcceptable")


async def test_a_custom_object_says_what_it_is(client: Client) -> None:
    answer = await client.send("POST", MACHINES, {"metadata": {"name": "a"}})

    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert "Object 'Kind' is missing" in answer.message


async def test_half_a_character_becomes_the_sign_for_that(client: Client) -> None:
    body = b'{"metadata":{"name":"a"},"data":{"a":"\\ud800","b":"\xff","c":"\\ud83d\\ude00"}}'

    answer = await client.send("POST", MAPS, body)

    assert answer.code == 201
    assert answer.body["data"] == {"a": "\ufffd", "b": "\ufffd", "c": "\U0001f600"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "metadata",
                    "name",
                    "spec",
                    "labels",
                    "containers",
                    "status",
                    "x",
                    "$patch",
                    "kind",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
RESOURCES = (
    ("/api/v1/nodes", "Node"),
    (PODS, "Pod"),
    ("/apis/apps/v1/namespaces/default/deployments", "Deployment"),
    ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", "PodDisruptionBudget"),
    (MACHINES, "Machine"),
)
SPECS = ("spec", "status", "metadata")


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)
@given(data=st.data())
async def test_whatever_comes_is_answered(data: st.DataObject) -> None:
    async with opened() as client:
        path, kind = data.draw(st.sampled_from(RESOURCES))
        version = path.split("/")[2:4] if path.startswith("/apis") else ["v1"]
        body: Any = data.draw(VALUES)
        if isinstance(body, dict) and data.draw(st.booleans()):
            field = data.draw(st.sampled_from(SPECS))
            body = {"kind": kind, "apiVersion": "/".join(version), field: body}
            body.setdefault("metadata", {"name": "a"})
        headers = data.draw(st.sampled_from([MERGE, JSON_PATCH, STRATEGIC, {}]))
        method = data.draw(st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]))
        await client.send("POST", path, {"kind": kind, "apiVersion": "/".join(version)})
        target = path if method == "POST" else f"{path}/a"
        answer = await client.send(method, target, body, headers)
        listed = await client.get(path, "application/json;as=Table;v=v1;g=meta.k8s.io")

    assert answer.code != 500 or answer.reason != "InternalError", (method, body, answer.raw)
    assert listed.code == 200
