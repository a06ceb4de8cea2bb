"""Who is let in, and what everybody may ask."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from pathlib import Path

import aiohttp
import pytest

from tests.sim.http.client import MAPS, Client, opened
from unmoor.runtime.ports import ApiError
from unmoor.sim import paced
from unmoor.sim.http import Asked
from unmoor.sim.http.face import Settings


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic YTpi", "Bearer \u00e4"])
async def test_without_the_token_nobody_is_let_in(client: Client, header: str) -> None:
    answer = await client.send("GET", MAPS, headers={"Authorization": header})

    assert (answer.code, answer.reason, answer.message) == (401, "Unauthorized", "Unauthorized")


@pytest.mark.parametrize("path", ["/version", "/healthz", "/livez", "/readyz", "/readyz?verbose"])
async def test_what_everybody_may_ask(client: Client, path: str) -> None:
    answer = await client.send("GET", path, headers={"Authorization": ""})

    assert answer.code == 200
    assert path == "/version" or answer.raw == b"ok"


async def test_the_version_is_one_that_kubectl_takes(client: Client) -> None:
    found = (await client.get("/version")).body

    assert (found["major"], found["minor"]) == ("1", "36")
    assert found["gitVersion"].startswith("v1.36.")


async def test_a_certificate_of_ours_is_as_good(tmp_path: Path) -> None:
    async with opened() as client:
        users = {one["name"]: one["user"] for one in client.face.kubeconfig()["users"]}
        user = users["unmoor-sim-certificate"]
        pem = tmp_path / "client.pem"
        pem.write_bytes(
            base64.b64decode(user["client-certificate-data"])
            + base64.b64decode(user["client-key-data"])
        )
        trust = ssl.create_default_context(cadata=client.face.ca_pem)
        trust.load_cert_chain(pem)
        connector = aiohttp.TCPConnector(ssl=trust)
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.get(client.face.url + MAPS) as response,
        ):
            assert response.status == 200


async def test_a_kubeconfig_is_complete(client: Client) -> None:
    found = json.loads(json.dumps(client.face.kubeconfig()))

    assert found["current-context"] in {one["name"] for one in found["contexts"]}
    (cluster,) = found["clusters"]
    assert cluster["cluster"]["server"] == client.face.url
    assert (
        "BEGIN CERTIFICATE"
        in base64.b64decode(cluster["cluster"]["certificate-authority-data"]).decode()
    )


async def test_a_port_and_a_token_can_be_chosen() -> None:
    async with opened() as first:
        port = first.face.port
    async with opened(settings=Settings(port=port, token="mine")) as client:
        assert client.face.url == f"https://127.0.0.1:{port}"
        assert client.face.token == "mine"
        assert (await client.get(MAPS)).code == 200


async def test_a_taken_port_is_an_error() -> None:
    async with opened() as first:
        with pytest.raises(OSError, match="address already in use"):
            async with opened(settings=Settings(port=first.face.port)):
                pass


async def test_the_gate_is_asked_as_an_authorizer_would_be() -> None:
    asked: list[Asked] = []

    async def gate(one: Asked) -> None:
        asked.append(one)
        if one.verb == "delete":
            raise ApiError(403, "Forbidden", "you may not")

    async with opened(gate=gate) as client:
        await client.create(MAPS, "ConfigMap", "a")
        await client.get(f"{MAPS}/a")
        await client.get(f"{MAPS}?fieldSelector=metadata.name%3Da")
        answer = await client.send("DELETE", f"{MAPS}/a")
        await client.send("DELETE", MAPS)
        await client.get("/api/v1/nodes/a/status")

    assert (answer.code, answer.reason, answer.message) == (403, "Forbidden", "you may not")
    assert [(one.verb, one.resource, one.namespace, one.name) for one in asked] == [
        ("create", "configmaps", "default", ""),
        ("get", "configmaps", "default", "a"),
        ("list", "configmaps", "default", "a"),
        ("delete", "configmaps", "default", "a"),
        ("deletecollection", "configmaps", "default", ""),
        ("get", "nodes/status", "", "a"),
    ]


async def test_who_waits_at_the_gate_is_let_go_when_the_face_stops() -> None:
    arrived = asyncio.Event()

    async def gate(_: Asked) -> None:
        arrived.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(5):
        async with opened(gate=gate) as client:
            waiting = asyncio.create_task(client.get(MAPS))
            await arrived.wait()
            await client.face.stop()
            with pytest.raises(aiohttp.ClientError):
                await waiting


async def test_reviews_say_that_everything_is_allowed(client: Client) -> None:
    root = "/apis/authorization.k8s.io/v1"
    attributes = {"resourceAttributes": {"verb": "delete", "resource": "nodes"}}
    access = await client.send("POST", f"{root}/selfsubjectaccessreviews", {"spec": attributes})
    rules = await client.send("POST", f"{root}/selfsubjectrulesreviews", {"spec": {}})
    nothing = await client.send("POST", f"{root}/selfsubjectaccessreviews", {})

    assert (access.code, access.body["status"]["allowed"]) == (201, True)
    assert rules.body["status"]["resourceRules"][0]["verbs"] == ["*"]
    assert (nothing.code, nothing.reason) == (422, "Invalid")


@pytest.mark.parametrize("name", ["", "jane"])
async def test_a_client_learns_who_it_is(client: Client, name: str) -> None:
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    headers = {"Impersonate-User": name, "Impersonate-Group": "crew"} if name else {}

    answer = await client.send("POST", path, {}, headers)

    user = answer.body["status"]["userInfo"]
    assert user["username"] == (name or "unmoor-admin")
    assert ("system:masters" in user["groups"]) != bool(name)


async def test_writes_are_told_when_they_are_done_or_refused_with_name_and_program() -> None:
    heard: list[tuple[Asked, int]] = []

    def hear(asked: Asked, error: ApiError | None) -> None:
        heard.append((asked, 0 if error is None else error.code))

    async with opened(after=hear) as client:
        agent = {"User-Agent": "kubectl/v1.36 (linux)"}
        body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"generateName": "a-"}}
        made = await client.send("POST", MAPS, body, agent)
        await client.send("POST", f"{MAPS}?dryRun=All", body, agent)
        await client.get(MAPS)
        await client.send("DELETE", f"{MAPS}/nobody", headers=agent)

    told = [(one.verb, one.resource, one.name, one.agent, code) for one, code in heard]
    assert told == [
        ("create", "configmaps", made.body["metadata"]["name"], "kubectl", 0),
        ("delete", "configmaps", "nobody", "kubectl", 404),
    ]


@pytest.mark.parametrize(
    ("host", "reached"),
    [("0.0.0.0", "127.0.0.1"), ("::", "[::1]")],  # noqa: S104 - that is what is tried
)
async def test_where_it_listens_everywhere_a_client_is_told_one_address(
    host: str, reached: str
) -> None:
    async with opened(settings=Settings(host=host)) as client:
        assert client.face.url == f"https://{reached}:{client.face.port}"
        assert (await client.get(MAPS)).code == 200


async def test_an_address_of_the_newer_kind_is_put_in_brackets() -> None:
    async with opened(settings=Settings(host="::1")) as client:
        assert client.face.url == f"https://[::1]:{client.face.port}"
        assert (await client.get(MAPS)).code == 200


def test_a_watch_lasts_as_long_as_its_client_asked_for_by_the_clients_clock() -> None:
    """The loop is 100 times as fast, so five seconds of it are over when something happens."""
    later_s = 50.0

    async def main() -> str:
        paced.running().speed = 100.0
        async with (
            opened(settings=Settings(pace=100.0)) as client,
            client.watch(f"{MAPS}?watch=true&timeoutSeconds=5") as events,
        ):
            await asyncio.sleep(later_s)
            await client.create(MAPS, "ConfigMap", "late")
            return str((await anext(events))["object"]["metadata"]["name"])

    assert paced.run(main()) == "late"
