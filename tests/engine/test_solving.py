"""The same question gets the same answer, and any other one is answered anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests import builders
from tests.engine.scenes import TYPES, ZONES, as_object, place, pod, required, scene, template, term
from unmoor.engine.plan import Plan
from unmoor.engine.scene import Place, Scene, Started
from unmoor.engine.solving import Solver, solve
from unmoor.model import names
from unmoor.model.cluster import Namespace
from unmoor.model.kinds import KIND_OF, KINDS
from unmoor.model.pod import Pod
from unmoor.model.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from unmoor.runtime.store import Store

FAR = required(term(labels={"team": "blue"}, namespaceSelector={"matchLabels": {"team": "blue"}}))
APART = pod("apart", affinity={"podAntiAffinity": FAR})
WITH_CLAIM = pod("db", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
ALONE = place("alone", ZONES[1], cpu="1", room="1")
FULL = place("full", ZONES[0], pod("there", labels={"team": "blue"}, namespace="shop", node="full"))
BASE = template()
STARTED = Started(name="new", provisioner="default", requirements=BASE.requirements, types=TYPES)


class Desk:
    """A store, and one who is asked again and again about what it holds."""

    def __init__(self) -> None:
        self.store = Store(identity=builders.IDENTITY)
        self.solver = Solver()
        self.on = scene(ALONE, FULL, BASE)
        self.pods: tuple[Pod, ...] = (APART, WITH_CLAIM)
        self.version = 0
        self.put(namespace("red"), storage_class(), volume(ZONES[0]), claim("data"))

    def put(self, *objects: Any) -> None:
        for obj in objects:
            self.version += 1
            newer = builders.changed(obj, metadata__resource_version=str(self.version))
            self.store.put(KINDS[KIND_OF[type(obj)]], newer)

    def has(self, **parts: Any) -> None:
        self.on = msgspec.structs.replace(self.on, **parts)

    def asked(self) -> Plan:
        """What is answered; who knows nothing must answer the same."""
        on: Scene = msgspec.structs.replace(self.on, view=self.store.freeze())
        plan = self.solver.solve(on, self.pods)
        fresh = solve(on, self.pods)
        assert list(plan.placements.items()) == list(fresh.placements.items())
        assert (plan.machines, plan.given_up) == (fresh.machines, fresh.given_up)
        assert dict(plan.refused) == dict(fresh.refused)
        return plan


def namespace(team: str) -> Any:
    meta = {"name": "shop", "uid": "shop", "labels": {"team": team}}
    return as_object(Namespace, {"metadata": meta})


def storage_class(binding: str = "WaitForFirstConsumer") -> Any:
    body = {"metadata": {"name": "disk", "uid": "disk"}, "provisioner": "ebs.csi.aws.com"}
    return as_object(StorageClass, {**body, "volumeBindingMode": binding})


def volume(zone: str) -> Any:
    wants = {"matchExpressions": [{"key": names.ZONE, "operator": "In", "values": [zone]}]}
    spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": [wants]}}}
    return as_object(PersistentVolume, {"metadata": {"name": "pv", "uid": "pv"}, "spec": spec})


def attachment() -> Any:
    spec = {"attacher": "ebs.csi.aws.com", "nodeName": "full"}
    meta = {"name": "held", "uid": "held"}
    source = {"persistentVolumeName": "pv"}
    return as_object(VolumeAttachment, {"metadata": meta, "spec": {**spec, "source": source}})


def claim(name: str, volume_name: str = "pv") -> Any:
    bound = {names.BIND_COMPLETED: "yes"} if volume_name else {}
    meta = {"name": name, "namespace": "default", "uid": name, "annotations": bound}
    spec = {"storageClassName": "disk", "volumeName": volume_name}
    return as_object(PersistentVolumeClaim, {"metadata": meta, "spec": spec})


def fuller(one: Place) -> Place:
    return msgspec.structs.replace(one, reserved=one.allocatable)


CHANGES: dict[str, Callable[[Desk], None]] = {
    "a pod comes": lambda desk: setattr(desk, "pods", (*desk.pods, pod("more"))),
    "a pod goes": lambda desk: setattr(desk, "pods", desk.pods[:1]),
    "a pod is another": lambda desk: setattr(desk, "pods", (APART, pod("db", cpu="64"))),
    "a place is full": lambda desk: desk.has(places=(fuller(ALONE), FULL)),
    "a place is gone": lambda desk: desk.has(places=(FULL,)),
    "a machine is started": lambda desk: desk.has(started=(STARTED,)),
    "a provisioner is gone": lambda desk: desk.has(templates=()),
    "a namespace is others'": lambda desk: desk.put(namespace("blue")),
    "a claim is not bound": lambda desk: desk.put(claim("data", "")),
    "a volume is elsewhere": lambda desk: desk.put(volume(ZONES[1])),
    "a volume is attached": lambda desk: desk.put(attachment()),
    "a class does not wait": lambda desk: desk.put(storage_class("Immediate")),
}


def test_the_same_question_is_not_answered_twice() -> None:
    desk = Desk()
    plan = desk.asked()
    desk.put(builders.node("a"), pod("elsewhere", node="a"))

    assert desk.asked() is plan
    assert plan.placements[WITH_CLAIM.key] == "full"


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_question_is_answered_anew(change: Callable[[Desk], None]) -> None:
    desk = Desk()
    plan = desk.asked()
    change(desk)
    after = desk.asked()

    assert after is not plan
    assert desk.asked() is after


def test_at_rest_no_view_is_kept() -> None:
    desk = Desk()
    plan = desk.asked()
    desk.solver.rest()

    assert desk.asked() is not plan


def test_after_a_failure_nothing_is_kept() -> None:
    desk = Desk()
    plan = desk.asked()
    broken: Any = object()
    with pytest.raises(AttributeError):
        desk.solver.solve(broken, desk.pods)

    assert desk.asked() is not plan
