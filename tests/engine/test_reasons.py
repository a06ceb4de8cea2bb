"""The reason that is given is the one to act on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.scenes import (
    WEB,
    instance_type,
    place,
    pod,
    required,
    scene,
    solve,
    spread,
    template,
    term,
)
from unmoor.engine.refusal import Constraint
from unmoor.model import names
from unmoor.model.taint import Taint

LARGE_AND_SMALL = (instance_type("large", cpu=8), instance_type("small", cpu=2))


@pytest.mark.parametrize(
    ("wants", "constraint", "missing"),
    [
        pytest.param(
            {"cpu": "64"},
            Constraint.INSTANCE_TYPE,
            "no type has room for cpu 64",
            id="size",
        ),
        pytest.param(
            {"nodeSelector": {names.ZONE: "elsewhere"}},
            Constraint.INSTANCE_TYPE,
            f"nothing is sold with {names.ZONE} In [elsewhere]; there is ",
            id="zone",
        ),
        pytest.param(
            {"cpu": "4"},
            Constraint.LIMITS,
            "provisioner default may have 2 (spec.limits.resources), 0 in use, this machine 8",
            id="limit",
        ),
    ],
)
def test_what_no_limit_would_change_is_said_before_limits(
    wants: Any, constraint: Constraint, missing: str
) -> None:
    for left in (0, 2000):
        on = scene(template(types=LARGE_AND_SMALL, remaining={"cpu": left}))
        plan = solve(on, [pod("p", **{"cpu": "1", **wants})])

        ((reason,),) = plan.refused.values()
        assert reason.constraint is constraint
        if left or constraint is not Constraint.LIMITS:
            assert reason.missing.startswith(missing)


def test_a_provisioner_that_the_pod_wants_says_why_not_the_one_that_it_excludes() -> None:
    on = scene(
        template("tiny", types=LARGE_AND_SMALL, remaining={"cpu": 1000}),
        template("gpus", types=LARGE_AND_SMALL, remaining={"cpu": 0}),
    )

    plan = solve(on, [pod("p", cpu="1", nodeSelector={names.PROVISIONER_NAME: "tiny"})])

    ((reason,),) = plan.refused.values()
    assert (reason.where, reason.constraint) == ("tiny", Constraint.LIMITS)


def test_a_label_that_no_machine_will_have_is_what_affinity_misses_not_spreading() -> None:
    on = scene(template(types=LARGE_AND_SMALL))
    near = {"podAffinity": required(term("rack"))}

    plan = solve(on, [pod("p", labels=WEB, affinity=near)])

    ((reason,),) = plan.refused.values()
    assert str(reason) == "pod affinity: rack: a new node has no known value for it"


@pytest.mark.parametrize(
    ("wants", "said"),
    [
        pytest.param(
            {"affinity": {kind: required(term(""))}},
            "invalid: spec.affinity: a pod affinity term has no topologyKey: name a label",
            id=kind,
        )
        for kind in ("podAffinity", "podAntiAffinity")
    ]
    + [
        pytest.param(
            {"topologySpreadConstraints": [spread("")]},
            "invalid: spec.topologySpreadConstraints[0].topologyKey: there is none: name a label",
            id="spreading",
        ),
        pytest.param(
            {"topologySpreadConstraints": [spread("rack", maxSkew=0)]},
            "invalid: spec.topologySpreadConstraints[0].maxSkew: it is 0: use at least 1",
            id="skew",
        ),
    ],
)
def test_what_names_no_label_is_said_to_name_none(wants: Any, said: str) -> None:
    plan = solve(scene(template(types=LARGE_AND_SMALL)), [pod("p", labels=WEB, **wants)])

    ((reason,),) = plan.refused.values()
    assert str(reason) == said


def test_each_provisioner_says_its_own_reason_and_first_who_was_made_for_such_pods() -> None:
    """A taint that could be tolerated is not hidden behind what another would have to allow."""
    gpu = instance_type("g5.large", extra={"example.com/gpu": 1})
    taint = Taint(key="example.com/gpu", effect="NoSchedule")
    on = scene(
        template("general", types=LARGE_AND_SMALL, weight=10),
        template("gpus", types=(gpu,), taints=(taint,)),
    )

    plan = solve(on, [pod("p", cpu="1", requests={"example.com/gpu": "1"})])

    (reasons,) = plan.refused.values()
    assert [(one.where, one.constraint) for one in reasons] == [
        ("gpus", Constraint.TAINT),
        ("general", Constraint.INSTANCE_TYPE),
    ]


@pytest.mark.parametrize(
    ("asked", "hint"),
    [("genral", "did you mean general?"), ("other", "there is general, special")],
)
def test_a_provisioner_that_is_not_there_is_said_not_to_be(asked: str, hint: str) -> None:
    on = scene(template("general"), template("special"))

    plan = solve(on, [pod("p", nodeSelector={names.PROVISIONER_NAME: asked})])

    ((reason,),) = plan.refused.values()
    assert reason.missing == f"no provisioner is called {asked}; {hint}"


def test_a_node_that_says_less_comes_before() -> None:
    on = scene(place("full", cpu="0"), template(taints=(Taint(key="own", effect="NoSchedule"),)))

    plan = solve(on, [pod("p", cpu="1")])

    (reasons,) = plan.refused.values()
    assert [(one.where, one.constraint) for one in reasons] == [
        ("full", Constraint.RESOURCES),
        ("default", Constraint.TAINT),
    ]


@pytest.mark.parametrize(
    ("wants", "zones", "said"),
    [
        ({}, 2, "z1 has 1, the emptiest 0: one more is 1 above maxSkew 1"),
        (
            {"minDomains": 3},
            1,
            (
                "z1 has 1, and with 1 domain of minDomains 3 the emptiest counts as 0: "
                "one more is 1 above maxSkew 1"
            ),
        ),
        (
            {"minDomains": 4},
            2,
            (
                "z1 has 1, and with 2 domains of minDomains 4 the emptiest counts as 0: "
                "one more is 1 above maxSkew 1"
            ),
        ),
        ({"minDomains": 2}, 2, "z1 has 1, the emptiest 0: one more is 1 above maxSkew 1"),
    ],
)
def test_spreading_says_what_counts_as_the_emptiest(wants: Any, zones: int, said: str) -> None:
    there = place("a", "z1", pod("w", node="a", labels=WEB), cpu="8")
    others = [place(f"x{at}", f"z{at}", cpu="0") for at in range(2, zones + 1)]
    asks = [spread(names.ZONE, **wants)]

    asked = pod("p", labels=WEB, cpu="1", topologySpreadConstraints=asks)
    plan = solve(scene(there, *others), [asked])

    (reasons,) = plan.refused.values()
    assert said in [one.missing for one in reasons if one.constraint is Constraint.SPREAD]


OWN = Taint(key="own", effect="NoSchedule")


@pytest.mark.parametrize(
    ("wants", "others"),
    [
        ({"cpu": "64"}, [Constraint.INSTANCE_TYPE]),
        ({"cpu": "1", "nodeSelector": {"team": "web"}}, [Constraint.REQUIREMENTS]),
        ({"cpu": "4"}, [Constraint.LIMITS]),
        ({"cpu": "1"}, []),
    ],
)
def test_beside_a_taint_is_said_what_would_be_in_the_way_if_it_were_tolerated(
    wants: Any, others: list[Constraint]
) -> None:
    tainted = template("special", types=LARGE_AND_SMALL, taints=(OWN,), remaining={"cpu": 2000})

    plan = solve(scene(tainted), [pod("p", **wants)])

    (reasons,) = plan.refused.values()
    assert [one.constraint for one in reasons] == [Constraint.TAINT, *others]


def test_a_taint_that_alone_is_not_in_the_way_does_not_come_first() -> None:
    on = scene(
        template("special", types=LARGE_AND_SMALL, taints=(OWN,), weight=9),
        template("general", types=LARGE_AND_SMALL),
    )

    plan = solve(on, [pod("p", cpu="64")])

    (reasons,) = plan.refused.values()
    assert [(one.where, one.constraint) for one in reasons] == [
        ("general", Constraint.INSTANCE_TYPE),
        ("special", Constraint.TAINT),
        ("special", Constraint.INSTANCE_TYPE),
    ]


def test_a_provisioner_that_the_pod_did_not_choose_says_nothing() -> None:
    on = scene(
        template("broken", problem="provisioner/broken: spec: it is wrong"),
        template("tainted", types=LARGE_AND_SMALL, taints=(OWN,)),
        template("chosen", types=LARGE_AND_SMALL),
    )

    plan = solve(on, [pod("p", cpu="64", nodeSelector={names.PROVISIONER_NAME: "chosen"})])

    (reasons,) = plan.refused.values()
    assert [one.where for one in reasons] == ["chosen"]
