"""What every cloud provider must do, as cases that run on any of them.

A case gets a ``Ground``: a cloud, a clock, and ways to bring about what only the other side can (no
stock, a machine that dies). It never asks which cloud it is. A new provider adds one factory of
grounds to ``test_cloud_port.py``. The cases are in ``cloud_launching`` and ``cloud_living``.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Protocol

import pytest

from unmoor.model import names, resources
from unmoor.model.instance import CloudInstance, InstanceState, LaunchRequest
from unmoor.runtime.ports import Clock, Cloud, CloudError

PATIENCE_S = 60.0
LOOK_AGAIN_S = 0.1

Requirement = tuple[str, str, tuple[str, ...]]
SMALL: resources.Resources = {"cpu": 500, "memory": 2**28, "pods": 4}
ON_DEMAND: Requirement = (names.CAPACITY_TYPE, "In", (names.ON_DEMAND,))


class Ground(Protocol):
    """Where cases are played. ``cluster`` is this ground's own."""

    cloud: Cloud
    clock: Clock
    cluster: str
    zones: tuple[str, ...]

    async def sell_out(self, instance_type: str, zone: str, capacity_type: str) -> None:
        """Let there be no such offering; ``*`` stands for any."""
        ...

    async def restock(self) -> None:
        """Everything is to be had again."""
        ...

    async def pull_the_plug(self, provider_id: str) -> None:
        """Let a machine die without a word."""
        ...


Case = Callable[[Ground], Awaitable[None]]
CASES: dict[str, Case] = {}
_tokens = itertools.count()


def case(play: Case) -> Case:
    """Add a case under its function's name."""
    CASES[play.__name__] = play
    return play


def request(
    ground: Ground,
    *requirements: Requirement,
    token: str = "",
    requests: resources.Resources = SMALL,
    cluster: str = "",
) -> LaunchRequest:
    return LaunchRequest(
        token=token or f"{ground.cluster}-{next(_tokens)}",
        cluster=cluster or ground.cluster,
        machine="worker-1",
        requirements=requirements,
        requests=requests,
        labels={"team": "shop"},
        tags={"paid-by": "shop"},
    )


async def refused(call: Awaitable[object]) -> CloudError:
    with pytest.raises(CloudError) as caught:
        await call
    return caught.value


async def eventually(ground: Ground, probe: Callable[[], Awaitable[bool]]) -> None:
    deadline = ground.clock.now().mono + PATIENCE_S
    while not await probe():
        assert ground.clock.now().mono < deadline, "it never happened"
        await ground.clock.sleep(LOOK_AGAIN_S)


async def state_of(ground: Ground, provider_id: str) -> InstanceState:
    """TERMINATED as well when nobody knows it any more."""
    try:
        return (await ground.cloud.get(provider_id)).state
    except CloudError as error:
        if error.kind != "not-found":
            raise
        return InstanceState.TERMINATED


async def until(ground: Ground, provider_id: str, state: InstanceState) -> None:
    async def is_there() -> bool:
        return await state_of(ground, provider_id) is state

    await eventually(ground, is_there)


async def listed(ground: Ground) -> list[str]:
    return [one.provider_id for one in await ground.cloud.list(ground.cluster)]


def identity(one: CloudInstance) -> tuple[str, ...]:
    return (one.provider_id, one.instance_type, one.zone, one.capacity_type, one.cluster, one.token)
