"""Integers that no field of the API holds: they stop no step, and spoil nobody else's plan.

Every integer that is read of any kind is made too large, and too small, one at a time, in a small
world in which everything else is as it should be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from tests import builders
from tests.engine.scenes import preferred, required, spread, term
from tests.lifecycle.driver import World
from tests.lifecycle.pending import UNSCHEDULABLE, homeless, provisioner, waiting, wanting
from tests.lifecycle.rows import ALL, PROVISIONER, PROVISIONING
from unmoor.engine import oracle, solving
from unmoor.engine.bulk.whatif import WhatIf
from unmoor.engine.scenery import scene_of
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.disruption import DisruptionSpec, MovedOwner
from unmoor.model.kinds import KIND_OF, KINDS, PODS

HUGE = (2**31, 2**63, 10**400, -(2**63) - 1)
Path = tuple[str | int, ...]
QUANTITY = "any resource"
MOVED = MovedOwner(kind="ReplicaSet", namespace="shop", name="web", uid="u-web")


def integers(kind: inspect.Type, at: Path = (), seen: tuple[type, ...] = ()) -> Iterator[Path]:
    """Where a kind has integers; 0 is the first of a list, ``*`` any key of a map."""
    match kind:
        case inspect.IntType():
            yield at
        case inspect.StructType(cls=cls) if cls not in seen:
            for field in kind.fields:
                yield from integers(field.type, (*at, field.encode_name), (*seen, cls))
        case inspect.UnionType():
            for one in kind.types:
                yield from integers(one, at, seen)
        case inspect.VarTupleType() | inspect.ListType():
            yield from integers(kind.item_type, (*at, 0), seen)
        case inspect.DictType():
            yield from integers(kind.value_type, (*at, QUANTITY), seen)
        case _:
            pass


EVERYWHERE = {
    kind: [at for at in integers(inspect.type_info(one.type)) if at[-1] != QUANTITY]
    for kind, one in sorted(KINDS.items())
}
"""Amounts of resources are for others (``tests/engine/test_huge_amounts.py``)."""


def odd_pod(name: str, on: str = "") -> Object:
    """A pod that says something about everything that integers are read of."""
    container = {
        "name": "main",
        "ports": [{"hostPort": 80, "containerPort": 80}],
        "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}},
    }
    wish = {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
    apart = {"podAntiAffinity": {**required(term(labels={"a": "b"})), **preferred(term())}}
    near = {"podAffinity": preferred(term(names.ZONE))}
    best = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    spec = {
        "containers": [container],
        "affinity": {**apart, **near, **best},
        "topologySpreadConstraints": [{**spread(), "minDomains": 1}],
        "tolerations": [{"key": "x", "operator": "Exists", "tolerationSeconds": 5}],
        "terminationGracePeriodSeconds": 5,
    }
    status = {"conditions": [] if on else [UNSCHEDULABLE]}
    return waiting(name, on=on, spec=spec, status=status)


def objects() -> list[Object]:
    """A node with pods, one that goes, a budget, and pods that wait."""
    there: list[Object] = [
        builders.node("a"),
        builders.machine("m-a", node_name="a"),
        builders.node("b", deleted_at=builders.NOW),
        builders.machine("m-b", node_name="b", provider_id="sim:///b"),
        builders.machine("m-c", is_new=True),
        builders.budget(allowed=1),
        msgspec.structs.replace(
            builders.disruption(nodes=("a",)),
            spec=DisruptionSpec(method="emptiness", moved=(MOVED,)),
        ),
        builders.daemon_pod(on="a"),
        provisioner(limits={"resources": {"cpu": "100"}}, ttlSecondsAfterEmpty=30),
        odd_pod("odd-waits"),
        odd_pod("odd-runs", on="a"),
        odd_pod("odd-leaves", on="b"),
    ]
    known = {KIND_OF[type(one)] for one in there}
    body = {"metadata": {"name": "a", "uid": "u-odd", "resourceVersion": "1"}}
    others = (one.type for kind, one in sorted(KINDS.items()) if kind not in known)
    return there + [msgspec.convert(body, one, strict=False) for one in others]


def spoilt(obj: Object, path: Path, value: int) -> Object:
    """The object with this number there, whatever was there."""
    body: Any = msgspec.to_builtins(obj)
    at = body
    for part, following in zip(path, (*path[1:], None), strict=True):
        found: Any = value if following is None else [] if following == 0 else {}
        if isinstance(part, int):
            if not at:
                at.append(found)
        elif following is None or not at.get(part):
            at[part] = found
        if following is None:
            at[part] = value
        at = at[part]
    return msgspec.convert(body, type(obj), strict=False)


def changed_everywhere(kind: str, paths: Iterable[Path], value: int) -> list[Object]:
    found = []
    for one in objects():
        for path in paths if KIND_OF[type(one)] == kind else ():
            one = spoilt(one, path, value)  # noqa: PLW2901 - field by field
        found.append(one)
    return found


def hold(kind: str, paths: Iterable[Path], value: int) -> World:
    """Ask the engine, and step everything; somebody else has a place at the end."""
    usual = waiting("usual", labels={"app": "other"})
    world = wanting(*changed_everywhere(kind, paths, value), usual)
    scene = scene_of(world.view, world.types)
    pods = [one for one in world.view.sorted(PODS) if not one.node_name]
    plan, fast, asked = oracle.solve(scene, pods), solving.solve(scene, pods), WhatIf(scene)
    asked.hopeless(["a"])
    asked.without({"a"})
    for row in (*ALL, PROVISIONER):
        for key in sorted(row.keys(world.view)):
            world.step(row, key)
    world.run(PROVISIONING, for_s=3)

    assert usual.key in plan.placements
    assert fast.placements == plan.placements
    assert dict(fast.refused) == dict(plan.refused)
    assert "usual" not in homeless(world)
    return world


@pytest.mark.parametrize("power", range(len(HUGE)))
@pytest.mark.parametrize("kind", sorted(EVERYWHERE.keys() - {"Pod"}))
def test_no_integer_stops_a_step(kind: str, power: int) -> None:
    hold(kind, EVERYWHERE[kind], HUGE[power])


PORTS = ["spec.containers[0].ports[0]", "spec.initContainers[0].ports[0]"]
AFFINITIES = ("nodeAffinity", "podAffinity", "podAntiAffinity")
WEIGHT = "preferredDuringSchedulingIgnoredDuringExecution[0].weight"
REFUSED = {
    "spec.topologySpreadConstraints[0].maxSkew",
    "spec.topologySpreadConstraints[0].minDomains",
    *(f"{one}.{field}" for one in PORTS for field in ("hostPort", "containerPort")),
    *(
        f"spec.affinity.{one}.{WEIGHT}"
        for one in ("nodeAffinity", "podAffinity", "podAntiAffinity")
    ),
}
"""What the engine counts with."""


@pytest.mark.parametrize("path", EVERYWHERE["Pod"], ids=str)
def test_a_pod_that_counts_with_it_is_told_and_no_other_is_hindered(path: Path) -> None:
    field = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)[1:]
    for value in HUGE:
        world = hold("Pod", [path], value)
        said = [one.message for one in world.events("FailedScheduling")]

        assert any(f": invalid: {field}: it is " in one for one in said) == (field in REFUSED)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (2**31, "2147483648: use -2147483648 to 2147483647"),
        (-(2**31) - 1, "-2147483649: use -2147483648 to 2147483647"),
        (10**30, "2^99 or more: use -2147483648 to 2147483647"),
        (-(10**30), "-2^99 or more: use -2147483648 to 2147483647"),
    ],
)
def test_the_value_is_named(value: int, words: str) -> None:
    path = ("spec", "topologySpreadConstraints", 0, "maxSkew")
    [told] = hold("Pod", [path], value).events("FailedScheduling")

    assert told.regarding.name == "odd-waits"
    assert f"invalid: spec.topologySpreadConstraints[0].maxSkew: it is {words}" in told.message
