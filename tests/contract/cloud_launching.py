"""What every cloud must do when it is asked for a machine."""

from __future__ import annotations

import asyncio

import msgspec

from tests.contract.cloud_port import (
    ON_DEMAND,
    Ground,
    case,
    identity,
    listed,
    refused,
    request,
    until,
)
from unmoor.model import names, resources
from unmoor.model.instance import InstanceState

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
    assert made.price_usd_per_h in {None, min(known)}, "a cloud may not know"


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
async def what_is_sold_out_is_named(ground: Ground) -> None:
    here = (names.ZONE, "In", ground.zones[:1])
    await ground.sell_out("*", ground.zones[0], names.SPOT)
    error = await refused(
        ground.cloud.create(request(ground, here, (names.CAPACITY_TYPE, "In", (names.SPOT,))))
    )

    assert len(error.sold_out) > 0
    assert {one.zone for one in error.sold_out} == {ground.zones[0]}
    assert {one.capacity_type for one in error.sold_out} == {names.SPOT}


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
