"""What is only observed, by whose word, and what a simulation beside it counts on."""

from __future__ import annotations

import msgspec
import pytest

from tests import builders
from tests.builders import IDENTITY, condition, machine, moment
from tests.policy.underused import SMALL, consolidated, look, node, pod
from unmoor.model import settings
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.kinds import MACHINES
from unmoor.model.machine import MACHINE_EMPTY, MACHINE_LAUNCHED
from unmoor.model.observation import Answer, Asked
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View
from unmoor.policy import consolidation, methods, observing
from unmoor.policy.verdict import Method, Reason

OBSERVER = msgspec.structs.replace(IDENTITY, is_observing=True)


def standing(
    name: str, *nodes: str, phase: DisruptionPhase = DisruptionPhase.OBSERVED
) -> Disruption:
    found = builders.disruption(name, nodes=nodes, phase=phase)
    spec = msgspec.structs.replace(found.spec, is_observed=True)
    return msgspec.structs.replace(found, spec=spec)


def test_every_method_may_be_named() -> None:
    assert {str(row.method) for row in methods.METHODS} <= set(settings.METHODS)
    assert set(settings.METHODS) <= {str(one) for one in Method}


def test_each_way_says_by_whose_word() -> None:
    plain, marked = builders.provisioner(), builders.provisioner("shop")
    marked.metadata.annotations["unmoor.dev/observe"] = "true"
    named = View(Settings(observe=("drift",)))

    assert observing.why(View(), Method.DRIFT, plain) == ""
    assert "--observe" in observing.why(View(identity=OBSERVER), Method.DRIFT, plain)
    assert "unmoor.observe names drift" in observing.why(named, Method.DRIFT, plain)
    assert observing.why(named, Method.EMPTINESS, plain) == ""
    assert "provisioner shop" in observing.why(View(), Method.EMPTINESS, marked)


def test_only_what_is_not_over_stands() -> None:
    view = View.of(
        standing("one", "a"),
        standing("two", "b", phase=DisruptionPhase.PENDING),
        standing("three", "c", phase=DisruptionPhase.CANCELLED),
        builders.disruption("four", nodes=("d",)),
    )

    assert [one.name for one in observing.standing(view)] == ["one", "two"]
    assert observing.gone(view) == {"a", "b"}
    assert not any(one.is_running for one in observing.standing(view))


def test_a_machine_is_supposed_to_have_the_conditions_of_methods_alone() -> None:
    real = machine("m-a", conditions=(condition(MACHINE_LAUNCHED),))
    supposed = (condition(MACHINE_EMPTY), condition(MACHINE_LAUNCHED, status="False"))
    answers = {(Asked.SUPPOSED, real.uid): Answer(moment(), supposed)}
    observer = View.of(real, identity=OBSERVER, answers=answers)
    acting = View.of(real, identity=IDENTITY, answers=answers)

    seen = observing.as_supposed(observer, real)
    assert seen.has(MACHINE_EMPTY)
    assert seen.has(MACHINE_LAUNCHED)
    assert observing.as_supposed(acting, real) is real
    assert observer.all(MACHINES)["", "m-a"] is real


def test_beside_nodes_that_are_gone_their_pods_take_room() -> None:
    nodes = [node(name, SMALL) for name in "abc"]
    pods = [pod("web-1", "a", "1100m"), pod("api-1", "b", "900m"), pod("log-1", "c", "100m")]
    simulation = look(*nodes, *pods).simulation
    assert simulation is not None
    alone, after = simulation.without(["a"]), simulation.beside(["b"]).without(["a"])

    assert (alone.is_possible, alone.machines) == (True, ())
    assert [one.pods for one in after.machines] != []
    assert set(after.plan.placements) == {("shop", "web-1")}


def test_a_look_is_about_one_kind_of_nodes_alone() -> None:
    marked = consolidated("watched")
    marked.metadata.annotations["unmoor.dev/observe"] = "true"
    acting = look(marked, consolidated(), node("a", SMALL), node("b", SMALL, provisioner="watched"))
    watching = look(
        marked, consolidated(), node("a", SMALL), node("b", SMALL, provisioner="watched")
    )
    watching.is_observing = True

    for one, goes, stays in ((acting, "a", "b"), (watching, "b", "a")):
        proposal = consolidation.propose(one)
        assert proposal.command is not None
        assert [each.name for each in proposal.command.nodes] == [goes]
        [said] = [each for each in proposal.verdicts if each.subject.name == stays]
        assert said.reason is Reason.OBSERVED


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("", ()),
        ("drift", ("drift",)),
        (" consolidation , emptiness,", ("emptiness", "consolidation")),
        ("all", None),
    ],
)
def test_the_setting_names_methods(given: str, read: tuple[str, ...] | None) -> None:
    found, errors = settings.read({"unmoor.observe": given})

    assert found.observe == (read or ())
    assert [error.field for error in errors] == (
        [] if read is not None else ["data[unmoor.observe]"]
    )
