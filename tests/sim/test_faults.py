import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import msgspec
import pytest

from tests.sim.actors.cluster import Cluster, in_virtual_time
from unmoor.model.base import JSON
from unmoor.model.instance import InstanceState, LaunchRequest
from unmoor.model.kinds import CONFIG_MAPS
from unmoor.runtime.ports import ApiError, Change, CloudError, PortError, Unreachable
from unmoor.sim.faults import CATCHING_UP_S, ApiFaults, CloudFaults, FaultyApi, FaultyCloud, Ratio

REF = CONFIG_MAPS.ref("a", "default")
BODY: JSON = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "default"},
    "data": {"key": "old"},
}
NEW: JSON = {"data": {"key": "new"}}
ASKED = LaunchRequest(token="t", cluster="c", machine="m")


def api_of(cluster: Cluster, **faults: Any) -> FaultyApi:
    return FaultyApi(cluster.api, Random(0), cluster.clock, ApiFaults(**faults))


ALWAYS: Ratio = (1, 1)


def cloud_of(cluster: Cluster, **faults: Any) -> FaultyCloud:
    return FaultyCloud(cluster.cloud, Random(0), cluster.clock, CloudFaults(**faults))


async def failure(call: Awaitable[Any]) -> PortError:
    with pytest.raises(PortError) as caught:
        await call
    return caught.value


def value(cluster: Cluster) -> str:
    found = cluster.find(REF)
    return "" if found is None else str(found["data"]["key"])


# --------------------------------------------------------------------------------- the API server


@in_virtual_time
async def test_without_faults_everything_goes_through() -> None:
    cluster = Cluster()
    api = api_of(cluster)
    await api.create(REF, BODY)
    await api.patch(REF, NEW)
    assert (await api.get(REF))["data"] == NEW["data"]
    assert [one.name for one in (await api.list(CONFIG_MAPS)).items] == ["a"]
    await api.delete(REF)

    assert cluster.find(REF) is None
    assert not api.counts


@pytest.mark.parametrize(
    ("fault", "code", "is_done"),
    [
        ("lost_request", None, False),
        ("lost_answer", None, True),
        ("conflict", 409, False),
        ("too_many", 429, False),
        ("server_error", 500, False),
    ],
)
@in_virtual_time
async def test_each_fault_of_a_write(fault: str, code: int | None, *, is_done: bool) -> None:
    cluster = Cluster()
    await cluster.api.create(REF, BODY)
    api = api_of(cluster, **{fault: ALWAYS})
    error = await failure(api.patch(REF, NEW))

    assert value(cluster) == ("new" if is_done else "old")
    assert (error.code if isinstance(error, ApiError) else None) == code
    assert isinstance(error, Unreachable) == (code is None)
    assert api.counts == {fault: 1}


@in_virtual_time
async def test_a_conflict_never_meets_a_creation_or_a_reading() -> None:
    cluster = Cluster()
    api = api_of(cluster, conflict=ALWAYS)
    await api.create(REF, BODY)
    await api.get(REF)
    await api.list(CONFIG_MAPS)

    assert not api.counts


@in_virtual_time
async def test_a_lost_answer_hides_a_refusal_as_well() -> None:
    cluster = Cluster()
    error = await failure(api_of(cluster, lost_answer=ALWAYS).patch(REF, NEW))

    assert isinstance(error, Unreachable)


@in_virtual_time
async def test_slow_means_late() -> None:
    cluster = Cluster()
    await cluster.api.create(REF, BODY)
    await api_of(cluster, slow=ALWAYS, slow_s=(7, 7)).get(REF)

    assert cluster.now_s == 7


@in_virtual_time
async def test_in_calm_weather_nothing_happens_and_the_storm_comes_back() -> None:
    cluster = Cluster()
    await cluster.api.create(REF, BODY)
    api = api_of(cluster, lost_request=ALWAYS, slow=ALWAYS, watch_expired=ALWAYS)
    api.calm()
    await api.get(REF)
    api.storm()

    assert isinstance(await failure(api.get(REF)), Unreachable)


@in_virtual_time
async def test_who_is_blind_is_so_since_the_first_of_the_watches_that_hung_in_a_row() -> None:
    """It is opened anew where it was, and hangs at once again."""
    cluster = Cluster()
    api = api_of(cluster, watch_silent=ALWAYS)
    since = cluster.server.version
    assert api.blind_since is None

    async def follow() -> None:
        async for _ in api.watch(CONFIG_MAPS, since=since):
            pass

    await cluster.wait(10.0)
    await cluster.api.create(REF, BODY)
    found: list[float | None] = []
    for wait_s in (0.0, CATCHING_UP_S + 1.0):
        await cluster.wait(wait_s)
        for _ in range(2):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(follow(), 100.0)
            found.append(api.blind_since)
            await cluster.wait(1.0)
    await cluster.wait(CATCHING_UP_S)

    second = 10.0 + 2 * 101.0 + CATCHING_UP_S + 1.0
    assert found == [10.0, 10.0, second, second]
    assert api.blind_since is None


@in_virtual_time
async def test_a_ratio_is_kept() -> None:
    cluster = Cluster()
    await cluster.api.create(REF, BODY)
    api = api_of(cluster, lost_request=(1, 4))
    for _ in range(1000):
        try:
            await api.get(REF)
        except Unreachable:
            continue

    assert 200 < api.counts["lost_request"] < 300


