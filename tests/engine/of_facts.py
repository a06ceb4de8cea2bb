"""What facts are told about, for random scenes: a kind that has facts meets all other kinds.

Fields of pods' specs, and nodes with who is there, of all facts in ``tests/facts``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tests.facts import reading
from tests.facts.table import FACTS
from unmoor.engine.scene import Place
from unmoor.engine.scenery import scene_of
from unmoor.model import names

DRAWN_OTHERWISE = frozenset(
    (
        "affinity",
        "containers",
        "ephemeralContainers",
        "initContainers",
        "nodeName",
        "nodeSelector",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
    )
)
"""Fields of a pod's spec for which there is a vocabulary here, in which pods meet."""


def _fields() -> dict[str, list[Any]]:
    """Every other field that a pod of a fact has, and its values."""
    found: dict[str, list[Any]] = {}
    for name in sorted(FACTS):
        fact = FACTS[name]()
        for one in (fact.pod, *(each for each in fact.cluster if each["kind"] == "Pod")):
            for field in sorted(one["spec"].keys() - DRAWN_OTHERWISE):
                values = found.setdefault(field, [])
                if one["spec"][field] not in values:
                    values.append(one["spec"][field])
    return found


FIELDS = _fields()


def _places_of_facts() -> list[Place]:
    """The different nodes of facts that are about nodes and pods alone, with who is there."""
    found: dict[str, Place] = {}
    for name in sorted(FACTS):
        cluster = FACTS[name]().cluster
        if all(one["kind"] in {"Node", "Pod"} for one in cluster):
            for one in scene_of(reading.view_of(cluster), ()).places:
                found.setdefault(repr(msgspec.structs.replace(one, name="")), one)
    return list(found.values())


PLACES = _places_of_facts()


def called(one: Place, name: str) -> Place:
    """The same node and its pods under other names."""
    pods = tuple(
        msgspec.structs.replace(
            each,
            metadata=msgspec.structs.replace(
                each.metadata, name=f"{name}-{at}", uid=f"uid-{name}-{at}"
            ),
            spec=msgspec.structs.replace(each.spec, node_name=name),
        )
        for at, each in enumerate(one.pods)
    )
    labels = {**one.labels, names.HOSTNAME: name}
    return msgspec.structs.replace(one, name=name, labels=labels, pods=pods)
