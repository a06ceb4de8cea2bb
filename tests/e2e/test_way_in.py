"""The way to a real API server: proxies, other names, and no trust."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane import ADMIN_TOKEN, ControlPlane
from tests.e2e.identity import LaterClock, client_of, name
from tests.kube.tunnel import Tunnel
from unmoor.model.kinds import NODES
from unmoor.runtime.ports import Unreachable

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(directory=tmp_path_factory.mktemp("plane"), components=[]) as started:
        yield started


@pytest.fixture
def clock() -> LaterClock:
    return LaterClock()


async def test_a_proxy_and_a_server_that_is_known_by_another_name(
    plane: ControlPlane, tmp_path: Path, clock: LaterClock
) -> None:
    token = {"token": ADMIN_TOKEN}
    far: dict[str, Any] = {"server": "https://elsewhere.internal:6443"}
    async with Tunnel(port_of(plane)) as tunnel:
        far["proxy-url"] = tunnel.url
        async with client_of(plane, tmp_path / "config", token, clock, **far) as api:
            with pytest.raises(Unreachable, match="Hostname mismatch"):
                await name(api)
        far["tls-server-name"] = "kubernetes.default.svc"
        async with client_of(plane, tmp_path / "config", token, clock, **far) as api:
            assert await name(api) == "admin"
            page = await api.list(NODES)
            assert page.resource_version

    assert set(tunnel.asked) == {"CONNECT elsewhere.internal:6443 HTTP/1.1"}


@pytest.mark.parametrize("excepted", ["", "internal"])
async def test_a_proxy_of_the_environment(
    plane: ControlPlane, tmp_path: Path, clock: LaterClock, excepted: str
) -> None:
    far: dict[str, Any] = {"server": "https://api.invalid", "tls-server-name": "localhost"}
    async with Tunnel(port_of(plane)) as tunnel:
        environ = {"HTTPS_PROXY": tunnel.url, "NO_PROXY": excepted and "invalid"}
        token = {"token": ADMIN_TOKEN}
        async with client_of(plane, tmp_path / "config", token, clock, environ, **far) as api:
            if excepted:
                with pytest.raises(Unreachable, match=r"api\.invalid"):
                    await name(api)
            else:
                assert await name(api) == "admin"

    assert tunnel.asked == ([] if excepted else ["CONNECT api.invalid:443 HTTP/1.1"])


async def test_a_proxy_with_tls_of_its_own(
    plane: ControlPlane, tmp_path: Path, clock: LaterClock
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(plane.directory / "server.crt", plane.directory / "server.key")
    async with Tunnel(port_of(plane), tls=tls) as tunnel:
        via: dict[str, Any] = {"proxy-url": tunnel.url}
        token = {"token": ADMIN_TOKEN}
        async with client_of(plane, tmp_path / "config", token, clock, **via) as api:
            assert await name(api) == "admin"

    assert len(tunnel.asked) == 1


@pytest.mark.parametrize(
    ("server_name", "is_right"),
    [("localhost", True), ("kubernetes.default.svc", True), ("api.example.com", False)],
)
async def test_the_name_on_the_certificate(
    plane: ControlPlane, tmp_path: Path, clock: LaterClock, server_name: str, *, is_right: bool
) -> None:
    user = {"token": ADMIN_TOKEN}
    cluster: dict[str, Any] = {"tls-server-name": server_name}
    async with client_of(plane, tmp_path / "config", user, clock, **cluster) as api:
        if is_right:
            assert await name(api) == "admin"
        else:
            with pytest.raises(Unreachable, match="Hostname mismatch"):
                await name(api)


async def test_no_trust(plane: ControlPlane, tmp_path: Path, clock: LaterClock) -> None:
    user = {"token": ADMIN_TOKEN}
    blind: dict[str, Any] = {"certificate-authority": "", "insecure-skip-tls-verify": True}
    async with client_of(plane, tmp_path / "config", user, clock, **blind) as api:
        assert await name(api) == "admin"
    blind["insecure-skip-tls-verify"] = False
    async with client_of(plane, tmp_path / "config", user, clock, **blind) as api:
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            await name(api)


def port_of(plane: ControlPlane) -> int:
    return int(plane.url.rpartition(":")[2])
