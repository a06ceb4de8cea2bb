"""What every cloud must tell about a machine, and how it ends."""

from __future__ import annotations

import msgspec

from tests.contract.cloud_port import (
    Ground,
    case,
    eventually,
    identity,
    listed,
    refused,
    request,
    state_of,
    until,
)
from unmoor.model import names, resources
from unmoor.model.instance import InstanceState
from unmoor.model.selection import Selection, Wish
from unmoor.runtime.ports import CloudError

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
    types = {one.name: one for one in await ground.cloud.instance_types()}
    one = types[made.instance_type]

    assert made.capacity == dict(one.capacity)
    assert made.allocatable == dict(one.allocatable)


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


# ----------------------------------------------------------------------------------------- the shop


@case
async def what_is_on_sale_is_complete(ground: Ground) -> None:
    types = await ground.cloud.instance_types()

    assert len({one.name for one in types}) == len(types) > 0
    for one in types:
        assert one.labels[names.INSTANCE_TYPE] == one.name
        assert one.labels[names.ARCH] == one.arch
        assert resources.fits(one.allocatable, one.capacity)
        assert {offering.zone for offering in one.offerings} <= set(ground.zones)
        for offering in one.offerings:
            assert offering.capacity_type in {names.SPOT, names.ON_DEMAND}
            assert offering.price_usd_per_h is None or offering.price_usd_per_h > 0


# ----------------------------------------------------------------------------- what selectors find

EVERYTHING = Wish(family="AL2", subnets={"team": "*"}, security_groups={"team": "*"})


@case
async def it_tells_what_selectors_find_and_the_same_again(ground: Ground) -> None:
    found = await ground.cloud.discover(EVERYTHING)

    assert found.subnets
    assert {one.zone for one in found.subnets} <= set(ground.zones)
    assert found.security_groups
    assert found.images
    assert await ground.cloud.discover(EVERYTHING) == found


@case
async def a_selector_that_finds_nothing_is_no_error(ground: Ground) -> None:
    ids = {"aws-ids": "subnet-nobody-made"}
    found = await ground.cloud.discover(Wish(subnets=ids, is_launch_template=True))

    assert found == Selection()


@case
async def a_machine_has_what_its_template_selects(ground: Ground) -> None:
    found = await ground.cloud.discover(EVERYTHING)
    asked = msgspec.structs.replace(request(ground), template=EVERYTHING)
    made = await ground.cloud.create(asked)
    told = await ground.cloud.get(made.provider_id)

    assert told.image in {one.id for one in found.images}
    assert told.subnet in {one.id for one in found.subnets if one.zone == made.zone}
    assert sorted(told.security_groups) == sorted(one.id for one in found.security_groups)
