"""One way into one cluster, complete, as a value; and how a bad one is refused.

Must not: look anything up; ``unmoor.kube.config`` does.
"""

from __future__ import annotations

import msgspec

from unmoor.kube.auth import Anonymous, Auth, Secret


class ConfigError(Exception):
    """A configuration we cannot use: where, which field, what is wrong, and what to do."""

    def __init__(self, where: str, field: str, problem: str, remedy: str) -> None:
        """Never put a secret into ``problem``."""
        super().__init__(f"{where}: {field}: {problem}; {remedy}")
        self.where = where
        self.field = field
        self.problem = problem
        self.remedy = remedy


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """One way into one cluster, complete: no further file is needed but a rotating token's.

    ``server``: URL, perhaps with a path. ``authority`` and ``certificate``: PEM. ``origin``: where
    all this was found, for error texts.
    """

    server: str
    origin: str = "config"
    namespace: str = "default"
    auth: Auth = Anonymous()
    authority: str = ""
    is_insecure: bool = False
    tls_server_name: str = ""
    certificate: str = ""
    key: Secret = Secret("")
