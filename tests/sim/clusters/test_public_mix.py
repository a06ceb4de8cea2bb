"""Is it the public benchmark's mix, number for number?"""

from collections import Counter

import msgspec
import pytest

from unmoor.model import kinds, names
from unmoor.model.pod import Pod
from unmoor.model.provisioner import Provisioner, requirements_of, validate
from unmoor.sim.clusters import public_mix

GIB = 2**30


def pods_of(count: int, seed: int = 0) -> list[Pod]:
    return [msgspec.convert(body, Pod) for _, body in public_mix.diverse_pods(count, seed)]


def test_types() -> None:
    types = public_mix.instance_types()

    assert len(types) == 400
    third = types[2]
    assert third.capacity["cpu"] == 3000
    assert third.capacity["memory"] == 6 * GIB
    assert third.capacity["pods"] == 30
    assert third.allocatable["cpu"] == 2900
    assert third.allocatable["memory"] == 6 * GIB - 10 * 2**20
    assert {one.price_usd_per_h for one in third.offerings} == {0.944245}  # 0.3 + 6.44245 GB * 0.1
    sold = {(one.capacity_type, one.zone) for one in third.offerings}
    assert sold == {
        ("spot", "zone-1"), ("spot", "zone-2"),
        ("on-demand", "zone-1"), ("on-demand", "zone-2"), ("on-demand", "zone-3"),
    }  # fmt: skip


def test_the_provisioner_takes_every_offering() -> None:
    _, body = public_mix.provisioner()
    provisioner = msgspec.convert(body, Provisioner)

    assert validate(provisioner) == ()
    wanted = requirements_of(provisioner)
    for one in public_mix.instance_types():
        for offering in one.offerings:
            labels = {
                **one.labels,
                names.ZONE: offering.zone,
                names.CAPACITY_TYPE: offering.capacity_type,
                names.PROVISIONER_NAME: provisioner.name,
            }
            assert wanted.allows(labels)


@pytest.mark.parametrize(("count", "plain"), [(1, 1), (50, 10), (103, 23)])
def test_five_kinds_in_equal_parts(count: int, plain: int) -> None:
    found = Counter(kind_of(pod) for pod in pods_of(count))

    rest = (count - plain) // 4
    others = dict.fromkeys(("zone spread", "host spread", "near", "alone"), rest)
    assert found == +Counter({"plain": plain, **others})


def kind_of(pod: Pod) -> str:
    if pod.spec.topology_spread_constraints:
        (one,) = pod.spec.topology_spread_constraints
        assert (one.max_skew, one.when_unsatisfiable) == (1, "DoNotSchedule")
        return {names.ZONE: "zone spread", names.HOSTNAME: "host spread"}[one.topology_key]
    if pod.spec.affinity is None:
        return "plain"
    near, alone = pod.spec.affinity.pod_affinity, pod.spec.affinity.pod_anti_affinity
    (term,) = (near or alone).required if near or alone else ()  # type: ignore[union-attr]
    assert term.label_selector is not None
    assert term.label_selector.matches(pod.metadata.labels)
    assert term.topology_key == (names.ZONE if near else names.HOSTNAME)
    return "near" if near else "alone"


def test_who_spreads_looks_at_a_letter_drawn_apart() -> None:
    spreading = [pod for pod in pods_of(500) if pod.spec.topology_spread_constraints]
    seen = {
        (pod.metadata.labels[public_mix.CROWD], one.label_selector.match_labels[public_mix.CROWD])
        for pod in spreading
        for one in pod.spec.topology_spread_constraints
        if one.label_selector is not None
    }

    assert len(seen) > 40  # of 49
    friends = {pod.metadata.labels.get(public_mix.FRIENDS) for pod in pods_of(500)} - {None}
    assert len(friends) == 7


def test_sizes_are_drawn_from_all_of_both_lists() -> None:
    asked = [pod.spec.containers[0].resources.requests for pod in pods_of(1000)]

    assert {one["cpu"] for one in asked} == {"100m", "250m", "500m", "1", "1500m"}
    assert {one["memory"] for one in asked} == {
        "100Mi", "256Mi", "512Mi", "1024Mi", "2048Mi", "4096Mi"
    }  # fmt: skip


def test_the_preferring_crowd_is_of_one_kind() -> None:
    made = public_mix.preferring_pods()
    pods = [msgspec.convert(body, Pod) for _, body in made[::10]]

    assert len(made) == 4000
    assert len({msgspec.json.encode(pod.spec.affinity) for pod in pods}) == 1
    affinity = pods[0].spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    assert affinity.pod_anti_affinity is not None
    assert [one.weight for one in affinity.node_affinity.preferred] == [100]
    keys = [one.pod_affinity_term.topology_key for one in affinity.pod_anti_affinity.preferred]
    assert keys == [names.HOSTNAME, names.ZONE]


def test_same_seed_same_pods() -> None:
    assert public_mix.diverse_pods(50, 3) == public_mix.diverse_pods(50, 3)
    assert public_mix.diverse_pods(50, 3) != public_mix.diverse_pods(50, 4)
    assert {ref.kind for ref, _ in public_mix.diverse_pods(5)} == {kinds.PODS.kind}
