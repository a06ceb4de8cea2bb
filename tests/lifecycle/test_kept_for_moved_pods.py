"""What a command makes for the pods that it moves is theirs; nothing is bought for them twice."""

from __future__ import annotations

from tests import builders
from tests.lifecycle.driver import World
from tests.lifecycle.pending import waiting
from tests.lifecycle.replacing import QUIET_S, ROWS, bodies, command, joins, replacement, underused
from tests.lifecycle.rows import PROVISIONING
from tests.policy.underused import pod
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.kinds import PODS
from unmoor.model.observation import Asked
from unmoor.policy import moving

ALL = (PROVISIONING, *ROWS)


def launching() -> World:
    world = underused()
    world.run(*ALL, for_s=QUIET_S + 4)
    assert command(world).phase is DisruptionPhase.LAUNCHING
    return world


def made(world: World) -> list[str]:
    """The names of all machines that were made, in their order."""
    return [str(one["metadata"]["name"]) for one in bodies(world, "Machine")]


def planned_onto(world: World, machine: str) -> tuple[str, ...]:
    answer = world.view.answer(Asked.NOMINATION, f"machine/{machine}")
    return () if answer is None else tuple(name for _, name in answer.result or ())


def test_nothing_is_bought_for_pods_whose_machine_is_coming() -> None:
    world = launching()

    assert made(world) == [command(world).spec.replacements[0].name]


def test_a_pod_that_waits_gets_another_machine_where_they_have_no_room_together() -> None:
    world = launching()
    world.put(waiting("other-1", cpu="3"))
    world.run(*ALL, for_s=5)

    first, second = made(world)
    assert first == command(world).spec.replacements[0].name
    assert planned_onto(world, first) == ("web-1",)
    assert planned_onto(world, second) == ("other-1",)


# T035
def test_it_may_go_there_where_there_is_room_for_both() -> None:
    """Spec 4.2.10."""
    world = launching()
    world.put(waiting("other-1", cpu="500m"))
    world.run(*ALL, for_s=5)

    [first] = made(world)
    assert sorted(planned_onto(world, first)) == ["other-1", "web-1"]


def test_before_the_machine_is_made_no_room_is_kept_and_none_is_bought() -> None:
    world = underused()
    world.fails = lambda effect: "Machine" in str(effect)
    world.run(*ALL, for_s=QUIET_S + 4)
    world.fails = lambda _: False
    world.put(waiting("other-1", cpu="3"))
    world.run(PROVISIONING, for_s=5)

    [effect] = bodies(world, "Machine")[-1:]
    assert effect["metadata"]["name"] != command(world).spec.replacements[0].name


def test_one_that_does_not_fit_there_any_more_keeps_no_room_and_gets_no_machine() -> None:
    world = launching()
    world.put(pod("web-1", "a", "30"))
    world.put(waiting("other-1", cpu="3"))
    world.run(PROVISIONING, for_s=5)

    [first] = made(world)
    assert planned_onto(world, first) == ("other-1",)


def test_when_their_nodes_go_they_find_their_places_and_nothing_is_bought() -> None:
    world = launching()
    joins(world)
    world.run(*ALL, for_s=10)

    assert len(made(world)) == 1
    assert moving.find(world.view) == ()


def test_who_is_on_its_way_out_or_elsewhere_is_not_moved() -> None:
    world = launching()
    assert [one.pod.name for one in moving.find(world.view)] == ["web-1"]

    found = world.view.get(PODS, "web-1", "shop")
    world.change(found, metadata__deletion_timestamp=builders.NOW)
    assert moving.find(world.view) == ()
    world.put(pod("web-1", "elsewhere"))
    assert moving.find(world.view) == ()


def test_room_is_kept_on_the_node_when_there_is_one() -> None:
    world = launching()
    joins(world, is_ready=False)
    world.put(waiting("other-1", cpu="3500m"))
    world.run(*ALL, for_s=5)

    machine = replacement(world)
    assert machine is not None
    assert len(made(world)) == 2
    assert planned_onto(world, made(world)[1]) == ("other-1",)


def test_room_that_moved_pods_still_take_is_nobodys_whoever_tolerates_the_cordon() -> None:
    """What is planned onto a node that is being replaced would keep it from going."""
    world = launching()
    world.put(waiting("agent-1", cpu="31500m", spec={"tolerations": [{"operator": "Exists"}]}))
    world.run(*ALL, for_s=5)

    assert world.view.answer(Asked.NOMINATION, "node/a") is None
    joins(world)
    world.run(*ALL, for_s=40)
    assert command(world).phase is DisruptionPhase.SUCCEEDED
