"""Proxies: which one is meant, and requests that really go through one."""

import base64
import ssl
from collections.abc import AsyncIterator
from ipaddress import ip_address
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cryptography import x509

from tests.kube.authority import Authority
from tests.kube.kubeconfigs import HIDDEN, inline, kubeconfig, load_file, write
from tests.kube.server import ManualClock, Server, event, node, says, sends
from tests.kube.tunnel import Tunnel
from unmoor.kube.auth import Secret
from unmoor.kube.client import KubeApi
from unmoor.kube.config import Config, ConfigError, in_cluster, load
from unmoor.kube.proxy import Proxy, of_environment, parse
from unmoor.model.kinds import NODES
from unmoor.runtime.ports import Unreachable

OURS = Authority("ours")
LOGIN = "Basic " + base64.b64encode(f"ann:{HIDDEN}".encode()).decode()

# ------------------------------------------------------------------------------ which one is meant


@pytest.mark.parametrize(
    ("text", "url", "username", "password"),
    [
        ("http://proxy:3128", "http://proxy:3128", "", ""),
        ("http://proxy", "http://proxy:80", "", ""),
        ("https://proxy/", "https://proxy:443", "", ""),
        ("http://[fd00::1]:8080", "http://[fd00::1]:8080", "", ""),
        ("http://ann:p%40ss@proxy:1", "http://proxy:1", "ann", "p@ss"),
        ("http://ann@proxy:1", "http://proxy:1", "ann", ""),
    ],
)
def test_a_proxy_out_of_a_url(text: str, url: str, username: str, password: str) -> None:
    assert parse(text, "here", "proxy-url") == Proxy(url, username, Secret(password))


SQUID = {"HTTPS_PROXY": "http://squid:3128"}


@pytest.mark.parametrize(
    ("target", "environ", "url"),
    [
        ("https://api:6443", {}, None),
        ("https://api:6443", SQUID, "http://squid:3128"),
        ("https://api:6443", {"https_proxy": "http://squid:3128"}, "http://squid:3128"),
        ("https://api:6443", {"HTTPS_PROXY": "squid:3128"}, "http://squid:3128"),
        ("https://api:6443", {"HTTPS_PROXY": "http://a", "https_proxy": "b"}, "http://a:80"),
        ("https://api:6443", {"HTTPS_PROXY": "", "https_proxy": "b"}, "http://b:80"),
        ("https://api:6443", {"HTTP_PROXY": "http://a", "ALL_PROXY": "http://b"}, None),
        ("http://api:8080", {"HTTP_PROXY": "http://a"}, "http://a:80"),
        ("http://api:8080", SQUID, None),
        ("https://localhost:6443", SQUID, None),
        ("https://127.0.0.1:6443", SQUID, None),
        ("https://127.1.2.3:6443", SQUID, None),
        ("https://[::1]:6443", SQUID, None),
    ],
)
def test_a_proxy_out_of_the_environment(
    target: str, environ: dict[str, str], url: str | None
) -> None:
    found = of_environment(target, environ)

    assert (found.url if found else None) == url


@pytest.mark.parametrize(
    ("host", "exceptions", "is_direct"),
    [
        ("api.example.com", "*", True),
        ("api.example.com", "example.com", True),
        ("api.example.com", ".example.com", True),
        ("api.example.com", "*.example.com", True),
        ("api.example.com", "API.Example.Com", True),
        ("api.example.com", "other.org, ,api.example.com", True),
        ("api.example.com", "api.example.com:6443", True),
        ("api.example.com", "api.example.com:443", False),
        ("api.example.com", "ample.com", False),
        ("api.example.com", "api.example.org", False),
        ("api.example.com", "", False),
        ("example.com", ".example.com", False),
        ("example.com", "example.com", True),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.0/8", True),
        ("10.0.0.1", "10.0.0.0/8,nonsense/99", True),
        ("10.0.0.1", "nonsense/99", False),
        ("10.0.0.1", "10.0.0.1:6443", True),
        ("10.0.0.1", "10.0.0.1:443", False),
        ("10.0.0.1", "192.168.0.0/16", False),
        ("10.0.0.1", "0.0.1", False),
        ("[fd00::1]", "fd00::1", True),
        ("[fd00::1]", "fd00::/8", True),
        ("[fd00::1]", "[fd00::1]:6443", True),
        ("[fd00::1]", "[fd00::1]:1", False),
        ("[fd00::1]", "10.0.0.0/8", False),
    ],
)
def test_where_no_proxy_is_wanted(host: str, exceptions: str, *, is_direct: bool) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        found = of_environment(f"https://{host}:6443", SQUID | {name: exceptions})

        assert (found is None) == is_direct


def test_a_proxy_in_the_file_comes_before_the_environment(file: Path) -> None:
    write(file, kubeconfig(cluster={"proxy-url": "http://mine:1"}))

    config = load(path=str(file), environ=SQUID | {"NO_PROXY": "*"})

    assert config.proxy == Proxy("http://mine:1")


@pytest.mark.parametrize("text", [f"socks5://u:{HIDDEN}@h:1", f"http://u:{HIDDEN}@h:x"])
def test_a_wrong_proxy_in_the_environment_is_told_by_its_name(file: Path, text: str) -> None:
    write(file, kubeconfig())

    with pytest.raises(ConfigError, match="environment: HTTPS_PROXY: ") as refused:
        load(path=str(file), environ={"HTTPS_PROXY": text})

    assert HIDDEN not in str(refused.value)


