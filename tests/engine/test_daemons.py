"""What do DaemonSets ask of which node, and what of it is there already?"""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import changed, node, provisioner
from tests.engine.pieces import (
    affinity,
    asking,
    daemon_pod,
    daemon_set,
    in_flight,
    instance_type,
    spec_of,
    uninitialized,
    view_of,
    wants,
)
from tests.engine.scenes import pod, solve
from unmoor.engine.daemons import Daemons, asked_of
from unmoor.engine.ports import HostPort
from unmoor.engine.refusal import Constraint
from unmoor.engine.scenery import scene_of
from unmoor.model import names
from unmoor.model.node_selector import NodeSelector, NodeSelectorTerm
from unmoor.model.pod import Pod, PodSpec
from unmoor.model.requirement import Requirements
from unmoor.model.resources import Resources
from unmoor.model.scheduling import (
    Affinity,
    Container,
    ContainerPort,
    NodeAffinity,
    ResourceRequirements,
)
from unmoor.model.taint import Taint, Toleration

MINE = Taint(key="example.org/mine", effect="NoSchedule")
CORDON = Taint(key=names.UNSCHEDULABLE, effect="NoSchedule")
ONE_CORE = {"cpu": 1000, "pods": 1}


def reserved(*objects: Any) -> Resources:
    (only,) = scene_of(view_of(*objects), ()).places
    return only.reserved


def asked(*objects: Any) -> list[Resources]:
    return [one.requests for one in Daemons(view_of(*objects)).all]


def to_come(owner: Any, *requirements: Any, taints: tuple[Taint, ...] = ()) -> Resources:
    return asked_of(Daemons(view_of(owner)).all, Requirements.from_api(requirements), taints)[0]


# ------------------------------------------------------------------------------- what one asks for


def test_t204_without_a_pod_the_template_says_it() -> None:
    assert asked(daemon_set()) == [ONE_CORE]


def test_t205_its_pod_says_it_when_there_is_one() -> None:
    assert asked(daemon_set(), daemon_pod("agent-1", cpu="2")) == [{"cpu": 2000, "pods": 1}]


def test_t206_of_several_pods_the_newest_says_it() -> None:
    old = daemon_pod("agent-2", cpu="2")
    new = changed(daemon_pod("agent-1", cpu="3"), metadata__creation_timestamp=builders.NOW)

    assert asked(daemon_set(), old, new) == [{"cpu": 3000, "pods": 1}]


def test_t207_a_daemon_set_that_is_gone_asks_nothing() -> None:
    gone = changed(daemon_set(), metadata__deletion_timestamp=builders.NOW)

    assert asked(daemon_pod("agent-1")) == []
    assert asked(gone, daemon_pod("agent-1")) == []


def test_pods_that_are_ending_or_have_ended_say_nothing() -> None:
    ending = changed(daemon_pod("one", cpu="2"), metadata__deletion_timestamp=builders.NOW)
    failed = changed(daemon_pod("two", cpu="3"), status__phase="Failed")

    assert asked(daemon_set(), ending, failed) == [ONE_CORE]


def test_a_pod_without_a_date_is_better_than_none() -> None:
    undated = changed(daemon_pod("agent-1", cpu="2"), metadata__creation_timestamp=None)

    assert asked(daemon_set(), undated) == [{"cpu": 2000, "pods": 1}]


def test_limits_stand_in_for_requests() -> None:
    limited = Container(resources=ResourceRequirements(limits={"cpu": "2"}))
    spec = changed(spec_of({}), containers=(limited,))

    assert asked(daemon_set("agent", spec)) == [{"cpu": 2000, "pods": 1}]


def test_one_that_cannot_be_read_counts_as_nothing_and_spoils_nothing() -> None:
    assert asked(daemon_set("bad", spec_of({"cpu": "many"})), daemon_set("good")) == [ONE_CORE]


def test_n07_a_machine_is_sized_by_what_the_pods_of_a_daemon_set_ask_for() -> None:
    """N07: not by its template, to which a LimitRange may have added."""
    types = (instance_type("half", cpu=16), instance_type("whole", cpu=32))
    paper = daemon_set("agent", spec_of({"cpu": "630m"}))
    large = asking(builders.pod("big", on=""), cpu="15")

    def sized(*there: Any) -> set[str]:
        on = scene_of(view_of(paper, provisioner(), *there), types)
        (bought,) = solve(on, [large]).machines
        return set(bought.instance_types)

    assert sized() == {"half", "whole"}
    assert sized(node("b"), daemon_pod("agent-1", on="b", cpu="1630m")) == {"whole"}


