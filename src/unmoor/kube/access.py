"""One way into one cluster, complete, as a value.

Must not: look anything up; ``unmoor.kube.config`` does.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from unmoor.kube.auth import Anonymous, Auth, Secret
from unmoor.kube.impersonation import Impersonation
from unmoor.kube.proxy import Proxy
from unmoor.kube.refusal import ConfigError

__all__ = ["Config", "ConfigError"]


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """One way into one cluster, complete.

    ``server``: URL, perhaps with a path. ``authority``, ``certificate`` and ``key``: PEM. What was
    read from a file is read again from there, as files rotate. ``origin``: where all this was
    found, for error texts.
    """

    server: str
    origin: str = "config"
    namespace: str = "default"
    auth: Auth = Anonymous()
    authority: str = ""
    authority_file: Path | None = None
    is_insecure: bool = False
    tls_server_name: str = ""
    certificate: str = ""
    certificate_file: Path | None = None
    key: Secret = Secret("")
    key_file: Path | None = None
    proxy: Proxy | None = None
    impersonation: Impersonation | None = None
