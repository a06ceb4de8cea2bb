"""However the other side fails, exactly one of two errors comes out, and it says what happened."""

from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from tests.kube.server import (
    IMPATIENT,
    START,
    Handler,
    Server,
    cuts,
    hangs,
    listing,
    node,
    refuses,
    says,
    sends,
    status,
)
from unmoor.kube.auth import Secret, Token
from unmoor.kube.client import ClientSettings, KubeApi
from unmoor.model.kinds import NODES, PODS
from unmoor.runtime.ports import ApiError, PortError, Unreachable

POD = PODS.ref("cart-0", "shop")
HTML = b"<html><body>\n<h1>Bad   gateway</h1></body></html>"

VERBS: dict[str, Any] = {
    "list": lambda api: api.list(NODES),
    "get": lambda api: api.get(POD),
    "create": lambda api: api.create(POD, {}),
    "evict": lambda api: api.create(POD, {}, subresource="eviction"),
    "replace": lambda api: api.replace(POD, {}),
    "patch": lambda api: api.patch(POD, {}),
    "delete": lambda api: api.delete(POD),
    "watch": lambda api: anext(api.watch(NODES, since="1")),
}


async def failure(
    verb: str, *answers: Handler, settings: ClientSettings = ClientSettings()
) -> PortError:
    async with Server(*answers) as server, server.api(settings=settings) as api:
        with pytest.raises(PortError) as failed:
            await VERBS[verb](api)
    return failed.value


# ---------------------------------------------------------------------------------- refused


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (400, "BadRequest"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (409, "Conflict"),
        (409, "AlreadyExists"),
        (410, "Expired"),
        (422, "Invalid"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ],
)
async def test_a_status_becomes_what_it_says(verb: str, code: int, reason: str) -> None:
    error = await failure(verb, refuses(code, reason, "because", name="x"))

    assert isinstance(error, ApiError)
    assert (error.code, error.reason, error.message) == (code, reason, "because")
    assert error.retry_after_s is None
    assert error.status == status(code, reason, "because", name="x")


@pytest.mark.parametrize(
    ("headers", "details", "expected_s"),
    [
        ({"Retry-After": "10"}, {}, 10),
        ({"Retry-After": "0"}, {}, 0),
        ({}, {"retryAfterSeconds": 7}, 7),
        ({"Retry-After": "3"}, {"retryAfterSeconds": 7}, 3),
        ({"Retry-After": format_datetime(START + timedelta(seconds=40), usegmt=True)}, {}, 40),
        ({"Retry-After": format_datetime(START - timedelta(days=1), usegmt=True)}, {}, 0),
        ({"Retry-After": "9" * 40}, {}, 3600),
        ({"Retry-After": "-1"}, {}, None),
        ({"Retry-After": "soon"}, {}, None),
        ({"Retry-After": "nan"}, {}, None),
        ({"Retry-After": ""}, {"retryAfterSeconds": "7"}, None),
        ({}, {"retryAfterSeconds": -7}, None),
        ({}, {"retryAfterSeconds": 10**9}, 3600),
    ],
)
async def test_how_long_to_wait(
    headers: dict[str, str], details: dict[str, Any], expected_s: float | None
) -> None:
    body = status(429, "TooManyRequests", "budget", **details)

    error = await failure("evict", says(429, body, headers=headers))

    assert isinstance(error, ApiError)
    assert error.retry_after_s == expected_s


async def test_a_proxy_can_ask_to_wait_too() -> None:
    error = await failure(
        "get", says(503, HTML, content_type="text/html", headers={"Retry-After": "5"})
    )

    assert isinstance(error, ApiError)
    assert (error.code, error.reason, error.retry_after_s) == (503, "ServiceUnavailable", 5)


@pytest.mark.parametrize(
    ("code", "body", "reason", "message"),
    [
        (502, HTML, "BadGateway", "<html><body> <h1>Bad gateway</h1></body></html>"),
        (500, b"", "InternalError", "with an empty body"),
        (401, b"\x00\xff\n", "Unauthorized", "\N{REPLACEMENT CHARACTER}"),
        (403, b"{", "Forbidden", "{"),
        (403, b'{"kind":"Pod"}', "Forbidden", '{"kind":"Pod"}'),
        (429, b"[]", "TooManyRequests", "[]"),
        (431, b"x" * 5000, "RequestHeaderFieldsTooLarge", "x" * 200 + "..."),
        (599, b"?", "Unknown", "?"),
    ],
    ids=lambda value: repr(value)[:20],
)
async def test_a_body_that_is_no_status_is_quoted(
    code: int, body: bytes, reason: str, message: str
) -> None:
    error = await failure("get", says(code, body, content_type="text/html"))

    assert isinstance(error, ApiError)
    assert (error.code, error.reason, error.message) == (code, reason, message)
    assert error.status == {}


@pytest.mark.parametrize("code", [404, 409, 410, 422])
@pytest.mark.parametrize("body", [HTML, b"404 page not found\n", b"", b'{"error":"no"}'])
async def test_nobody_but_an_api_server_is_believed_that_an_object_is_gone(
    code: int, body: bytes
) -> None:
    error = await failure("get", says(code, body, content_type="text/plain"))

    assert isinstance(error, Unreachable)
    assert "not the API server answered" in str(error)


