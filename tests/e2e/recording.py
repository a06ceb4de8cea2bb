"""A proxy between a client and an API server that writes down what the client writes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.chaos.call import Call
from tests.chaos.gateway import HOST, Gateway
from tests.chaos.troubles import Trouble

ABOUT_ITSELF = frozenset({"disruptions", "events", "leases"})
"""What a process that only observes may write to, by the plural of the kind."""


class Written(NamedTuple):
    """One request that is no question. ``kind``: the plural, as in the path."""

    method: str
    path: str
    kind: str
    name: str
    body: str

    @classmethod
    def of(cls, method: str, path: str, body: bytes) -> Written:
        parts = path.strip("/").split("/")
        rest = parts[2:] if parts[0] == "api" else parts[3:]
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            rest = rest[2:]
        return cls(method, path, rest[0], (rest[1:2] or [""])[0], body.decode(errors="replace"))

    @property
    def is_of_status(self) -> bool:
        return self.path.endswith("/status")


class _Calm:
    """Nothing happens to anybody."""

    def on_connection(self) -> Trouble | None:
        return None

    def on_read(self, path: str) -> Trouble | None:
        del path
        return None

    on_write = on_watch = on_read


class Recorder(Gateway):
    """``written``: what went through it, but for reads and questions about one's own rights."""

    def __init__(self, kubeconfig: Path) -> None:
        self._config: dict[str, Any] = yaml.safe_load(kubeconfig.read_text())
        self._cluster = self._config["clusters"][0]["cluster"]
        super().__init__(int(self._cluster["server"].rpartition(":")[2]), self._ca(), _Calm())
        self.written: list[Written] = []
        self.reads = 0

    def _ca(self) -> str:
        given = self._cluster
        if "certificate-authority" in given:
            return Path(given["certificate-authority"]).read_text()
        return base64.b64decode(given["certificate-authority-data"]).decode()

    def kubeconfig(self, file: Path) -> Path:
        """The same way in, through this proxy: by token, since it ends TLS itself."""
        cluster = {
            "server": f"https://{HOST}:{self.port}",
            "certificate-authority-data": base64.b64encode(self.authority.encode()).decode(),
        }
        named = self._config["clusters"][0]["name"]
        file.write_text(
            json.dumps({**self._config, "clusters": [{"name": named, "cluster": cluster}]})
        )
        return file

    async def _answered(self, call: Call) -> bool:
        if call.head.method == "GET":
            self.reads += 1
        elif "selfsubject" not in call.path:
            self.written.append(Written.of(call.head.method, call.path, call.body))
        return await super()._answered(call)
