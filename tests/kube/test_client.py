"""What goes over the wire for each verb, and what is made of the answer."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.kube.server import (
    ManualClock,
    Seen,
    Server,
    listing,
    node,
    refuses,
    says,
)
from unmoor import __version__
from unmoor.kube.auth import Basic, Secret, Token, TokenFile
from unmoor.kube.client import ClientSettings, KubeApi
from unmoor.model.kinds import BUDGETS, LEASES, MACHINES, NODES, PODS
from unmoor.runtime.ports import Api, ApiError, DeleteOptions, PatchType, Query, Unreachable

POD = PODS.ref("cart-0", "shop", uid="u1")


async def seen_of(server: Server, **config: Any) -> Seen:
    """One GET, as it arrives."""
    server.answers.append(says(200, node("a")))
    async with server.api(**config) as api:
        await api.get(NODES.ref("a"))
    return server.seen[-1]


def test_it_is_the_port() -> None:
    port: type[Api] = KubeApi

    assert port is KubeApi


async def test_a_list_is_asked_for_in_pages() -> None:
    first, last = listing(node("a"), **{"continue": "t1"}), listing(node("b"))
    async with Server(says(200, first), says(200, last)) as server, server.api() as api:
        query = Query(namespace="shop", labels="app=web,tier!=x", fields="spec.nodeName=a")
        page = await api.list(PODS, query, limit=1)
        await api.list(PODS, query, limit=1, after=page.next)

    selection = {"labelSelector": "app=web,tier!=x", "fieldSelector": "spec.nodeName=a"}
    assert [(seen.method, seen.path) for seen in server.seen] == [
        ("GET", "/api/v1/namespaces/shop/pods")
    ] * 2
    assert [seen.query for seen in server.seen] == [
        {"limit": "1", **selection},
        {"limit": "1", "continue": "t1", **selection},
    ]


async def test_a_list_of_everything_asks_for_everything() -> None:
    async with Server(says(200, listing())) as server, server.api() as api:
        page = await api.list(MACHINES)

    assert (server.seen[0].path, server.seen[0].query) == (
        "/apis/karpenter.sh/v1alpha5/machines",
        {},
    )
    assert page.resource_version == "9"


async def test_headers_say_who_we_are_and_want_nothing_compressed() -> None:
    async with Server() as server:
        seen = await seen_of(server)

    assert seen.headers["User-Agent"] == f"unmoor/{__version__}"
    assert seen.headers["Accept"] == "application/json"
    assert seen.headers["Accept-Encoding"] == "identity"
    assert "Authorization" not in seen.headers


async def test_create_names_the_collection_or_the_subresource() -> None:
    async with Server() as server, server.api() as api:
        made = {"metadata": {"name": "x", "namespace": "kube-system"}}
        server.answers.append(says(201, made))
        server.otherwise = says(201, {"kind": "Status", "status": "Success"})
        await api.create(LEASES.ref("x", "kube-system"), {"metadata": {"name": "x"}})
        await api.create(POD, {"kind": "Eviction"}, subresource="eviction")
        await api.create(POD, {"kind": "Binding"}, subresource="binding", dry_run=True)

    assert [(seen.method, seen.path, seen.body) for seen in server.seen] == [
        (
            "POST",
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
            {"metadata": {"name": "x"}},
        ),
        ("POST", "/api/v1/namespaces/shop/pods/cart-0/eviction", {"kind": "Eviction"}),
        ("POST", "/api/v1/namespaces/shop/pods/cart-0/binding", {"kind": "Binding"}),
    ]
    assert [seen.query for seen in server.seen] == [
        {"fieldManager": "unmoor"},
        {"fieldManager": "unmoor"},
        {"fieldManager": "unmoor", "dryRun": "All"},
    ]
    assert {seen.headers["Content-Type"] for seen in server.seen} == {"application/json"}


@pytest.mark.parametrize(
    ("how", "content_type", "query"),
    [
        ("merge", "application/merge-patch+json", {}),
        ("strategic", "application/strategic-merge-patch+json", {}),
        ("json", "application/json-patch+json", {}),
        ("apply", "application/apply-patch+yaml", {"force": "true"}),
    ],
)
async def test_patch_says_how(how: PatchType, content_type: str, query: dict[str, str]) -> None:
    async with Server() as server, server.api() as api:
        server.otherwise = says(200, node("a"))
        await api.patch(NODES.ref("a"), {"spec": {}}, how=how)
        await api.patch(NODES.ref("a"), {}, how=how, subresource="status", dry_run=True)

    assert [(seen.method, seen.path) for seen in server.seen] == [
        ("PATCH", "/api/v1/nodes/a"),
        ("PATCH", "/api/v1/nodes/a/status"),
    ]
    assert {seen.headers["Content-Type"] for seen in server.seen} == {content_type}
    assert server.seen[0].query == {"fieldManager": "unmoor"} | query
    assert server.seen[1].query == {"fieldManager": "unmoor", "dryRun": "All"} | query


async def test_replace_puts_the_whole_object() -> None:
    async with Server(says(200, node("a"))) as server, server.api() as api:
        answer = await api.replace(NODES.ref("a"), {"spec": {}}, subresource="status")

    assert (server.seen[0].method, server.seen[0].path) == ("PUT", "/api/v1/nodes/a/status")
    assert answer == node("a")


@pytest.mark.parametrize(
    ("options", "body"),
    [
        (DeleteOptions(), {}),
        (DeleteOptions(grace_s=0), {"gracePeriodSeconds": 0}),
        (DeleteOptions(propagation="Foreground"), {"propagationPolicy": "Foreground"}),
        (DeleteOptions(dry_run=True), {"dryRun": ["All"]}),
        (DeleteOptions(uid="u1"), {"preconditions": {"uid": "u1"}}),
        (
            DeleteOptions(uid="u1", resource_version="7"),
            {"preconditions": {"uid": "u1", "resourceVersion": "7"}},
        ),
    ],
)
async def test_delete_carries_its_options_in_the_body(
    options: DeleteOptions, body: dict[str, Any]
) -> None:
    done = {"kind": "Status", "status": "Success"}
    async with Server(says(200, done)) as server, server.api() as api:
        assert await api.delete(POD, options) == done

    assert server.seen[0].path == "/api/v1/namespaces/shop/pods/cart-0"
    assert server.seen[0].body == {"apiVersion": "v1", "kind": "DeleteOptions"} | body


async def test_a_server_may_live_under_a_path() -> None:
    async with Server(says(200, listing())) as server, server.api(path="/clusters/c-1") as api:
        await api.list(BUDGETS)

    assert server.seen[0].path == "/clusters/c-1/apis/policy/v1/poddisruptionbudgets"


# ------------------------------------------------------------------------------------ credentials


@pytest.mark.parametrize(
    ("auth", "header"),
    [
        (Token(Secret("t0ken")), "Bearer t0ken"),
        (Basic("ann", Secret("pass")), "Basic YW5uOnBhc3M="),
    ],
)
async def test_credentials_are_sent_with_each_request(auth: Any, header: str) -> None:
    async with Server() as server:
        seen = await seen_of(server, auth=auth)

    assert seen.headers["Authorization"] == header


async def test_a_token_file_is_read_again_after_a_while(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", ManualClock()
    file.write_text("first\n")
    async with Server() as server, server.api(clock=clock, auth=TokenFile(file)) as api:
        server.otherwise = says(200, node("a"))
        for elapsed_s in (0, 59, 61, 200):
            clock.elapsed_s = elapsed_s
            await api.get(NODES.ref("a"))
            if elapsed_s == 0:
                file.write_text("second\n")
            if elapsed_s == 61:
                file.unlink()  # in the middle of being replaced

    assert [seen.headers["Authorization"] for seen in server.seen] == [
        "Bearer first",
        "Bearer first",
        "Bearer second",
        "Bearer second",
    ]


async def test_after_a_401_a_rotated_token_is_tried_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    no = refuses(401, "Unauthorized", "Unauthorized")
    async with Server() as server, server.api(auth=TokenFile(file)) as api:
        server.otherwise = says(200, node("a"))
        await api.get(NODES.ref("a"))
        file.write_text("new")
        server.answers.extend([no, says(201, node("a"))])

        await api.create(NODES.ref("a"), {"metadata": {"name": "a"}})

    first, rejected, repeated = server.seen
    assert first.headers["Authorization"] == rejected.headers["Authorization"] == "Bearer old"
    assert repeated.headers["Authorization"] == "Bearer new"
    assert repeated.body == rejected.body == {"metadata": {"name": "a"}}


@pytest.mark.parametrize("rotated", [True, False])
async def test_a_second_401_is_final(tmp_path: Path, rotated: bool) -> None:  # noqa: FBT001
    file = tmp_path / "token"
    file.write_text("old")
    async with Server() as server, server.api(auth=TokenFile(file)) as api:
        server.otherwise = says(200, node("a"))
        await api.get(NODES.ref("a"))
        server.otherwise = refuses(401, "Unauthorized")
        if rotated:
            file.write_text("new")

        with pytest.raises(ApiError, match="401 Unauthorized"):
            await api.get(NODES.ref("a"))

    assert len(server.seen) == (3 if rotated else 2)


async def test_a_fixed_token_is_not_tried_twice() -> None:
    no = refuses(401, "Unauthorized")
    async with Server(no) as server, server.api(auth=Token(Secret("t"))) as api:
        with pytest.raises(ApiError):
            await api.get(NODES.ref("a"))

    assert len(server.seen) == 1


async def test_without_a_readable_token_nothing_is_sent(tmp_path: Path) -> None:
    async with Server() as server, server.api(auth=TokenFile(tmp_path / "none")) as api:
        with pytest.raises(Unreachable, match=r"token file .*none: No such file"):
            await api.get(NODES.ref("a"))

    assert server.seen == []


async def test_a_redirect_is_not_followed_with_our_token() -> None:
    away = says(302, b"", headers={"Location": "http://127.0.0.1:1/"})
    async with Server(away) as server, server.api(auth=Token(Secret("t"))) as api:
        with pytest.raises(Unreachable, match="something before it: 302"):
            await api.get(NODES.ref("a"))


# ------------------------------------------------------------------------------------------ pace


async def test_a_burst_is_sent_at_once_and_the_rest_at_its_rate() -> None:
    clock, settings = ManualClock(), ClientSettings(rate_per_s=10, burst=3)
    async with Server() as server, server.api(clock=clock, settings=settings) as api:
        server.otherwise = says(200, node("a"))
        for _ in range(5):
            await api.get(NODES.ref("a"))

    assert clock.naps == [pytest.approx(0.1)] * 2


async def test_the_wait_for_our_turn_is_not_the_servers_fault() -> None:
    settings = ClientSettings(rate_per_s=0.001, burst=1, timeout_s=1)
    async with Server() as server, server.api(settings=settings) as api:
        server.otherwise = says(200, node("a"))

        await asyncio.gather(*(api.get(NODES.ref("a")) for _ in range(3)))

    assert len(server.seen) == 3


async def test_a_client_is_usable_again_after_close() -> None:
    async with Server() as server:
        server.otherwise = says(200, node("a"))
        api = server.api()
        for _ in range(2):
            await api.get(NODES.ref("a"))
            await api.close()
        await api.close()

    assert len(server.seen) == 2


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a/b", "../../../api/v1/nodes/b", "a%2fb", "a\n", "a\udcff", "a" * 70_000],
    ids=lambda name: ascii(name[:30]),
)
async def test_no_name_leads_anywhere_else(name: str) -> None:
    """Names come from annotations and provider ids, so anybody may have written them."""
    async with Server() as server, server.api() as api:
        machine, pod = MACHINES.ref(name), PODS.ref(name, "shop")
        for ref, call in (
            (machine, api.get(machine)),
            (machine, api.delete(machine)),
            (machine, api.patch(machine, {})),
            (machine, api.replace(machine, {})),
            (pod, api.create(pod, {}, subresource="eviction")),
        ):
            with pytest.raises(ApiError, match="404 NotFound") as caught:
                await call
            assert len(str(caught.value)) < 300
            # Nobody need be asked: what cannot bear the name, is not there.
            assert caught.value.is_absence_of(ref)

        if name:
            with pytest.raises(ApiError, match="404 NotFound"):
                await api.list(PODS, Query(namespace=name))

    assert server.seen == []


async def test_odd_letters_of_a_name_stay_in_the_path() -> None:
    async with Server(says(200, node("a?b=c#d e"))) as server, server.api() as api:
        await api.get(NODES.ref("a?b=c#d e"))

    assert (server.seen[0].path, server.seen[0].query) == ("/api/v1/nodes/a?b=c#d e", {})
