"""Real handshakes: whom we trust, who we are, and what is refused before anything is sent."""

import base64
import ssl
from ipaddress import ip_address
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from tests.kube.authority import PEM, PKCS8, Authority, Identity
from tests.kube.kubeconfigs import kubeconfig, load_file, write
from tests.kube.server import ManualClock, Server, event, node, says, sends
from unmoor.kube.access import Config, ConfigError
from unmoor.kube.auth import Secret
from unmoor.kube.client import KubeApi
from unmoor.model.kinds import NODES
from unmoor.runtime.ports import Unreachable

OURS, STRANGERS = Authority("ours"), Authority("strangers")
SERVER = OURS.issue("server", x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("api.internal"))
ELSEWHERE = OURS.issue("server", x509.DNSName("api.internal"))
CLIENT = OURS.issue("admin")


def server_of(tmp_path: Path, identity: Identity, *, wants_client: bool = False) -> Server:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    chain = write(tmp_path / "server.pem", identity.certificate + identity.key)
    context.load_cert_chain(chain)
    if wants_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=OURS.certificate)
    server = Server(tls=context)
    server.otherwise = says(200, node("a"))
    return server


async def ask(server: Server, **config: Any) -> dict[str, Any]:
    async with server.api(**config) as api:
        return await api.get(NODES.ref("a"))


async def test_a_server_that_our_authority_vouches_for(tmp_path: Path) -> None:
    async with server_of(tmp_path, SERVER) as server:
        assert await ask(server, authority=OURS.certificate) == node("a")


@pytest.mark.parametrize("authority", [STRANGERS.certificate, ""])
async def test_a_server_that_nobody_vouches_for(tmp_path: Path, authority: str) -> None:
    async with server_of(tmp_path, SERVER) as server:
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            await ask(server, authority=authority)

    assert server.seen == []


async def test_a_server_under_another_name(tmp_path: Path) -> None:
    async with server_of(tmp_path, ELSEWHERE) as server:
        with pytest.raises(Unreachable, match="IP address mismatch"):
            await ask(server, authority=OURS.certificate)

        named = await ask(server, authority=OURS.certificate, tls_server_name="api.internal")
        assert named == node("a")


async def test_no_trust_is_asked_for(tmp_path: Path) -> None:
    async with server_of(tmp_path, ELSEWHERE) as server:
        assert await ask(server, is_insecure=True) == node("a")


@pytest.mark.parametrize("where", ["inline", "by path"])
async def test_a_client_certificate_out_of_a_kubeconfig(tmp_path: Path, where: str) -> None:
    write(tmp_path / "client.crt", CLIENT.certificate)
    write(tmp_path / "client.key", CLIENT.key)
    user = {"client-certificate": "client.crt", "client-key": "client.key"}
    if where == "inline":
        user = {
            "client-certificate-data": base64.b64encode(CLIENT.certificate.encode()).decode(),
            "client-key-data": base64.b64encode(CLIENT.key.encode()).decode(),
        }
    authority = base64.b64encode(OURS.certificate.encode()).decode()
    async with server_of(tmp_path, SERVER, wants_client=True) as server:
        cluster = {"server": server.url, "certificate-authority-data": authority}
        config = load_file(write(tmp_path / "config", kubeconfig(user, cluster)))
        async with KubeApi(config, clock=ManualClock(), random=Random(1)) as api:
            answer = await api.get(NODES.ref("a"))

    assert answer == node("a")


@pytest.mark.parametrize("who", ["nobody", "a stranger"])
async def test_a_client_that_the_server_does_not_know(tmp_path: Path, who: str) -> None:
    stranger = STRANGERS.issue("admin")
    config: dict[str, Any] = {"authority": OURS.certificate}
    if who == "a stranger":
        config |= {"certificate": stranger.certificate, "key": Secret(stranger.key)}
    async with server_of(tmp_path, SERVER, wants_client=True) as server:
        with pytest.raises(Unreachable):
            await ask(server, **config)

    assert server.seen == []


def encrypted(key: str) -> str:
    private = serialization.load_pem_private_key(key.encode(), None)
    return private.private_bytes(
        PEM, PKCS8, serialization.BestAvailableEncryption(b"hunter2")
    ).decode()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"authority": "nonsense"}, "certificate-authority: it holds no certificate"),
        ({"authority": "-----BEGIN CERTIFICATE-----\nMIIB\n"}, "certificate-authority: it holds"),
        (
            {"certificate": CLIENT.certificate, "key": Secret(SERVER.key)},
            "client-certificate: certificate and key do not make a pair",
        ),
        (
            {"certificate": "x", "key": Secret(CLIENT.key)},
            "client-certificate: certificate and key do not make a pair",
        ),
        (
            {"certificate": CLIENT.certificate, "key": Secret(encrypted(CLIENT.key))},
            "client-key: it is protected by a passphrase",
        ),
    ],
)
def test_what_is_no_certificate_is_refused_at_once(fields: dict[str, Any], problem: str) -> None:
    config = Config(server="https://api", origin="file: context 'prod'", **fields)

    with pytest.raises(ConfigError, match=f"file: context 'prod': {problem}") as refused:
        KubeApi(config, clock=ManualClock(), random=Random(1))

    assert "BEGIN PRIVATE" not in str(refused.value)


async def test_a_watch_that_is_left_leaves_no_connection_behind(tmp_path: Path) -> None:
    async with server_of(tmp_path, SERVER) as server:
        server.otherwise = sends(event("ADDED", node("a")), then="hang")
        api = server.api(authority=OURS.certificate)
        events = api.watch(NODES, since="1")
        await anext(events)
        assert api._session is not None
        assert api._session.connector is not None
        (connection,) = api._session.connector._acquired
        assert connection.transport is not None
        plug = connection.transport.get_extra_info("socket")

        await events.aclose()
        await api.close()

        # A polite TLS good-bye would keep it open for as long as the other side is silent.
        assert plug.fileno() == -1
