"""Certificates that are replaced while we run: ours, and those of whom we trust."""

import ssl
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cryptography import x509

from tests.kube.authority import Authority, Identity
from tests.kube.kubeconfigs import inline, kubeconfig, load_file, write
from tests.kube.server import ManualClock, Server, node, refuses, says
from unmoor.kube.access import Config
from unmoor.kube.client import KubeApi
from unmoor.kube.config import in_cluster
from unmoor.kube.rotating import REREAD_AFTER_S, SIZE_LIMIT_BYTES, read_small
from unmoor.model.kinds import NODES
from unmoor.runtime.ports import Unreachable

OURS, STRANGERS = Authority("ours"), Authority("strangers")
HERE = x509.IPAddress(ip_address("127.0.0.1"))


class Gate(Server):
    """A server that lets in whoever has a certificate, and notes the name on it."""

    def __init__(self, directory: Path) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.verify_mode = ssl.CERT_OPTIONAL
        self.context.load_verify_locations(cadata=OURS.certificate)
        self.directory = directory
        self.shows(OURS)
        super().__init__(tls=self.context)
        self.names: list[str] = []
        self.refused: set[str] = set()
        self.otherwise = self.answer

    def shows(self, authority: Authority) -> None:
        """From the next handshake on it is vouched for by this one."""
        here = authority.issue("server", HERE)
        chain = write(self.directory / "server.pem", here.certificate + here.key)
        self.context.load_cert_chain(chain)

    async def answer(self, request: Any) -> Any:
        subject = (request.transport.get_extra_info("peercert") or {}).get("subject", ())
        name = dict(part[0] for part in subject).get("commonName", "")
        self.names.append(name)
        reply = refuses(401, "Unauthorized") if name in self.refused else says(200, node("a"))
        return await reply(request)


def place(directory: Path, identity: Identity) -> None:
    write(directory / "client.crt", identity.certificate)
    write(directory / "client.key", identity.key)


def config_of(gate: Gate, **user: str) -> Config:
    cluster = {"server": gate.url, "certificate-authority-data": inline(OURS.certificate)}
    by_path = {"client-certificate": "client.crt", "client-key": "client.key"}
    return load_file(write(gate.directory / "config", kubeconfig(by_path | user, cluster)))


def client_of(config: Config, clock: ManualClock) -> KubeApi:
    return KubeApi(config, clock=clock, random=Random(1))


async def get(api: KubeApi) -> None:
    await api.get(NODES.ref("a"))


async def test_a_new_certificate_is_shown_after_a_while(tmp_path: Path, clock: ManualClock) -> None:
    place(tmp_path, OURS.issue("first"))
    async with Gate(tmp_path) as gate, client_of(config_of(gate), clock) as api:
        await get(api)
        place(tmp_path, OURS.issue("second"))
        for elapsed_s in (REREAD_AFTER_S - 1, REREAD_AFTER_S):
            clock.elapsed_s = elapsed_s
            await get(api)

    assert gate.names == ["first", "first", "second"]


async def test_a_new_certificate_is_shown_at_once_when_the_old_one_is_refused(
    tmp_path: Path, clock: ManualClock
) -> None:
    place(tmp_path, OURS.issue("first"))
    async with Gate(tmp_path) as gate, client_of(config_of(gate), clock) as api:
        await get(api)
        place(tmp_path, OURS.issue("second"))
        gate.refused = {"first"}
        await get(api)

    assert gate.names == ["first", "first", "second"]


async def test_a_token_beside_a_certificate(tmp_path: Path, clock: ManualClock) -> None:
    place(tmp_path, OURS.issue("first"))
    write(tmp_path / "token", "t1")
    async with (
        Gate(tmp_path) as gate,
        client_of(config_of(gate, tokenFile="token"), clock) as api,
    ):
        await get(api)
        write(tmp_path / "token", "t2")
        gate.refused = {"first"}
        place(tmp_path, OURS.issue("second"))
        await get(api)

    assert gate.names == ["first", "first", "second"]
    assert [seen.headers["Authorization"] for seen in gate.seen] == [
        "Bearer t1",
        "Bearer t1",
        "Bearer t2",
    ]


def only_the_key(directory: Path) -> None:
    write(directory / "client.key", OURS.issue("second").key)


def nothing(directory: Path) -> None:
    (directory / "client.crt").unlink()


def noise(directory: Path) -> None:
    (directory / "client.crt").write_bytes(b"\xff\x00")


def endless(directory: Path) -> None:
    nothing(directory)
    (directory / "client.crt").symlink_to("/dev/zero")


@pytest.mark.parametrize("half_done", [only_the_key, nothing, noise, endless])
async def test_the_last_good_pair_serves_while_the_files_change(
    tmp_path: Path, clock: ManualClock, half_done: Callable[[Path], None]
) -> None:
    place(tmp_path, OURS.issue("first"))
    async with Gate(tmp_path) as gate, client_of(config_of(gate), clock) as api:
        await get(api)
        half_done(tmp_path)
        clock.elapsed_s = 61
        await get(api)
        (tmp_path / "client.crt").unlink(missing_ok=True)
        place(tmp_path, OURS.issue("second"))
        clock.elapsed_s = 122
        await get(api)

    assert gate.names == ["first", "first", "second"]


async def test_a_pair_inside_the_file_does_not_rotate(tmp_path: Path, clock: ManualClock) -> None:
    one = OURS.issue("first")
    place(tmp_path, OURS.issue("second"))
    async with Gate(tmp_path) as gate:
        inside = {
            "client-certificate-data": inline(one.certificate),
            "client-key-data": inline(one.key),
        }
        async with client_of(config_of(gate, **inside), clock) as api:
            for elapsed_s in (0, 61):
                clock.elapsed_s = elapsed_s
                await get(api)

    assert gate.names == ["first", "first"]


@pytest.mark.parametrize("where", ["pod", "kubeconfig"])
async def test_the_authority_is_read_again(tmp_path: Path, clock: ManualClock, where: str) -> None:
    write(tmp_path / "ca.crt", OURS.certificate)
    write(tmp_path / "token", "t")
    async with Gate(tmp_path) as gate:
        if where == "pod":
            port = str(gate.port)
            pod = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
            config = in_cluster(pod, tmp_path)
        else:
            cluster = {"server": gate.url, "certificate-authority": "ca.crt"}
            config = load_file(write(tmp_path / "config", kubeconfig({"token": "t"}, cluster)))
        async with client_of(config, clock) as api:
            await get(api)
            await api.close()
            gate.shows(STRANGERS)
            write(tmp_path / "ca.crt", "half wri")
            clock.elapsed_s = 61
            with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
                await get(api)

            # As an authority is renewed: both for a while, with a word about each.
            both = f"# die alte, für jetzt\n{OURS.certificate}{STRANGERS.certificate}"
            write(tmp_path / "ca.crt", both)
            clock.elapsed_s = 122
            await get(api)

    assert len(gate.seen) == 2


def test_what_is_too_large_is_no_credential(tmp_path: Path) -> None:
    write(tmp_path / "large", "x" * (SIZE_LIMIT_BYTES + 1))
    write(tmp_path / "just", "x" * SIZE_LIMIT_BYTES)

    with pytest.raises(OSError, match="File too large"):
        read_small(tmp_path / "large")
    assert len(read_small(tmp_path / "just")) == SIZE_LIMIT_BYTES
