from collections.abc import Iterable, Mapping

import pytest

from unmoor.engine import judge, requests
from unmoor.engine.places import Sources, made_of
from unmoor.engine.refusal import Constraint
from unmoor.engine.sites import Standing
from unmoor.model.base import ObjectMeta
from unmoor.model.node import Node, NodeSpec, NodeStatus
from unmoor.model.node_selector import NodeSelector, NodeSelectorTerm
from unmoor.model.pod import Pod, PodSpec, PodStatus
from unmoor.model.quantity import QuantityError
from unmoor.model.requirement import NodeSelectorRequirement
from unmoor.model.scheduling import Affinity, Container, NodeAffinity, ResourceRequirements
from unmoor.model.snapshot import View
from unmoor.model.taint import Taint, Toleration

CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
DEDICATED = Taint(key="dedicated", value="db", effect="NoSchedule")
ROTTEN = Taint(key="rotten", effect="NoExecute")
RATHER_NOT = Taint(key="old", effect="PreferNoSchedule")
ANY_TAINT = Toleration(operator="Exists")


def node(
    *, cordoned: bool = False, taints: tuple[Taint, ...] = (), cpu: str = "4", pods: int = 10
) -> Node:
    return Node(
        metadata=ObjectMeta(name="a", labels={"disk": "ssd", "cores": "4"}),
        spec=NodeSpec(unschedulable=cordoned, taints=taints),
        status=NodeStatus(allocatable={"cpu": cpu, "memory": "8Gi", "pods": pods}),
    )


def container(cpu: str = "", *, limit: str = "", restart_policy: str | None = None) -> Container:
    return Container(
        name="main",
        resources=ResourceRequirements(
            requests={"cpu": cpu} if cpu else {}, limits={"cpu": limit} if limit else {}
        ),
        restart_policy=restart_policy,
    )


def pod(spec: PodSpec = PodSpec(containers=(container("1"),)), phase: str = "Running") -> Pod:
    return Pod(metadata=ObjectMeta(name="p"), spec=spec, status=PodStatus(phase=phase))


def free_on(on: Node, there: Iterable[Pod]) -> Mapping[str, int]:
    place = made_of(Sources(node=on, machine=None, pods=tuple(there)), ()).place
    return Standing(place, View.of()).free


def wants(*terms: tuple[tuple[str, str, tuple[str, ...]], ...]) -> PodSpec:
    selector = NodeSelector(
        node_selector_terms=tuple(
            NodeSelectorTerm(
                match_expressions=tuple(
                    NodeSelectorRequirement(key=key, operator=operator, values=values)
                    for key, operator, values in term
                )
            )
            for term in terms
        )
    )
    return PodSpec(affinity=Affinity(node_affinity=NodeAffinity(required=selector)))


def refused(spec: PodSpec, on: Node, *there: Pod) -> list[tuple[Constraint, str]]:
    asked = requests.requests_of(pod(spec))
    found = judge.placement_refusals(pod(spec), on)
    found += judge.room_refusals(asked, free_on(on, there))
    return [(one.constraint, one.subject) for one in found]


@pytest.mark.parametrize(
    ("spec", "on", "expected"),
    [
        pytest.param(PodSpec(), node(), [], id="an open node takes anybody"),
        pytest.param(
            PodSpec(), node(cordoned=True), [(Constraint.UNSCHEDULABLE, "a")], id="cordoned"
        ),
        pytest.param(
            PodSpec(),
            node(cordoned=True, taints=(CORDON,)),
            [(Constraint.UNSCHEDULABLE, "a")],
            id="cordon and its taint are one reason",
        ),
        pytest.param(
            PodSpec(),
            node(taints=(CORDON,)),
            [(Constraint.TAINT, "node.kubernetes.io/unschedulable:NoSchedule")],
            id="the taint alone refuses too",
        ),
        pytest.param(
            PodSpec(tolerations=(ANY_TAINT,)),
            node(cordoned=True, taints=(CORDON, DEDICATED, ROTTEN)),
            [],
            id="who tolerates everything may go anywhere",
        ),
        pytest.param(
            PodSpec(),
            node(taints=(DEDICATED, RATHER_NOT, ROTTEN)),
            [(Constraint.TAINT, "dedicated:NoSchedule"), (Constraint.TAINT, "rotten:NoExecute")],
            id="every hard taint is named, a preference is none",
        ),
        pytest.param(PodSpec(node_selector={"disk": "ssd"}), node(), [], id="selector agrees"),
        pytest.param(
            PodSpec(node_selector={"disk": "hdd", "gpu": "yes"}),
            node(),
            [(Constraint.NODE_SELECTOR, "disk"), (Constraint.NODE_SELECTOR, "gpu")],
            id="selector disagrees twice",
        ),
        pytest.param(
            wants((("disk", "In", ("hdd",)),), (("cores", "Gt", ("3",)),)),
            node(),
            [],
            id="one term of the affinity is enough",
        ),
        pytest.param(
            wants((("disk", "In", ("ssd",)), ("cores", "Gt", ("4",)))),
            node(),
            [(Constraint.NODE_AFFINITY, "a")],
            id="all expressions of a term must hold",
        ),
        pytest.param(wants(), node(), [(Constraint.NODE_AFFINITY, "a")], id="no term, no node"),
        pytest.param(
            wants((("disk", "Sounds", ("good",)),)),
            node(),
            [(Constraint.NODE_AFFINITY, "a")],
            id="an affinity that means nothing",
        ),
        pytest.param(
            PodSpec(containers=(container("4001m"),)),
            node(),
            [(Constraint.RESOURCES, "cpu")],
            id="too large",
        ),
        pytest.param(PodSpec(containers=(container("4"),)), node(), [], id="exactly full"),
        pytest.param(
            PodSpec(), node(pods=0), [(Constraint.RESOURCES, "pods")], id="no pod fits any more"
        ),
    ],
)
def test_refusals(spec: PodSpec, on: Node, expected: list[tuple[Constraint, str]]) -> None:
    assert refused(spec, on) == expected


