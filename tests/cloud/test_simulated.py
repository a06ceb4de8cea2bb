"""What only the simulated cloud promises; the rest is in the suite of the port."""

from collections.abc import Awaitable
from typing import Any

import pytest

from tests.sim.actors.cluster import Cluster, in_virtual_time
from unmoor.cloud import simulated
from unmoor.cloud.simulated import SimulatedCloud
from unmoor.model.base import JSON, Ref
from unmoor.model.cluster import SIMULATED_SHELF
from unmoor.model.instance import LaunchRequest
from unmoor.model.kinds import INSTANCES, KINDS
from unmoor.runtime.around import ApiAround
from unmoor.runtime.ports import Api, ApiError, CloudError, PortError, Unreachable
from unmoor.sim import virtual
from unmoor.sim.apiserver import Server, status
from unmoor.sim.direct import DirectApi

ASKED = LaunchRequest(
    token="5f0c-1", cluster="harbour", machine="m", labels={"team": "shop"}, tags={"a": "b"}
)


class Refusing:
    """An API that has nothing to read and refuses to write, always with the same words."""

    def __init__(self, error: PortError) -> None:
        self.error = error

    async def get(self, ref: Ref) -> JSON:
        status = {"details": {"kind": KINDS[ref.kind].plural, "name": ref.name}}
        raise ApiError(404, "NotFound", f"no {ref}", status=status)

    async def create(self, *_: Any, **__: Any) -> JSON:
        raise self.error


class Blind(ApiAround):
    """An API whose first answers about instances are these errors."""

    def __init__(self, api: Api, *errors: ApiError) -> None:
        super().__init__(api)
        self.errors = [*errors]

    async def get(self, ref: Ref) -> JSON:
        if ref.kind == "Instance" and self.errors:
            raise self.errors.pop(0)
        return await super().get(ref)


def absent(token: str) -> ApiError:
    return status.not_found(INSTANCES, simulated.instance_name(token))


async def failure(call: Awaitable[Any]) -> PortError:
    with pytest.raises(PortError) as caught:
        await call
    return caught.value


def refusing(error: PortError) -> SimulatedCloud:
    api: Any = Refusing(error)
    over: Api = api
    return SimulatedCloud(over)


@in_virtual_time
async def test_an_instance_is_an_api_object_named_after_its_token() -> None:
    cluster = Cluster()
    made = await cluster.cloud.create(ASKED)
    name = simulated.instance_name(ASKED.token)
    found = cluster.server.get(INSTANCES.ref(name))

    assert made.provider_id == f"sim:///{made.zone}/{name}"
    assert len(name) == len("i-0123456789abcdef0")
    assert found["spec"]["token"] == ASKED.token
    assert found["spec"]["labels"] == {"team": "shop"}
    assert found["spec"]["tags"] == {"a": "b"}


@in_virtual_time
async def test_stock_outs_are_read_from_a_config_map() -> None:
    cluster = Cluster()
    first = await cluster.cloud.create(ASKED)
    ref = SIMULATED_SHELF
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": ref.name, "namespace": ref.namespace},
        "data": {"unavailable": f"{first.instance_type} * *  # all of it"},
    }
    await cluster.api.create(ref, body)
    second = await cluster.cloud.create(
        LaunchRequest(token="5f0c-2", cluster="harbour", machine="m")
    )

    assert second.instance_type != first.instance_type


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (ApiError(429, "TooManyRequests", "slow down", retry_after_s=7.0), "rate-limited"),
        (ApiError(422, "Invalid", "no such field"), "invalid"),
        (ApiError(403, "Forbidden", "you may not"), "failed"),
        (ApiError(404, "NotFound", "no such kind"), "failed"),
    ],
)
@in_virtual_time
async def test_what_the_api_refuses_the_cloud_refuses(said: ApiError, kind: str) -> None:
    error = await failure(refusing(said).create(ASKED))

    assert isinstance(error, CloudError)
    assert error.kind == kind
    assert error.retry_after_s == said.retry_after_s


@pytest.mark.parametrize(
    "said",
    [Unreachable("cut off"), ApiError(500, "InternalError", ""), ApiError(504, "Timeout", "")],
)
@in_virtual_time
async def test_after_a_server_error_nobody_knows(said: PortError) -> None:
    error = await failure(refusing(said).create(ASKED))

    assert isinstance(error, Unreachable)


@pytest.mark.parametrize("code", [403, 404, 500])
@in_virtual_time
async def test_what_cannot_be_looked_up_may_have_been_launched(code: int) -> None:
    """A definite refusal would lead to another token, and to a second instance."""
    cluster = Cluster()
    await cluster.cloud.create(ASKED)
    refused = ApiError(code, "", "no")
    at_once = SimulatedCloud(Blind(cluster.api, refused))
    too_late = SimulatedCloud(Blind(cluster.api, absent(ASKED.token), refused))

    assert isinstance(await failure(at_once.create(ASKED)), Unreachable)
    assert isinstance(await failure(too_late.create(ASKED)), Unreachable)


@in_virtual_time
async def test_where_the_kind_is_not_served_an_instance_is_not_said_to_be_gone() -> None:
    clock = virtual.VirtualClock()
    served = [one for one in KINDS.values() if one is not INSTANCES]
    cloud = SimulatedCloud(DirectApi(Server(clock=clock.wall, resources=served)))
    error = await failure(cloud.get("sim:///us-east-1a/i-0123456789abcdef0"))

    assert isinstance(error, CloudError)
    assert error.kind == "failed"
