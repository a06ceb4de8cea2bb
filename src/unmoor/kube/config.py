"""Where is the API server, whom do we trust, and who are we?

``load`` looks where a controller is expected to look: the file that was named, else the files in
``KUBECONFIG``, else the service account of the pod we run in, else ``~/.kube/config``.

What we do not support is refused by name, never ignored: a credential that is silently left out
looks like a broken cluster.

Must not: connect, or keep anything. What rotates is read again by :mod:`unmoor.kube.credentials`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from unmoor.kube import kubeconfig
from unmoor.kube.access import Config, ConfigError
from unmoor.kube.auth import AuthError, TokenFile, read_token
from unmoor.kube.proxy import of_environment
from unmoor.kube.rotating import read_small

__all__ = ["Config", "ConfigError", "in_cluster", "load"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet puts a pod's token, authority and namespace."""


def load(
    *,
    path: str = "",
    context: str = "",
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Config:
    """Find the configuration. ``path``: a kubeconfig; ``context``: which one of its contexts.

    Raises ConfigError.
    """
    home = Path(environ.get("HOME", "/nonexistent")) / ".kube" / "config"
    if path:
        return kubeconfig.load([Path(path)], context, environ=environ)
    if environ.get("KUBECONFIG"):
        paths = [Path(part) for part in environ["KUBECONFIG"].split(os.pathsep) if part]
        return kubeconfig.load(paths, context, environ=environ, must_exist=False)
    if environ.get("KUBERNETES_SERVICE_HOST") and not context:
        return in_cluster(environ, service_account)
    if home.exists():
        return kubeconfig.load([home], context, environ=environ)
    raise ConfigError(
        "no cluster",
        "KUBECONFIG",
        f"it is not set, {home} does not exist, and this is not a pod",
        "name a file with --kubeconfig",
    )


def in_cluster(environ: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> Config:
    """The service account of the pod that we run in. Raises ConfigError."""
    origin = "service account of this pod"
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError(
            origin,
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT",
            "not both are set",
            "the kubelet sets them in every pod; elsewhere use a kubeconfig",
        )
    token = directory / "token"
    try:
        read_token(token)
    except AuthError as error:
        raise ConfigError(
            origin, "token", str(error), "set automountServiceAccountToken: true on the pod"
        ) from None
    name = _read(directory / "namespace").strip() if (directory / "namespace").exists() else ""
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return Config(
        server=server,
        origin=origin,
        namespace=name or "default",
        auth=TokenFile(token),
        authority=_authority(directory / "ca.crt", origin),
        authority_file=directory / "ca.crt",
        proxy=of_environment(server, environ),
    )


def _authority(path: Path, origin: str) -> str:
    try:
        return _read(path)
    except OSError as error:
        raise ConfigError(
            origin,
            "ca.crt",
            f"{path}: {error.strerror}",
            "the config map kube-root-ca.crt of the namespace must exist",
        ) from None


def _read(path: Path) -> str:
    return read_small(path, "latin-1")
