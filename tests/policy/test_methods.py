"""In which order methods are asked, and the second look at the nodes of a running command."""

from __future__ import annotations

import re

from tests.builders import IDENTITY, condition, disruption, machine, moment, node, provisioner
from unmoor.model.machine import LIVING_CONDITIONS, MACHINE_EMPTY
from unmoor.model.snapshot import View
from unmoor.policy import methods
from unmoor.policy.look import Look
from unmoor.policy.methods import METHODS
from unmoor.policy.verdict import Method

EMPTY = machine(conditions=tuple(condition(kind) for kind in (*LIVING_CONDITIONS, MACHINE_EMPTY)))


def test_each_method_has_one_row_in_the_order_of_their_names() -> None:
    rows = [row.method for row in METHODS]

    assert rows == [method for method in Method if method in rows]


def test_a_command_can_be_called_after_each_method() -> None:
    assert [one for one in Method if not re.fullmatch("[a-z][a-z-]*[a-z]", one)] == []


def test_the_first_that_has_a_command_wins() -> None:
    view = View.of(node(), EMPTY, provisioner(ttl_after_empty_s=30), identity=IDENTITY)

    proposal = methods.propose(Look(view, moment()))

    assert proposal.command is not None
    assert proposal.command.method is Method.EMPTINESS
    assert proposal.eligible[Method.EMPTINESS] == 1


def test_without_a_command_every_method_has_said_what_it_found() -> None:
    view = View.of(node(), EMPTY, provisioner(), identity=IDENTITY)

    proposal = methods.propose(Look(view, moment()))

    assert proposal.command is None
    assert proposal.eligible == {row.method: 0 for row in METHODS}
    assert {verdict.method for verdict in proposal.verdicts} == set(proposal.eligible)


def test_the_running_command_does_not_stand_in_its_own_way() -> None:
    marked = node(disruption="emptiness-1")
    view = View.of(marked, EMPTY, provisioner(ttl_after_empty_s=30), identity=IDENTITY)

    assert methods.still_holds(view, disruption(), marked, moment()) is None
    assert methods.still_holds(view, disruption("other"), marked, moment()) is not None
    unknown = methods.still_holds(view, disruption(method="magic"), marked, moment())
    assert unknown is not None
    assert "magic" in unknown.message