def test_a_pod_may_have_a_proxy_too(tmp_path: Path) -> None:
    write(tmp_path / "token", "t")
    write(tmp_path / "ca.crt", OURS.certificate)
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"} | SQUID

    assert in_cluster(pod, tmp_path).proxy == Proxy("http://squid:3128")
    assert in_cluster(pod | {"NO_PROXY": "10.0.0.0/8"}, tmp_path).proxy is None


# ---------------------------------------------------------------------------------- through one


def tls_of(tmp_path: Path, name: str) -> ssl.SSLContext:
    here = OURS.issue(name, x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName(name))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(write(tmp_path / f"{name}.pem", here.certificate + here.key))
    return context


@pytest.fixture
async def secure(tmp_path: Path) -> AsyncIterator[Server]:
    async with Server(tls=tls_of(tmp_path, "api.internal")) as running:
        running.otherwise = says(200, node("a"))
        yield running


def client_of(config: Config) -> KubeApi:
    return KubeApi(config, clock=ManualClock(), random=Random(1))


def config_of(file: Path, proxy_url: str, **cluster: Any) -> Config:
    content = {
        "server": "https://api.internal:6443",
        "certificate-authority-data": inline(OURS.certificate),
        "proxy-url": proxy_url,
    }
    return load_file(write(file, kubeconfig({"token": "t"}, content | cluster)))


async def test_requests_and_watches_go_through_a_tunnel(secure: Server, file: Path) -> None:
    async with Tunnel(secure.port) as tunnel, client_of(config_of(file, tunnel.url)) as api:
        for _ in range(2):
            assert await api.get(NODES.ref("a")) == node("a")
        secure.answers.append(sends(event("ADDED", node("b"))))
        seen = [change async for change in api.watch(NODES, since="1")]

    assert len(seen) == 1
    assert set(tunnel.asked) == {"CONNECT api.internal:6443 HTTP/1.1"}
    assert {request.headers["Host"] for request in secure.seen} == {"api.internal:6443"}
    assert "Proxy-Authorization" not in secure.seen[0].headers


async def test_a_proxy_that_knows_us(secure: Server, file: Path) -> None:
    async with Tunnel(secure.port, login=LOGIN) as tunnel:
        url = tunnel.url.replace("//", f"//ann:{HIDDEN}@")
        async with client_of(config_of(file, url)) as api:
            await api.get(NODES.ref("a"))

    assert "Proxy-Authorization" not in secure.seen[0].headers


async def test_a_proxy_that_does_not_know_us(secure: Server, file: Path) -> None:
    async with Tunnel(secure.port, login=LOGIN) as tunnel:
        url = tunnel.url.replace("//", f"//bob:{HIDDEN}@")
        async with client_of(config_of(file, url)) as api:
            with pytest.raises(Unreachable, match="407") as refused:
                await api.get(NODES.ref("a"))

    assert HIDDEN not in str(refused.value)
    assert secure.seen == []


async def test_nobody_listens_at_the_proxy(secure: Server, file: Path) -> None:
    async with Tunnel(secure.port) as tunnel:
        url = tunnel.url
    async with client_of(config_of(file, url.replace("//", f"//u:{HIDDEN}@"))) as api:
        with pytest.raises(Unreachable, match=r"GET .*onnect") as refused:
            await api.get(NODES.ref("a"))

    assert HIDDEN not in str(refused.value)


async def test_a_proxy_with_tls_of_its_own(secure: Server, file: Path, tmp_path: Path) -> None:
    async with (
        Tunnel(secure.port, tls=tls_of(tmp_path, "proxy.internal")) as tunnel,
        client_of(config_of(file, tunnel.url)) as api,
    ):
        assert await api.get(NODES.ref("a")) == node("a")

    assert tunnel.asked == ["CONNECT api.internal:6443 HTTP/1.1"]


async def test_the_server_is_known_by_another_name_behind_a_tunnel(
    secure: Server, file: Path
) -> None:
    async with Tunnel(secure.port) as tunnel:
        elsewhere = {"server": "https://elsewhere:6443"}
        async with client_of(config_of(file, tunnel.url, **elsewhere)) as api:
            with pytest.raises(Unreachable, match="Hostname mismatch"):
                await api.get(NODES.ref("a"))
        elsewhere["tls-server-name"] = "api.internal"
        async with client_of(config_of(file, tunnel.url, **elsewhere)) as api:
            assert await api.get(NODES.ref("a")) == node("a")


async def test_plain_http_goes_through_a_proxy_too(server: Server, file: Path) -> None:
    async with Tunnel(server.port, login=LOGIN) as tunnel:
        url = tunnel.url.replace("//", f"//ann:{HIDDEN}@")
        plain = {"server": "http://api:8080", "proxy-url": url}
        config = load_file(write(file, kubeconfig({"token": "t"}, plain)))
        async with client_of(config) as api:
            assert await api.get(NODES.ref("a")) == node("a")

    assert tunnel.asked == ["GET http://api:8080/api/v1/nodes/a HTTP/1.1"]
