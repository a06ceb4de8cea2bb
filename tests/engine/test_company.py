"""One pod beside another: ports, affinity, anti-affinity, spreading, a row for each turn of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.engine.scenes import (
    WEB,
    ZONES,
    as_object,
    instance_type,
    place,
    pod,
    preferred,
    required,
    scene,
    solve,
    spread,
    template,
    term,
)
from unmoor.engine.refusal import Constraint
from unmoor.engine.scene import Started
from unmoor.model import names
from unmoor.model.cluster import Namespace


def with_port(**port: Any) -> Any:
    return [{"name": "main", "ports": [port]}]


PORT_80 = {"containers": with_port(hostPort=80)}

OTHER_PODS: list[tuple[str, dict[str, Any], dict[str, Any], str | None]] = [
    # who is on node a (zone 1), what the new pod asks; node b is in zone 2 and empty
    (
        "its port is taken",
        {"containers": with_port(hostPort=80)},
        {"containers": with_port(hostPort=80)},
        "b",
    ),
    (
        "another address",
        {"containers": with_port(hostPort=80, hostIP="10.0.0.1")},
        {"containers": with_port(hostPort=80, hostIP="10.0.0.2")},
        "a",
    ),
    (
        "every address",
        {"containers": with_port(hostPort=80, hostIP="10.0.0.1")},
        {"containers": with_port(hostPort=80)},
        "b",
    ),
    (
        "another protocol",
        {"containers": with_port(hostPort=53)},
        {"containers": with_port(hostPort=53, protocol="UDP")},
        "a",
    ),
    ("near it", {"labels": WEB}, {"affinity": {"podAffinity": required(term())}}, "a"),
    ("apart from it", {"labels": WEB}, {"affinity": {"podAntiAffinity": required(term())}}, "b"),
    (
        "it keeps others away",
        {"affinity": {"podAntiAffinity": required(term())}},
        {"labels": WEB},
        "b",
    ),
    (
        "it would rather be alone",
        {"affinity": {"podAntiAffinity": preferred(term())}},
        {"labels": WEB},
        "a",
    ),
    (
        "in another namespace",
        {"labels": WEB, "namespace": "other"},
        {"affinity": {"podAntiAffinity": required(term())}},
        "a",
    ),
    (
        "in a namespace that is named",
        {"labels": WEB, "namespace": "other"},
        {"affinity": {"podAntiAffinity": required(term(namespaces=["other"]))}},
        "b",
    ),
    (
        "in a namespace that is selected",
        {"labels": WEB, "namespace": "other"},
        {
            "affinity": {
                "podAntiAffinity": required(
                    term(namespaceSelector={"matchLabels": {"team": "blue"}})
                )
            }
        },
        "b",
    ),
    (
        "in any namespace",
        {"labels": WEB, "namespace": "other"},
        {"affinity": {"podAntiAffinity": required(term(namespaceSelector={}))}},
        "b",
    ),
    (
        "only of the same version",
        {"labels": {**WEB, "v": "1"}},
        {
            "labels": {**WEB, "v": "2"},
            "affinity": {"podAntiAffinity": required(term(matchLabelKeys=["v"]))},
        },
        "a",
    ),
    (
        "of any other version",
        {"labels": {**WEB, "v": "1"}},
        {
            "labels": {**WEB, "v": "2"},
            "affinity": {"podAntiAffinity": required(term(mismatchLabelKeys=["v"]))},
        },
        "b",
    ),
    (
        "spread over zones",
        {"labels": WEB},
        {"labels": WEB, "topologySpreadConstraints": [spread()]},
        "b",
    ),
    (
        "spread, two at once allowed",
        {"labels": WEB},
        {"labels": WEB, "topologySpreadConstraints": [spread(skew=2)]},
        "a",
    ),
    (
        "spread over hosts",
        {"labels": WEB},
        {"labels": WEB, "topologySpreadConstraints": [spread(names.HOSTNAME)]},
        "b",
    ),
    (
        "spread over the nodes that it may use",
        {"labels": WEB},
        {
            "labels": WEB,
            "nodeSelector": {names.ZONE: ZONES[0]},
            "topologySpreadConstraints": [spread()],
        },
        "a",
    ),
    (
        "spread over all nodes, but it may use one",
        {"labels": WEB},
        {
            "labels": WEB,
            "nodeSelector": {names.ZONE: ZONES[0]},
            "topologySpreadConstraints": [spread(nodeAffinityPolicy="Ignore")],
        },
        None,
    ),
    (
        "three domains wanted where there are two",
        {"labels": WEB},
        {"labels": WEB, "topologySpreadConstraints": [spread(minDomains=3)]},
        "b",
    ),
]


@pytest.mark.parametrize(
    ("there", "asks", "expected"),
    [pytest.param(there, asks, expected, id=name) for name, there, asks, expected in OTHER_PODS],
)
def test_one_pod_beside_another(
    there: dict[str, Any], asks: dict[str, Any], expected: str | None
) -> None:
    namespaces = [
        as_object(Namespace, {"metadata": {"name": "default"}}),
        as_object(Namespace, {"metadata": {"name": "other", "labels": {"team": "blue"}}}),
    ]
    on = scene(
        place("a", ZONES[0], pod("there", node="a", **there)),
        place("b", ZONES[1]),
        objects=namespaces,
    )

    plan = solve(on, [pod("p", **asks)])

    assert plan.placements.get(("default", "p")) == expected
    assert bool(plan.refused) == (expected is None)


@pytest.mark.parametrize("policy", ["Honor", "Ignore"])
def test_a_machine_to_come_does_not_count_where_the_pod_may_not_go(policy: str) -> None:
    """It may yet lie in the zone that the pod avoids: then its node is no place to fill."""
    coming = template()
    started = Started(
        name="new",
        provisioner="default",
        requirements=coming.requirements,
        types=coming.types,
    )
    zone = {"key": names.ZONE, "operator": "NotIn", "values": [ZONES[0]]}
    chosen = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
    on = scene(
        place("b", ZONES[1], *(pod(f"b{at}", labels=WEB, node="b") for at in range(2))),
        place("c", ZONES[2], pod("c0", labels=WEB, node="c"), pod("c1", labels=WEB, node="c")),
    )

    plan = solve(
        msgspec.structs.replace(on, started=(started,)),
        [
            pod(
                "p",
                cpu="20",  # more than the machine will have
                labels=WEB,
                affinity={
                    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": chosen}
                },
                topologySpreadConstraints=[spread(nodeAffinityPolicy=policy)],
            )
        ],
    )

    assert plan.placements.get(("default", "p")) == ("b" if policy == "Honor" else None)


def test_a_node_counts_in_its_zone_whatever_older_name_of_the_label_it_was_chosen_by() -> None:
    older = {"failure-domain.beta.kubernetes.io/zone": "old"}
    web: dict[str, Any] = {"labels": WEB, "cpu": "1"}
    on = scene(
        place("a", ZONES[0], pod("a0", node="a", **web), labels=older),
        place("b", ZONES[1], pod("b0", node="b", **web), labels=older),
    )

    plan = solve(on, [pod("p", nodeSelector=older, topologySpreadConstraints=[spread()], **web)])

    assert plan.placements == {("default", "p"): "a"}


def test_a_zone_that_a_later_machine_opens_counts_from_the_next_plan_on() -> None:
    """A pod on a node that is there runs by then (ADR 0013)."""
    there = [
        place("a", ZONES[0], pod("a", node="a", labels=WEB), cpu="4"),
        place("b", ZONES[1], pod("b", node="b", labels=WEB), cpu="0"),
    ]
    small = template(types=(instance_type("small", cpu=2),))
    spread_out = pod("large", labels=WEB, cpu="2", topologySpreadConstraints=[spread()])
    apart = pod(
        "small", labels=WEB, cpu="1", affinity={"podAntiAffinity": required(term(names.HOSTNAME))}
    )

    plan = solve(scene(*there, small), [spread_out, apart])
    assert plan.placements == {spread_out.key: "a", apart.key: "machine#0"}
    assert plan.machines[0].requirements.get(names.ZONE).only_value == ZONES[2]

    is_up = place("c", ZONES[2], cpu="1")
    refused = solve(scene(*there, is_up), [spread_out]).refused
    assert [one.constraint for one in refused[spread_out.key]] == [Constraint.SPREAD]
    in_use = place("c", ZONES[2], pod("small", node="c", labels=WEB), cpu="1")
    assert solve(scene(*there, in_use), [spread_out]).placements == {spread_out.key: "a"}


def test_nodes_without_the_label_of_a_soft_spread_count_for_the_hard_one() -> None:
    """As kube-scheduler counts: only what must be even says which nodes are looked at."""
    bare = place(
        "bare", ZONES[0], *(pod(f"there-{at}", labels=WEB, node="bare") for at in range(2))
    )
    first = place("first", ZONES[0], labels={"rack": "r1"})
    second = place("second", ZONES[1], labels={"rack": "r1"})
    soft = {**spread("rack"), "whenUnsatisfiable": "ScheduleAnyway"}
    even = pod("even", labels=WEB, topologySpreadConstraints=[spread(names.ZONE), soft])

    assert solve(scene(bare, first, second), [even]).placements["default", "even"] == "second"
