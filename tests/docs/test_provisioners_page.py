"""What docs/provisioners.md shows is taken, and means what the page says."""

import asyncio
import re

import msgspec
import pytest
import yaml

from tests.docs.test_docs import FENCE
from tests.engine.pieces import view_of
from tests.lifecycle.pending import APART, asked, made, planned, the_one, waiting
from tests.tidy import tree
from unmoor.cloud.catalogue import ec2_types
from unmoor.engine import solving
from unmoor.engine.scene import Scene
from unmoor.engine.scenery import scene_of
from unmoor.lifecycle.provisioner import standing_of
from unmoor.model import names
from unmoor.model.kinds import PROVISIONERS
from unmoor.model.machine import Machine
from unmoor.model.provisioner import Provisioner, requirements_of, validate
from unmoor.model.requirement import OPERATORS, Requirement
from unmoor.policy.usage import usage_of
from unmoor.runtime.ports import ApiError
from unmoor.sim import virtual
from unmoor.sim.apiserver import Server
from unmoor.sim.direct import DirectApi

TEXT = (tree.ROOT / "docs/provisioners.md").read_text()
BLOCKS = FENCE.findall(TEXT)
BODIES = {
    body["metadata"]["name"]: body
    for language, block in BLOCKS
    if language == "yaml"
    for body in yaml.safe_load_all(block)
}
TOLD = [block.strip() for language, block in BLOCKS if language == "text"]
TOLERATES = [{"key": "dedicated", "operator": "Exists"}]


def written(name: str) -> Provisioner:
    return msgspec.convert(BODIES[name], Provisioner)


def create(name: str) -> None:
    """Ask a server for it that has our definitions."""

    async def ask() -> None:
        api = DirectApi(Server(clock=virtual.VirtualClock().wall))
        await api.create(PROVISIONERS.ref(name), BODIES[name])

    asyncio.run(ask())


@pytest.mark.parametrize("name", sorted(BODIES.keys() - {"wrong"}))
def test_each_example_is_in_order(name: str) -> None:
    create(name)

    assert validate(written(name)) == ()


def test_the_wrong_one_is_refused_and_says_so_where_it_got_in() -> None:
    with pytest.raises(ApiError) as refused:
        create("wrong")
    assert refused.value.reason == "Invalid"
    assert refused.value.message.partition(" is invalid: ")[2] in TOLD

    wrong, view = written("wrong"), view_of(written("wrong"))
    active = standing_of(view, wrong, validate(wrong), usage_of(view, "wrong")).active
    assert active.status == "False"
    assert active.message in [" ".join(block.split()) for block in TOLD]


def test_what_is_added_is_what_the_page_lists() -> None:
    added = [
        Requirement.of(one.key, one.operator, one.values) for one in written("general").requirements
    ]

    assert "\n".join(map(str, added)) in TOLD


@pytest.mark.parametrize(
    "key",
    [
        names.INSTANCE_TYPE,
        names.INSTANCE_FAMILY,
        names.INSTANCE_CATEGORY,
        names.INSTANCE_GENERATION,
    ],
)
def test_whoever_names_types_gets_no_default_of_types(key: str) -> None:
    given = msgspec.structs.replace(written("general").spec, labels={key: "5"})

    found = msgspec.structs.replace(written("general"), spec=given).defaults
    assert found == {names.OS, names.ARCH, names.CAPACITY_TYPE}


OPERATOR_ROWS: dict[str, tuple[tuple[str, ...], list[str | None], list[str | None]]] = {
    "In": (("3", "4"), ["3", "4"], ["5", None]),
    "NotIn": (("3", "4"), ["5", None], ["3"]),
    "Exists": ((), ["3"], [None]),
    "DoesNotExist": ((), [None], ["3"]),
    "Gt": (("3",), ["4"], ["3", "x", None]),
    "Lt": (("3",), ["2"], ["3", "x", None]),
}
"""Operator: values, what a label may be, what it may not (None: there is no such label)."""


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_mean_what_their_row_says(operator: str) -> None:
    values, allowed, refused = OPERATOR_ROWS[operator]
    found = Requirement.of("label", operator, values)

    assert re.search(rf"^\|.*`{operator}`.*\|.*\|.*\|$", TEXT, re.MULTILINE)
    assert [found.allows(one) for one in allowed] == [True] * len(allowed)
    assert [found.allows(one) for one in refused] == [False] * len(refused)


def test_a_machine_of_batch_is_what_the_page_says() -> None:
    pod = waiting(spec={"tolerations": TOLERATES})
    machine = the_one(planned(written("batch"), written("general"), pod, types=ec2_types()))

    assert machine.provisioner_name == "batch", "it is heavier, and its pods tolerate the taint"
    assert (machine.metadata.labels["team"], machine.metadata.labels["example.com/rack"]) == (
        "data",
        "a",
    )
    assert [one.key for one in machine.spec.startup_taints] == ["example.com/agent"]
    types = {one.name: one for one in ec2_types()}
    chosen = [types[name] for name in asked(machine)[names.INSTANCE_TYPE].values]
    assert 0 < len(chosen) <= 60
    assert {one.labels[names.INSTANCE_CATEGORY] for one in chosen} <= {"c", "m"}
    assert all(4 <= int(one.labels[names.INSTANCE_CPU]) <= 32 for one in chosen)
    other = the_one(planned(written("batch"), written("general"), waiting(), types=ec2_types()))
    assert other.provisioner_name == "general", "without a toleration"
    racked = waiting(spec={"tolerations": TOLERATES, "nodeSelector": {"example.com/rack": "b"}})
    found = the_one(planned(written("batch"), racked, types=ec2_types()))
    assert found.metadata.labels["example.com/rack"] == "b"


def test_labels_are_requirements() -> None:
    assert requirements_of(written("batch")).get("team") == Requirement.of("team", "In", ["data"])


def capped(*there: Machine) -> Scene:
    return scene_of(view_of(written("capped"), *there), ec2_types())


def test_what_is_on_order_counts_as_the_largest_it_may_become() -> None:
    pods = [waiting(f"web-{number}", spec={"affinity": APART}) for number in range(2)]

    plan = solving.solve(capped(), pods)
    ((refusal,),) = plan.refused.values()
    assert [sorted(one.instance_types) for one in plan.machines] == [["m5.large", "m5.xlarge"]]
    assert str(refusal) in [" ".join(block.split()) for block in TOLD]

    (first,) = made(planned(written("capped"), pods[0], types=ec2_types()))
    first = msgspec.structs.replace(
        first,
        status=msgspec.convert(
            {
                "providerID": "sim:///m5-large",
                "capacity": {"cpu": "2", "memory": "8Gi", "pods": "29"},
                "allocatable": {"cpu": "1", "memory": "7Gi", "pods": "29"},
            },
            type(first.status),
        ),
    )
    again = solving.solve(capped(first), pods)
    assert not again.refused
    assert [one.instance_types for one in again.machines] == [("m5.large",)]


def test_what_is_on_sale_is_what_the_page_says() -> None:
    assert f"On sale are {len(ec2_types())}\nEC2 types in three zones of us-east-1." in TEXT
    shares = {
        round(100 * price[names.SPOT] / price[names.ON_DEMAND])
        for one in ec2_types()
        for zone in {sold.zone for sold in one.offerings}
        for price in [
            {
                sold.capacity_type: sold.price_usd_per_h or 0.0
                for sold in one.offerings
                if sold.zone == zone
            }
        ]
    }
    assert f"{min(shares)} to {max(shares)} % by zone" in TEXT
    assert all(one.book_of(names.SPOT).endswith(", spot assumed") for one in ec2_types())
