"""Small clusters in which much is preferred and little is required, so that scores decide.

A generated cluster is dressed up: nodes get labels that only some have and taints that only say
"rather not", pods get owners and preferences of every kind, and some are on their way out or done.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, TypeAlias

import msgspec

from tests.facts.raw import HOSTNAME, PREFERRED, ZONE, ended, expression, leaving, selecting, term
from unmoor.cloud.catalogue import ec2_types
from unmoor.model.base import JSON
from unmoor.sim.clusters.apps import APP, TEAM, TENANT, TIER
from unmoor.sim.clusters.generator import generate
from unmoor.sim.clusters.mix import Kind, Mix, hard

RACK: Final = "example.com/rack"
"""A label that only some nodes have."""
HASH: Final = "pod-template-hash"
KEYS: Final = (HOSTNAME, ZONE, RACK)
SOFT: Final = ("example.com/old", "example.com/slow")
SHARE: Final = 0.25
"""Of what a generated cluster has of each kind."""
KINDS: Final = (
    Kind.NODE_SELECTOR,
    Kind.NODE_AFFINITY,
    Kind.NODE_PREFERENCE,
    Kind.TOLERATION,
    Kind.ZONE_SPREAD,
    Kind.ZONE_SPREAD_PREFERENCE,
    Kind.HOST_SPREAD,
    Kind.SPREAD_LABEL_KEYS,
    Kind.SPREAD_POLICIES,
    Kind.AFFINITY,
    Kind.AFFINITY_OTHER,
    Kind.AFFINITY_PREFERENCE,
    Kind.ANTI_AFFINITY,
    Kind.ANTI_AFFINITY_PREFERENCE,
    Kind.TERM_NAMESPACE_SELECTOR,
    Kind.TERM_LABEL_KEYS,
    Kind.TERM_MISMATCH_KEYS,
    Kind.INIT_CONTAINER,
    Kind.SIDECAR,
    Kind.OVERHEAD,
    Kind.LIMITS_ONLY,
    Kind.EXTENDED_RESOURCE,
    Kind.POD_RESOURCES,
    Kind.NAKED,
    Kind.PINNED,
    Kind.TAINT,
    Kind.CORDON,
)
"""What may matter for scores. Volumes do not, and nobody would provide them."""
DRAWN: Final = 9
Objects: TypeAlias = list[JSON]


def cluster(seed: int) -> tuple[Objects, Objects]:
    """The cluster, bound pods included, and the pods that come to it in this order."""
    dice = Random(f"scores/{seed}")
    objects = [json.loads(json.dumps(body)) for _, body in generate(_mix(seed, dice), ec2_types())]
    for body in objects:
        if body["kind"] == "Node":
            _dress_node(body, dice)
    owners = [body for body in objects if body["kind"] == "ReplicaSet"]
    objects += [_service(body) for body in owners if dice.random() < 0.3]
    for body in owners:
        if dice.random() < 0.3:
            _make_stateful(body, objects)
    pods = [body for body in objects if body["kind"] == "Pod"]
    for at, body in enumerate(objects):
        if body["kind"] == "Pod":
            _dress_pod(body, dice)
            if body["spec"].get("nodeName"):
                objects[at] = dice.choices((body, leaving(body), ended(body)), (8, 1, 1))[0]
    coming = [body for body in pods if not body["spec"].get("nodeName")]
    return [body for body in objects if body not in coming], coming


def _mix(seed: int, dice: Random) -> Mix:
    kinds = dice.sample(KINDS, DRAWN)
    return msgspec.structs.replace(
        hard(seed),
        nodes=dice.randint(3, 9),
        pods=dice.randint(15, 25),
        shares=dict.fromkeys(kinds, SHARE),
        is_contrary=False,
        utilisation=0.3,
        pending=0.5,
    )


def _dress_node(node: JSON, dice: Random) -> None:
    labels = node["metadata"].setdefault("labels", {})
    if dice.random() < 0.7:
        labels[RACK] = dice.choice("12")
    if dice.random() < 0.1:
        del labels[ZONE]
    for key in SOFT:
        if dice.random() < 0.2:
            taint = {"key": key, "value": dice.choice("ab"), "effect": "PreferNoSchedule"}
            node["spec"].setdefault("taints", []).append(taint)


def _service(owner: JSON) -> JSON:
    """kube-scheduler spreads by Services, too, but that of an owner's pods changes nothing."""
    name, namespace = (owner["metadata"][word] for word in ("name", "namespace"))
    selector = {APP: owner["spec"]["selector"]["matchLabels"][APP]}
    spec = {"selector": selector, "ports": [{"port": 80}]}
    metadata = {"name": f"s-{name}", "namespace": namespace}
    return {"kind": "Service", "metadata": metadata, "spec": spec}


def _make_stateful(owner: JSON, objects: Objects) -> None:
    """Of a ReplicaSet; generated StatefulSets have volumes."""
    owner["kind"], owner["spec"]["serviceName"] = "StatefulSet", "none"
    for body in objects:
        for one in body["metadata"].get("ownerReferences", ()):
            if one["uid"] == owner["metadata"]["uid"]:
                one["kind"] = "StatefulSet"


