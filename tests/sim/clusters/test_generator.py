"""Is a cluster what its mix says, the same each time, and one that could be?"""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import combinations

import msgspec
import pytest

from tests.sim.clusters.worlds import decoded, generate, leaves, pods_by_node, raw
from unmoor.cloud.catalogue import ec2_types
from unmoor.engine import judge, requests
from unmoor.engine.places import Sources, made_of
from unmoor.engine.sites import Standing
from unmoor.model import kinds, names, resources, selector
from unmoor.model.base import JSON
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.provisioner import requirements_of, validate
from unmoor.model.requirement import Requirements
from unmoor.model.scheduling import PodAffinityTerm
from unmoor.model.snapshot import View
from unmoor.sim.clusters import bodies
from unmoor.sim.clusters.census import census, workloads
from unmoor.sim.clusters.mix import NEEDS, OF_NODES, REALISTIC, Kind, Mix, hard
from unmoor.sim.manifests import Manifest

OFFERED = (names.INSTANCE_TYPE, names.ZONE, names.CAPACITY_TYPE)
SHARE = 0.3
SEEDS = range(30)
HASHED = """
import hashlib, msgspec
from unmoor.cloud.catalogue import ec2_types
from unmoor.sim.clusters.generator import generate
from unmoor.sim.clusters.mix import Mix, hard
for mix in (hard(7), Mix(nodes=10, seed=3)):
    made = [body for _, body in generate(mix, ec2_types())]
    print(hashlib.sha256(msgspec.json.encode(made)).hexdigest())
"""


@pytest.mark.parametrize("hash_seed", ["0", "17"])
def test_same_seed_same_bytes_in_every_process(hash_seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", HASHED], env=environment, check=True, capture_output=True, text=True
    )

    here = [
        hashlib.sha256(msgspec.json.encode([body for _, body in generate(mix)])).hexdigest()
        for mix in (hard(7), Mix(nodes=10, seed=3))
    ]
    assert done.stdout.split() == here
    assert generate(hard(7)) != generate(hard(8))


def alone(kind: Kind, seed: int) -> Mix:
    shares = {kind: SHARE}
    if kind in NEEDS:
        shares[NEEDS[kind]] = SHARE
    return Mix(seed=seed, nodes=12, pods=60, shares=shares, pending=0.3, replicas=6)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("seed", range(2))
def test_a_share_comes_out_as_stated(kind: Kind, seed: int) -> None:
    mix = alone(kind, seed)
    objects = generate(mix)

    whole = len(raw(objects, "Node" if kind in OF_NODES else "Pod"))
    if kind not in OF_NODES:
        whole = len(workloads(raw(objects, "Pod")))
    assert census(objects)[kind] == mix.count_of(kind, whole) > 0


def test_as_many_nodes_and_pods_as_asked_for() -> None:
    for mix in (Mix(nodes=7, pods=90), Mix(nodes=11), Mix(pods=50), *map(hard, range(20))):
        objects = generate(mix)
        pods = [pod for pod in decoded(objects, kinds.PODS) if not pod.is_daemon]
        assert not mix.nodes or len(raw(objects, "Node")) == mix.nodes
        assert not mix.pods or len(pods) == mix.pods


@pytest.mark.parametrize("mix", [Mix(nodes=60), Mix(pods=300), Mix(nodes=20, pods=300)])
def test_a_cluster_is_half_full(mix: Mix) -> None:
    objects = generate(mix)
    pods = [pod for pod in decoded(objects, kinds.PODS) if not pod.is_daemon]
    used = resources.total(requests.requests_of(pod) for pod in pods)
    there = resources.total(
        resources.parse_resources(node.status.allocatable) for node in decoded(objects, kinds.NODES)
    )

    assert 0.4 < max(used[name] / there[name] for name in ("cpu", "memory")) < 0.62
    assert sum(not pod.node_name for pod in pods) < len(pods) / 20


def test_ordinary_shares_together() -> None:
    mix = Mix(nodes=100, pods=1500, seed=2)
    objects = generate(mix)
    found = census(objects)

    apps, nodes = len(workloads(raw(objects, "Pod"))), len(raw(objects, "Node"))
    for kind in REALISTIC:
        assert found[kind] >= mix.count_of(kind, nodes if kind in OF_NODES else apps), kind
    assert found[Kind.ANTI_AFFINITY] == mix.count_of(Kind.ANTI_AFFINITY, apps)


