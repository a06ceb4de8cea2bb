"""The harness itself: kept and broken promises are told apart, and nothing is left of a trial."""

from __future__ import annotations

import pytest

from tests.e2e.vouching import Court, Outcome, Promise, Trial
from tests.facts.raw import (
    claim,
    container,
    csi_node,
    mounts,
    node,
    pod,
    spread,
    spreads,
    storage_class,
    volume,
)
from unmoor.model.base import JSON

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="module")]


def sized(name: str, cpu: str) -> JSON:
    return node(name, room={"cpu": cpu})


def by_pod(outcomes: list[Outcome]) -> dict[str, str | None]:
    return {one.pod.partition("/")[2]: one.bound for one in outcomes}


async def test_a_pod_is_bound_where_it_was_promised_and_nowhere_else(court: Court) -> None:
    cluster = [sized("a", "4"), sized("b", "2"), sized("c", "1"), pod("old", on="b", cpu="1")]
    promises = [
        Promise(pod("x", cpu="1"), "b"),
        Promise(pod("y", cpu="1"), "b"),
        Promise(pod("z", cpu="5")),
    ]

    kept, broken, nowhere = await court.hear(Trial(cluster, promises))

    assert [one.is_kept for one in (kept, broken, nowhere)] == [True, False, True]
    assert ["".join(sorted(one.fits)) for one in (kept, broken, nowhere)] == ["abc", "ac", ""]
    assert "1 Insufficient cpu, 2 fits, but is not the promised node" in broken.message
    assert str(broken).startswith("default/y: promised b; nowhere: Unschedulable: 0/3 nodes")


async def test_a_pod_that_fits_somewhere_after_all_is_told(court: Court) -> None:
    (found,) = await court.hear(Trial([sized("a", "1")], [Promise(pod("x", cpu="1"))]))

    assert not found.is_kept
    assert str(found) == "default/x: promised nowhere; bound to a"


async def test_an_excuse_is_asked_last_and_counts(court: Court) -> None:
    """Else the excused pod would take the room of the one that is said to fit nowhere."""
    promises = [Promise(pod("x", cpu="1"), excuse="fussy"), Promise(pod("y", cpu="1"))]

    found = await court.hear(Trial([sized("a", "1")], promises))

    assert [(one.pod, one.bound, one.is_kept) for one in found] == [
        ("default/y", "a", False),
        ("default/x", None, True),
    ]


async def test_the_order_of_promises_is_kept(court: Court) -> None:
    """Each pod may go where it was promised only because the one before went where it did."""
    cluster = [node(name, zone=name) for name in "abc"]
    places = ["c", "a", "b", "b", "c", "a"]
    pods = [pod(f"w{at}", labels={"app": "web"}, **spreads(spread())) for at in range(6)]

    found = await court.hear(Trial(cluster, [*map(Promise, pods, places)]))

    assert [one.bound for one in found] == places
    assert [len(one.fits) for one in found] == [3, 2, 1, 3, 2, 1]


async def test_nothing_is_left_of_a_trial(court: Court) -> None:
    """The same names again, with the opposite said of each."""
    rich = [sized("a", "4"), storage_class("fast"), claim("data", storage_class="fast")]
    poor = [sized("a", "1"), sized("b", "2"), pod("old", on="b", cpu="2")]
    asks = pod("x", cpu="2", **mounts("data"))

    assert by_pod(await court.hear(Trial(rich, [Promise(asks, "a")]))) == {"x": "a"}
    assert by_pod(await court.hear(Trial(poor, [Promise(asks)]))) == {"x": None}
    assert by_pod(await court.hear(Trial(rich, [Promise(asks, "a")]))) == {"x": "a"}


async def test_pods_whose_volumes_are_still_to_come_count_as_bound(court: Court) -> None:
    """The second has the same claim, so that the node is chosen; the third takes a free volume."""
    cluster = [node("a", zone="1"), node("b", zone="2"), storage_class("fast")]
    cluster += [storage_class("local", provisioner="kubernetes.io/no-provisioner")]
    cluster += [claim("data", storage_class="fast"), claim("disk", storage_class="local")]
    cluster += [volume("v", zone="1", storage_class="local")]
    promises = [
        Promise(pod("x", **mounts("data")), "b"),
        Promise(pod("y", **mounts("data")), "b"),
        Promise(pod("z", **mounts("disk")), "a"),
        Promise(pod("w", **mounts("data", "disk"))),
    ]

    found = await court.hear(Trial(cluster, promises))

    assert by_pod(found) == {"x": "b", "y": "b", "z": "a", "w": None}


async def test_volumes_of_a_pods_own_count(court: Court) -> None:
    template = {"spec": claim("", storage_class="fast")["spec"]}
    own: JSON = {"volumes": [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": template}}]}
    cluster = [node("a"), csi_node("a", count=2), storage_class("fast")]
    promises = [
        Promise(pod("x", **own), "a"),
        Promise(pod("y", **own), "a"),
        Promise(pod("z", **own)),
    ]

    found = await court.hear(Trial(cluster, promises))

    assert by_pod(found) == {"x": "a", "y": "a", "z": None}


async def test_a_pod_that_the_server_does_not_take_fails_the_trial(court: Court) -> None:
    wrong = pod("x", containers=[container(cpu="-1")])

    with pytest.raises(RuntimeError, match="must be greater than or equal to 0"):
        await court.hear(Trial([node("a")], [Promise(wrong, "a")]))
    assert by_pod(await court.hear(Trial([node("a")], [Promise(pod("x"), "a")]))) == {"x": "a"}
