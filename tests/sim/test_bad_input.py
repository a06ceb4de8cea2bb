"""Nonsense in any field: all other objects go on, and somebody is told what to do about it.

Where the CRD would refuse the object, the server's schema is taken off first: an older CRD, or none
at all, may have let it in. No step of unmoor may crash for any of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.scenarios import objects
from tests.scenarios.settings import SETTINGS
from tests.scenarios.virtual import NAMESPACE, QUICK
from tests.sim import sabotage
from unmoor.model import kinds
from unmoor.model.base import JSON, Ref
from unmoor.runtime.controller import Options
from unmoor.runtime.ports import DeleteOptions
from unmoor.runtime.story import Record, tell
from unmoor.sim.virtual import run
from unmoor.sim.world import Process, World

FIELD = "apps"
PATIENCE_S = 120.0
LOOK_S = 0.5
REST_S = 10.0
TOLD_WITHIN_S = 70.0

PROVISIONERS: list[tuple[str, JSON, str]] = [
    ("ttl-negative", {"ttlSecondsAfterEmpty": -1}, "spec.ttlSecondsAfterEmpty"),
    ("ttl-text", {"ttlSecondsAfterEmpty": "soon"}, "ttlSecondsAfterEmpty"),
    ("ttl-fraction", {"ttlSecondsAfterEmpty": 1.5}, "ttlSecondsAfterEmpty"),
    ("expired-negative", {"ttlSecondsUntilExpired": -3}, "spec.ttlSecondsUntilExpired"),
    (
        "both-ways",
        {"ttlSecondsAfterEmpty": 3, "consolidation": {"enabled": True}},
        "spec.consolidation.enabled",
    ),
    ("consolidation-text", {"consolidation": {"enabled": "perhaps"}}, "consolidation.enabled"),
    ("no-template", {"providerRef": None}, "spec.providerRef"),
    ("nameless-template", {"providerRef": {"name": ""}}, "spec.providerRef.name"),
    ("label-key", {"labels": {"not a label": "x"}}, "spec.labels"),
    ("label-value", {"labels": {"team": "not a value"}}, "spec.labels"),
    ("label-restricted", {"labels": {"karpenter.sh/mine": "x"}}, "spec.labels"),
    ("labels-list", {"labels": ["team"]}, "labels"),
    ("taint-effect", {"taints": [{"key": "a", "effect": "Never"}]}, "spec.taints"),
    ("taint-keyless", {"taints": [{"key": "", "effect": "NoSchedule"}]}, "spec.taints"),
    ("startup-taint", {"startupTaints": [{"key": "a", "effect": "x"}]}, "spec.startupTaints"),
    (
        "operator",
        {"requirements": [{"key": "team", "operator": "Near", "values": ["a"]}]},
        "spec.requirements",
    ),
    (
        "bound",
        {"requirements": [{"key": "team", "operator": "Gt", "values": ["many"]}]},
        "spec.requirements",
    ),
    ("requirements-text", {"requirements": "all"}, "requirements"),
    ("limit", {"limits": {"resources": {"cpu": "lots"}}}, "spec.limits.resources"),
    ("weight-high", {"weight": 1000}, "spec.weight"),
    ("weight-zero", {"weight": 0}, "spec.weight"),
    ("kubelet-pods", {"kubeletConfiguration": {"maxPods": -4}}, "spec.kubeletConfiguration"),
    ("provider-text", {"provider": "aws"}, "provider"),
]
"""(name, what is wrong in the spec, the field that somebody must be told of)."""

MACHINES: list[tuple[str, JSON, str]] = [
    ("request", {"resources": {"requests": {"cpu": "lots"}}}, "spec.resources.requests"),
    ("request-list", {"resources": {"requests": ["cpu"]}}, "resources.requests"),
    (
        "operator",
        {"requirements": [{"key": "team", "operator": "Near", "values": ["a"]}]},
        "spec.requirements",
    ),
    (
        "bound",
        {"requirements": [{"key": "team", "operator": "Lt", "values": ["few"]}]},
        "spec.requirements",
    ),
    (
        "nothing-suits",
        {
            "requirements": [
                {
                    "key": "node.kubernetes.io/instance-type",
                    "operator": "In",
                    "values": ["no.such"],
                }
            ]
        },
        "no.such",
    ),
    ("requirements-text", {"requirements": "all"}, "requirements"),
    ("taints-number", {"taints": 7}, "taints"),
    ("taint-keyless", {"taints": [{"effect": "NoSchedule"}]}, "taints"),
]


class Ground:
    """A cluster with one good machine, and unmoor on it."""

    def __init__(self) -> None:
        self.world = World(0, cloud=sabotage.cloud_of, types=sabotage.TYPES_BY_NAME, delays=QUICK)
        self.crashes: list[Record] = []
        self.words = ""
        self.process = Process(
            self.world,
            Options(namespace=NAMESPACE, lease=None),
            observers=(lambda record: self.crashes.append(record) if record.crash else None,),
        )

    def all(self, kind: str) -> list[JSON]:
        return list(self.world.server.store.tables[kind].objects.values())

    def said(self, name: str) -> str:
        """Every event about the object, and its conditions."""
        events = [
            one["message"]
            for one in self.all("Event")
            if (one.get("involvedObject") or {}).get("name") == name
        ]
        conditions = [
            f"{name}: {one['type']} {one.get('reason')} {one.get('message')}"
            for kind in ("Machine", "Provisioner")
            for obj in self.all(kind)
            if obj["metadata"]["name"] == name and isinstance(obj.get("status"), dict)
            for one in (obj.get("status") or {}).get("conditions") or ()
        ]
        return "\n".join([*events, *conditions])

    async def apply(self, *manifests: tuple[Ref, JSON]) -> None:
        for ref, body in manifests:
            await self.world.api.create(ref, body)

    async def until(self, is_so: Callable[[], bool]) -> None:
        end = self.world.clock.now().mono + PATIENCE_S
        while not is_so():
            assert self.world.clock.now().mono < end, "the good machine does not go on"
            await self.world.clock.sleep(LOOK_S)

    def has(self, kind: str, name: str) -> bool:
        return any(one["metadata"]["name"] == name for one in self.all(kind))


async def _play(bad: tuple[Ref, JSON], kind: str) -> Ground:
    """The bad object comes first; then a good machine comes up, and its node goes."""
    ground = Ground()
    ground.world.server.store.tables[kind].schema = None
    async with ground.world:
        await ground.apply(
            objects.namespace(NAMESPACE),
            objects.settings(NAMESPACE, **SETTINGS),
            objects.provisioner("red", ttlSecondsAfterEmpty=5),
            bad,
        )
        await ground.process.start()
        await ground.apply(objects.machine("good", provisioner="red", field=FIELD))
        await ground.until(lambda: bool(_nodes_of_good(ground)))
        await ground.until(lambda: not ground.has("Machine", "good"))
        await ground.world.clock.sleep(TOLD_WITHIN_S)
        ground.words = ground.said("bad")
        await ground.world.api.delete(kinds.KINDS[kind].ref(bad[0].name), DeleteOptions())
        await ground.world.clock.sleep(REST_S)
        await ground.process.stop()
    return ground


def _nodes_of_good(ground: Ground) -> list[JSON]:
    owners = [node["metadata"].get("ownerReferences") or [] for node in ground.all("Node")]
    return [one for some in owners for one in some if one["name"] == "good"]


def _check(ground: Ground, field: str) -> None:
    assert not ground.crashes, tell(ground.crashes)
    assert field in ground.words, f"nobody was told of {field}: {ground.words!r}"
    assert "bad" in ground.words, "which object?"


@pytest.mark.parametrize(("spec", "field"), [pytest.param(s, f, id=n) for n, s, f in PROVISIONERS])
def test_a_bad_provisioner_stops_nobody_else(spec: JSON, field: str) -> None:
    ref, body = objects.provisioner("bad", **spec)

    ground = run(_play((ref, _given(body)), "Provisioner"))

    _check(ground, field)


@pytest.mark.parametrize(("spec", "field"), [pytest.param(s, f, id=n) for n, s, f in MACHINES])
def test_a_bad_machine_stops_nobody_else(spec: JSON, field: str) -> None:
    more: Any = spec
    ref, body = objects.machine("bad", provisioner="red", **more)

    ground = run(_play((ref, body), "Machine"))

    _check(ground, field)


def test_a_bad_pod_holds_its_node_and_no_other() -> None:
    """Nobody can read it where it runs; the node of another pod goes meanwhile."""
    odd = kinds.PODS.ref("odd", FIELD)

    async def play() -> Ground:
        ground = Ground()
        async with ground.world:
            await ground.apply(
                objects.namespace(NAMESPACE),
                objects.namespace(FIELD),
                objects.settings(NAMESPACE, **SETTINGS),
                objects.provisioner("red", ttlSecondsAfterEmpty=5),
            )
            await ground.process.start()
            await ground.apply(objects.machine("held", provisioner="red", field=FIELD))
            await ground.until(lambda: bool(ground.all("Node")))
            (node,) = ground.all("Node")
            ref, body = objects.pod("odd", namespace=FIELD)
            spec = {**body["spec"], "nodeName": node["metadata"]["name"], "hostNetwork": "yes"}
            await ground.apply((ref, {**body, "spec": spec}))
            await ground.apply(objects.machine("good", provisioner="red", field=FIELD))
            await ground.until(lambda: bool(_nodes_of_good(ground)))
            await ground.until(lambda: not ground.has("Machine", "good"))
            await ground.world.api.delete(kinds.NODES.ref(node["metadata"]["name"]))
            await ground.world.clock.sleep(TOLD_WITHIN_S)
            assert ground.has("Node", node["metadata"]["name"])
            ground.words = ground.said(node["metadata"]["name"])
            await ground.world.api.delete(odd, DeleteOptions(grace_s=0))
            await ground.until(lambda: not ground.all("Node"))
            await ground.process.stop()
        return ground

    ground = run(play())

    assert not ground.crashes, tell(ground.crashes)
    assert "pod apps/odd cannot be read" in ground.words
    assert '`$.spec.hostNetwork`, where "yes" stands' in ground.words
    assert not ground.has("Machine", "held")


def _given(body: JSON) -> JSON:
    """None takes a field away."""
    spec = {key: value for key, value in body["spec"].items() if value is not None}
    return {**body, "spec": spec}
