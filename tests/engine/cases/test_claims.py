"""Volumes: where they let pods go, and how many a node takes (T249-T259, T324)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from tests.engine import scenes
from tests.engine.rounds import Rounds
from tests.engine.scenes import ZONES, as_object, place, pod, reasons, template
from unmoor.engine.bulk import greedy
from unmoor.engine.refusal import Constraint
from unmoor.engine.volumes import MIGRATED
from unmoor.model import names
from unmoor.model.pod import Pod
from unmoor.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass

ONE, TWO, THREE = ZONES
DISKS = "disks.example.com"
IN_TREE = "kubernetes.io/aws-ebs"
WAITS = "WaitForFirstConsumer"


def expressions(*zones: str) -> Any:
    return {"matchExpressions": [{"key": names.ZONE, "operator": "In", "values": list(zones)}]}


def in_zone(*terms: Any) -> Any:
    """Node affinity, one of whose terms must hold."""
    chosen = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": chosen}}


def storage_class(name: str, *zones: str, by: str = DISKS, default_since: str = "") -> Any:
    listed = [{"matchLabelExpressions": [{"key": names.ZONE, "values": list(zones)}]}]
    metadata: dict[str, Any] = {"name": name}
    if default_since:
        metadata["annotations"] = {names.DEFAULT_STORAGE_CLASS: "true"}
        metadata["creationTimestamp"] = default_since
    body: dict[str, Any] = {"metadata": metadata, "provisioner": by, "volumeBindingMode": WAITS}
    return as_object(StorageClass, {**body, **({"allowedTopologies": listed} if zones else {})})


def volume(name: str, *zones: str, **source: Any) -> Any:
    kind = source or {"csi": {"driver": DISKS, "volumeHandle": name}}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [expressions(*zones)]}}}
    spec = {**kind, **(affinity if zones else {})}
    return as_object(PersistentVolume, {"metadata": {"name": name}, "spec": spec})


def claim(name: str, *owners: Any, **spec: Any) -> Any:
    bound = {"annotations": {names.BIND_COMPLETED: "yes"}} if "volumeName" in spec else {}
    metadata = {"name": name, "namespace": "default", "ownerReferences": owners, **bound}
    return as_object(PersistentVolumeClaim, {"metadata": metadata, "spec": spec})


def owner(name: str, **more: Any) -> Any:
    """The pod of this name as the one that a claim was made for."""
    about = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": f"uid-{name}"}
    return {**about, "controller": True, **more}


def own_claim(pod_name: str, **spec: Any) -> Any:
    """The claim of a pod of :func:`of_its_own`, as the controller makes it."""
    return claim(f"{pod_name}-data", owner(pod_name), **spec)


def using(name: str, *claims: str, **more: Any) -> Pod:
    """A pod with these claims."""
    volumes = [
        {"name": f"v{at}", "persistentVolumeClaim": {"claimName": one}}
        for at, one in enumerate(claims)
    ]
    return pod(name, volumes=volumes, **more)


def of_its_own(name: str, **more: Any) -> Pod:
    """A pod with a claim of its own, called after it and its volume."""
    own: dict[str, Any] = {"volumeClaimTemplate": {"spec": {}}}
    return pod(name, volumes=[{"name": "data", "ephemeral": own}], **more)


def test_t249_a_claim_that_is_not_there_keeps_its_pod_waiting() -> None:
    plan = Rounds(template()).play(using("p", "none"))

    assert reasons(plan) == {Constraint.VOLUME}


@pytest.mark.parametrize(
    ("more", "is_placed"),
    [
        pytest.param({"volumeName": "v"}, True, id="T250"),  # T250
        pytest.param({}, False, id="T250 not bound: kube-scheduler waits, too"),
    ],
)
def test_a_claim_that_names_the_empty_class(more: dict[str, Any], *, is_placed: bool) -> None:
    objects = [claim("data", storageClassName="", **more), volume("v")]

    plan = Rounds(template(), objects=objects).play(using("p", "data"))

    assert bool(plan.placements) == is_placed


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([], id="T251"),  # T251
        pytest.param([claim("data", storageClassName="none")], id="T252"),  # T252
        pytest.param([claim("data", volumeName="none")], id="T253"),  # T253
    ],
)
def test_what_is_missing_for_one_pod_does_not_concern_another(objects: list[Any]) -> None:
    sound = [storage_class("fast"), claim("sound", storageClassName="fast")]

    plan = Rounds(template(), objects=[*objects, *sound]).play(
        using("broken", "data"), using("sound", "sound"), pod("plain")
    )

    assert list(plan.refused) == [("default", "broken")]
    assert len(plan.placements) == 2


Making = Callable[..., Pod]
PLAIN: Making = lambda name, **more: using(name, "data", **more)  # noqa: E731
UNBOUND = {"storageClassName": "zonal"}
BOUND = {"volumeName": "v"}
ZONAL = [storage_class("zonal", ONE, TWO), volume("v", ONE, TWO)]
WHERE = [
    pytest.param("data", PLAIN, UNBOUND, TWO, id="T254"),  # T254
    pytest.param("p-data", of_its_own, UNBOUND, TWO, id="T255"),  # T255
    pytest.param("data", PLAIN, UNBOUND, None, id="T256"),  # T256
    pytest.param("p-data", of_its_own, UNBOUND, None, id="T256 of its own"),
    pytest.param("data", PLAIN, BOUND, TWO, id="T257"),  # T257
    pytest.param("p-data", of_its_own, BOUND, TWO, id="T257 of its own"),
    pytest.param("data", PLAIN, BOUND, None, id="T258"),  # T258
    pytest.param("p-data", of_its_own, BOUND, None, id="T258 of its own"),
]


@pytest.mark.parametrize(("name", "make", "spec", "expected"), WHERE)
def test_where_volumes_are(
    name: str, make: Making, spec: dict[str, Any], expected: str | None
) -> None:
    """The volume is, or may be made, in zones 1 and 2; the pod wants 2 or 3, or 3 alone."""
    wanted = in_zone(expressions(TWO, THREE) if expected else expressions(THREE))
    claimed = own_claim("p", **spec) if name == "p-data" else claim(name, **spec)
    played = Rounds(template(), objects=[*ZONAL, claimed])

    plan = played.play(make("p", affinity=wanted))

    assert list(played.by_domain(labels={})) == ([expected] if expected else [])
    assert bool(plan.refused) == (expected is None)


@pytest.mark.parametrize(
    "terms",
    [
        [expressions(ONE, THREE), expressions(TWO)],
        [expressions("unknown"), {"matchExpressions": [{"key": names.ARCH, "operator": "Exists"}]}],
    ],
)
def test_t259_the_zone_of_a_volume_holds_with_each_term(terms: list[Any]) -> None:
    objects = [claim("data", volumeName="there"), volume("there", TWO)]
    played = Rounds(template(), objects=objects)

    played.play(using("p", "data", affinity=in_zone(*terms)))

    assert list(played.by_domain(labels={})) == [TWO]


def claims(count: int, **spec: Any) -> list[Any]:
    return [claim(f"data-{number}", **spec) for number in range(count)]


def own_claims(count: int, **spec: Any) -> list[Any]:
    return [own_claim(f"p-{number}", **spec) for number in range(count)]


def each(count: int) -> list[Pod]:
    return [using(f"p-{number}", f"data-{number}") for number in range(count)]


def each_of_its_own(count: int) -> list[Pod]:
    return [of_its_own(f"p-{number}") for number in range(count)]


def bound(count: int, **source: Any) -> list[Any]:
    """Claims, each with a volume; without a source they are disks."""
    return [
        one
        for number in range(count)
        for one in (
            claim(f"data-{number}", volumeName=f"v-{number}"),
            volume(f"v-{number}", **source),
        )
    ]


OLD, NEW = "2020-01-01T00:00:00Z", "2024-01-01T00:00:00Z"
FAST = storage_class("fast")
FAST_ONE = {"storageClassName": "fast"}
LIMITS: list[tuple[str, list[Any], list[Pod], int]] = [
    ("T324 volumes", bound(3), each(3), 1),  # T324
    ("T324 volumes to be made", [FAST, *claims(3, storageClassName="fast")], each(3), 1),
    (
        "T324 two for each pod",
        [FAST, *claims(4, storageClassName="fast")],
        [using("p-0", "data-0", "data-1"), using("p-1", "data-2", "data-3")],
        1,
    ),
    (
        "T324 one for all",
        [FAST, claim("data", storageClassName="fast")],
        [using(f"p-{number}", "data") for number in range(5)],
        0,
    ),
    ("T324 a file server", bound(5, nfs={"server": "s", "path": "/"}), each(5), 0),
    (
        "T324 of their own, class",
        [FAST, *own_claims(3, storageClassName="fast")],
        each_of_its_own(3),
        1,
    ),
    (
        "T324 of their own, default class",
        [storage_class("usual", default_since=OLD), *own_claims(3)],
        each_of_its_own(3),
        1,
    ),
    (
        "T324 of their own, the newest default class",
        [
            storage_class("older", by="other.example.com", default_since=OLD),
            storage_class("newer", default_since=NEW),
            *own_claims(3),
        ],
        each_of_its_own(3),
        1,
    ),
    (
        "T324 an older default class does not count",
        [
            storage_class("older", default_since=OLD),
            storage_class("newer", by="other.example.com", default_since=NEW),
            *own_claims(3),
        ],
        each_of_its_own(3),
        0,
    ),
    (
        "T324 volumes of a plugin that was built in",
        bound(3, awsElasticBlockStore={"volumeID": "vol-1"}),
        each(3),
        1,
    ),
    (
        "T324 of their own, of a plugin that was built in",
        [storage_class("old", by=IN_TREE), *own_claims(3, storageClassName="old")],
        each_of_its_own(3),
        1,
    ),
]


@pytest.mark.parametrize(
    ("objects", "pods", "machines"), [pytest.param(*rest, id=name) for name, *rest in LIMITS]
)
def test_a_node_takes_two_volumes(objects: list[Any], pods: list[Pod], machines: int) -> None:
    room = {DISKS: 2, MIGRATED[IN_TREE]: 2}
    played = Rounds(place("a", ONE, volume_room=room), template(), objects=objects)

    plan = played.play(*pods)

    assert not plan.refused
    assert len(plan.machines) == machines


def test_t324_an_unknown_class_launches_nothing() -> None:
    objects = own_claims(3, storageClassName="unknown")

    plan = Rounds(template(), objects=objects).play(*each_of_its_own(3))

    assert not plan.machines
    assert reasons(plan) == {Constraint.VOLUME}


# A claim that is only called like that of a volume of the pod's own. kube-scheduler, too, goes by
# the owner: tests/facts/volumes.py.

NOT_MADE_FOR_IT = [
    pytest.param((), "names no controller", id="nobody's"),
    pytest.param((owner("p", controller=False),), "names no controller", id="the pod only owns it"),
    pytest.param(
        (owner("p", uid="uid-before"),),
        "names Pod p with uid uid-before",
        id="an earlier pod's of the same name",
    ),
    pytest.param(
        (owner("db", kind="StatefulSet"),),
        "names StatefulSet db with uid uid-db",
        id="another object's",
    ),
]


@pytest.mark.parametrize(("owners", "whose"), NOT_MADE_FOR_IT)
@pytest.mark.parametrize("spec", [{"storageClassName": "fast"}, {"volumeName": "v"}])
def test_a_claim_that_was_not_made_for_the_pod_keeps_it_waiting(
    owners: tuple[Any, ...], whose: str, spec: dict[str, Any]
) -> None:
    objects = [FAST, volume("v"), claim("p-data", *owners, **spec)]

    plan = Rounds(place("a", ONE), template(), objects=objects).play(of_its_own("p"), pod("other"))

    assert list(plan.placements) == [("default", "other")]
    (refusal,) = plan.refused["default", "p"]
    assert str(refusal) == (
        "volume: p-data: spec.volumes[data].ephemeral needs a claim made for pod p with uid uid-p, "
        f"but its metadata.ownerReferences {whose}: delete the claim, and it is made anew, or give "
        "the pod or the volume another name"
    )


def test_a_claim_made_for_the_pod_is_its_own_whoever_else_owns_it() -> None:
    objects = [FAST, claim("p-data", owner("q", controller=False), owner("p"), **FAST_ONE)]

    assert Rounds(place("a", ONE), objects=objects).play(of_its_own("p")).placements


def test_a_pod_may_use_its_own_claim_by_name_besides_and_nobody_elses() -> None:
    """The first volume takes it as a shared one, for which nobody asks whose it is."""
    both = of_its_own("p").spec.volumes
    shared = using("p", "p-data").spec.volumes
    twice = structs.replace(pod("p"), spec=structs.replace(pod("p").spec, volumes=(*shared, *both)))

    alien, own = (
        Rounds(place("a", ONE), objects=[FAST, claim("p-data", *owners, **FAST_ONE)]).play(twice)
        for owners in ((), (owner("p"),))
    )

    assert not alien.placements
    assert own.placements


def test_a_pod_that_comes_back_under_its_name_is_not_the_one_that_the_claim_is_for() -> None:
    """One was asked about and is gone; the engine must not take its successor for it."""
    before = of_its_own("p")
    after = structs.replace(before, metadata=structs.replace(before.metadata, uid="uid-after"))
    scene = scenes.scene(place("a", ONE), objects=[FAST, own_claim("p", **FAST_ONE)])
    crowd = greedy.Greedy(scene, [before, after]).crowd

    assert crowd.number_of(before) != crowd.number_of(after)
