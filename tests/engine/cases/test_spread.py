"""Spreading over zones, hosts, capacity types and labels: final counts per domain (T325-T347)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from tests.engine.rounds import Rounds
from tests.engine.scenes import WEB, ZONES, instance_type, place, pod, some, spread, template
from unmoor.engine.scene import Place, Template
from unmoor.model import names

ZONE, HOST, KIND, ARCH = names.ZONE, names.HOSTNAME, names.CAPACITY_TYPE, names.ARCH
ONE, TWO, THREE = ZONES
SPOT, ON_DEMAND = names.SPOT, names.ON_DEMAND
BIG = {"cpu": "1100m"}
"""Two such pods have no room on the small type."""


def only(key: str, *values: str) -> Any:
    """A provisioner that allows these values alone."""
    return template(wants=[(key, "In", *values)])


def within(key: str, *values: str, preferred: bool = False) -> Any:
    """Node affinity for these values."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    if preferred:
        terms = [{"weight": 1, "preference": term}]
        return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


class Round(NamedTuple):
    """So many pods that are spread, and the counts afterwards. ``about``: of each pod."""

    pods: int
    expected: list[int]
    about: dict[str, Any] = {}
    offer: Template | None = None


def pinned(zone: str, expected: list[int]) -> Round:
    return Round(1, expected, {"nodeSelector": {ZONE: zone}, **BIG})


def of_kind(
    kind: str, expected: list[int], *, pods: int = 1, about: Mapping[str, Any] = {}
) -> Round:
    return Round(pods, expected, {**BIG, **about}, only(KIND, kind))


def with_selector(selector: Any, key: str = ZONE) -> dict[str, Any]:
    return {"topologySpreadConstraints": [spread(key, labelSelector=selector)]}


ANYWAY = {"topologySpreadConstraints": [spread(KIND, whenUnsatisfiable="ScheduleAnyway")]}
EXPRESSION = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
NONSENSE = {"matchExpressions": [{"key": "app", "operator": "Sounds", "values": ["good"]}]}
OTHERS = {"matchLabels": {"app": "other"}}
FULL = place("full", ONE, pod("there", labels=WEB, node="full"), is_cordoned=True)

