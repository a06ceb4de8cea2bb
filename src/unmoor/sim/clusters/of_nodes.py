"""What can a pod want of its node? One function for each kind, variants in turns.

Must not: look at other pods.
"""

from __future__ import annotations

from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.node_selector import FIELD_NAME
from unmoor.sim.clusters import nodes
from unmoor.sim.clusters.apps import App, Constrain, Scene, append
from unmoor.sim.clusters.bodies import expression
from unmoor.sim.clusters.mix import Kind
from unmoor.sim.clusters.nodes import POOL, POOLS

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
GONE = "example.com/retired"
"""A label that no node has."""
PORTS = (
    {"hostPort": 9100, "protocol": "TCP"},
    {"hostPort": 9100, "protocol": "UDP"},
    {"hostPort": 9100, "protocol": "TCP", "hostIP": "127.0.0.1"},
    {"hostPort": 9101, "protocol": "TCP"},
    {"hostPort": 9100, "protocol": "TCP", "hostIP": "10.0.0.1"},
)


def selector(app: App, turn: int, scene: Scene) -> None:
    """One label, or two."""
    zone = {names.ZONE: scene.zones[turn % len(scene.zones)]}
    pool = {POOL: POOLS[turn % len(POOLS)]}
    on_demand = {names.CAPACITY_TYPE: names.ON_DEMAND}
    wanted = (zone, pool, on_demand, {names.ARCH: "amd64"}, {**zone, **pool})
    app.spec.setdefault("nodeSelector", {}).update(wanted[turn % len(wanted)])


def affinity(app: App, turn: int, scene: Scene) -> None:
    """Terms that must hold."""
    terms = [{"matchExpressions": parts} for parts in _terms(turn, scene)]
    where = app.spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    where.setdefault(REQUIRED, {}).setdefault("nodeSelectorTerms", []).extend(terms)


def preference(app: App, turn: int, scene: Scene) -> None:
    """The same, as wishes of different weight."""
    for weight, parts in enumerate(_terms(turn, scene), start=1):
        wish = {"weight": 40 * weight, "preference": {"matchExpressions": parts}}
        append(app.spec, ("affinity", "nodeAffinity", PREFERRED), wish)


def _terms(turn: int, scene: Scene) -> list[list[JSON]]:
    """One of eight: every operator, two that must both hold, two of which one must."""
    first, *rest = scene.zones
    variants: list[list[list[JSON]]] = [
        [[expression(names.ZONE, "In", first, rest[0])]],
        [[expression(names.ZONE, "NotIn", first)]],
        [[expression(POOL, "Exists")]],
        [[expression(GONE, "DoesNotExist")]],
        [[expression(names.INSTANCE_CPU, "Gt", "3")]],
        [[expression(names.INSTANCE_CPU, "Lt", "9")]],
        [
            [expression(names.ZONE, "In", first)],
            [expression(names.CAPACITY_TYPE, "In", names.SPOT)],
        ],
        [[expression(names.ARCH, "In", "amd64"), expression(names.ZONE, "NotIn", rest[-1])]],
    ]
    return variants[turn % len(variants)]


def pinned(app: App, turn: int, scene: Scene) -> None:
    """To one node by field or label, or to any but that one."""
    name = scene.sites[turn // 3 % len(scene.sites)].name
    if turn % 3 == 0:
        app.spec.setdefault("nodeSelector", {})[names.HOSTNAME] = name
        return
    operator = ("In", "NotIn")[turn % 3 - 1]
    where = app.spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    terms = where.setdefault(REQUIRED, {}).setdefault("nodeSelectorTerms", [])
    terms.append({"matchFields": [expression(FIELD_NAME, operator, name)]})


def toleration(app: App, turn: int, scene: Scene) -> None:
    """Of one of the taints that nodes have, said in one of five ways."""
    del scene
    taint = nodes.TAINTS[turn % len(nodes.TAINTS)]
    key, effect = {"key": taint["key"]}, {"effect": taint["effect"]}
    value = {"value": taint["value"]} if "value" in taint else {}
    variants: tuple[JSON, ...] = (
        {**key, "operator": "Equal", **value, **effect},
        {**key, "operator": "Exists", **effect},
        {**key, "operator": "Exists"},
        {"operator": "Exists"},
        {**key, **value},
    )
    append(app.spec, ("tolerations",), variants[turn // len(nodes.TAINTS) % len(variants)])


def host_port(app: App, turn: int, scene: Scene) -> None:
    """One of a few ports, which get in each other's way or do not."""
    del scene
    port = PORTS[turn % len(PORTS)]
    append(app.main, ("ports",), {"containerPort": 8080, **port})


HOW: dict[Kind, Constrain] = {
    Kind.NODE_SELECTOR: selector,
    Kind.NODE_AFFINITY: affinity,
    Kind.NODE_PREFERENCE: preference,
    Kind.PINNED: pinned,
    Kind.TOLERATION: toleration,
    Kind.HOST_PORT: host_port,
}