def test_one_more_share_shifts_no_other_draw() -> None:
    """Who has priority has it; all else is as it was."""
    without = Mix(nodes=12, pods=80, shares={Kind.ZONE_SPREAD: 0.3}, seed=5)
    both = {Kind.ZONE_SPREAD: 0.3, Kind.PRIORITY: 0.3}
    bare = {"priority", "priorityClassName", "preemptionPolicy"}

    def stripped(objects: tuple[Manifest, ...]) -> list[tuple[str, JSON]]:
        return [
            (str(ref), {key: value for key, value in body["spec"].items() if key not in bare})
            for ref, body in objects
            if ref.kind in {"Node", "Pod", "Machine"}
        ]

    more = generate(msgspec.structs.replace(without, shares=both))
    assert stripped(generate(without)) == stripped(more)
    assert generate(without) != more


# It could be.


@cache
def clusters() -> list[tuple[Manifest, ...]]:
    return [*(generate(hard(seed)) for seed in SEEDS), generate(Mix(nodes=40, pods=500, seed=1))]


def free_on(node: Node, pods: list[Pod]) -> Mapping[str, int]:
    place = made_of(Sources(node=node, machine=None, pods=tuple(pods)), ()).place
    return Standing(place, View.of()).free


def test_bound_pods_fit() -> None:
    bound = 0
    for objects in clusters():
        nodes = {node.name: node for node in decoded(objects, kinds.NODES)}
        for name, pods in pods_by_node(objects).items():
            node = nodes[name]
            assert not resources.lacking({}, free_on(node, pods))
            for pod in pods:
                against = judge.placement_refusals(pod, node)
                assert not [one for one in against if not pod.is_daemon], (pod.name, against)
                bound += not pod.is_daemon
            assert not any(ports_collide(one, two) for one, two in combinations(pods, 2))
    assert bound > 600


def ports_collide(one: Pod, two: Pod) -> bool:
    def ports(pod: Pod) -> set[tuple[int, str, str]]:
        return {
            (port.host_port, port.protocol or "TCP", port.host_ip)
            for container in pod.spec.containers
            for port in container.ports
            if port.host_port
        }

    return any(
        a[:2] == b[:2] and (a[2] == b[2] or "" in {a[2], b[2]})
        for a in ports(one)
        for b in ports(two)
    )


def test_bound_pods_keep_their_distance() -> None:
    """Terms about one's own namespace, which are most."""
    looked_at = 0
    for objects in clusters():
        nodes = {node.name: node.metadata.labels for node in decoded(objects, kinds.NODES)}
        running = [pod for pod in decoded(objects, kinds.PODS) if pod.node_name]
        for pod in running:
            for term in plain_terms_apart(pod):
                here = nodes[pod.node_name][term.topology_key]
                near = [
                    other
                    for other in running
                    if nodes[other.node_name][term.topology_key] == here and other is not pod
                ]
                assert not [other.name for other in near if is_meant(other, term, pod.namespace)]
                looked_at += 1
    assert looked_at > 50


def plain_terms_apart(pod: Pod) -> list[PodAffinityTerm]:
    affinity = pod.spec.affinity
    far = affinity.pod_anti_affinity if affinity is not None else None
    return [
        term
        for term in (far.required if far is not None else ())
        if not (term.namespaces or term.namespace_selector or term.mismatch_label_keys)
    ]


def is_meant(other: Pod, term: PodAffinityTerm, namespace: str) -> bool:
    return other.namespace == namespace and selector.matches(
        term.label_selector, other.metadata.labels
    )


def test_volumes_can_be_reached_and_attached() -> None:
    reached = 0
    for objects in clusters():
        nodes = {node.name: node for node in decoded(objects, kinds.NODES)}
        claims = {claim.key: claim for claim in decoded(objects, kinds.CLAIMS)}
        volumes = {volume.name: volume for volume in decoded(objects, kinds.VOLUMES)}
        room = {
            one.name: one.spec.drivers[0].allocatable for one in decoded(objects, kinds.CSI_NODES)
        }
        for name, pods in pods_by_node(objects).items():
            used = [claims[pod.namespace, one] for pod in pods for one in claim_names(pod)]
            for claim in used:
                affinity = volumes[claim.spec.volume_name].spec.node_affinity
                assert affinity is not None
                assert affinity.required is not None
                assert affinity.required.matches(nodes[name].metadata.labels, name)
                reached += 1
            allowed = room[name]
            assert allowed is not None
            assert len(used) <= (allowed.count or 0)
    assert reached > 50