async def test_an_unknown_path_of_an_api_server_is_not_found() -> None:
    plain = says(404, b"404 page not found\n", headers={"Audit-Id": "a1"})

    error = await failure("list", plain)

    assert isinstance(error, ApiError)
    assert (error.code, error.reason, error.message) == (404, "NotFound", "404 page not found")


@pytest.mark.parametrize(
    "odd",
    [
        {"kind": "Status"},
        {"kind": "Status", "code": "x", "reason": 7, "message": None, "details": []},
    ],
)
async def test_a_status_with_nothing_in_it_still_has_code_and_reason(odd: dict[str, Any]) -> None:
    error = await failure("get", says(409, odd))

    assert isinstance(error, ApiError)
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == "the server did not say why"


# ------------------------------------------------------------------------------ unreachable


LIST = b'{"items":[{"metadata":{"name":"a"}}'
CANNOT_BE_READ: dict[str, Handler] = {
    "empty body": says(200, b""),
    "HTML": says(200, HTML, content_type="text/html"),
    "a login page as JSON": says(200, b'"please log in"'),
    "an array": says(200, b"[]"),
    "truncated JSON": says(200, LIST),
    "invalid UTF-8": says(200, b'{"\xff":1}'),
    "reset": cuts(),
    "reset in the body": sends(LIST, then="cut"),
    "reset in a body of known length": sends(LIST, then="cut", length=1000),
    "body shorter than announced": sends(LIST, then="end", length=1000),
    "no answer": hangs(),
    "a body that stops": sends(LIST, then="hang"),
    "a body that stops at once": sends(then="hang"),
    "silence after an error code": sends(LIST, then="hang", code=500),
    "reset after an error code": sends(LIST, then="cut", code=404),
}


@pytest.mark.parametrize("case", CANNOT_BE_READ)
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "watch"])
async def test_without_an_answer_nobody_knows(verb: str, case: str) -> None:
    # aiohttp repeats a GET, PUT or DELETE once when a used connection turns out to be closed.
    answer = CANNOT_BE_READ[case]

    error = await failure(verb, answer, answer, settings=IMPATIENT)

    assert isinstance(error, Unreachable)
    assert str(error).startswith(("GET /", "POST /", "PUT /", "PATCH /", "DELETE /"))


async def test_wrong_content_type_is_no_matter_when_the_body_is_right() -> None:
    answer = says(200, listing(node("a")), content_type="text/plain")
    async with Server(answer) as server, server.api() as api:
        page = await api.list(NODES)

    assert page.items[0].name == "a"


async def test_a_slow_body_that_arrives_in_time_is_whole() -> None:
    pieces = [LIST[i : i + 1] for i in range(len(LIST))]
    async with (
        Server(sends(*pieces, b'],"metadata":{"resourceVersion":"9"}}')) as server,
        server.api() as api,
    ):
        page = await api.list(NODES)

    assert page.items[0].name == "a"


async def test_nobody_listens() -> None:
    async with Server() as server:
        api = server.api()
    async with api:
        with pytest.raises(Unreachable, match=r"GET /api/v1/.*/cart-0: .*onnect"):
            await api.get(POD)


async def test_a_name_that_does_not_resolve() -> None:
    async with Server() as server, unresolvable(server) as api:
        with pytest.raises(Unreachable, match="GET /api"):
            await api.get(POD)


def unresolvable(server: Server) -> KubeApi:
    api = server.api(settings=IMPATIENT)
    api._server = "http://nowhere.invalid:1"
    return api


async def test_it_works_again_when_the_server_is_back_on_its_port() -> None:
    ref = NODES.ref("a")
    async with Server() as server, server.api() as api:
        server.otherwise = says(200, node("a"))
        await api.get(ref)
        await server.stop()
        with pytest.raises(Unreachable):
            await api.patch(ref, {})

        await server.start()

        assert await api.patch(ref, {}) == node("a")


async def test_plain_http_spoken_to_a_tls_client_and_the_other_way_round() -> None:
    async with Server() as server, server.api(settings=IMPATIENT) as api:
        api._server = api._server.replace("http:", "https:")
        with pytest.raises(Unreachable, match="SSL"):
            await api.get(POD)


async def test_whoever_echoes_our_secret_is_not_quoted_with_it() -> None:
    echo = b'{"kind": "Status", "code": 403, "message": "you sent Authorization: Bearer my-secret"}'
    async with (
        Server(says(403, echo)) as server,
        server.api(auth=Token(Secret("my-secret"))) as api,
    ):
        with pytest.raises(ApiError, match=r"Bearer \*\*\*") as caught:
            await api.get(NODES.ref("a"))

    assert "my-secret" not in f"{caught.value} {caught.value.status}"


async def test_a_server_that_talks_on_is_quoted_in_part() -> None:
    long = b'{"kind": "Status", "code": 403, "message": "' + b"no " * 50_000 + b'"}'
    async with Server(says(403, long)) as server, server.api() as api:
        with pytest.raises(ApiError) as caught:
            await api.get(NODES.ref("a"))

    assert len(str(caught.value)) < 3_000


@pytest.mark.parametrize("answer", [b"{}", b'{"items": null}', b'{"metadata": 3}'])
async def test_an_answer_without_metadata_is_no_object(answer: bytes) -> None:
    async with Server(says(200, answer)) as server, server.api() as api:
        with pytest.raises(Unreachable, match="no object"):
            await api.get(NODES.ref("a"))