def _dress_pod(pod: JSON, dice: Random) -> None:
    for wish in dice.sample(WISHES, dice.choice((0, 0, 1, 1, 2, 3))):
        wish(pod, dice)


# ----------------------------------------------------------------------------------- what pods wish


def _selector(pod: JSON, dice: Random) -> JSON:
    """Its own pods, or all of its tier, or one tenant's, or all."""
    labels = pod["metadata"]["labels"]
    own = (APP, TIER, TENANT)
    chosen = dice.choice(own)
    if chosen not in labels:
        return dice.choice(({}, selecting(**{TIER: "web"})))
    return {"matchExpressions": [expression(chosen, "In", labels[chosen], "db")]}


def spread(pod: JSON, dice: Random) -> None:
    """Softly, over what all nodes have or only some; a server refuses a key twice."""
    given = pod["spec"].setdefault("topologySpreadConstraints", [])
    soft = {one["topologyKey"] for one in given if one["whenUnsatisfiable"] == "ScheduleAnyway"}
    keys = [key for key in KEYS if key not in soft]
    for key in dice.sample(keys, min(len(keys), dice.randint(1, 3))):
        one: JSON = {
            "topologyKey": key,
            "maxSkew": dice.choice((1, 1, 2, 5)),
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": _selector(pod, dice),
        }
        if dice.random() < 0.3:
            one["nodeAffinityPolicy"] = dice.choice(("Honor", "Ignore"))
        if dice.random() < 0.3:
            one["nodeTaintsPolicy"] = dice.choice(("Honor", "Ignore"))
        if dice.random() < 0.2 and HASH in pod["metadata"]["labels"]:
            one["matchLabelKeys"] = [HASH]
        given.append(one)


def company(pod: JSON, dice: Random) -> None:
    """Near some pods or away from them, of its own namespace or of others."""
    side = dice.choice(("podAffinity", "podAntiAffinity"))
    about: JSON = dice.choice(
        (
            {},
            {},
            {"namespaceSelector": {}},
            {"namespaceSelector": selecting(**{TEAM: "north"}), "namespaces": ["team-01"]},
            {"namespaces": ["team-00", "team-01"]},
        )
    )
    if TENANT in pod["metadata"]["labels"] and dice.random() < 0.3:
        about = {**about, "mismatchLabelKeys": [TENANT]}
        selector: JSON = {"matchExpressions": [expression(TIER, "Exists")]}
    else:
        selector = _selector(pod, dice)
    one = term(dice.choice(KEYS), selector, **about)
    where = pod["spec"].setdefault("affinity", {}).setdefault(side, {})
    wish = {"weight": dice.choice((1, 10, 50, 100)), "podAffinityTerm": one}
    where.setdefault(PREFERRED, []).append(wish)


def node(pod: JSON, dice: Random) -> None:
    """Nodes with a label or without, or one node."""
    name = {"matchFields": [expression("metadata.name", "NotIn", "nobody")]}
    preferences: Sequence[JSON] = (
        {"matchExpressions": [expression(RACK, "In", "1")]},
        {"matchExpressions": [expression(RACK, "Exists"), expression(ZONE, "Exists")]},
        {"matchExpressions": [expression(RACK, "DoesNotExist")]},
        {"matchExpressions": [expression(RACK, "Gt", "1")]},
        name,
        {},
    )
    where = pod["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
    for preference in dice.sample(preferences, 2):
        wish = {"weight": dice.choice((1, 7, 100)), "preference": preference}
        where.setdefault(PREFERRED, []).append(wish)


def patience(pod: JSON, dice: Random) -> None:
    """With one of the taints that say "rather not"."""
    key = {"key": dice.choice(SOFT)}
    exists = {"operator": "Exists"}
    how = dice.choice((exists, {"value": "a"}, {**exists, "effect": "PreferNoSchedule"}))
    pod["spec"].setdefault("tolerations", []).append({**key, **how})


def nothing(pod: JSON, dice: Random) -> None:
    """A container that asks for nothing, or for one thing only."""
    if "resources" in pod["spec"]:
        return  # a pod may not ask for less than its containers
    asked = dice.choice(({}, {"cpu": "100m"}, {"memory": "1Gi"}, {"cpu": "0"}))
    more = {"name": "more", "image": "none", "resources": {"requests": asked}}
    part = dice.choice(("initContainers", "containers", "containers"))
    pod["spec"][part] = [more, *pod["spec"].get(part, ())[dice.randrange(2) :]]


def whole(pod: JSON, dice: Random) -> None:
    """Something as a whole, or only a limit; its containers ask for little."""
    asked = dice.choice(({"cpu": "1"}, {"memory": "2Gi"}, {"cpu": "1", "memory": "2Gi"}))
    pod["spec"]["resources"] = {dice.choice(("requests", "limits")): asked}
    little = dice.choice(({}, {"cpu": "100m"}, {"memory": "1Mi"}))
    main = {"name": "main", "image": "none", "resources": {"requests": little}}
    silent = {"name": "silent", "image": "none"}
    containers = dice.choice(([main], [main, silent]))
    pod["spec"] |= {"containers": containers, "initContainers": []}


WISHES: Final[Sequence[Callable[[JSON, Random], None]]] = (
    spread,
    spread,
    company,
    company,
    node,
    patience,
    nothing,
    whole,
)
