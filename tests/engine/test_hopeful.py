"""Which nodes the filter says cannot be emptied, and what keeps them."""

from __future__ import annotations

import msgspec
import pytest

from tests.engine.scenes import WEB, ZONES, place, pod, scene, spread, template
from tests.engine.test_whatif import everybody
from unmoor.engine.bulk.whatif import WhatIf
from unmoor.engine.refusal import Constraint
from unmoor.engine.scene import Started
from unmoor.model import names
from unmoor.model.pod import Pod


def test_a_pod_that_fits_nowhere_else_makes_its_node_hopeless() -> None:
    wide = pod("wide", node="a", cpu="3")
    on = scene(place("a", "", wide, cpu="4"), place("b", "", pod("web", node="b"), cpu="2"))
    asked = WhatIf(on, everybody)

    stuck = asked.hopeless(["a", "b", "nobody"])

    assert list(stuck) == ["a"]
    assert (stuck["a"].pod, stuck["a"].refusal.constraint) == (wide.key, Constraint.RESOURCES)
    assert asked.hopeless(["b"]) == {}
    assert not WhatIf(scene(*on.places, template()), everybody).hopeless(["a"])


def test_a_pod_that_is_one_too_many_wherever_there_is_room_makes_its_node_hopeless() -> None:
    def web(name: str, node: str) -> Pod:
        spreads = [spread(names.ZONE)]
        return pod(name, cpu="1", node=node, labels=WEB, topologySpreadConstraints=spreads)

    crowded = place("b", ZONES[1], web("w1", "b"), web("w2", "b"), cpu="8")
    places = (place("a", ZONES[0], web("w0", "a"), cpu="2"), crowded)
    wide = WhatIf(scene(*places, place("c", ZONES[0], cpu="8")), everybody)
    full = WhatIf(scene(*places, place("c", ZONES[0], cpu="0")), everybody)

    stuck = full.hopeless(["a", "b"])

    assert list(stuck) == ["a"]
    assert stuck["a"].refusal.constraint == Constraint.SPREAD
    assert full.without(["a"]).refused
    assert wide.hopeless(["a", "b"]) == {}
    assert not wide.without(["a"]).refused


def test_the_same_question_gets_the_very_same_answer() -> None:
    on = scene(place("a", "", pod("web", node="a")), place("b"))
    asked = WhatIf(on, everybody)
    plan = asked.without(["a"])

    assert asked.without(["a", "nobody"]) is plan
    assert asked.without(["a", "b"]) is not plan


def test_a_machine_that_has_been_started_is_a_host_of_its_own() -> None:
    base = template()
    coming = Started(
        name="new", provisioner="default", requirements=base.requirements, types=base.types
    )
    by_host = [spread(names.HOSTNAME)]
    mover = pod("p", node="a", cpu="1", labels=WEB, topologySpreadConstraints=by_host)
    on = scene(
        place("a", ZONES[0], mover),
        place("b", ZONES[1], pod("there", node="b", labels=WEB), pod("too", node="b", labels=WEB)),
        place("full", ZONES[2], cpu="0"),
    )

    assert WhatIf(on, everybody).hopeless(["a"]).keys() == {"a"}
    with_one = msgspec.structs.replace(on, started=(coming,))
    assert WhatIf(with_one, everybody).hopeless(["a"]) == {}
    assert WhatIf(with_one, everybody).without(["a"]).placements == {("default", "p"): "new"}


def test_what_was_found_out_before_an_exception_is_not_taken_for_what_is_so_after_it() -> None:
    trouble = {"small"}

    def moves(one: Pod) -> bool:
        if one.name in trouble:
            raise RuntimeError(one.name)
        return True

    wide, small = pod("wide", node="a", cpu="3"), pod("small", node="b", cpu="1")
    on = scene(place("a", "", wide, cpu="4"), place("b", "", small, cpu="2"))
    asked = WhatIf(on, moves)
    with pytest.raises(RuntimeError, match="small"):
        asked.hopeless(["a", "b"])
    trouble.clear()

    assert list(asked.hopeless(["b", "a"])) == ["a"]
