"""Random small scenes in which every constraint kind meets every other.

A small vocabulary (three zones, two apps, two disks, one port) makes things collide. Drawn with
the bytes that hypothesis gives, so that a failure shrinks to the pods that matter: a byte that is
zero, or missing, chooses what is plainest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from msgspec import structs

from tests.engine import of_facts
from tests.engine.scenes import (
    TYPES,
    ZONES,
    instance_type,
    place,
    pod,
    required,
    scene,
    template,
)
from tests.engine.stored import DRIVER, NAMESPACES, OBJECTS
from unmoor.engine.ports import HostPort
from unmoor.engine.scene import Hold, Place, Scene, Started, Template
from unmoor.model import names
from unmoor.model.pod import Pod
from unmoor.model.taint import Taint

T = TypeVar("T")
BYTES = st.binary(min_size=400, max_size=400)
"""What scenes are drawn with. Fewer bytes end in zeros, and make scenes that are nearly empty."""
APPS = ("web", "db")
KEYS = (names.ZONE, names.HOSTNAME, names.CAPACITY_TYPE, "rack")
TAINTS = (
    Taint(key="dedicated", value="db", effect="NoSchedule"),
    Taint(key="old", effect="PreferNoSchedule"),
)


class Dice:
    """Bytes as choices."""

    def __init__(self, given: bytes) -> None:
        """Throw these in turn, then zeros."""
        self._given = iter(given)

    def number(self, most: int) -> int:
        """From 0 to ``most``."""
        return next(self._given, 0) % (most + 1)

    def one(self, choices: Sequence[T]) -> T:
        """One of these; the first is the plainest."""
        return choices[self.number(len(choices) - 1)]

    def is_rare(self, once_in: int) -> bool:
        """True once in so many times, never for zeros."""
        return self.number(once_in - 1) == once_in - 1

    def some(self, choices: Sequence[T], most: int) -> list[T]:
        """One of these or more."""
        return [self.one(choices) for _ in range(1 + self.number(most - 1))]


SELECTORS: tuple[Any, ...] = (
    {"matchLabels": {"app": "web"}},
    {"matchLabels": {"app": "db"}},
    {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
    {"matchExpressions": [{"key": "v", "operator": "NotIn", "values": ["1"]}]},
    {},
)
POLICIES = ("nodeAffinityPolicy", "nodeTaintsPolicy")


def labels(dice: Dice) -> dict[str, str]:
    """An app, and now and then a version."""
    found = {"app": dice.one(APPS)}
    return found | dice.one(({}, {"v": "1"}, {"v": "2"}))


def a_spread(dice: Dice) -> dict[str, Any]:
    """A topology spread constraint."""
    found: dict[str, Any] = {
        "topologyKey": dice.one(KEYS),
        "maxSkew": dice.one((1, 1, 2)),
        "whenUnsatisfiable": dice.one(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": dice.one(SELECTORS),
    }
    if dice.is_rare(2):
        found["matchLabelKeys"] = ["v"]
    if found["whenUnsatisfiable"] == "DoNotSchedule" and dice.is_rare(4):
        found["minDomains"] = 1 + dice.number(3)
    for policy in POLICIES:
        if dice.is_rare(4):
            found[policy] = dice.one(("Honor", "Ignore"))
    return found


NARROWINGS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {"namespaces": ["other"]},
    {"namespaceSelector": {}},
    {"namespaceSelector": {"matchLabels": {"team": "b"}}},
    {"matchLabelKeys": ["v"]},
    {"mismatchLabelKeys": ["v"]},
)


def a_term(dice: Dice) -> dict[str, Any]:
    """A pod affinity term."""
    found = {"topologyKey": dice.one(KEYS), "labelSelector": dice.one(SELECTORS)}
    return found | dice.one(NARROWINGS)


EXPRESSIONS: tuple[Any, ...] = (
    {"key": names.ZONE, "operator": "In", "values": [ZONES[0], ZONES[1]]},
    {"key": names.ZONE, "operator": "NotIn", "values": [ZONES[2]]},
    {"key": names.CAPACITY_TYPE, "operator": "In", "values": ["spot"]},
    {"key": names.ARCH, "operator": "In", "values": ["amd64"]},
    {"key": "disk", "operator": "In", "values": ["ssd"]},
    {"key": "disk", "operator": "DoesNotExist", "values": []},
    {"key": "cores", "operator": "Gt", "values": ["3"]},
    {"key": "cores", "operator": "Lt", "values": ["3"]},
    {"key": "cores", "operator": "Exists", "values": []},
    {"key": "team", "operator": "In", "values": ["a", "b"]},
)


def affinity(dice: Dice) -> dict[str, Any]:
    """Node affinity, pod affinity and anti-affinity, each required, preferred, or not at all."""
    found: dict[str, Any] = {}
    must, wish = (
        f"{one}DuringSchedulingIgnoredDuringExecution" for one in ("required", "preferred")
    )
    if dice.is_rare(3):
        listed = [{"matchExpressions": dice.some(EXPRESSIONS, 2)} for _ in dice.some((0,), 2)]
        if dice.is_rare(2):
            preferred = [{"weight": 1 + dice.number(2), "preference": one} for one in listed]
            found["nodeAffinity"] = {wish: preferred}
        else:
            found["nodeAffinity"] = {must: {"nodeSelectorTerms": listed}}
    for kind in ("podAffinity", "podAntiAffinity"):
        if dice.is_rare(4):
            others = [a_term(dice) for _ in dice.some((0,), 2)]
            found[kind] = required(*others)
            if dice.is_rare(2):
                found[kind] = {
                    wish: [{"weight": 1 + dice.number(2), "podAffinityTerm": one} for one in others]
                }
    return found


CLAIMS: tuple[dict[str, Any], ...] = (
    *(
        {"persistentVolumeClaim": {"claimName": name}}
        for name in ("bound", "waiting", "second", "mine", "unbound", "missing")
    ),
    {"ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}},
)
"""The claim of an ephemeral volume is there for the first pod of an owner only; the second has to
do with one that was made for another pod, or with none.
"""
DISKS: tuple[dict[str, Any], ...] = (
    {"awsElasticBlockStore": {"volumeID": "d"}},
    {"gcePersistentDisk": {"pdName": "d"}},
    {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
    {"rbd": {"monitors": ["m1", "m2"], "image": "d"}},
    {"rbd": {"monitors": ["m2", "m3"], "image": "d"}},
    {"rbd": {"monitors": ["m3"], "image": "d"}},
)


def _sidecar(address: str) -> dict[str, Any]:
    """One that takes a port of the host."""
    port = {"hostPort": 80, "hostIP": address}
    return {"name": "side", "restartPolicy": "Always", "ports": [port]}


def _container(**resources: dict[str, str]) -> dict[str, Any]:
    return {"name": "main", "resources": resources}


RARELY: tuple[tuple[int, str, Sequence[Any]], ...] = (
    (6, "tolerations", [[{"key": key, "operator": "Exists"}] for key in ("dedicated", "")]),
    (6, "nodeSelector", [{"disk": "ssd"}, {names.ZONE: ZONES[0]}, {names.OS: "linux"}]),
    (3, "volumes", [[{"name": "v", **one}] for one in (*CLAIMS[:3], *CLAIMS, *DISKS)]),
    (8, "requests", [{"vendor-a.com/gpu": amount} for amount in ("0", "1")]),
    (
        6,
        "initContainers",
        [
            *([_sidecar(address)] for address in ("", "10.0.0.1")),
            [_container(requests={"cpu": "4"})],
        ],
    ),
    (12, "containers", [[_container(limits={"cpu": "2"})]]),
    (16, "cpu", ["nonsense"]),
    *((16, field, choices) for field, choices in sorted(of_facts.FIELDS.items())),
)
"""What a pod asks once in so many times: a field of its spec (or a word of ``scenes.pod``), and one
of these. What facts are told about is in it by itself; a row here is for what is to come more often
than that, or to meet more."""


def asks(dice: Dice) -> dict[str, Any]:
    """What the pods of one owner ask."""
    found: dict[str, Any] = {"labels": labels(dice), "cpu": dice.one(("", "500m", "1", "3"))}
    found["namespace"] = dice.one((NAMESPACES[0], *NAMESPACES))
    if dice.is_rare(2):
        found["affinity"] = affinity(dice)
    if dice.is_rare(2):
        found["topologySpreadConstraints"] = [a_spread(dice) for _ in dice.some((0,), 2)]
    for once_in, field, choices in RARELY:
        if dice.is_rare(once_in):
            found[field] = dice.one(choices)
    return found


def a_twin(dice: Dice, about: dict[str, Any]) -> dict[str, Any]:
    """The same but for one field, for which the two must not be taken for each other."""
    _, field, choices = dice.one(RARELY)
    return {**about, field: dice.one(choices)}


def some_pods(dice: Dice) -> list[Pod]:
    """Pending pods of a few owners, of which one may have a twin."""
    found: list[Pod] = []
    about: dict[str, Any] = {}
    for number in range(1 + dice.number(3)):
        about = asks(dice)
        found += [pod(f"p{number}-{at}", **dict(about)) for at in range(1 + dice.number(4))]
    if dice.is_rare(3):
        twin = a_twin(dice, about)
        found += [pod(f"twin-{at}", **dict(twin)) for at in range(1 + dice.number(2))]
    return found


def some_places(dice: Dice) -> list[Place]:
    """A few standing nodes, with pods on them."""
    found = []
    for number in range(dice.number(4)):
        name = f"node-{number}"
        if dice.is_rare(8):
            found.append(of_facts.called(dice.one(of_facts.PLACES), name))
            continue
        there = []
        for at in range(dice.number(2)):
            about = {key: value for key, value in asks(dice).items() if key != "schedulingGates"}
            there.append(pod(f"{name}-{at}", node=name, **about))
        zone = dice.one((*ZONES, ""))
        more: dict[str, Any] = {
            "labels": {
                **dice.one(({}, {"disk": "ssd"}, {"disk": "hdd"})),
                **dice.one(({}, {"cores": "2"}, {"cores": "4"})),
                **dice.one(({}, {"rack": "r1"}, {"rack": "r2"})),
                **dice.one(({}, {names.CAPACITY_TYPE: "spot"})),
                **dice.one(({names.OS: "linux"}, {})),
            },
            "cpu": dice.one(("8", "4", "2")),
            "taints": dice.one(((), (), TAINTS[:1], TAINTS[1:])),
            "is_cordoned": dice.is_rare(8),
            "is_initialized": not dice.is_rare(4),
        }
        if dice.is_rare(2):
            more["volume_room"] = {DRIVER: dice.one((0, 1))}
        if dice.is_rare(4):
            more["reserved"] = {"cpu": 500}
        if dice.is_rare(6):
            more["held"] = (HostPort(80),)
        found.append(place(name, zone, *there, **more))
    return found


SOLD_OUT = instance_type("sold-out", cpu=8, memory_gib=8, zones=())
SOME_TYPES = (*TYPES, SOLD_OUT, instance_type("zone-3", cpu=8, memory_gib=16, zones=ZONES[2:]))
WANTS: tuple[Any, ...] = (
    (names.ZONE, "In", *ZONES[:2]),
    (names.CAPACITY_TYPE, "In", "on-demand"),
    ("rack", "In", "r1", "r2"),
    ("disk", "In", "ssd"),
    ("cores", "Gt", "1"),
    ("rack", "Exists"),
)


def some_templates(dice: Dice) -> list[Template]:
    """Up to two provisioners."""
    found = []
    for number in range(dice.number(2)):
        more: dict[str, Any] = {
            "wants": [dice.one(WANTS) for _ in range(dice.number(2))],
            "weight": dice.number(1),
            "taints": dice.one(((), (), TAINTS[:1], TAINTS[1:])),
            "daemons": dice.one(({}, {}, {"cpu": 200, "pods": 1})),
            "held": dice.one(((), (), (), (HostPort(80),))),
            "remaining": dice.one(({}, {}, {"cpu": 6000}, {"pods": 9})),
            "problem": dice.one(("", "", "", "it is broken")),
            "hold": dice.one((None, None, None, Hold("it pauses"), Hold("it is refused", True))),
        }
        found.append(template(f"p{number}", SOME_TYPES, **more))
    return found


def some_scene(dice: Dice) -> Scene:
    """Nodes, provisioners, and now and then a machine that has only been started."""
    listed = some_templates(dice)
    found = scene(*some_places(dice), *listed, objects=OBJECTS)
    started: tuple[Started, ...] = ()
    if listed and dice.is_rare(4):
        one = listed[0]
        started = (
            Started(
                name="started-0",
                provisioner=one.provisioner,
                requirements=one.requirements,
                taints=one.taints,
                types=one.types[:2],
                daemons=one.daemons,
                held=one.held,
            ),
        )
    return Scene(view=found.view, places=found.places, started=started, templates=found.templates)


def some_promises(dice: Dice, on: Scene, pods: Sequence[Pod]) -> Scene:
    """The scene as it is after an earlier plan, which has promised places to some of the pods."""
    where = [*(one.name for one in on.places), *(one.name for one in on.started), "node-gone"]
    keys = [pod.key for pod in pods if dice.is_rare(2)]
    return structs.replace(on, promised={key: dice.one(where) for key in keys})
