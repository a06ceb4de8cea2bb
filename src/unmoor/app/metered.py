"""How long does the cloud take, and how often does it refuse? A cloud port around another.

Must not: change an answer or an error.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from unmoor.app.metrics import Metrics
from unmoor.model.instance import CloudInstance, InstanceType, LaunchRequest
from unmoor.model.selection import Selection, Wish
from unmoor.runtime.ports import Clock, Cloud, CloudError, Unreachable

T = TypeVar("T")

CONTROLLER = "unmoor"
"""Karpenter names the controller that called; here one interpreter calls for all of them."""


class MeteredCloud:
    """Passes every call on and takes its time."""

    def __init__(self, cloud: Cloud, metrics: Metrics, clock: Clock) -> None:
        """Measure ``cloud``."""
        self.scheme = cloud.scheme
        self._cloud = cloud
        self._metrics = metrics
        self._clock = clock

    async def create(self, request: LaunchRequest) -> CloudInstance:
        """Launch."""
        return await self._measured("Create", self._cloud.create(request))

    async def get(self, provider_id: str) -> CloudInstance:
        """One instance."""
        return await self._measured("Get", self._cloud.get(provider_id))

    async def list(self, cluster: str) -> tuple[CloudInstance, ...]:
        """The instances of one cluster."""
        return await self._measured("List", self._cloud.list(cluster))

    async def terminate(self, provider_id: str) -> None:
        """Tell it to go."""
        await self._measured("Delete", self._cloud.terminate(provider_id))

    async def instance_types(self) -> tuple[InstanceType, ...]:
        """What is on offer."""
        return await self._measured("GetInstanceTypes", self._cloud.instance_types())

    async def discover(self, wish: Wish) -> Selection:
        """What selectors find."""
        return await self._measured("Discover", self._cloud.discover(wish))

    async def _measured(self, method: str, call: Awaitable[T]) -> T:
        labels = {"controller": CONTROLLER, "method": method, "provider": self.scheme}
        begun_s = self._clock.now().mono
        try:
            return await call
        except (CloudError, Unreachable) as error:
            kind = error.kind if isinstance(error, CloudError) else "unreachable"
            self._metrics.take("cloudprovider_errors_total", {**labels, "error": kind})
            raise
        finally:
            took_s = self._clock.now().mono - begun_s
            self._metrics.take("cloudprovider_duration_seconds", labels, took_s)
