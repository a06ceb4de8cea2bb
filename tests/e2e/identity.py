"""A client with a kubeconfig of its own, and whom the API server takes it for."""

import json
import random
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.controlplane import ControlPlane
from unmoor.kube import config
from unmoor.kube.client import KubeApi
from unmoor.kube.request import Request
from unmoor.model.moment import Moment
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import Clock


class LaterClock(SystemClock):
    """Ours, and ahead by as much as a test says."""

    ahead_s = 0.0

    def now(self) -> Moment:
        now = super().now()
        ahead = timedelta(seconds=self.ahead_s)
        return Moment(wall=now.wall + ahead, mono=now.mono + self.ahead_s)


def client_of(
    plane: ControlPlane,
    file: Path,
    user: Mapping[str, Any],
    clock: Clock,
    environ: Mapping[str, str] = {},
    **cluster: Any,
) -> KubeApi:
    where = {"server": plane.url, "certificate-authority": str(plane.ca_file)} | cluster
    content = {
        "clusters": [{"name": "real", "cluster": where}],
        "users": [{"name": "us", "user": dict(user)}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "us"}}],
        "current-context": "real",
    }
    file.write_text(json.dumps(content))
    found = config.load(path=str(file), environ=environ)
    return KubeApi(found, clock=clock, random=random.Random(1))


async def who(api: KubeApi) -> dict[str, Any]:
    """Whom the server takes us for."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    request = Request(
        method="POST",
        path="/apis/authentication.k8s.io/v1/selfsubjectreviews",
        body=json.dumps(review).encode(),
    )
    answer: dict[str, Any] = (await api._json(request))["status"]["userInfo"]
    return answer


async def name(api: KubeApi) -> str:
    username: str = (await who(api))["username"]
    return username