# ---------------------------------------------------------------------------------- nodes there are


def test_t185_what_daemon_sets_ask_is_reserved_apart_from_other_pods() -> None:
    web = asking(builders.pod("web"), cpu="3")
    (place,) = scene_of(view_of(node("a"), daemon_set(), web), ()).places

    assert place.reserved == ONE_CORE
    assert [one.name for one in place.pods] == ["web"]


@pytest.mark.parametrize(
    ("there", "left"),
    [
        pytest.param((), ONE_CORE, id="nothing yet"),
        pytest.param((daemon_pod("agent-1"),), {}, id="all of it"),
        pytest.param(
            (daemon_pod("agent-1", cpu="400m"), daemon_pod("agent-2", on="b")),
            {"cpu": 600},
            id="a smaller one: the rest comes with the next",
        ),
        pytest.param((daemon_pod("agent-1", cpu="5"),), {}, id="never less than nothing"),
        pytest.param((daemon_pod("other-1", owner="other"),), ONE_CORE, id="somebody else's"),
        pytest.param((asking(builders.pod("web"), cpu="1"),), ONE_CORE, id="no DaemonSet's"),
        pytest.param(
            (changed(daemon_pod("agent-1"), status__phase="Failed"),), ONE_CORE, id="a failed one"
        ),
        pytest.param(
            (daemon_pod("agent-0", cpu="many"), daemon_pod("agent-1", on="b")),
            {},
            id="one that cannot be read",
        ),
    ],
)
def test_what_runs_already_is_not_reserved_twice(there: tuple[Any, ...], left: Resources) -> None:
    template = daemon_set()
    newest = changed(daemon_pod("zz", on="elsewhere"), metadata__creation_timestamp=builders.NOW)

    assert reserved(node("a"), template, newest, *there) == left


def test_what_one_has_too_much_is_no_room_for_another() -> None:
    objects = (
        daemon_set("agent"),
        daemon_set("other"),
        daemon_pod("agent-1", cpu="9"),
        changed(daemon_pod("newest", on="b"), metadata__creation_timestamp=builders.NOW),
    )

    assert reserved(node("a"), *objects) == ONE_CORE


@pytest.mark.parametrize(
    ("spec", "on", "is_there"),
    [
        pytest.param({}, node(), True, id="everywhere"),
        pytest.param({}, node(is_cordoned=True, taints=(CORDON,)), True, id="cordoned"),
        pytest.param({}, node(taints=(MINE,)), False, id="a taint"),
        pytest.param(
            {"tolerations": (Toleration(operator="Exists"),)},
            node(taints=(MINE,)),
            True,
            id="tolerated",
        ),
        pytest.param({"node_selector": {names.ZONE: "z1"}}, node(), True, id="selected"),
        pytest.param({"node_selector": {names.ZONE: "z2"}}, node(), False, id="another zone"),
        pytest.param({"node_selector": {"disk": "ssd"}}, node(), False, id="no such label"),
        pytest.param(
            {"node_selector": {names.INSTANCE_CATEGORY: "m"}},
            node(),
            False,
            id="not even a well-known one",
        ),
        pytest.param(
            {"affinity": affinity((wants("a", "Exists"),), (wants(names.ZONE, "In", "z1"),))},
            node(),
            True,
            id="one of its terms",
        ),
        # N08
        pytest.param(
            {"affinity": affinity((wants(names.ZONE, "In", "z2"),), (wants(names.OS, "Exists"),))},
            node(labels={names.OS: "linux"}),
            True,
            id="the second of its terms",
        ),
        pytest.param(
            {"affinity": affinity((wants(names.ZONE, "Sounds", "good"),))},
            node(),
            False,
            id="a term that means nothing",
        ),
        pytest.param({"affinity": Affinity()}, node(), True, id="an empty affinity"),
        pytest.param({"node_selector": {"app": "x"}}, in_flight(), False, id="in flight"),
        pytest.param({}, in_flight(taints=(MINE,)), False, id="in flight, tainted"),
        pytest.param({}, in_flight(startup_taints=(MINE,)), True, id="in flight, starting"),
        pytest.param({}, uninitialized(), True, id="coming up"),
    ],
)
def test_which_nodes_get_one(spec: dict[str, Any], on: Any, *, is_there: bool) -> None:
    owner = daemon_set("agent", spec_of({"cpu": "1"}, **spec))

    assert reserved(on, owner) == (ONE_CORE if is_there else {})