ROWS: list[tuple[str, str, list[Place | Template], list[Round]]] = [
    ("T326", ZONE, [template()], [Round(2, [2], with_selector(NONSENSE))]),  # T326
    ("T327 labels", ZONE, [template()], [Round(4, [1, 1, 2])]),  # T327
    ("T327 expressions", ZONE, [template()], [Round(4, [1, 1, 2], with_selector(EXPRESSION))]),
    ("T327 all three allowed", ZONE, [only(ZONE, *ZONES)], [Round(4, [1, 1, 2])]),
    ("T328", ZONE, [only(ZONE, ONE, TWO)], [Round(4, [2, 2])]),  # T328
    (
        "T329",  # T329
        ZONE,
        [template()],
        [pinned(THREE, [1]), Round(6, [1, 2, 2], BIG, only(ZONE, ONE, TWO))],
    ),
    (
        "T330",  # T330
        ZONE,
        [template()],
        [
            pinned(ONE, [1]),
            pinned(TWO, [1, 1]),
            Round(
                10,
                [1, 1, 6],
                {"topologySpreadConstraints": [spread(skew=5)], **BIG},
                only(ZONE, THREE),
            ),
        ],
    ),
    (
        "T331",  # T331
        ZONE,
        [template(), place("a", ONE, *some(3, node="a", labels=WEB))],
        [Round(3, [1, 2, 3])],
    ),
    (
        "T332",  # T332
        ZONE,
        [template()],
        [pinned(ONE, [1]), Round(10, [1, 2, 2], BIG, only(ZONE, TWO, THREE))],
    ),
    (
        "T333",  # T333
        ZONE,
        [FULL, place("b", TWO), place("c", THREE)],
        [Round(10, [1, 2, 2])],
    ),
    ("T335", ZONE, [template()], [Round(1, [1], with_selector(None))]),  # T335
    (
        "T337 at most one in each",
        ZONE,
        [only(ZONE, ONE, TWO)],
        [Round(3, [1, 1], {"topologySpreadConstraints": [spread(minDomains=3)]})],
    ),  # T337
    (
        "T337 three wanted",
        ZONE,
        [template()],
        [Round(11, [3, 4, 4], {"topologySpreadConstraints": [spread(minDomains=3)]})],
    ),
    (
        "T337 two wanted",
        ZONE,
        [template()],
        [Round(11, [3, 4, 4], {"topologySpreadConstraints": [spread(minDomains=2)]})],
    ),
    ("T338 one on each", HOST, [template()], [Round(4, [1, 1, 1, 1])]),  # T338
    (
        "T338 four on one",
        HOST,
        [template()],
        [Round(4, [4], {"topologySpreadConstraints": [spread(HOST, 4)]})],
    ),
    ("T339 both", KIND, [template()], [Round(4, [2, 2])]),  # T339
    ("T339 both said", KIND, [only(KIND, SPOT, ON_DEMAND)], [Round(4, [2, 2])]),
    ("T339 must", KIND, [template()], [of_kind(SPOT, [1]), of_kind(ON_DEMAND, [1, 2], pods=5)]),
    (
        "T339 may",
        KIND,
        [template()],
        [of_kind(SPOT, [1], about=ANYWAY), of_kind(ON_DEMAND, [1, 5], pods=5, about=ANYWAY)],
    ),
    ("T339 nil selector", KIND, [template()], [Round(1, [1], with_selector(None, KIND))]),
    (
        "T339 affinity",
        KIND,
        [template()],
        [
            Round(1, [1], {"affinity": within(KIND, SPOT), **BIG}),
            Round(5, [1, 5], {"affinity": within(KIND, ON_DEMAND)}),
        ],
    ),
    (
        "T339 no affinity",
        KIND,
        [template()],
        [
            Round(
                1,
                [1],
                {"nodeSelector": {KIND: SPOT, names.INSTANCE_TYPE: "single-pod-instance-type"}},
            ),
            Round(5, [1, 2], {}, only(KIND, ON_DEMAND)),
        ],
    ),
    (
        "T339 arch",
        ARCH,
        [template()],
        [
            Round(
                1,
                [1],
                {"nodeSelector": {ARCH: "amd64", names.INSTANCE_TYPE: "single-pod-instance-type"}},
            ),
            Round(5, [1, 2], {}, only(ARCH, "arm64")),
        ],
    ),
    (
        "T346 affinity",
        ZONE,
        [template()],
        [  # T346
            Round(6, [3, 3], {"affinity": within(ZONE, ONE, TWO)}),
            Round(1, [1, 3, 3], {"affinity": within(ZONE, TWO, THREE)}),
            Round(5, [4, 4, 4]),
        ],
    ),
    (
        "T346 requirements",
        ZONE,
        [template()],
        [Round(10, [5, 5], {"affinity": within(ZONE, ONE, TWO)})],
    ),
    (
        "T346 preference",
        ZONE,
        [template()],
        [Round(6, [2, 2, 2], {"affinity": within(ZONE, ONE, TWO, preferred=True)})],
    ),
    (
        "T347 affinity",
        KIND,
        [template()],
        [  # T347
            Round(3, [3], {"affinity": within(KIND, SPOT)}),
            Round(1, [1, 3], {"affinity": within(KIND, SPOT, ON_DEMAND)}),
            Round(5, [4, 5]),
        ],
    ),
]


@pytest.mark.parametrize(
    ("key", "parts", "rounds"),
    [pytest.param(key, parts, rounds, id=name) for name, key, parts, rounds in ROWS],
)
def test_counts_by_domain(key: str, parts: list[Place | Template], rounds: list[Round]) -> None:
    played = Rounds(*parts)
    found = []
    for pods, _, about, offer in rounds:
        if offer is not None:
            played.offer(offer)
        played.add(pods, **{"labels": WEB, "topologySpreadConstraints": [spread(key)], **about})
        found.append(played.counts(key))

    assert found == [one.expected for one in rounds]


def test_t325_an_unknown_label_to_spread_over_stops_nobody_else() -> None:
    played = Rounds(template())

    plan = played.play(
        pod("odd", labels=WEB, topologySpreadConstraints=[spread("unknown")]), pod("plain")
    )

    assert list(plan.refused) == [("default", "odd")]
    assert list(plan.placements) == [("default", "plain")]


@pytest.mark.parametrize("key", [ZONE, HOST, KIND])
def test_t336_who_is_not_counted_is_not_spread(key: str) -> None:
    """T339 has the same for capacity types."""
    played = Rounds(template())

    played.add(5, **with_selector(OTHERS, key))

    assert len(played.nodes) == 1


@pytest.mark.parametrize(
    ("arches", "expected"),
    [(("amd64", "amd64"), 2), (("amd64", "arm64"), 4)],
    ids=["two deployments share nodes", "of different arch they cannot"],
)
def test_t338_two_deployments(arches: tuple[str, str], expected: int) -> None:
    played = Rounds(template())
    pods = []
    for app, arch in zip(("a", "b"), arches, strict=True):
        labels = {"app": app}
        pods += some(
            2,
            app,
            labels=labels,
            nodeSelector={ARCH: arch},
            topologySpreadConstraints=[spread(HOST, labels=labels)],
        )

    played.play(*pods)

    assert len(played.nodes) == expected


