"""Which types are left for pods, and how many nodes they take (T215, T294-T309)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.rounds import Rounds
from tests.engine.scenes import TYPES, ZONES, instance_type, pod, reasons, some, template
from unmoor.engine.refusal import Constraint
from unmoor.engine.scene import Template
from unmoor.model import names
from unmoor.model.instance import InstanceType
from unmoor.model.pod import Pod

ARCH, OS, TYPE, ZONE = names.ARCH, names.OS, names.INSTANCE_TYPE, names.ZONE
NVME = "karpenter.k8s.aws/instance-local-nvme"
"""A well-known label that not every type has."""
WINDOWS = instance_type("windows", os="windows")
FAST = instance_type("fast", labels={NVME: "1000"})
ALL = (*TYPES, WINDOWS, FAST)
SIZES = [instance_type(f"size-{cpu}", cpu=cpu, memory_gib=2 * cpu, pods=40) for cpu in range(1, 6)]
"""1 to 5 cpu with twice as many GiB."""


def choosing(**labels: Any) -> dict[str, Any]:
    return {"nodeSelector": labels}


def wanting(key: str, *values: str, operator: str = "NotIn") -> dict[str, Any]:
    one = {"key": key, "operator": operator, "values": list(values)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [one]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def types_kept(offered: Template, *pods: Pod) -> set[str]:
    """Which types the one machine may be; none where there is no machine."""
    plan = Rounds(offered).play(*pods)
    assert len(plan.machines) <= 1
    return {name for one in plan.machines for name in one.instance_types}


def test_t215_nodes_for_one_pod_each() -> None:
    played = Rounds(template(types=[instance_type("single", pods=1)]))

    played.add(3)

    assert played.nodes == ["single", "single", "single"]


@pytest.mark.parametrize(
    "asks",
    [
        pytest.param({"cpu": "512"}, id="T294"),  # T294
        pytest.param(
            {"requests": {"vendor-a.com/gpu": "1", "vendor-b.com/gpu": "1"}},
            id="T297",  # T297
        ),
        pytest.param({"memory": "2Ti"}, id="T306"),  # T306
        pytest.param(choosing(**{NVME: "unknown"}), id="T298 no such value"),
    ],
)
def test_what_no_type_has_is_refused(asks: dict[str, Any]) -> None:
    plan = Rounds(template(types=ALL)).play(pod("p", **asks))

    assert reasons(plan) == {Constraint.INSTANCE_TYPE}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(choosing(**{ARCH: "amd64"}), choosing(**{ARCH: "arm64"}), id="T295"),  # T295
        pytest.param(choosing(**{OS: "linux"}), choosing(**{OS: "windows"}), id="T295 system"),
        pytest.param(
            choosing(**{TYPE: "default-instance-type"}),
            choosing(**{TYPE: "small-instance-type"}),
            id="T295 type",
        ),
        pytest.param(choosing(**{ZONE: ZONES[0]}), choosing(**{ZONE: ZONES[1]}), id="T295 zone"),
        pytest.param(
            {"requests": {"vendor-a.com/gpu": "1"}},
            {"requests": {"vendor-b.com/gpu": "1"}},
            id="T295 devices",
        ),
    ],
)
def test_who_needs_different_types_gets_different_nodes(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    played = Rounds(template(types=ALL))

    plan = played.play(pod("one", **one), pod("other", **other))

    assert not plan.refused
    assert len(played.nodes) == 2


EVERY = {one.name for one in ALL}
KEPT: list[tuple[str, Template, dict[str, Any], set[str]]] = [
    (
        "T296 a type",  # T296
        template(types=ALL),
        wanting(TYPE, "arm-instance-type"),
        EVERY - {"arm-instance-type"},
    ),
    ("T296 a system", template(types=ALL), wanting(OS, "windows"), EVERY - {"windows"}),
    (
        "T296 an architecture, by the provisioner",
        template(types=ALL, wants=[(ARCH, "In", "amd64")]),
        {},
        EVERY - {"arm-instance-type"},
    ),
    (
        "T298 labels of the provisioner",  # T298
        template(types=ALL, labels={ARCH: "arm64"}),
        {},
        {"arm-instance-type"},
    ),
    ("T298 that no type has", template(types=ALL, labels={ARCH: "mips"}), {}, set()),
    (
        "T298 a label of some types",
        template(types=ALL),
        wanting(NVME, operator="Exists"),
        {"fast"},
    ),
    (
        "T298 a label not to have",
        template(types=ALL),
        wanting(NVME, operator="DoesNotExist"),
        EVERY - {"fast"},
    ),
]


@pytest.mark.parametrize(
    ("offered", "asks", "expected"), [pytest.param(*rest, id=name) for name, *rest in KEPT]
)
def test_types_that_are_left(offered: Template, asks: dict[str, Any], expected: set[str]) -> None:
    assert types_kept(offered, pod("p", **asks)) == expected


SMALL: list[tuple[str, dict[str, Any], str]] = [
    ("T299 by memory", {"memory": "100M"}, "size-1"),  # T299
    ("T299 by cpu", {"cpu": "900m"}, "size-1"),
    (
        "T300",  # T300
        {"cpu": "900m", "runtimeClassName": "heavy", "overhead": {"cpu": "1"}},
        "size-2",
    ),
    ("T305", {"requests": {"foo.com/weird": "0"}}, "size-1"),  # T305
    (
        "T308",  # T308
        {
            "cpu": "900m",
            "initContainers": [{"name": "init", "resources": {"requests": {"cpu": "1"}}}],
        },
        "size-2",
    ),
    (
        "T308 too large",
        {"initContainers": [{"name": "init", "resources": {"requests": {"cpu": "10k"}}}]},
        "",
    ),
]


@pytest.mark.parametrize(
    ("asks", "expected"), [pytest.param(*rest, id=name) for name, *rest in SMALL]
)
def test_the_smallest_type_with_room(asks: dict[str, Any], expected: str) -> None:
    played = Rounds(template(types=SIZES))

    played.play(pod("p", **asks))

    assert played.nodes == ([expected] if expected else [])


def test_t301_five_small_pods_share_the_smallest_node() -> None:
    played = Rounds(template(types=SIZES))

    played.add(5, cpu="10m", memory="10M")

    assert played.nodes == ["size-1"]


def test_t302_forty_pods_of_half_a_node_take_twenty() -> None:
    played = Rounds(template())

    played.add(40, memory="1.8Gi", nodeSelector={ARCH: "amd64"})

    assert played.nodes == ["default-instance-type"] * 20


def test_t303_small_ones_fill_what_large_ones_leave() -> None:
    """A large one is more than half of a node, and two small ones are the rest."""
    played = Rounds(template())

    played.play(
        *some(40, "small", cpu="900m", nodeSelector={ARCH: "amd64"}),
        *some(20, "large", cpu="2", nodeSelector={ARCH: "amd64"}),
    )

    assert played.nodes == ["default-instance-type"] * 20


def test_t304_each_node_is_as_large_as_its_pod_needs() -> None:
    played = Rounds(template(types=SIZES))

    played.play(pod("large", cpu="4500m"), pod("small", cpu="1"))

    assert played.nodes == ["size-2", "size-5"]


def test_t307_a_node_takes_so_many_pods() -> None:
    played = Rounds(template())

    played.add(25, cpu="1m", nodeSelector={ARCH: "amd64", OS: "linux"})

    assert played.counts(names.HOSTNAME, {}) == [5, 5, 5, 5, 5]


def test_t309_all_types_with_room_are_kept_whatever_their_price() -> None:
    """Medium costs least and large most; which of them is launched is the cloud's to say."""
    types = [
        instance_type("small", cpu=1, memory_gib=1, price=1.0),
        instance_type("medium", cpu=2, memory_gib=2, price=0.5),
        instance_type("large", cpu=4, memory_gib=4, price=3.0),
    ]

    assert types_kept(template(types=types), pod("p", cpu="1m")) == {"small", "medium", "large"}


ARM_IN_ZONE_1 = [instance_type("amd"), instance_type("arm", arch="arm64", zones=ZONES[:1])]


@pytest.mark.parametrize(
    ("types", "wants", "asks"),
    [
        pytest.param(ARM_IN_ZONE_1[:1], [], choosing(**{ARCH: "arm64"}), id="T367"),  # T367
        pytest.param(
            ARM_IN_ZONE_1, [], choosing(**{ARCH: "arm64", ZONE: ZONES[1]}), id="T367 with its zone"
        ),
        pytest.param(
            ARM_IN_ZONE_1,
            [(ARCH, "In", "arm64")],
            choosing(**{ZONE: ZONES[1]}),
            id="T367 by the provisioner",
        ),
    ],
)
def test_what_is_sold_nowhere_is_refused(
    types: list[InstanceType], wants: Any, asks: dict[str, Any]
) -> None:
    plan = Rounds(template(types=types, wants=wants)).play(pod("p", **asks))

    assert not plan.machines
    assert reasons(plan) == {Constraint.INSTANCE_TYPE}
