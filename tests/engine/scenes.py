"""Scenes for tests of the engine: pods, places, templates and types in a line each.

Types and prices are those of the shared fixture of the upstream suites (spec 11): a type has 4 cpu,
4 Gi and 5 pods unless said otherwise; 100m and 10 Mi are reserved; a price is 0.1 USD per cpu and
per 10^9 bytes; spot in zones 1 and 2, on demand in zones 1 to 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tests.engine import judging
from unmoor.engine import oracle
from unmoor.engine.bulk import greedy
from unmoor.engine.plan import Plan
from unmoor.engine.scene import Place, Scene, Template
from unmoor.engine.sites import offerings_of, suits
from unmoor.model import names
from unmoor.model.base import Object
from unmoor.model.instance import InstanceType, Offering
from unmoor.model.pod import Pod
from unmoor.model.requirement import NodeSelectorRequirement, Requirements
from unmoor.model.resources import parse_resources
from unmoor.model.snapshot import View

ZONES = ("test-zone-1", "test-zone-2", "test-zone-3")
GIB = 2**30
WEB = {"app": "web"}


def as_object(kind: type[Any], body: Mapping[str, Any]) -> Any:
    """An API object, read as from the server."""
    return msgspec.convert(body, kind, strict=False)


def instance_type(
    name: str, *, cpu: int = 4, memory_gib: int = 4, pods: int = 5, arch: str = "amd64", **more: Any
) -> InstanceType:
    """A type; ``more``: ``os``, ``zones``, ``capacity_types``, ``extra`` resources, ``price``,
    ``sold`` [(zone, capacity type)], ``labels``.
    """
    extra: Mapping[str, int] = more.get("extra", {})
    capacity = {"cpu": cpu * 1000, "memory": memory_gib * GIB, "pods": pods, **extra}
    reserved = {"cpu": 100, "memory": 10 * 2**20}
    price = more.get("price", 0.1 * cpu + 0.1 * memory_gib * GIB / 1e9)
    usual = [(zone, "spot") for zone in ZONES[:2]] + [(zone, "on-demand") for zone in ZONES]
    return InstanceType(
        name=name,
        arch=arch,
        capacity=capacity,
        allocatable={key: amount - reserved.get(key, 0) for key, amount in capacity.items()},
        offerings=tuple(
            Offering(zone=zone, capacity_type=kind, price_usd_per_h=price)
            for zone, kind in more.get("sold", usual)
            if zone in more.get("zones", ZONES)
            and kind in more.get("capacity_types", ("spot", "on-demand"))
        ),
        labels={
            names.OS: more.get("os", "linux"),
            "size": "large" if cpu > 4 else "small",
            **more.get("labels", {}),
        },
    )


TYPES = (
    instance_type("default-instance-type"),
    instance_type("small-instance-type", cpu=2, memory_gib=2),
    instance_type("gpu-vendor-a", extra={"vendor-a.com/gpu": 2}, price=1.8),
    instance_type("gpu-vendor-b", extra={"vendor-b.com/gpu": 2}, price=1.8),
    instance_type("arm-instance-type", cpu=16, memory_gib=128, arch="arm64"),
    instance_type("single-pod-instance-type", pods=1),
)


def pod(name: str, *, labels: Mapping[str, str] = {}, cpu: str = "", **more: Any) -> Pod:
    """A pending pod; ``more``: ``memory``, ``namespace``, ``node`` (bound), or fields of its spec
    as the API writes them.
    """
    memory, node = more.pop("memory", ""), more.pop("node", "")
    asked = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    asked |= more.pop("requests", {})
    body = {
        "metadata": {
            "name": name,
            "namespace": more.pop("namespace", "default"),
            "uid": f"uid-{name}",
            "labels": dict(labels),
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "main", "resources": {"requests": asked}}],
            **more,
        },
        "status": {"phase": "Running" if node else "Pending"},
    }
    return msgspec.convert(body, Pod, strict=False)


def some(count: int, name: str = "web", **about: Any) -> list[Pod]:
    """``count`` equal pods."""
    return [pod(f"{name}-{number:02}", **about) for number in range(count)]


def place(name: str, zone: str = ZONES[0], *pods: Pod, **more: Any) -> Place:
    """An initialised node, 32 cpu and 100 pods; ``more``: fields of Place, ``cpu``, ``room``."""
    labels = {names.HOSTNAME: name, names.ZONE: zone, **more.pop("labels", {})}
    cpu, room = more.pop("cpu", "32"), more.pop("room", "100")
    allocatable = {"cpu": cpu, "memory": "128Gi", "pods": room}
    return Place(
        name=name,
        labels={key: value for key, value in labels.items() if value},
        allocatable=parse_resources(allocatable),
        pods=tuple(pods),
        **more,
    )


def template(name: str = "default", types: Sequence[InstanceType] = TYPES, **more: Any) -> Template:
    """A provisioner's template; ``more``: ``wants`` [(key, operator, *values)], ``labels``, or
    fields of Template.
    """
    wants = more.pop("wants", ())
    labels = {names.PROVISIONER_NAME: name, **more.pop("labels", {})}
    requirements = Requirements.from_api(
        NodeSelectorRequirement(key=key, operator=operator, values=tuple(values))
        for key, operator, *values in wants
    ).intersection(Requirements.from_labels(labels))
    return Template(
        provisioner=name,
        requirements=requirements,
        types=tuple(
            one for one in types if suits(one, requirements) and offerings_of(one, requirements)
        ),
        **more,
    )


def scene(*parts: Place | Template, objects: Iterable[Object] = ()) -> Scene:
    """Places and templates, in their order; ``objects``: namespaces and storage."""
    return Scene(
        view=View.of(*objects),
        places=tuple(
            sorted((one for one in parts if isinstance(one, Place)), key=lambda one: one.order)
        ),
        templates=tuple(
            sorted((one for one in parts if isinstance(one, Template)), key=lambda one: one.order)
        ),
    )


def solve(on: Scene, pods: Iterable[Pod]) -> Plan:
    """What the oracle says. The fast engine must say the same, and what it improves be sound."""
    asked = list(pods)
    plan = oracle.solve(on, asked)
    fast = greedy.solve(on, asked)
    assert list(fast.placements.items()) == list(plan.placements.items())
    assert (fast.machines, fast.given_up) == (plan.machines, plan.given_up)
    assert dict(fast.refused) == dict(plan.refused)
    better = greedy.solve(on, asked, is_improved=True)
    assert judging.problems(on, better, asked) == []
    assert better.placements.keys() == plan.placements.keys()
    return plan


def spread(
    key: str = names.ZONE, skew: int = 1, labels: Mapping[str, str] = WEB, **more: Any
) -> Any:
    """A topology spread constraint, as the API writes it."""
    return {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": dict(labels)},
        **more,
    }


def term(key: str = names.HOSTNAME, labels: Mapping[str, str] = WEB, **more: Any) -> Any:
    """A pod affinity term, as the API writes it."""
    return {"topologyKey": key, "labelSelector": {"matchLabels": dict(labels)}, **more}


def required(*terms: Any) -> Any:
    """As pod affinity or anti-affinity that is a must."""
    return {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}


def preferred(*terms: Any) -> Any:
    """As pod affinity or anti-affinity that is a wish, the first the heaviest."""
    return {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100 - at, "podAffinityTerm": one} for at, one in enumerate(terms)
        ]
    }


def counts(plan: Plan, on: Scene, key: str = names.ZONE) -> list[int]:
    """How many pods each domain has after the plan, sorted; machines of several are left out."""
    found: Counter[str] = Counter()
    domains = {one.name: one.labels.get(key) for one in on.places}
    for one in plan.machines:
        only = one.requirements.get(key).only_value
        domains[one.name] = one.name if key == names.HOSTNAME else only
    for where in plan.placements.values():
        domain = domains[where]
        if domain is not None:
            found[domain] += 1
    for there in on.places:
        domain = there.labels.get(key)
        if domain is not None and there.pods:
            found[domain] += len(there.pods)
    return sorted(found.values())


def reasons(plan: Plan) -> set[str]:
    """The constraints that refused anybody."""
    return {one.constraint for refused in plan.refused.values() for one in refused}
