"""The oracle, a row for each constraint: what it lets through, what it refuses, and why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.scenes import (
    TYPES,
    WEB,
    ZONES,
    as_object,
    counts,
    instance_type,
    place,
    pod,
    preferred,
    reasons,
    required,
    scene,
    solve,
    some,
    spread,
    template,
    term,
)
from unmoor.engine.refusal import Constraint
from unmoor.model import names
from unmoor.model.pod import Pod
from unmoor.model.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from unmoor.model.taint import Taint

DEDICATED = Taint(key="dedicated", value="db", effect="NoSchedule")
RATHER_NOT = Taint(key="old", effect="PreferNoSchedule")


def wants(*expressions: tuple[str, ...], preferred: bool = False) -> Any:
    listed = [
        {"key": key, "operator": op, "values": list(values)} for key, op, *values in expressions
    ]
    if preferred:
        terms = [{"weight": 1, "preference": {"matchExpressions": listed}}]
        return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": listed}]
            }
        }
    }


CLASS = as_object(
    StorageClass,
    {
        "metadata": {"name": "fast"},
        "provisioner": "disks.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [
            {"matchLabelExpressions": [{"key": names.ZONE, "values": [ZONES[1]]}]}
        ],
    },
)
AT_ONCE = as_object(
    StorageClass, {"metadata": {"name": "at-once"}, "provisioner": "disks.example.com"}
)
SSD = {"labels": {"disk": "ssd"}}
FOUR_CORES = {"labels": {"cores": "4"}}
VOLUME = as_object(
    PersistentVolume,
    {
        "metadata": {"name": "v"},
        "spec": {
            "csi": {"driver": "disks.example.com", "volumeHandle": "h"},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {"key": names.ZONE, "operator": "In", "values": [ZONES[1]]}
                            ]
                        }
                    ]
                }
            },
        },
    },
)


def claim(name: str, **spec: Any) -> Any:
    bound = {"annotations": {names.BIND_COMPLETED: "yes"}} if "volumeName" in spec else {}
    meta = {"name": name, "namespace": "default", **bound}
    return as_object(PersistentVolumeClaim, {"metadata": meta, "spec": spec})


STORAGE = (
    CLASS,
    AT_ONCE,
    VOLUME,
    claim("bound", volumeName="v"),
    claim("waiting", storageClassName="fast"),
    as_object(
        PersistentVolumeClaim,
        {
            "metadata": {
                "name": "half-bound",
                "namespace": "default",
                "annotations": {names.SELECTED_NODE: "a"},
            },
            "spec": {"volumeName": "v", "storageClassName": "fast"},
        },
    ),
    claim("hurried", storageClassName="at-once"),
    claim("lost", volumeName="gone"),
    claim("classless"),
    *(claim(f"data-{number}", storageClassName="fast") for number in range(3)),
)


def using(*claims: str) -> Any:
    return [
        {"name": f"v{at}", "persistentVolumeClaim": {"claimName": one}}
        for at, one in enumerate(claims)
    ]


BIG = pod("big", cpu="40")
ONE_PLACE: list[tuple[str, dict[str, Any], dict[str, Any], Constraint | None]] = [
    ("an open node takes anybody", {}, {}, None),
    ("a cordon", {}, {"is_cordoned": True}, Constraint.UNSCHEDULABLE),
    ("a taint", {}, {"taints": (DEDICATED,)}, Constraint.TAINT),
    (
        "a taint that it tolerates",
        {"tolerations": [{"key": "dedicated", "operator": "Exists"}]},
        {"taints": (DEDICATED,)},
        None,
    ),
    ("a soft taint gives way", {}, {"taints": (RATHER_NOT,)}, None),
    ("a selector", {"nodeSelector": {"disk": "ssd"}}, {}, Constraint.NODE_SELECTOR),
    (
        "a selector that agrees",
        {"nodeSelector": {"disk": "ssd"}},
        {"labels": {"disk": "ssd"}},
        None,
    ),
    ("Exists", {"affinity": wants(("disk", "Exists"))}, {}, Constraint.NODE_AFFINITY),
    ("DoesNotExist", {"affinity": wants(("disk", "DoesNotExist"))}, {}, None),
    ("NotIn an absent label", {"affinity": wants(("disk", "NotIn", "ssd"))}, {}, None),
    ("Gt", {"affinity": wants(("cores", "Gt", "3"))}, FOUR_CORES, None),
    (
        "Lt",
        {"affinity": wants(("cores", "Lt", "4"))},
        {"labels": {"cores": "4"}},
        Constraint.NODE_AFFINITY,
    ),
    ("a preference gives way", {"affinity": wants(("disk", "Exists"), preferred=True)}, {}, None),
    ("room", {"cpu": "33"}, {}, Constraint.RESOURCES),
    ("room for daemons to come", {"cpu": "32"}, {"reserved": {"cpu": 1}}, Constraint.RESOURCES),
    ("a resource that it does not have", {"requests": {"fpga": "1"}}, {}, Constraint.RESOURCES),
    ("zero of it", {"requests": {"fpga": "0"}}, {}, None),
    ("a gate", {"schedulingGates": [{"name": "wait"}]}, {}, Constraint.GATE),
    ("nonsense", {"cpu": "many"}, {}, Constraint.INVALID),
    ("a volume here", {"volumes": using("bound")}, {"zone": ZONES[1]}, None),
    ("a volume elsewhere", {"volumes": using("bound")}, {}, Constraint.VOLUME),
    ("a class that makes volumes here", {"volumes": using("waiting")}, {"zone": ZONES[1]}, None),
    ("a class that does not", {"volumes": using("waiting")}, {}, Constraint.VOLUME),
    ("a claim that is not bound yet", {"volumes": using("hurried")}, {}, Constraint.VOLUME),
    ("no such claim", {"volumes": using("none")}, {}, Constraint.VOLUME),
    ("a claim half bound", {"volumes": using("half-bound")}, {}, Constraint.VOLUME),
    ("no such volume", {"volumes": using("lost")}, {}, Constraint.VOLUME),
    ("no default class", {"volumes": using("classless")}, {}, Constraint.VOLUME),
    (
        "too many volumes",
        {"volumes": using("data-0", "data-1", "data-2")},
        {"zone": ZONES[1], "volume_room": {"disks.example.com": 2}},
        Constraint.VOLUME_LIMIT,
    ),
    (
        "volumes of a driver without a limit",
        {"volumes": using("data-0", "data-1", "data-2")},
        {"zone": ZONES[1]},
        None,
    ),
    (
        "spreading over a label that the node does not have",
        {"labels": WEB, "topologySpreadConstraints": [spread("rack")]},
        {},
        Constraint.SPREAD,
    ),
    (
        "nobody to be near to",
        {"affinity": {"podAffinity": required(term())}},
        {},
        Constraint.POD_AFFINITY,
    ),
    (
        "the first of its kind",
        {"labels": WEB, "affinity": {"podAffinity": required(term())}},
        {},
        None,
    ),
    (
        "a wish to be near somebody gives way",
        {"affinity": {"podAffinity": preferred(term())}},
        {},
        None,
    ),
]


@pytest.mark.parametrize(
    ("asks", "there", "expected"),
    [pytest.param(asks, there, expected, id=name) for name, asks, there, expected in ONE_PLACE],
)
def test_one_pod_and_one_node(
    asks: dict[str, Any], there: dict[str, Any], expected: Constraint | None
) -> None:
    zone = there.get("zone", ZONES[0])
    on = scene(
        place("a", zone, **{key: value for key, value in there.items() if key != "zone"}),
        objects=STORAGE,
    )

    plan = solve(on, [pod("p", **asks)])

    assert reasons(plan) == ({expected} if expected else set())
    assert plan.placements == ({} if expected else {("default", "p"): "a"})


@pytest.mark.parametrize(
    ("operator", "is_placed"), [("NotIn", True), ("In", False), ("Exists", False)]
)
def test_a_node_to_come_is_any_but_a_named_one(operator: str, *, is_placed: bool) -> None:
    field = {"key": "metadata.name", "operator": operator, "values": ["node-a"]}
    listed = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    one = pod(
        "one", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": listed}}
    )
    plan = solve(scene(place("node-a", is_cordoned=True), template()), [one])

    assert [machine.pods for machine in plan.machines] == ([(one.key,)] if is_placed else [])


def test_equal_pods_fill_a_machine_before_the_next_is_opened() -> None:
    plan = solve(scene(template()), some(8, cpu="1"))

    assert [len(one.pods) for one in plan.machines] == [5, 3]
    assert not plan.refused


def test_a_machine_names_the_types_that_are_left_the_cheapest_first() -> None:
    (machine,) = solve(scene(template()), [pod("p", cpu="3")]).machines

    assert machine.instance_types == (
        "default-instance-type",
        "single-pod-instance-type",
        "gpu-vendor-a",
        "gpu-vendor-b",
        "arm-instance-type",
    )
    assert machine.price_usd_per_h == pytest.approx(0.8294967296)


def test_zones_are_filled_evenly_and_each_machine_is_in_one() -> None:
    on = scene(template())

    plan = solve(on, some(4, labels=WEB, topologySpreadConstraints=[spread()]))

    assert counts(plan, on) == [1, 1, 2]


def test_limits_count_the_largest_that_a_machine_may_become() -> None:
    apart = {"podAntiAffinity": required(term())}

    plan = solve(
        scene(template(remaining={"cpu": 3000})), some(2, cpu="1500m", labels=WEB, affinity=apart)
    )

    assert len(plan.machines) == 1
    assert reasons(plan) == {Constraint.LIMITS}
    ((reason,),) = plan.refused.values()
    assert "in use or on order (until it is launched, " in reason.missing


def test_limits_that_leave_no_type_say_how_much_the_nearest_one_lacks() -> None:
    offered = (instance_type("large", cpu=8), instance_type("small", cpu=2))
    plan = solve(scene(template(types=offered, remaining={"cpu": 1500, "pods": 500})), [pod("p")])

    ((reason,),) = plan.refused.values()
    assert (reason.constraint, reason.subject, reason.short) == (Constraint.LIMITS, "cpu", 500)
    assert reason.missing == (
        "provisioner default may have 1.5 (spec.limits.resources), 0 in use, this machine 2"
    )


def test_the_heaviest_provisioner_is_asked_first() -> None:
    plan = solve(scene(template("light"), template("heavy", weight=10)), [pod("p")])

    assert [one.provisioner for one in plan.machines] == ["heavy"]


def test_what_a_broken_provisioner_is_refused_for_is_said_and_another_is_used() -> None:
    broken = template("broken", problem="spec.weight is 200", weight=10)

    assert solve(scene(broken, template()), [pod("p")]).machines[0].provisioner == "default"
    (why,) = solve(scene(broken), [pod("p")]).refused[("default", "p")]
    assert (why.constraint, why.where, why.missing) == (
        Constraint.PROVISIONER,
        "broken",
        "spec.weight is 200",
    )


def test_who_waits_for_another_is_asked_again_when_that_one_has_a_place() -> None:
    """The follower is larger, so it is looked at first."""
    leader = pod("leader", cpu="1", labels=WEB)
    follower = pod("follower", cpu="2", affinity={"podAffinity": required(term())})

    plan = solve(scene(template()), [leader, follower])

    assert plan.placements[("default", "leader")] == plan.placements[("default", "follower")]


def test_a_preference_is_kept_where_it_can_be_and_given_up_where_it_cannot() -> None:
    apart = {"podAntiAffinity": preferred(term())}
    pods = some(2, labels=WEB, affinity=apart)

    kept = solve(scene(place("a"), place("b")), pods)
    given_up = solve(scene(place("a")), pods)

    assert sorted(kept.placements.values()) == ["a", "b"]
    assert not kept.given_up
    assert set(given_up.placements.values()) == {"a"}
    assert given_up.given_up == {
        ("default", "web-01"): ("preferred pod anti-affinity on kubernetes.io/hostname",)
    }


def test_a_volume_limit_counts_the_same_volume_once() -> None:
    room = {"disks.example.com": 1}
    on = scene(place("a", ZONES[1], volume_room=room), objects=STORAGE)

    plan = solve(on, [pod("one", volumes=using("bound")), pod("two", volumes=using("bound"))])

    assert len(plan.placements) == 2


def test_nothing_to_place_is_an_empty_plan() -> None:
    assert solve(scene(), []) == solve(scene(template()), [])


def test_without_nodes_and_provisioners_the_reason_is_said() -> None:
    plan = solve(scene(), [pod("p")])

    assert reasons(plan) == {Constraint.PROVISIONER}


def test_every_pod_is_answered_once() -> None:
    pods: list[Pod] = [*some(3, cpu="1"), BIG, pod("bad", cpu="many")]

    plan = solve(scene(template(types=TYPES)), pods)

    assert {*plan.placements, *plan.refused} == {one.key for one in pods}
    assert not set(plan.placements) & set(plan.refused)


def test_a_node_is_no_machine_to_come_whatever_it_is_called() -> None:
    apart: dict[str, Any] = {"labels": WEB, "affinity": {"podAntiAffinity": required(term())}}
    there = pod("there", node="machine-0", **apart)
    on = scene(place("machine-0", ZONES[0], there, cpu="1"), template())
    plan = solve(on, [pod("large", cpu="3", **apart)])

    [machine] = plan.machines
    assert plan.placements["default", "large"] == machine.name
    assert machine.name not in {one.name for one in on.places}


def test_a_label_that_a_machine_has_for_one_pod_lets_in_another_that_was_refused_before() -> None:
    """Whatever else a machine takes on, it suits fewer pods than before."""
    away = {"key": "rack", "operator": "NotIn", "values": ["a"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [away]}]}
    must = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pods = [
        pod("first", cpu="3"),
        pod("second", cpu="2", nodeSelector={"rack": "b"}),
        pod("third", cpu="1", affinity=must),
    ]

    plan = solve(scene(template(types=(instance_type("t", cpu=8),))), pods)

    assert set(plan.placements.values()) == {"machine#0"}
    assert len(plan.placements) == 3
