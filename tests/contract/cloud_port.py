"""What every cloud provider must do, as cases that run on any of them.

A case gets a ``Ground``: a cloud, a clock, and ways to bring about what only the other side can (no
stock, a machine that dies). It never asks which cloud it is. A new provider adds one factory of
grounds to ``test_cloud_port.py``.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec
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


# -------------------------------------------------------------------------------------- launching


@case
async def it_launches_what_was_asked_for(ground: Ground) -> None:
    asked = request(ground)
    made = await ground.cloud.create(asked)

    assert (made.token, made.cluster, made.machine) == (asked.token, ground.cluster, "worker-1")
    assert made.provider_id.startswith(f"{ground.cloud.scheme}:///")
    assert made.state in {InstanceState.PENDING, InstanceState.RUNNING}


@case
async def the_same_token_is_the_same_instance(ground: Ground) -> None:
    asked = request(ground)
    made = await ground.cloud.create(asked)

    assert identity(await ground.cloud.create(asked)) == identity(made)
    assert await listed(ground) == [made.provider_id]


@case
async def the_same_token_five_times_at_once_is_one_instance(ground: Ground) -> None:
    asked = request(ground)
    made = await asyncio.gather(*(ground.cloud.create(asked) for _ in range(5)))

    assert len({identity(one) for one in made}) == 1
    assert len(await listed(ground)) == 1


@case
async def a_token_keeps_its_instance_even_if_other_things_are_asked(ground: Ground) -> None:
    asked = request(ground, ON_DEMAND)
    made = await ground.cloud.create(asked)
    spot = (names.CAPACITY_TYPE, "In", (names.SPOT,))
    again = await ground.cloud.create(msgspec.structs.replace(asked, requirements=(spot,)))

    assert identity(again) == identity(made)


@case
async def another_token_is_another_instance(ground: Ground) -> None:
    first = await ground.cloud.create(request(ground))
    second = await ground.cloud.create(request(ground))

    assert first.provider_id != second.provider_id


@case
async def a_token_does_not_bring_a_terminated_instance_back(ground: Ground) -> None:
    asked = request(ground)
    made = await ground.cloud.create(asked)
    await ground.cloud.terminate(made.provider_id)
    await until(ground, made.provider_id, InstanceState.TERMINATED)
    again = await ground.cloud.create(asked)

    assert again.provider_id == made.provider_id
    assert again.state.is_going


@case
async def it_launches_in_the_zone_that_is_asked_for(ground: Ground) -> None:
    for zone in ground.zones:
        made = await ground.cloud.create(request(ground, (names.ZONE, "In", (zone,))))
        assert made.zone == zone


@case
async def it_launches_spot_where_spot_is_asked_for(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground, (names.CAPACITY_TYPE, "In", (names.SPOT,))))

    assert made.capacity_type == names.SPOT


@case
async def it_launches_the_architecture_that_is_asked_for(ground: Ground) -> None:
    arch = {one.name: one.arch for one in await ground.cloud.instance_types()}
    for wanted in ("amd64", "arm64"):
        made = await ground.cloud.create(request(ground, (names.ARCH, "In", (wanted,))))
        assert arch[made.instance_type] == wanted


@case
async def it_launches_the_type_that_is_asked_for(ground: Ground) -> None:
    wanted = (await ground.cloud.instance_types())[-1].name
    made = await ground.cloud.create(request(ground, (names.INSTANCE_TYPE, "In", (wanted,))))

    assert made.instance_type == wanted


@case
async def it_never_launches_what_is_excluded(ground: Ground) -> None:
    first = await ground.cloud.create(request(ground))
    second = await ground.cloud.create(
        request(ground, (names.INSTANCE_TYPE, "NotIn", (first.instance_type,)))
    )

    assert second.instance_type != first.instance_type


@case
async def it_launches_what_is_large_enough(ground: Ground) -> None:
    wanted = {"cpu": 7000, "memory": 20 * 2**30, "pods": 20}
    made = await ground.cloud.create(request(ground, requests=wanted))

    assert resources.fits(wanted, made.allocatable)


@case
async def it_launches_the_cheapest_that_is_large_enough(ground: Ground) -> None:
    wanted = {"cpu": 3000, "memory": 2**30, "pods": 10}
    made = await ground.cloud.create(request(ground, ON_DEMAND, requests=wanted))
    prices = {
        (one.name, offering.zone): offering.price_usd_per_h
        for one in await ground.cloud.instance_types()
        for offering in one.offerings
        if offering.capacity_type == names.ON_DEMAND and resources.fits(wanted, one.allocatable)
    }
    known = [price for price in prices.values() if price is not None]

    assert prices[made.instance_type, made.zone] == min(known)


@case
async def what_is_nowhere_on_sale_is_invalid(ground: Ground) -> None:
    error = await refused(
        ground.cloud.create(request(ground, (names.INSTANCE_TYPE, "In", ("m5.gigantic",))))
    )

    assert error.kind == "invalid"
    assert await listed(ground) == []


@case
async def what_fits_nowhere_is_invalid(ground: Ground) -> None:
    error = await refused(ground.cloud.create(request(ground, requests={"cpu": 10**9})))

    assert error.kind == "invalid"
    assert await listed(ground) == []


@case
async def a_requirement_that_means_nothing_is_invalid(ground: Ground) -> None:
    error = await refused(ground.cloud.create(request(ground, (names.ZONE, "Sounds", ("good",)))))

    assert error.kind == "invalid"


# ------------------------------------------------------------------------------------- stock-outs


@case
async def sold_out_everywhere_is_insufficient_capacity(ground: Ground) -> None:
    await ground.sell_out("*", "*", "*")
    error = await refused(ground.cloud.create(request(ground)))

    assert error.kind == "insufficient-capacity"
    assert await listed(ground) == []


@case
async def sold_out_in_one_zone_means_another_zone(ground: Ground) -> None:
    await ground.sell_out("*", ground.zones[0], "*")
    anywhere = (names.ZONE, "In", ground.zones[:2])
    made = await ground.cloud.create(request(ground, anywhere))

    assert made.zone == ground.zones[1]


@case
async def sold_out_as_spot_means_on_demand(ground: Ground) -> None:
    await ground.sell_out("*", "*", names.SPOT)

    assert (await ground.cloud.create(request(ground))).capacity_type == names.ON_DEMAND


@case
async def a_refused_token_may_be_used_again(ground: Ground) -> None:
    asked = request(ground)
    await ground.sell_out("*", "*", "*")
    await refused(ground.cloud.create(asked))
    await ground.restock()

    assert (await ground.cloud.create(asked)).token == asked.token


@case
async def a_stock_out_does_not_touch_what_is_there(ground: Ground) -> None:
    asked = request(ground)
    made = await ground.cloud.create(asked)
    await ground.sell_out("*", "*", "*")

    assert identity(await ground.cloud.create(asked)) == identity(made)


# ---------------------------------------------------------------------------------------- reading


@case
async def get_tells_the_same_as_create(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))

    assert identity(await ground.cloud.get(made.provider_id)) == identity(made)


@case
async def an_instance_comes_to_run(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))
    await until(ground, made.provider_id, InstanceState.RUNNING)
    running = await ground.cloud.get(made.provider_id)

    assert running.launched_at is not None
    assert identity(running) == identity(made)


@case
async def an_instance_nobody_made_is_not_found(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))
    error = await refused(ground.cloud.get(made.provider_id[:-4] + "0000"))

    assert error.kind == "not-found"


@case
async def an_instance_is_not_in_another_zone(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground, (names.ZONE, "In", ground.zones[:1])))
    elsewhere = made.provider_id.replace(ground.zones[0], ground.zones[1])
    error = await refused(ground.cloud.get(elsewhere))

    assert error.kind == "not-found"


@case
async def what_is_no_provider_id_is_invalid(ground: Ground) -> None:
    for text in ("", "nonsense", f"{ground.cloud.scheme}:///", "other:///zone/i-1"):
        assert (await refused(ground.cloud.get(text))).kind == "invalid"
        assert (await refused(ground.cloud.terminate(text))).kind == "invalid"


@case
async def it_tells_what_a_machine_has(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))
    shapes = {one.name: one for one in await ground.cloud.instance_types()}
    shape = shapes[made.instance_type]

    assert made.capacity == dict(shape.capacity)
    assert made.allocatable == dict(shape.allocatable)


@case
async def it_tells_which_labels_the_node_will_have(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))

    assert made.labels[names.ZONE] == made.zone
    assert made.labels[names.CAPACITY_TYPE] == made.capacity_type
    assert made.labels[names.INSTANCE_TYPE] == made.instance_type
    assert made.labels["team"] == "shop"


@case
async def a_cluster_lists_its_own_instances_only(ground: Ground) -> None:
    other = f"{ground.cluster}-other"
    mine = [await ground.cloud.create(request(ground)) for _ in range(3)]
    foreign = await ground.cloud.create(request(ground, cluster=other))

    assert sorted(await listed(ground)) == sorted(one.provider_id for one in mine)
    assert [one.provider_id for one in await ground.cloud.list(other)] == [foreign.provider_id]


@case
async def an_unknown_cluster_has_no_instances(ground: Ground) -> None:
    await ground.cloud.create(request(ground))

    assert await ground.cloud.list(f"{ground.cluster}-nobody") == ()


@case
async def a_cluster_may_have_any_name(ground: Ground) -> None:
    odd = f"{ground.cluster} of Mr. O'Neill / " + "x" * 80
    made = await ground.cloud.create(request(ground, cluster=odd))

    assert [one.provider_id for one in await ground.cloud.list(odd)] == [made.provider_id]


# ------------------------------------------------------------------------------------------ ending


@case
async def a_terminated_instance_goes(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))
    await until(ground, made.provider_id, InstanceState.RUNNING)
    await ground.cloud.terminate(made.provider_id)

    assert (await state_of(ground, made.provider_id)).is_going
    await until(ground, made.provider_id, InstanceState.TERMINATED)


@case
async def an_instance_may_be_terminated_before_it_runs(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))
    await ground.cloud.terminate(made.provider_id)

    await until(ground, made.provider_id, InstanceState.TERMINATED)


@case
async def it_may_be_told_to_go_twice(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))
    await ground.cloud.terminate(made.provider_id)
    try:
        await ground.cloud.terminate(made.provider_id)
    except CloudError as error:
        if error.kind != "not-found":
            raise


@case
async def what_is_gone_cannot_be_terminated(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))
    await ground.cloud.terminate(made.provider_id)
    await until(ground, made.provider_id, InstanceState.TERMINATED)

    assert (await refused(ground.cloud.terminate(made.provider_id))).kind == "not-found"


@case
async def what_never_was_cannot_be_terminated(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))
    error = await refused(ground.cloud.terminate(made.provider_id[:-4] + "0000"))

    assert error.kind == "not-found"


@case
async def a_terminated_instance_is_not_listed_as_if_it_were_there(ground: Ground) -> None:
    kept, made = [await ground.cloud.create(request(ground)) for _ in range(2)]
    await ground.cloud.terminate(made.provider_id)

    async def is_going() -> bool:
        found = await ground.cloud.list(ground.cluster)
        return [one.provider_id for one in found if not one.state.is_going] == [kept.provider_id]

    await eventually(ground, is_going)


@case
async def a_machine_that_dies_is_seen_to_be_gone(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))
    await until(ground, made.provider_id, InstanceState.RUNNING)
    await ground.pull_the_plug(made.provider_id)

    await until(ground, made.provider_id, InstanceState.TERMINATED)


# ------------------------------------------------------------------------------- tags and the shop


@case
async def tags_can_be_set(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))
    await ground.cloud.tag(made.provider_id, {"Name": "worker-1", "paid-by": "lab"})

    assert identity(await ground.cloud.get(made.provider_id)) == identity(made)


@case
async def what_never_was_cannot_be_tagged(ground: Ground) -> None:
    made = await ground.cloud.create(request(ground))
    error = await refused(ground.cloud.tag(made.provider_id[:-4] + "0000", {"a": "b"}))

    assert error.kind == "not-found"


@case
async def what_is_on_sale_is_complete(ground: Ground) -> None:
    shapes = await ground.cloud.instance_types()

    assert len({one.name for one in shapes}) == len(shapes) > 0
    for one in shapes:
        assert one.labels[names.INSTANCE_TYPE] == one.name
        assert one.labels[names.ARCH] == one.arch
        assert resources.fits(one.allocatable, one.capacity)
        assert {offering.zone for offering in one.offerings} <= set(ground.zones)
        for offering in one.offerings:
            assert offering.capacity_type in {names.SPOT, names.ON_DEMAND}
            assert offering.price_usd_per_h is None or offering.price_usd_per_h > 0