def test_a_pod_that_is_tied_to_its_node_says_nothing_about_others() -> None:
    """The DaemonSet controller gives each pod an affinity to its own node."""
    term = NodeSelectorTerm(match_fields=(wants("metadata.name", "In", "b"),))
    own = Affinity(node_affinity=NodeAffinity(required=NodeSelector(node_selector_terms=(term,))))
    tied = changed(daemon_pod("agent-1", on="b", cpu="2"), spec__affinity=own)

    assert reserved(node("a"), daemon_set(), tied) == {"cpu": 2000, "pods": 1}
    assert to_come(daemon_set("agent", spec_of({}, affinity=own))) == {}


# ------------------------------------------------------------------------------------ nodes to come


@pytest.mark.parametrize(
    ("spec", "requirements", "comes"),
    [
        pytest.param({}, (), True, id="everywhere"),
        pytest.param({"node_selector": {names.ZONE: "z1"}}, (), True, id="well known, undefined"),
        pytest.param(
            {"node_selector": {names.ZONE: "z1"}},
            (wants(names.ZONE, "In", "z2"),),
            False,
            id="another zone",
        ),
        pytest.param({"node_selector": {"disk": "ssd"}}, (), False, id="custom, undefined"),
        pytest.param(
            {"node_selector": {"disk": "ssd"}},
            (wants("disk", "In", "ssd", "hdd"),),
            True,
            id="custom, possible",
        ),
        pytest.param(
            {"affinity": affinity((wants("disk", "NotIn", "hdd"),))}, (), True, id="not undefined"
        ),
        pytest.param(
            {"affinity": affinity((wants("disk", "Sounds", "good"),), (wants("b", "NotIn", "c"),))},
            (),
            True,
            id="a bad term hides no good one",
        ),
        pytest.param(
            {"affinity": affinity((wants("disk", "Sounds", "good"),))}, (), False, id="a bad term"
        ),
        pytest.param({"affinity": affinity(())}, (), False, id="an empty term"),
        pytest.param({"affinity": affinity()}, (), False, id="no term"),
    ],
)
def test_which_nodes_to_come_get_one(
    spec: dict[str, Any], requirements: tuple[Any, ...], *, comes: bool
) -> None:
    owner = daemon_set("agent", spec_of({"cpu": "1"}, **spec))

    assert to_come(owner, *requirements) == (ONE_CORE if comes else {})


def test_the_taints_of_a_node_to_come_keep_it_away_too() -> None:
    soft = changed(MINE, effect="PreferNoSchedule")

    assert to_come(daemon_set(), taints=(MINE,)) == {}
    assert to_come(daemon_set(), taints=(soft,)) == ONE_CORE


def test_absurd_sums_stay_within_bounds() -> None:
    owners = [daemon_set(str(n), spec_of({"cpu": "8E"})) for n in range(3)]

    assert asked_of(Daemons(view_of(*owners)).all, Requirements({}), ())[0]["cpu"] == 2**62 - 1


# ------------------------------------------------------------------- what they have for themselves


def with_port(cpu: str = "1") -> Any:
    """A DaemonSet whose pods take a port of their node."""
    [main] = spec_of({"cpu": cpu}).containers
    port = ContainerPort(container_port=9100, host_port=9100)
    return daemon_set(spec=PodSpec(containers=(changed(main, ports=(port,)),)))


def with_host_port(name: str, port: int) -> Pod:
    """A pending pod that takes a port of its node."""
    return pod(name, containers=[{"ports": [{"containerPort": 1, "hostPort": port}]}])


def test_ports_that_a_daemon_set_will_have_are_kept_free_until_its_pod_is_there() -> None:
    """Its pod would wait for ever for a node whose port somebody else has (spec 9.11)."""
    owner, port = with_port(), (HostPort(9100),)
    bare = scene_of(view_of(owner, node()), ()).places[0]
    there = scene_of(view_of(owner, node(), daemon_pod("agent-1")), ()).places[0]

    assert (bare.held, there.held) == (port, ())


def test_a_pod_that_wants_the_port_of_a_daemon_set_gets_no_machine_for_nothing() -> None:
    """N11."""
    on = scene_of(view_of(with_port(), provisioner()), (instance_type("any"),))

    plan = solve(on, [with_host_port("other", 9101), with_host_port("same", 9100)])

    assert list(plan.placements) == [("default", "other")]
    (reasons,) = plan.refused.values()
    assert {one.constraint for one in reasons} == {Constraint.HOST_PORT}