async def watched(cluster: Cluster, api: FaultyApi, count: int) -> list[tuple[float, str]]:
    """Follow as an informer does, from version to version, until ``count`` values were seen."""
    seen: list[tuple[float, str]] = []
    since = cluster.server.version
    await cluster.api.create(REF, BODY)
    for number in range(count - 1):
        await cluster.api.patch(REF, {"data": {"key": str(number)}})
    while len(seen) < count:
        async for event in api.watch(CONFIG_MAPS, since=since):
            assert isinstance(event, Change)
            since = event.object.metadata.resource_version
            seen.append((cluster.now_s, event.object.data["key"]))
            if len(seen) == count:
                break
    return seen


@in_virtual_time
async def test_cut_and_late_watches_lose_nothing_and_keep_the_order() -> None:
    cluster = Cluster()
    api = api_of(cluster, watch_cut=(1, 3), watch_late=(1, 3), late_s=(5, 5))
    seen = await watched(cluster, api, 50)

    assert [key for _, key in seen] == ["old", *(str(number) for number in range(49))]
    assert api.counts["watch_cut"] > 5
    assert seen[-1][0] == 5 * api.counts["watch_late"] > 0


@in_virtual_time
async def test_a_watch_may_have_expired() -> None:
    cluster = Cluster()
    api = api_of(cluster, watch_expired=ALWAYS)

    async def first() -> Any:
        return await anext(aiter(api.watch(CONFIG_MAPS, since=cluster.server.version)))

    error = await failure(first())
    assert isinstance(error, ApiError)
    assert error.code == 410


# --------------------------------------------------------------------------------------- the cloud


@pytest.mark.parametrize(
    ("fault", "kind", "launched"),
    [
        ("lost_request", "", 0),
        ("lost_answer", "", 1),
        ("rate_limited", "rate-limited", 0),
        ("stock_out", "insufficient-capacity", 0),
        ("failed", "failed", 0),
    ],
)
@in_virtual_time
async def test_each_fault_of_a_launch(fault: str, kind: str, launched: int) -> None:
    cluster = Cluster()
    cloud = cloud_of(cluster, **{fault: ALWAYS})
    error = await failure(cloud.create(ASKED))

    assert (error.kind if isinstance(error, CloudError) else "") == kind
    assert len(await cluster.cloud.list("c")) == launched
    cloud.calm()
    made = await cloud.create(ASKED)
    assert [one.provider_id for one in await cloud.list("c")] == [made.provider_id]


@pytest.mark.parametrize("fault", ["stock_out", "failed"])
@in_virtual_time
async def test_a_token_that_was_launched_is_never_refused(fault: str) -> None:
    cluster = Cluster()
    made = await cluster.cloud.create(ASKED)
    again = await cloud_of(cluster, **{fault: ALWAYS}).create(ASKED)

    assert again.provider_id == made.provider_id


Call = Callable[[FaultyCloud, str], Awaitable[Any]]
CALLS: dict[str, Call] = {
    "get": lambda cloud, made: cloud.get(made),
    "list": lambda cloud, _: cloud.list("c"),
    "terminate": lambda cloud, made: cloud.terminate(made),
    "instance_types": lambda cloud, _: cloud.instance_types(),
}


@pytest.mark.parametrize("name", CALLS)
@in_virtual_time
async def test_every_call_may_fail_and_be_slow(name: str) -> None:
    cluster = Cluster()
    made = (await cluster.cloud.create(ASKED)).provider_id
    faults = {"rate_limited": ALWAYS, "slow": ALWAYS, "slow_s": (3, 3)}
    error = await failure(CALLS[name](cloud_of(cluster, **faults), made))

    assert isinstance(error, CloudError)
    assert error.retry_after_s
    assert cluster.now_s == 3
    await CALLS[name](cloud_of(cluster), made)


@in_virtual_time
async def test_lists_may_lag_but_get_does_not() -> None:
    cluster = Cluster()
    cloud = cloud_of(cluster, lagging=ALWAYS, lag_s=(30, 30))
    made = await cloud.create(ASKED)
    assert await cloud.list("c") == ()
    assert (await cloud.get(made.provider_id)).provider_id == made.provider_id

    await cluster.wait(31)
    assert len(await cloud.list("c")) == 1
    await cloud.terminate(made.provider_id)
    (listed,) = await cloud.list("c")
    assert listed.state is InstanceState.PENDING
    assert (await cloud.get(made.provider_id)).state is InstanceState.SHUTTING_DOWN

    await cluster.wait(31)
    (listed,) = await cloud.list("c")
    assert listed.state is InstanceState.SHUTTING_DOWN


@in_virtual_time
async def test_the_same_dice_make_the_same_weather() -> None:
    stories = []
    for _ in range(2):
        cluster = Cluster()
        await cluster.api.create(REF, BODY)
        faults = msgspec.structs.asdict(ApiFaults(lost_request=(1, 3), too_many=(1, 5)))
        api = api_of(cluster, **faults)
        story = ""
        for _ in range(200):
            try:
                await api.get(REF)
                story += "."
            except ApiError:
                story += "t"
            except Unreachable:
                story += "l"
        stories.append(story)

    assert stories[0] == stories[1]
    assert set(stories[0]) == set(".tl")
