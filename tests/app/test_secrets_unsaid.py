"""No command says a secret: every kind of credential, on a good way and on a bad one.

What a client says of its credentials is looked through in tests/kube. Here whole processes run,
with debug logs and on the way of tests/chaos, and all that they print and serve is looked through.
"""

from __future__ import annotations

import asyncio
import base64
import json
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.app import loopback
from tests.app.loopback import UNMOOR, Cluster
from tests.chaos.gateway import Gateway
from tests.chaos.troubles import Trouble
from tests.kube.issuer import Issuer
from tests.kube.plugins import Plugin, says
from unmoor.model.base import JSON, Ref

WORD = "hunter2"
PATIENCE_S = 60.0
TROUBLES = (
    "400 that quotes",
    "401",
    "410",
    "302",
    "502 page",
    "login page",
    "no answer: closed",
    "no answer: reset",
    "empty object",
)
"""To requests of every kind; none needs patience."""


class Rough:
    """One trouble after the other, while it is rough; enough is when each has come twice."""

    def __init__(self) -> None:
        self.is_rough = False
        self._struck = 0
        self.has_had_enough = asyncio.Event()

    def on_connection(self) -> None:
        return None

    def on_read(self, _path: str) -> Trouble | None:
        if not self.is_rough:
            return None
        trouble = Trouble(TROUBLES[self._struck % len(TROUBLES)])
        self._struck += 1
        if self._struck == 2 * len(TROUBLES):
            self.has_had_enough.set()
        return trouble

    on_write = on_watch = on_read


def word(field: str) -> str:
    return f"{WORD}-{field}-0123456789"


class Given:
    """What the server accepts, and a place for files."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        config = json.loads(cluster.kubeconfig.read_text())
        users = [entry["user"] for entry in config["users"]]
        self.cluster: JSON = config["clusters"][0]["cluster"]
        self.token: str = users[0]["token"]
        self.certificate: dict[str, Any] = users[1]
        self.directory = directory
        directory.mkdir()

    def secrets(self) -> list[str]:
        """As they are, and as they are sent."""
        key = base64.b64decode(self.certificate["client-key-data"]).decode()
        return [
            WORD,
            base64.b64encode(f"ann:{WORD}".encode()).decode()[:12],
            self.token,
            self.certificate["client-key-data"][:40],
            key.splitlines()[1],
            "PRIVATE KEY",
        ]


def token_file(given: Given) -> dict[str, Any]:
    path = given.directory / "token"
    path.write_text(given.token)
    return {"tokenFile": str(path)}


def plugin(given: Given, answer: tuple[int, str]) -> dict[str, Any]:
    made = Plugin(given.directory / "plugin", answer)
    return dict(
        made.user(
            args=["--secret", word("argument")],
            env=[{"name": "KEY", "value": word("variable")}],
        )
    )


def oidc(given: Given) -> dict[str, Any]:
    issuer = Issuer(given.directory)
    issuer.port = 1  # nobody is there
    user: dict[str, Any] = issuer.user(
        issuer.id_token(-1, note=word("claim")),
        refresh_token=word("refresh"),
        client_secret=word("client"),
    )
    return user


USERS: dict[str, Callable[[Given], dict[str, Any]]] = {
    "token": lambda given: {"token": given.token},
    "token file": token_file,
    "certificate": lambda given: given.certificate,
    "plugin": lambda given: plugin(given, says(token=given.token)),
    "token that is refused": lambda _: {"token": word("token")},
    "password": lambda _: {"username": "ann", "password": word("password")},
    "plugin's nonsense": lambda given: plugin(given, (0, word("nonsense"))),
    "issuer": oidc,
}


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with loopback.cluster(tmp_path) as built:
        await built.api.create(Ref("Namespace", "karpenter"), {"metadata": {"name": "karpenter"}})
        await built.node("a")
        yield built


def kubeconfig(given: Given, user: dict[str, Any], **cluster: Any) -> Path:
    content = {
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": given.cluster | cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = given.directory / "kubeconfig"
    path.write_text(json.dumps(content))
    return path


async def started(*args: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        UNMOOR, *args, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


async def drained(path: Path) -> str:
    """What a rehearsed drain says, to which the first of the troubles happens."""
    process = await started("drain", "node/a", "--dry-run", f"--kubeconfig={path}")
    out, err = await process.communicate()
    return (out + err).decode()


async def ran(path: Path, rough: Rough) -> str:
    """What a controller says and serves, until all has happened to it or it does not begin."""
    options = ("--cluster-name=shop", "--cloud=simulated", "--address=127.0.0.1")
    ports = ("--metrics-port=0", "--health-port=0")
    logs = ("--log-level=debug", "--output=json")
    process = await started("run", f"--kubeconfig={path}", *options, *ports, *logs)
    assert process.stdout is not None
    first = (await process.stdout.readline()).decode()
    served = ""
    ending = asyncio.create_task(process.communicate())
    if first:
        rough.is_rough = True
        await rough.has_had_enough.wait()
        rough.is_rough = False
        served = await _scraped(json.loads(first)["metrics_port"])
        process.send_signal(signal.SIGTERM)
    out, err = await ending
    return first + served + (out + err).decode()


async def _scraped(port: int) -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/metrics") as answer,
    ):
        return await answer.text()


@pytest.mark.parametrize("user", USERS)
async def test_no_command_says_a_secret(cluster: Cluster, tmp_path: Path, user: str) -> None:
    given = Given(cluster, tmp_path / "given")
    identity = USERS[user](given)
    port = int(given.cluster["server"].rpartition(":")[2])
    authority = base64.b64decode(given.cluster["certificate-authority-data"]).decode()
    rough = Rough()
    async with asyncio.timeout(PATIENCE_S), Gateway(port, authority, rough) as gateway:
        pem = base64.b64encode(gateway.authority.encode()).decode()
        way = {"server": f"https://127.0.0.1:{gateway.port}", "certificate-authority-data": pem}
        path = kubeconfig(given, identity, **way)
        rough.is_rough = True
        told = await drained(path)
        rough.is_rough = False
        logged = await ran(path, rough)

    assert told
    assert logged
    assert [secret for secret in given.secrets() if secret in told + logged] == []
