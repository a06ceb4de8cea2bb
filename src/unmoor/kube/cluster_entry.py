"""Where is the API server, and whom do we trust? The ``cluster`` of a context.

Must not: know anything of the user.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from unmoor.kube import proxy
from unmoor.kube.entry import Fields, Pem
from unmoor.kube.host import is_host
from unmoor.kube.proxy import Proxy

EXEC_EXTENSION = "client.authentication.k8s.io/exec"
"""What stands in the cluster's extensions under this name is meant for credential plugins."""


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """The server's side of a configuration. ``told``: what a credential plugin may be told."""

    server: str
    authority: Pem
    is_insecure: bool
    tls_server_name: str
    proxy: Proxy | None
    told: dict[str, Any]

    def __repr__(self) -> str:
        """Without what is told: it may hold the password of a proxy."""
        return f"<cluster {self.server}>"


class _Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None
    extensions: list[_Extension] | None = None


class _Extension(msgspec.Struct, frozen=True):
    name: str | None = None
    extension: Any = None

    def __repr__(self) -> str:
        """Without what only the plugin understands."""
        return f"<extension {self.name}>"


def read(fields: Fields, environ: Mapping[str, str]) -> Cluster:
    """The cluster that the fields describe. Raises ConfigError."""
    cluster = fields.typed(_Cluster)
    server = _server(cluster.server or "", fields)
    authority = fields.pem("certificate-authority")
    if authority.text and cluster.insecure_skip_tls_verify:
        fields.refuse(
            "insecure-skip-tls-verify",
            "it contradicts certificate-authority",
            "remove one of them; keep the authority",
            True,
        )
    name = cluster.tls_server_name or ""
    if name and not is_host(name):
        fields.refuse(
            "tls-server-name", "it is not the name of a host", "write it without a port", name
        )
    return Cluster(
        server=server,
        authority=authority,
        is_insecure=bool(cluster.insecure_skip_tls_verify),
        tls_server_name=name,
        proxy=(
            proxy.parse(cluster.proxy_url, fields.origin, "proxy-url")
            if cluster.proxy_url
            else proxy.of_environment(server, environ)
        ),
        told=_told(cluster, authority),
    )


def _server(server: str, fields: Fields) -> str:
    remedy = "write it as https://host:port"
    if not server:
        fields.refuse("server", "it is not set", remedy)
    if "@" in server:  # looked for in the text: without a scheme urlsplit finds no user
        fields.refuse("server", "it has a user name in it", "move the credentials to the user")
    try:
        parts = urlsplit(server)
        host, _ = parts.hostname, parts.port
    except ValueError:
        fields.refuse("server", "it is not a URL", remedy)
    if parts.scheme not in {"https", "http"} or not host or not is_host(host):
        fields.refuse("server", f"{server!r} is not a URL of an API server", remedy)
    if parts.query or parts.fragment:
        fields.refuse("server", "it has a query or a fragment", remedy)
    return server.rstrip("/")


def _told(cluster: _Cluster, authority: Pem) -> dict[str, Any]:
    """The cluster as KUBERNETES_EXEC_INFO has it; the authority always inline."""
    told: dict[str, Any] = {"server": cluster.server}
    if cluster.tls_server_name:
        told["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        told["insecure-skip-tls-verify"] = True
    if authority.text:
        told["certificate-authority-data"] = authority.base64()
    if cluster.proxy_url:
        told["proxy-url"] = cluster.proxy_url
    for extension in cluster.extensions or []:
        if extension.name == EXEC_EXTENSION:
            told["config"] = extension.extension
    return told
