"""What kube-scheduler is allowed to choose: of the nodes that it would take, the promised one only.

A scheduler extender. kube-scheduler asks it after all of its own filters, so it also hears which
nodes kube-scheduler itself would take. A pod that nobody has promised anything passes unfiltered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from aiohttp import web

from tests import ports
from unmoor.model.base import JSON

PROFILE: Final = "promised"
"""The scheduler name of pods that are held to promises; all others are nobody's."""
FLAGS: Final = (
    # A hint from an equal pod would have one node looked at, and we want to hear about all.
    "--feature-gates=OpportunisticBatching=false",
    "--vmodule=schedule_one=10",  # how it scores the nodes is in its log only
)
LEFT_OUT: Final = "fits, but is not the promised node"


@dataclass
class Promises:
    """The extender: the promised node by ``namespace/name``, and what it has heard.

    By uid of the pod, as of the last try: ``fits``, the nodes that kube-scheduler would take, and
    ``left``, those of them that it may. It does not ask when no node fits. Enter it as a context.
    """

    promised: dict[str, str] = field(default_factory=dict)
    fits: dict[str, list[str]] = field(default_factory=dict)
    left: dict[str, list[str]] = field(default_factory=dict)
    port: int = field(default_factory=ports.free)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**24)
        app.add_routes([web.post("/filter", self._filter)])
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    def configuration(self, kubeconfig: Path) -> JSON:
        """A KubeSchedulerConfiguration: this extender, no preemption, every node looked at."""
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 10000},
            "parallelism": 2,
            "percentageOfNodesToScore": 100,
            "podInitialBackoffSeconds": 1,
            "podMaxBackoffSeconds": 1,
            "profiles": [
                {
                    "schedulerName": PROFILE,
                    "plugins": {"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}},
                }
            ],
            "extenders": [
                {
                    "urlPrefix": f"http://127.0.0.1:{self.port}",
                    "filterVerb": "filter",
                    "nodeCacheCapable": True,
                    "ignorable": False,
                    "httpTimeout": "30s",
                }
            ],
        }

    async def _filter(self, request: web.Request) -> web.Response:
        asked = await request.json()
        metadata: Mapping[str, str] = asked["Pod"]["metadata"]
        nodes: list[str] = asked["NodeNames"]
        only = self.promised.get(f"{metadata['namespace']}/{metadata['name']}")
        left = [name for name in nodes if only in {None, name}]
        self.fits[metadata["uid"]], self.left[metadata["uid"]] = nodes, left
        out = {name: LEFT_OUT for name in nodes if name not in left}
        return web.json_response({"NodeNames": left, "FailedNodes": out})

    def promise(self, promised: Mapping[str, str]) -> None:
        """From now on these, and nothing heard yet."""
        self.promised = dict(promised)
        self.fits.clear()
        self.left.clear()