def test_t340_hosts_and_zones_together() -> None:
    both = [spread(ZONE), spread(HOST, 3)]
    played = Rounds(template())
    found, fullest = [], []
    for count in (2, 3, 5, 11):
        played.add(count, labels=WEB, topologySpreadConstraints=both)
        found.append(played.counts(ZONE))
        fullest.append(max(played.counts(HOST)))

    assert found == [[1, 1], [1, 2, 2], [3, 3, 4], [7, 7, 7]]
    assert max(fullest) <= 3


def test_t341_over_a_label_that_provisioners_define() -> None:
    key = "share"
    spot = template("spot", wants=[(KIND, "In", SPOT), (key, "In", "2", "3", "4", "5")])
    on_demand = template("on-demand", wants=[(KIND, "In", ON_DEMAND), (key, "In", "1")])
    played = Rounds(spot, on_demand)

    played.add(20, labels=WEB, topologySpreadConstraints=[spread(key)])

    assert played.counts(key) == [4, 4, 4, 4, 4]
    assert played.counts(KIND) == [4, 16]


def test_t342_a_zone_that_only_a_provisioner_without_means_has_stays_empty() -> None:
    poor = template("poor", wants=[(ZONE, "In", THREE)], remaining={"cpu": 0})
    rich = template("rich", wants=[(ZONE, "In", ONE, TWO)])
    both = [spread(ZONE), spread(HOST, whenUnsatisfiable="ScheduleAnyway")]
    played = Rounds(poor, rich)

    plan = played.add(10, labels=WEB, topologySpreadConstraints=both)

    assert played.counts(ZONE) == played.counts(HOST) == [1, 1]
    assert len(plan.refused) == 8


def test_t343_hosts_and_capacity_types_together() -> None:
    both = [spread(KIND), spread(HOST, 3)]
    played = Rounds(template())
    found, fullest = [], []
    for count in (2, 3, 5, 11):
        played.add(count, labels=WEB, topologySpreadConstraints=both)
        found.append(played.counts(KIND))
        fullest.append(max(played.counts(HOST)))

    assert found == [[1, 1], [2, 3], [5, 5], [10, 11]]
    assert max(fullest) <= 3


def test_t344_zones_and_capacity_types_together() -> None:
    both = [spread(KIND), spread(ZONE)]
    played = Rounds(template())
    most = []
    for count in (2, 3, 5, 11):
        played.add(count, labels=WEB, topologySpreadConstraints=both)
        most.append((max(played.counts(KIND)), max(played.counts(ZONE))))

    for found, allowed in zip(most, [(1, 1), (3, 2), (5, 4), (11, 7)], strict=True):
        assert found <= allowed
        assert found[1] <= allowed[1]


EVERYWHERE = [
    instance_type(f"{kind}-{zone}", sold=[(zone, kind)])
    for zone in ZONES
    for kind in (SPOT, ON_DEMAND)
]
"""One type for each zone and capacity type."""


@pytest.mark.parametrize(("zones_skew", "kinds_skew"), [(1, 2), (2, 1)])
def test_t345_all_three_together_for_1_to_14_pods(zones_skew: int, kinds_skew: int) -> None:
    every = [spread(KIND, kinds_skew), spread(ZONE, zones_skew), spread(HOST, 3)]
    played = Rounds(template(types=EVERYWHERE))
    for count in range(1, 15):
        plan = played.add(count, labels=WEB, topologySpreadConstraints=every)
        kinds, zones = played.counts(KIND), played.counts(ZONE)

        assert not plan.refused
        assert max(kinds) - (min(kinds) if len(kinds) == 2 else 0) <= kinds_skew
        assert max(zones) - (min(zones) if len(zones) == 3 else 0) <= zones_skew
        assert max(played.counts(HOST)) <= 3


@pytest.mark.parametrize(
    ("key", "sizes", "expected"),
    [
        pytest.param(ZONE, {ONE: 5, TWO: 10}, [5, 10], id="T346"),
        pytest.param(KIND, {SPOT: 5, ON_DEMAND: 5}, [5, 5], id="T347"),
    ],
)
def test_a_node_selector_restricts_the_domains(
    key: str, sizes: dict[str, int], expected: list[int]
) -> None:
    played = Rounds(template())

    played.play(
        *(
            one
            for value, count in sizes.items()
            for one in some(
                count,
                value,
                labels=WEB,
                nodeSelector={key: value},
                topologySpreadConstraints=[spread(key)],
            )
        )
    )

    assert played.counts(key) == expected