def test_a_refusal_says_by_how_much() -> None:
    there = pod(PodSpec(containers=(container("3"),)))
    free = free_on(node(), [there])

    asked = requests.requests_of(pod(PodSpec(containers=(container("1500m"),))))

    (refusal,) = judge.room_refusals(asked, free)

    assert refusal.short == 500
    assert str(refusal) == "resources: cpu: 500m short"


@pytest.mark.parametrize(
    ("spec", "cpu_milli"),
    [
        pytest.param(PodSpec(containers=(container("1"), container("500m"))), 1500, id="sum"),
        pytest.param(
            PodSpec(containers=(container("1"),), init_containers=(container("3"), container("2"))),
            3000,
            id="the largest init container, one after the other",
        ),
        pytest.param(
            PodSpec(
                containers=(container("1"),),
                init_containers=(container("2", restart_policy="Always"),),
            ),
            3000,
            id="a sidecar runs beside the containers",
        ),
        pytest.param(
            PodSpec(
                containers=(container("1"),),
                init_containers=(container("1", restart_policy="Always"), container("4")),
            ),
            5000,
            id="a sidecar runs beside later init containers",
        ),
        # N10
        pytest.param(
            PodSpec(
                containers=(container("1"),),
                init_containers=(
                    container("500m", restart_policy="Always"),
                    container("1200m"),
                ),
            ),
            1700,
            id="an init container after a sidecar",
        ),
        pytest.param(
            PodSpec(
                containers=(container("1"),),
                init_containers=(
                    container("1200m"),
                    container("500m", restart_policy="Always"),
                ),
            ),
            1500,
            id="an init container before a sidecar",
        ),
        pytest.param(
            PodSpec(containers=(container("1"),), overhead={"cpu": "250m"}), 1250, id="overhead"
        ),
        pytest.param(PodSpec(containers=(container(limit="2"),)), 2000, id="a limit is a request"),
        pytest.param(
            PodSpec(containers=(container("1", limit="2"),)), 1000, id="a request beats a limit"
        ),
    ],
)
def test_requests(spec: PodSpec, cpu_milli: int) -> None:
    assert requests.requests_of(pod(spec)) == {"cpu": cpu_milli, "pods": 1}


@pytest.mark.parametrize(
    "spec",
    [
        PodSpec(containers=(container("1"), container("-1m"))),
        PodSpec(containers=(container("1", limit="2"),), init_containers=(container("-8"),)),
        PodSpec(containers=(container("1"),), overhead={"cpu": "-1"}),
        PodSpec(resources=ResourceRequirements(requests={"cpu": "-1"})),
    ],
)
def test_nobody_makes_room_for_others_by_asking_for_less_than_nothing(spec: PodSpec) -> None:
    with pytest.raises(QuantityError, match=r"'-\w+' .* resource cpu; ask for 0 or more"):
        requests.requests_of(pod(spec))


def test_finished_pods_hold_nothing() -> None:
    done = pod(PodSpec(containers=(container("3"),)), phase="Succeeded")

    assert free_on(node(), [done])["cpu"] == 4000


def test_a_daemon_asks_only_for_what_room_cannot_change() -> None:
    large = pod(PodSpec(containers=(container("64"),)))

    assert judge.placement_refusals(large, node()) == ()
