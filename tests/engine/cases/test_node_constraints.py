"""What a pod asks of its node, and what a provisioner allows (T213-T214, T260-T293, T364-T365)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.rounds import Rounds
from tests.engine.scenes import WEB, ZONES, instance_type, pod, some, spread, template
from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.scene import Template
from unmoor.model import names
from unmoor.model.pod import Pod
from unmoor.model.taint import Taint

ZONE, ARCH, OS, KIND, TYPE = (
    names.ZONE,
    names.ARCH,
    names.OS,
    names.CAPACITY_TYPE,
    names.INSTANCE_TYPE,
)
ONE, TWO, THREE = ZONES
EXCEPTED = "node-restriction.kubernetes.io/team"
Wanted = tuple[str, ...]
"""(key, operator, *values)"""


def expressions(*wanted: Wanted) -> Any:
    return {
        "matchExpressions": [
            {"key": key, "operator": operator, "values": list(values)}
            for key, operator, *values in wanted
        ]
    }


def node_affinity(*required: Any, preferred: tuple[Any, ...] = ()) -> dict[str, Any]:
    """Alternatives that are a must, and preferences, the heaviest first."""
    found: dict[str, Any] = {}
    if required:
        key = "requiredDuringSchedulingIgnoredDuringExecution"
        found[key] = {"nodeSelectorTerms": list(required)}
    if preferred:
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": 100 - at, "preference": one} for at, one in enumerate(preferred)
        ]
    return {"affinity": {"nodeAffinity": found}}


def needs(*wanted: Wanted) -> dict[str, Any]:
    return node_affinity(expressions(*wanted))


def likes(*wanted: Wanted) -> Any:
    return node_affinity(preferred=(expressions(*wanted),))


def picks(key: str, value: str) -> dict[str, Any]:
    return {"nodeSelector": {key: value}}


def machine_of(plan: Plan) -> NewMachine | None:
    assert len(plan.machines) <= 1
    return plan.machines[0] if plan.machines else None


PLAIN = template()
TEAM = template(wants=[("team", "In", "a")])
IN_TWO = template(wants=[(ZONE, "In", TWO)])
NO, YES = False, True

ROWS: list[tuple[str, Template, dict[str, Any], bool]] = [
    ("T213 its provisioner", PLAIN, picks(names.PROVISIONER_NAME, "default"), YES),  # T213
    ("T213 no such provisioner", PLAIN, picks(names.PROVISIONER_NAME, "unknown"), NO),
    ("T213 a zone", PLAIN, picks(ZONE, ONE), YES),
    ("T213 no such zone", PLAIN, picks(ZONE, "unknown"), NO),
    ("T213 a type", PLAIN, picks(TYPE, "default-instance-type"), YES),
    ("T213 no such type", PLAIN, picks(TYPE, "unknown"), NO),
    ("T213 an architecture", PLAIN, picks(ARCH, "arm64"), YES),
    ("T213 no such architecture", PLAIN, picks(ARCH, "unknown"), NO),
    ("T213 a system", PLAIN, picks(OS, "linux"), YES),
    ("T213 no such system", PLAIN, picks(OS, "unknown"), NO),
    ("T213 a capacity type", PLAIN, picks(KIND, "spot"), YES),
    ("T213 no such capacity type", PLAIN, picks(KIND, "unknown"), NO),
    ("T213 a label of somebody's", PLAIN, picks("foo", "bar"), NO),
    ("T270", TEAM, {}, YES),  # T270
    ("T271", TEAM, picks("team", "b"), NO),  # T271
    ("T271 zone", IN_TWO, picks(ZONE, ONE), NO),
    ("T272", PLAIN, picks("team", "a"), NO),  # T272
    ("T273", TEAM, needs(("team", "In", "a", "b")), YES),  # T273
    ("T273 zone", IN_TWO, needs((ZONE, "In", TWO, "b")), YES),
    ("T274", TEAM, needs(("team", "In", "b")), NO),  # T274
    ("T274 zone", IN_TWO, needs((ZONE, "In", ONE)), NO),
    ("T277", PLAIN, picks(names.HOSTNAME, "red"), NO),  # T277
    ("T278", PLAIN, picks(ZONE, "unknown"), NO),  # T278
    ("T278 label", TEAM, picks("team", "unknown"), NO),
    ("T279", IN_TWO, picks(ZONE, ONE), NO),  # T279
    ("T280 In", IN_TWO, needs((ZONE, "In", TWO, THREE)), YES),  # T280
    ("T280 Gt", template(wants=[("cores", "In", "8")]), needs(("cores", "Gt", "7")), YES),
    ("T280 Lt", template(wants=[("cores", "In", "8")]), needs(("cores", "Lt", "9")), YES),
    ("T280 Gt no", template(wants=[("cores", "In", "8")]), needs(("cores", "Gt", "8")), NO),
    ("T280 Lt no", template(wants=[("cores", "In", "8")]), needs(("cores", "Lt", "8")), NO),
    ("T281", IN_TWO, needs((ZONE, "In", TWO), (ZONE, "In", "unknown")), NO),  # T281
    ("T282", PLAIN, needs((ZONE, "NotIn", ONE, TWO, "unknown")), YES),  # T282
    ("T282 no", PLAIN, needs((ZONE, "NotIn", *ZONES)), NO),
    ("T284 In", PLAIN, likes((ZONE, "In", "unknown")), YES),  # T284
    ("T284 NotIn", PLAIN, likes((ZONE, "NotIn", *ZONES)), YES),
    ("T286 initialized", PLAIN, picks(names.INITIALIZED, "true"), NO),  # T286
    ("T286 hostname", PLAIN, picks(names.HOSTNAME, "a"), NO),
    ("T286 domain", PLAIN, picks("kubernetes.io/team", "a"), NO),
    ("T286 domain of ours", PLAIN, picks("karpenter.sh/team", "a"), NO),
    ("T287", template(wants=[(EXCEPTED, "In", "a")]), picks(EXCEPTED, "a"), YES),  # T287
    ("T287 undefined", PLAIN, picks(EXCEPTED, "a"), NO),
    ("T288 zone", PLAIN, picks(ZONE, ONE), YES),  # T288
    ("T288 type", PLAIN, picks(TYPE, "default-instance-type"), YES),
    ("T288 architecture", PLAIN, picks(ARCH, "arm64"), YES),
    ("T288 system", PLAIN, picks(OS, "linux"), YES),
    ("T288 capacity type", PLAIN, picks(KIND, "spot"), YES),
    ("T289 In", PLAIN, needs(("team", "In", "a")), NO),  # T289
    ("T289 NotIn", PLAIN, needs(("team", "NotIn", "a")), YES),
    ("T289 Exists", PLAIN, needs(("team", "Exists")), NO),
    ("T289 DoesNotExist", PLAIN, needs(("team", "DoesNotExist")), YES),
    ("T290 In", TEAM, needs(("team", "In", "a")), YES),  # T290
    ("T290 NotIn", TEAM, needs(("team", "NotIn", "a")), NO),
    ("T290 Exists", TEAM, needs(("team", "Exists")), YES),
    ("T290 DoesNotExist", TEAM, needs(("team", "DoesNotExist")), NO),
    ("T290 In another", TEAM, needs(("team", "In", "b")), NO),
    ("T290 NotIn another", TEAM, needs(("team", "NotIn", "b")), YES),
    ("T290 zone In", IN_TWO, needs((ZONE, "In", TWO)), YES),
    ("T290 zone NotIn", IN_TWO, needs((ZONE, "NotIn", TWO)), NO),
    ("T290 zone Exists", IN_TWO, needs((ZONE, "Exists")), YES),
    ("T290 zone DoesNotExist", IN_TWO, needs((ZONE, "DoesNotExist")), NO),
    ("T290 zone In another", IN_TWO, needs((ZONE, "In", ONE)), NO),
    ("T290 zone NotIn another", IN_TWO, needs((ZONE, "NotIn", ONE)), YES),
    ("T292", PLAIN, needs((ZONE, "In", "unknown"), (ZONE, "Exists")), NO),  # T292
]


@pytest.mark.parametrize(
    ("offered", "asks", "is_placed"),
    [pytest.param(offered, asks, expected, id=name) for name, offered, asks, expected in ROWS],
)
def test_one_pod_and_one_provisioner(
    offered: Template, asks: dict[str, Any], *, is_placed: bool
) -> None:
    plan = Rounds(offered).play(pod("p", **asks))

    assert bool(plan.placements) == is_placed
    assert bool(plan.refused) != is_placed


def test_t214_devices_as_limits() -> None:
    def with_devices(name: str, kind: str) -> Pod:
        limits = {"limits": {f"{kind}.com/gpu": "1"}}
        return pod(name, containers=[{"name": "main", "resources": limits}])

    played = Rounds(PLAIN)

    played.play(with_devices("a", "vendor-a"), with_devices("b", "vendor-b"))

    assert played.nodes == ["gpu-vendor-a", "gpu-vendor-b"]


INTERSECTIONS: list[tuple[str, Template, dict[str, Any], str, str]] = [
    ("T275", IN_TWO, {}, ZONE, TWO),  # T275
    ("T276", PLAIN, picks(ZONE, TWO), ZONE, TWO),  # T276
    ("T283 In", PLAIN, likes((ZONE, "In", TWO, "unknown")), ZONE, TWO),  # T283
    ("T283 NotIn", PLAIN, likes((ZONE, "NotIn", ONE, THREE)), ZONE, TWO),
    (
        "T285 all three",  # T285
        PLAIN,
        {
            **node_affinity(
                expressions((ZONE, "In", TWO, THREE)), preferred=(expressions((ZONE, "In", TWO)),)
            ),
            "nodeSelector": {KIND: "on-demand"},
        },
        ZONE,
        TWO,
    ),
    (
        "T285 several labels",
        template(wants=[(ARCH, "In", "arm64", "amd64")]),
        needs((ZONE, "In", ONE, THREE), (ZONE, "NotIn", ONE), (ARCH, "NotIn", "amd64")),
        ARCH,
        "arm64",
    ),
    ("T260", PLAIN, needs((ZONE, "In", "unknown")), "", ""),  # T260
    (
        "T261",  # T261
        PLAIN,
        node_affinity(
            *(expressions((ZONE, "In", name)) for name in ("none", "unknown", "nowhere", ONE, TWO))
        ),
        ZONE,
        ONE,
    ),
    (
        "T262",  # T262
        PLAIN,
        node_affinity(
            preferred=tuple(expressions((key, "In", "unknown")) for key in (ZONE, TYPE, ARCH))
        ),
        names.PROVISIONER_NAME,
        "default",
    ),
    (
        "T263",  # T263
        PLAIN,
        node_affinity(
            preferred=(
                expressions((ZONE, "In", "unknown")),
                expressions((ZONE, "In", TWO)),
                expressions((ZONE, "In", ONE)),
            )
        ),
        ZONE,
        TWO,
    ),
    ("T293 the last term stays", PLAIN, needs((ZONE, "In", "unknown")), "", ""),  # T293
    (
        "T293 a lighter wish against a heavier one",
        IN_TWO,
        node_affinity(
            preferred=(expressions((ZONE, "In", THREE)), expressions((ZONE, "NotIn", ONE)))
        ),
        ZONE,
        TWO,
    ),
    (
        "T293 a wish against a must",
        PLAIN,
        node_affinity(
            expressions((ZONE, "In", THREE)), preferred=(expressions((ZONE, "In", "unknown")),)
        ),
        ZONE,
        THREE,
    ),
    (
        "T293 wishes against each other",
        PLAIN,
        node_affinity(
            preferred=(expressions((ZONE, "In", "unknown"), (ZONE, "NotIn", "unknown")),)
        ),
        names.PROVISIONER_NAME,
        "default",
    ),
    ("T292 stays what it is", IN_TWO, needs((ZONE, "Exists")), ZONE, TWO),
]


@pytest.mark.parametrize(
    ("offered", "asks", "key", "value"),
    [pytest.param(*rest, id=name) for name, *rest in INTERSECTIONS],
)
def test_a_machine_is_what_both_allow(
    offered: Template, asks: dict[str, Any], key: str, value: str
) -> None:
    """``key`` "": there is no machine."""
    played = Rounds(offered)
    plan = played.play(pod("p", **asks))

    assert bool(plan.machines) == bool(key)
    if key:
        assert played.scene.places[0].labels[key] == value


def test_t264_a_soft_taint_is_put_up_with_after_every_affinity() -> None:
    rather_not = Taint(key="old", value="yes", effect="PreferNoSchedule")
    wishes = tuple(expressions((key, "In", "unknown")) for key in (ZONE, TYPE))

    plan = Rounds(template(taints=(rather_not,))).play(pod("p", **node_affinity(preferred=wishes)))

    assert len(plan.placements) == 1
    assert [words.split(" ")[0] for words in plan.given_up[("default", "p")]] == [
        "preferred",
        "preferred",
        "keeping",
    ]


def test_t267_a_soft_taint_is_avoided_where_another_provisioner_has_none() -> None:
    rather_not = Taint(key="old", effect="PreferNoSchedule")
    avoided = template("avoided", taints=(rather_not,), weight=10)

    plan = Rounds(avoided, template("plain")).play(pod("p"))

    assert [one.provisioner for one in plan.machines] == ["plain"]


@pytest.mark.parametrize(("second", "nodes"), [(TWO, 1), (THREE, 2)])
def test_t291_who_goes_together_shares_a_node(second: str, nodes: int) -> None:
    played = Rounds(PLAIN)

    plan = played.play(
        pod("first", **needs((ZONE, "In", ONE, TWO))), pod("second", **needs((ZONE, "In", second)))
    )

    assert not plan.refused
    assert len(played.nodes) == nodes


def test_t364_zones_are_counted_across_provisioners() -> None:
    cheap = [instance_type(f"only-{zone}", zones=(zone,)) for zone in ZONES]
    played = Rounds(
        template("one", cheap, wants=[(ZONE, "In", ONE)]),
        template("two", cheap, wants=[(ZONE, "In", TWO)]),
        template("three", cheap, wants=[(ZONE, "In", THREE)]),
    )

    played.add(10, labels=WEB, topologySpreadConstraints=[spread()])

    assert played.counts() == [3, 3, 4]


DEDICATED = Taint(key="dedicated", value="db", effect="NoSchedule")
TOLERATIONS: list[tuple[str, dict[str, str], bool]] = [
    ("exact", {"key": "dedicated", "value": "db", "effect": "NoSchedule"}, YES),
    ("any effect", {"key": "dedicated", "value": "db"}, YES),
    ("Exists", {"key": "dedicated", "operator": "Exists"}, YES),
    ("everything", {"operator": "Exists"}, YES),
    ("another value", {"key": "dedicated", "value": "web"}, NO),
    ("key only", {"key": "dedicated"}, NO),
    ("another effect", {"key": "dedicated", "value": "db", "effect": "NoExecute"}, NO),
]


@pytest.mark.parametrize(
    ("toleration", "is_placed"),
    [pytest.param(one, expected, id=name) for name, one, expected in TOLERATIONS],
)
def test_t365_taints_of_a_provisioner(toleration: dict[str, str], *, is_placed: bool) -> None:
    played = Rounds(template(taints=(DEDICATED,)))

    plan = played.play(pod("p", tolerations=[toleration]), pod("intolerant"))

    assert {name for _, name in plan.placements} == ({"p"} if is_placed else set())
    assert all(place.taints == (DEDICATED,) for place in played.scene.places)


def test_t365_a_toleration_makes_no_taint() -> None:
    played = Rounds(PLAIN)

    played.play(*some(2, tolerations=[{"operator": "Exists"}]))

    assert [place.taints for place in played.scene.places] == [()]
