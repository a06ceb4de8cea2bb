"""What comes from somebody else, or was meant for another question, is no answer."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tests.kube.raw import Raw, answer
from tests.kube.server import IMPATIENT, Server, event, listing, node, says, sends, status
from unmoor.kube.auth import Secret, Token
from unmoor.kube.client import ClientSettings
from unmoor.model.kinds import NODES, PODS
from unmoor.runtime.ports import ApiError, Unreachable

A, B = NODES.ref("a"), NODES.ref("b")
POD = PODS.ref("cart-0", "shop")
PATIENCE_S = 10.0

# -------------------------------------------------------------------------------- mixed up answers

VERBS: dict[str, Any] = {
    "get": lambda api: api.get(A),
    "create": lambda api: api.create(A, {"metadata": {"name": "a"}}),
    "replace": lambda api: api.replace(A, {}),
    "patch": lambda api: api.patch(A, {}),
    "patch of the status": lambda api: api.patch(A, {}, subresource="status"),
    "delete": lambda api: api.delete(A),
}
SOMETHING_ELSE: dict[str, Any] = {
    "nothing": {},
    "a page of a portal": {"login": "required"},
    "another object": node("b"),
    "of another kind": node("a") | {"kind": "Pod"},
    "of a namespace": {"metadata": {"name": "a", "namespace": "shop"}},
    "odd metadata": {"metadata": [1]},
    "a list": listing(node("a")) | {"kind": "NodeList"},
    "a failure": status(404, "NotFound"),
}


@pytest.mark.parametrize("what", SOMETHING_ELSE)
@pytest.mark.parametrize("verb", VERBS)
async def test_an_answer_about_something_else_tells_nothing(verb: str, what: str) -> None:
    async with Server(says(200, SOMETHING_ELSE[what])) as server, server.api() as api:
        with pytest.raises(Unreachable, match=r"^(GET|POST|PUT|PATCH|DELETE) /api/v1/nodes.*: "):
            await VERBS[verb](api)


@pytest.mark.parametrize("kind", [{}, {"kind": "Node"}])
@pytest.mark.parametrize("verb", VERBS)
async def test_an_answer_about_what_was_asked_is_believed(verb: str, kind: dict[str, str]) -> None:
    async with Server(says(200, node("a") | kind)) as server, server.api() as api:
        assert await VERBS[verb](api) == node("a") | kind


async def test_a_name_that_the_server_made_is_believed() -> None:
    body = {"metadata": {"generateName": "a-"}}
    async with Server(says(201, node("a-x7k2p"))) as server, server.api() as api:
        assert (await api.create(A, body))["metadata"]["name"] == "a-x7k2p"


@pytest.mark.parametrize("subresource", ["eviction", "binding"])
async def test_a_success_without_an_object_answers_what_makes_none(subresource: str) -> None:
    done = {"kind": "Status", "metadata": {}, "status": "Success"}
    async with Server(says(201, done)) as server, server.api() as api:
        assert await api.create(POD, {}, subresource=subresource) == done


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (listing(node("a")) | {"kind": "PodList"}, "a list of Node was asked for, and a PodList"),
        (listing() | {"kind": "MachineList"}, "a list of Node was asked for, and a MachineList"),
        (listing(node("odd", spec=7)) | {"kind": "PodList"}, "and a PodList came"),
        (listing(version=""), "as of which version"),
        ({"items": []}, "as of which version"),
    ],
)
async def test_a_list_that_is_not_the_one_is_not_believed(body: Any, said: str) -> None:
    async with Server(says(200, body)) as server, server.api() as api:
        with pytest.raises(Unreachable, match=said):
            await api.list(NODES)


@pytest.mark.parametrize("kind", ["NodeList", "List"])
async def test_a_list_of_the_kind_is_believed(kind: str) -> None:
    body = listing(node("a")) | {"kind": kind}
    async with Server(says(200, body)) as server, server.api() as api:
        assert len((await api.list(NODES)).items) == 1


@pytest.mark.parametrize("first", [True, False])
async def test_a_watch_of_another_kind_is_not_believed(*, first: bool) -> None:
    odd = {"spec": 7} if first else {}
    pod = event("ADDED", node("a") | {"kind": "Pod"} | odd)
    async with Server(sends(pod)) as server, server.api() as api:
        with pytest.raises(Unreachable, match="a watch of Node was asked for, and a Pod came"):
            await anext(api.watch(NODES, since="1"))


# ---------------------------------------------------------------------------- what nobody asked for


GOODBYE = answer(b"<html>Request Time-out</html>", 408)
UNASKED = {
    "a good-bye": GOODBYE,
    "the same again": answer(node("a")),
    "the begin of something": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{",
}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("what", UNASKED)
async def test_what_nobody_asked_for_answers_nothing(what: str, *, at_once: bool) -> None:
    def script(writer: asyncio.StreamWriter, head: bytes) -> bool:
        name = head.split(b" ")[1].partition(b"?")[0].rpartition(b"/")[2].decode()
        writers.append(writer)
        writer.write(answer(node(name)) + (UNASKED[what] if at_once and name == "a" else b""))
        return True

    writers: list[asyncio.StreamWriter] = []
    settings = ClientSettings(timeout_s=PATIENCE_S)
    async with Raw(script) as server, server.api(settings) as api:
        await api.get(A)
        if not at_once:
            writers[0].write(UNASKED[what])
            async with server.api() as other:  # by the time this is through, so is that
                await other.get(A)

        assert await api.patch(B, {}) == node("b")
        assert writers[-1] is not writers[0]


# ------------------------------------------------------------------------------------ named limits


@pytest.mark.parametrize("verb", ["list", "watch"])
async def test_a_refusal_that_does_not_end_is_given_up_in_time(verb: str) -> None:
    settings = ClientSettings(timeout_s=0.2, watch_s=600.0)
    busy = sends(b"<html>", then="hang", code=503)
    async with Server(busy) as server, server.api(settings=settings) as api:
        with pytest.raises(Unreachable):
            async with asyncio.timeout(PATIENCE_S):
                await (api.list(NODES) if verb == "list" else anext(api.watch(NODES, since="1")))


@pytest.mark.parametrize("verb", ["list", "get", "patch"])
async def test_an_answer_that_does_not_end_is_cut_off(verb: str) -> None:
    settings = ClientSettings(answer_limit_bytes=2**20)
    sent = 0

    async def floods(request: Any) -> Any:
        nonlocal sent
        response = await sends(b'{"items":[')(request)
        while True:
            await response.write(b" " * 2**16)
            sent += 2**16

    async with Server(floods) as server, server.api(settings=settings) as api:
        with pytest.raises(Unreachable, match="longer than 1 MiB"):
            await (api.list(NODES) if verb == "list" else VERBS[verb](api))

    assert sent < 2**24


# ------------------------------------------------------------------------------------------- words


async def test_what_cannot_be_reached_is_named_without_addresses_of_memory() -> None:
    async with Raw(lambda _writer, _head: False) as server:
        api = server.api()
    async with api:
        with pytest.raises(Unreachable, match=r"cannot connect to 127.0.0.1:\d+: .*refused") as no:
            await api.get(A)

    assert "0x" not in str(no.value)


async def test_a_garbled_answer_that_quotes_our_secret_is_quoted_without_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def echo(writer: asyncio.StreamWriter, head: bytes) -> bool:
        token = next(line for line in head.split(b"\r\n") if line.startswith(b"Authorization"))
        writer.write(b"ECHO " + token + b" x" * 5000 + b"\r\n\r\n")
        return False

    caplog.set_level(logging.DEBUG)
    async with Raw(echo) as server, server.api(IMPATIENT, auth=Token(Secret("my-secret"))) as api:
        with pytest.raises(Unreachable) as garbled:
            await api.patch(A, {})

    assert "my-secret" not in str(garbled.value) + caplog.text
    assert len(str(garbled.value)) < 400


async def test_a_refusal_is_still_a_refusal() -> None:
    async with Server(says(404, status(404, "NotFound", name="a"))) as server, server.api() as api:
        with pytest.raises(ApiError, match="404 NotFound"):
            await api.get(A)
