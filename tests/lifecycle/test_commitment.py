"""What is written of a decision, and that a Machine can be made by it as it was planned."""

from __future__ import annotations

import msgspec
import pytest

from tests import builders
from tests.policy.underused import look, node, pod
from unmoor.engine.plan import NewMachine, Plan
from unmoor.lifecycle import commitment
from unmoor.model.disruption import DisruptedNode, Disruption
from unmoor.model.requirement import Requirement, Requirements
from unmoor.policy import consolidation
from unmoor.policy.command import NODES_MAX, Command
from unmoor.policy.verdict import Method

GOING = (DisruptedNode(name="a", uid="uid-node-a"),)


def written(command: Command, *objects: object) -> Disruption:
    effect = commitment.commit(look(*objects).view, command, builders.moment())  # type: ignore[arg-type]
    return msgspec.convert(effect.body, Disruption, strict=False)


def machine(name: str, *types: str, pods: tuple[str, ...] = ()) -> NewMachine:
    requirements = Requirements.all_of(
        [Requirement.of("topology.kubernetes.io/zone", "In", ["z1", "z2"])]
    )
    return NewMachine(
        name=name,
        provisioner="default",
        requirements=requirements,
        instance_types=types,
        requests={"cpu": 1100, "memory": 2**31, "pods": 3},
        pods=tuple(("shop", one) for one in pods),
        price_usd_per_h=0.096,
        price_book="catalogue",
    )


def command(*machines: NewMachine, **given: object) -> Command:
    placements = {pod: one.name for one in machines for pod in one.pods}
    plan = Plan(placements=placements | {("shop", "old"): "b"}, machines=machines)
    return Command(
        method=Method.CONSOLIDATION,
        reason="a test",
        nodes=GOING,
        plan=plan,
        saving_usd_per_h=given.get("saving", 1.5),  # type: ignore[arg-type]
    )


def test_as_many_nodes_as_go_together_fit_into_one_object() -> None:
    """A server takes 1.5 MiB, and the status comes on top. Names and uids are as long as usual."""
    uid = "2f0c2f7e-6a1e-4c0e-9d5b-3b1a2c4d5e6f"
    name = "ip-10-0-{:03}-{:03}.eu-central-1.compute.internal".format
    nodes = tuple(
        DisruptedNode(
            name=name(n // 250, n % 250), uid=uid, machine="general-0123456789", machine_uid=uid
        )
        for n in range(NODES_MAX)
    )
    pods = [
        builders.pod(
            f"a-service-with-a-name-{number:05}-0123456789-abcde",
            on=nodes[number % NODES_MAX].name,
            owners=(
                builders.owner(
                    "ReplicaSet", f"a-service-{number:05}-0123456789", uid + str(number)
                ),
            ),
        )
        for number in range(3 * NODES_MAX)
    ]
    plan = Plan(placements={one.key: "a-node-that-stays" for one in pods})
    made = Command(method=Method.CONSOLIDATION, reason="a test", nodes=nodes, plan=plan)

    effect = commitment.commit(look(*pods).view, made, builders.moment())

    assert len(effect.body["spec"]["moved"]) == commitment.MOVED_MAX
    assert len(msgspec.json.encode(effect.body)) < 1_000_000


def test_a_machine_is_read_back_as_it_was_planned() -> None:
    planned = machine("machine#0", "small", "medium", pods=("web-1", "web-2"))
    found = written(command(planned))
    [replacement] = found.spec.replacements

    assert replacement.name.startswith("default-")
    assert commitment.planned(found, replacement) == msgspec.structs.replace(
        planned, name=replacement.name
    )


def test_what_the_engine_plans_is_read_back_too() -> None:
    proposed = consolidation.propose(look(node("a"), pod("web-1", "a"))).command
    assert proposed is not None
    found = written(proposed, node("a"), pod("web-1", "a"))
    [replacement] = found.spec.replacements
    back = commitment.planned(found, replacement)

    [planned] = proposed.replacements
    assert back == msgspec.structs.replace(planned, name=replacement.name)
    assert found.spec.saving_per_hour == "1.5"
    assert found.action == proposed.action == "consolidation/replace"


def test_where_pods_are_to_go_is_written_by_place() -> None:
    found = written(command(machine("machine#0", "small", pods=("web-1",))), node("b"))
    name = found.spec.replacements[0].name

    assert found.spec.moved_pods == 2
    assert found.spec.moves == {f"machine/{name}": ("shop/web-1",), "node/b": ("shop/old",)}


def test_of_very_many_moves_those_to_replacements_are_written_first() -> None:
    many = tuple(f"web-{number}" for number in range(commitment.MOVES_MAX + 1))
    found = written(command(machine("machine#0", "small", pods=many)))

    assert [len(pods) for pods in found.spec.moves.values()] == [commitment.MOVES_MAX]
    assert found.spec.moved_pods == commitment.MOVES_MAX + 2


@pytest.mark.parametrize(
    ("machines", "words"),
    [
        ((), ""),
        (((),), "any type"),
        ((("small",),), "small"),
        ((("small", "medium", "large"),), "small or 2 more"),
        ((("small",), ("large",)), "2: small, large"),
        ((("small",), ("large",), ("large",)), "3: small, large and 1 more"),
    ],
)
def test_replacements_fit_into_a_cell(machines: tuple[tuple[str, ...], ...], words: str) -> None:
    planned = [machine(f"machine#{n}", *types) for n, types in enumerate(machines)]

    assert written(command(*planned)).spec.replacement_summary == words


@pytest.mark.parametrize(
    ("saving", "words"), [(None, ""), (0.0, "0"), (1.5, "1.5"), (-0.25, "-0.25")]
)
def test_a_saving_may_be_unknown_or_none(saving: float | None, words: str) -> None:
    assert written(command(saving=saving)).spec.saving_per_hour == words


def test_several_replacements_get_names_of_their_own_and_none_that_is_taken() -> None:
    two = command(machine("machine#0", "small"), machine("machine#1", "small"))
    first, second = (one.name for one in written(two).spec.replacements)
    assert first != second

    taken = builders.machine(first)
    again = written(two, taken)
    assert [one.name for one in again.spec.replacements] == [f"{first}-2", second]


def test_an_amount_that_is_none_is_unknown() -> None:
    found = written(command(machine("machine#0", "small")))
    odd = builders.changed(found.spec.replacements[0], price_usd_per_hour="cheap")

    assert commitment.planned(found, odd).price_usd_per_h is None