def claim_names(pod: Pod) -> list[str]:
    found = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.append(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            found.append(f"{pod.name}-{volume.name}")
    return found


def test_nobody_runs_who_cannot() -> None:
    for objects in clusters():
        unready = {
            node.name
            for node in decoded(objects, kinds.NODES)
            if node.is_cordoned or not node.is_ready
        }
        for pod in decoded(objects, kinds.PODS):
            assert not (pod.node_name and pod.is_gated)
            assert pod.node_name not in unready or pod.is_daemon
            assert (pod.status.phase == "Running") == bool(pod.node_name)
            assert pod.is_unschedulable == (not pod.node_name and not pod.is_gated)


def test_ours_and_not_ours() -> None:
    objects = generate(Mix(nodes=30, pods=100, shares={Kind.NOT_OURS: 0.2, Kind.NO_MACHINE: 0.2}))
    machines = {one.node_name: one for one in decoded(objects, kinds.MACHINES)}
    nodes = decoded(objects, kinds.NODES)
    said = Counter(
        machines[node.name].managed_by if node.name in machines else None for node in nodes
    )

    assert said == {"sim": 18, "": 6, None: 6}
    for node in nodes:
        machine = machines.get(node.name)
        assert (machine.provider_id if machine else "") == node.provider_id
        assert bool(node.provisioner_name) == (machine is not None)
        if machine is not None:
            assert node.metadata.is_owned_by(machine.uid)
            assert names.TERMINATION_FINALIZER in node.metadata.finalizers


def test_nodes_are_what_their_provisioners_may_have() -> None:
    """And what the cloud sells."""
    sold = {
        (one.name, offering.zone, offering.capacity_type)
        for one in ec2_types()
        for offering in one.offerings
    }
    for objects in clusters():
        found = {one.name: one for one in decoded(objects, kinds.PROVISIONERS)}
        assert all(validate(one) == () for one in found.values())
        machines = {one.node_name: one for one in decoded(objects, kinds.MACHINES)}
        for node in decoded(objects, kinds.NODES):
            labels = node.metadata.labels
            assert tuple(labels[key] for key in OFFERED) in sold
            if node.name in machines:
                wanted = Requirements.from_api(machines[node.name].spec.requirements)
                assert requirements_of(found[node.provisioner_name]).allows(labels)
                assert wanted.allows(labels)


def test_all_that_is_owned_has_its_owner_and_pods_come_before_theirs() -> None:
    for objects in clusters():
        at = {body["metadata"]["uid"]: number for number, (_, body) in enumerate(objects)}
        assert len(at) == len(objects)
        for number, (ref, body) in enumerate(objects):
            for owner in body["metadata"].get("ownerReferences", ()):
                is_late = ref.kind in {"Pod", "PersistentVolumeClaim"}
                assert (at[owner["uid"]] > number) is is_late, str(ref)


# What the model reads of it.

IMPLIED = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
"""What a struct has by default is left out when it is written."""
READ = (
    "affinity",
    "topologySpreadConstraints",
    "tolerations",
    "nodeSelector",
    "schedulingGates",
    "overhead",
    "resources",
    "priority",
    "priorityClassName",
    "nodeName",
)


def test_the_model_reads_what_matters() -> None:
    for objects in clusters():
        for body, pod in zip(raw(objects, "Pod"), decoded(objects, kinds.PODS), strict=True):
            kept = leaves(msgspec.to_builtins(pod.spec))
            wanted = {field: body["spec"][field] for field in READ if field in body["spec"]}
            lost = {path: one for path, one in leaves(wanted).items() if path not in kept}
            assert not [path for path, one in lost.items() if IMPLIED.get(path[-1]) != one]
            assert all(kept[path] == one for path, one in leaves(wanted).items() if path in kept)
            for given, read in zip(body["spec"]["containers"], pod.spec.containers, strict=True):
                asked = given.get("resources", {})
                assert read.resources.requests == asked.get("requests", {})
                assert read.resources.limits == asked.get("limits", {})
                assert len(read.ports) == len(given.get("ports", ()))


def test_everything_decodes() -> None:
    for objects in clusters():
        for kind in {ref.kind for ref, _ in objects} & kinds.KINDS.keys():
            assert len(decoded(objects, kinds.KINDS[kind])) == len(raw(objects, kind))


def test_a_list_has_all_of_them() -> None:
    objects = generate(hard(1))

    assert bodies.as_list(objects)["items"] == [body for _, body in objects]
