"""One user of a kubeconfig asks a server, and what the server saw."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from tests.kube.kubeconfigs import kubeconfig, load_file, write
from tests.kube.server import ManualClock, Server
from unmoor.kube.client import KubeApi
from unmoor.model.kinds import NODES


def client_of(
    server: Server, user: Mapping[str, Any], clock: ManualClock, file: Path, **cluster: Any
) -> KubeApi:
    """A client for the kubeconfig ``file``, which is written."""
    config = load_file(write(file, kubeconfig(user, {"server": server.url} | cluster)))
    return KubeApi(config, clock=clock, random=Random(1))


async def get(api: KubeApi, times: int = 1) -> None:
    for _ in range(times):
        await api.get(NODES.ref("a"))


def tokens(server: Server) -> list[str]:
    """The token of each request."""
    return [seen.headers.get("Authorization", "").removeprefix("Bearer ") for seen in server.seen]
