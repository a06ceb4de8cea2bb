"""Through which proxy is a server reached? The one that is named, else the environment's.

``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY`` mean what they mean to kubectl, which is not what
they mean to curl in every point: a machine's own loopback interface is never behind a proxy, and a
name in ``NO_PROXY`` stands for its subdomains too.

Must not: connect.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from unmoor.kube.host import is_host
from unmoor.kube.refusal import ConfigError
from unmoor.kube.secret import Secret

_PORTS = {"http": 80, "https": 443}
_SOCKS = {"socks", "socks4", "socks4a", "socks5", "socks5h"}
_REMEDY = "write it as http://host:port or https://host:port"

Address: TypeAlias = IPv4Address | IPv6Address


class Proxy(msgspec.Struct, frozen=True):
    """An HTTP proxy that tunnels; ``url`` is without its user."""

    url: str
    username: str = ""
    password: Secret = Secret("")

    def options(self, target: str, headers: Mapping[str, str]) -> dict[str, Any]:
        """The arguments of an aiohttp request for the URL ``target`` with these headers."""
        login = {}
        if self.username:
            pair = f"{self.username}:{self.password.reveal()}"
            login["Proxy-Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        if target.startswith("https:"):  # into a tunnel the proxy does not see
            return {"proxy": self.url, "proxy_headers": login, "headers": headers}
        return {"proxy": self.url, "headers": {**headers, **login}}


def parse(text: str, origin: str, field: str) -> Proxy:
    """The proxy that a URL names. Raises ConfigError, which shows no user and no password."""
    shown = "" if "@" in text else f"{text!r}: "
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(origin, field, f"{shown}it is not a URL", _REMEDY) from None
    if parts.scheme in _SOCKS:
        raise ConfigError(
            origin,
            field,
            f"{parts.scheme} proxies are not supported",
            "name an http proxy, or forward a port: ssh -L 6443:API_SERVER:6443 HOST, with "
            "https://127.0.0.1:6443 as server and the server's own name as tls-server-name",
        )
    if parts.scheme not in _PORTS or not host or not is_host(host):
        raise ConfigError(origin, field, f"{shown}it is not the URL of a proxy", _REMEDY)
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ConfigError(origin, field, f"{shown}it has a path or a query", _REMEDY)
    name = f"[{host}]" if ":" in host else host
    return Proxy(
        f"{parts.scheme}://{name}:{port or _PORTS[parts.scheme]}",
        unquote(parts.username or ""),
        Secret(unquote(parts.password or "")),
    )


def of_environment(target: str, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy for the URL ``target``, None for a direct way. Raises ConfigError."""
    parts = urlsplit(target)
    upper = "HTTPS_PROXY" if parts.scheme == "https" else "HTTP_PROXY"
    field = upper if environ.get(upper) else upper.lower()
    text = environ.get(field, "").strip()
    if not text or _is_direct(parts, environ.get("NO_PROXY") or environ.get("no_proxy") or ""):
        return None
    return parse(text if "://" in text else f"http://{text}", "environment", field)


def _is_direct(target: SplitResult, exceptions: str) -> bool:
    host = (target.hostname or "").lower().rstrip(".")
    port = target.port or _PORTS.get(target.scheme, 0)
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    entries = (entry.strip().lower() for entry in exceptions.split(","))
    return any(_covers(entry, host, address, port) for entry in entries if entry)


def _covers(entry: str, host: str, address: Address | None, port: int) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ip_network(entry, strict=False)
        except ValueError:
            return False
    name, only_port = _split_port(entry)
    if only_port and only_port != str(port):
        return False
    if (excepted := _address(name.strip("[]"))) is not None:
        return excepted == address
    if address is not None:
        return False
    name = name.removeprefix("*").rstrip(".")
    if name.startswith("."):
        return host.endswith(name)
    return host == name or host.endswith(f".{name}")


def _split_port(entry: str) -> tuple[str, str]:
    if entry.count(":") > 1 and not entry.startswith("["):
        return entry, ""  # an IPv6 address
    name, colon, port = entry.rpartition(":")
    return (name, port) if colon and not port.endswith("]") else (entry, "")


def _address(text: str) -> Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
