"""Clusters that cost too much: nodes with a type and a price, and pods on them, in a line each."""

from __future__ import annotations

from typing import Any

import msgspec

from tests import builders
from tests.builders import IDENTITY, budget, moment
from tests.engine.scenes import instance_type
from tests.lifecycle import pending
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.instance import InstanceType
from unmoor.model.observation import Answer, Asked
from unmoor.model.pod import Pod
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View
from unmoor.policy import consolidation
from unmoor.policy.command import Proposal
from unmoor.policy.look import Look
from unmoor.policy.verdict import Verdict

SMALL = instance_type("small", cpu=2, memory_gib=8, pods=100, price=0.1)
MEDIUM = instance_type("medium", cpu=4, memory_gib=16, pods=100, price=0.2)
LARGE = instance_type("large", cpu=32, memory_gib=128, pods=100, price=1.6)
TYPES = (SMALL, MEDIUM, LARGE)


def node(name: str, of: InstanceType = LARGE, **given: Any) -> tuple[Object, Object]:
    """A node of a type, and its machine. ``given``: as for a node; ``kind``: its capacity type."""
    labels = {
        names.INSTANCE_TYPE: of.name,
        names.ZONE: "test-zone-1",
        names.CAPACITY_TYPE: given.pop("kind", names.ON_DEMAND),
        names.OS: "linux",
        names.ARCH: "amd64",
        names.PROVISIONER_NAME: given.pop("provisioner", "default"),
    }
    room: dict[str, str | int | float] = {
        "cpu": f"{of.allocatable['cpu']}m",
        "memory": str(of.allocatable["memory"]),
        "pods": str(of.allocatable["pods"]),
    }
    machine = builders.machine(f"m-{name}", node_name=name, labels=labels)
    given["labels"] = labels | given.get("labels", {})
    return builders.node(name, allocatable=room, capacity=room, **given), machine


def pod(name: str, on: str, cpu: str = "1", **given: Any) -> Pod:
    """A running pod of a ReplicaSet of its own name up to the first dash."""
    owner = msgspec.to_builtins(builders.owner("ReplicaSet", name.partition("-")[0]))
    return pending.waiting(name, cpu=cpu, on=on, owners=given.pop("owners", [owner]), **given)


def consolidated(name: str = "default", **given: Any) -> Object:
    """A provisioner that consolidates, and whose nodes may be anything that is linux."""
    return pending.provisioner(name, **{"consolidation": {"enabled": True}} | given)


def look(
    *objects: Object | tuple[Object, ...],
    types: tuple[InstanceType, ...] = TYPES,
    settings: Settings = Settings(),
    after_s: float = 0.0,
) -> Look:
    """Look at these; ``default`` consolidates when no other provisioner is there."""
    given = [one for some in objects for one in (some if isinstance(some, tuple) else (some,))]
    if not any(one.metadata.uid.startswith("uid-provisioner-") for one in given):
        given.append(consolidated())
    sold: Answer[Any] = Answer(moment(), types)
    view = View.of(
        *given,
        settings=settings,
        identity=IDENTITY,
        answers={(Asked.INSTANCE_TYPES, builders.SCHEME): sold},
    )
    return Look(view, moment(after_s))


HELD = budget("held", namespace="shop", allowed=0, selector={"app": "web"})


def proposed(*objects: Any, **given: Any) -> Proposal:
    """What consolidation makes of these."""
    return consolidation.propose(look(*objects, **given))


def going(proposal: Proposal) -> list[str]:
    """Which nodes go."""
    return [] if proposal.command is None else [one.name for one in proposal.command.nodes]


def bought(proposal: Proposal) -> list[tuple[str, ...]]:
    """The types of each replacement."""
    assert proposal.command is not None
    return [one.instance_types for one in proposal.command.replacements]


def verdict_on(proposal: Proposal, name: str) -> Verdict:
    """What is said of a node."""
    [found] = [one for one in proposal.verdicts if one.subject.name == name]
    return found


def two(*more: Any, first: Any = None, second: Any = None, **given: Any) -> Proposal:
    """Two nodes of the cheapest type, so that none is replaced: two pods here, one there."""
    pods = (pod("web-1", "node1", cpu="100m"), pod("web-2", "node1", cpu="100m"))
    last = (pod("api-3", "node2", cpu="100m", **(given.pop("of_last", {}))),)
    nodes = (first or node("node1", SMALL), second or node("node2", SMALL))
    return proposed(*nodes, *pods, *last, *more, **given)
