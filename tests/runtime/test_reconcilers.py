"""Which keys a change concerns: exactly those whose step could come out differently."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import disruption, machine, node, pod, provisioner
from tests.lifecycle.pending import waiting
from tests.model.test_drift_fields import template
from unmoor.model.base import Object, ObjectMeta
from unmoor.model.cluster import ConfigMap, Lease
from unmoor.model.kinds import KIND_OF, KINDS
from unmoor.model.snapshot import View
from unmoor.model.storage import VolumeAttachment, VolumeAttachmentSpec
from unmoor.model.taint import GOING_SOON
from unmoor.runtime.reconciler import ONE
from unmoor.runtime.reconcilers import RECONCILERS

DELETED = node(deleted_at=builders.NOW)
CONFIG = ConfigMap(metadata=ObjectMeta(name="ours", namespace="harbour"))
WAITING = waiting()
PROMISED = waiting(status={"nominatedNodeName": "a"})
TOLD = builders.changed(provisioner(), status__resources={"cpu": "4"})
TEMPLATE = {"node-template": ["default"]}
BY_PROVISIONER = {"disruption-conditions": ["m-a"], "provisioner": ["default"]} | TEMPLATE
LARGER = builders.changed(node(), status__capacity={"cpu": "8"})
ATTACHED = VolumeAttachment(spec=VolumeAttachmentSpec(node_name="a"))


def lease(**meta: Any) -> Lease:
    return Lease(metadata=ObjectMeta(name="a", **meta))


def woken(view: View, old: Object | None, new: Object | None) -> dict[str, list[Any]]:
    either = new if new is not None else old
    assert either is not None
    kind = KIND_OF[type(either)]
    keys: dict[str, set[Any]] = {}
    for row in RECONCILERS:
        for wake in row.wakes:
            if wake.kind == kind:
                keys.setdefault(row.name, set()).update(wake.keys(view, old, new))
    return {name: sorted(found) for name, found in keys.items() if found}


@pytest.mark.parametrize(
    ("there", "old", "new", "expected"),
    [
        ([node()], None, node(), {}),
        (
            [node(), machine()],
            node(),
            node(),
            {"machine": ["m-a"], "disruption-conditions": ["m-a"]},
        ),
        ([DELETED], node(), DELETED, {"termination": ["a"], "provisioning": [ONE]}),
        ([], node(), None, {"leases": ["a"]}),
        ([], None, node(disruption="x"), {"deprovisioning": [ONE]}),
        ([], node(disruption="x"), node(), {"deprovisioning": [ONE]}),
        ([node(), machine()], None, pod(), {"disruption-conditions": ["m-a"]}),
        ([DELETED], None, pod(), {"termination": ["a"]}),
        ([], None, WAITING, {"provisioning": [ONE]}),
        ([], pod(on=""), WAITING, {"provisioning": [ONE]}),
        ([], WAITING, WAITING, {}),
        ([], WAITING, pod(on="b"), {}),
        ([], PROMISED, WAITING, {"provisioning": [ONE]}),
        ([], WAITING, PROMISED, {}),
        ([PROMISED], node(), None, {"leases": ["a"], "provisioning": [ONE]}),
        ([], None, pod(on=""), {}),
        ([DELETED], pod(), None, {"termination": ["a"]}),
        ([], None, pod(on="b"), {}),
        (
            [node(), machine()],
            None,
            pod(on="", nominated_to="a"),
            {"disruption-conditions": ["m-a"]},
        ),
        (
            [DELETED, machine()],
            None,
            machine(),
            {
                "termination": ["a"],
                "machine": ["m-a"],
                "disruption-conditions": ["m-a"],
                "consistency": ["m-a"],
            },
        ),
        (
            [machine()],
            None,
            provisioner(),
            {"machine": ["m-a"], **BY_PROVISIONER},
        ),
        (
            [machine(), provisioner()],
            None,
            template(),
            {"disruption-conditions": ["m-a"], **TEMPLATE},
        ),
        ([machine()], template(), None, TEMPLATE),
        ([machine(), provisioner()], None, TOLD, {"machine": ["m-a"], **BY_PROVISIONER}),
        ([machine()], provisioner(), TOLD, {"provisioner": ["default"]}),
        ([], provisioner(), None, {"provisioner": ["default"]}),
        ([provisioner()], node(), LARGER, {"provisioner": ["default"]}),
        ([provisioner()], LARGER, LARGER, {}),
        ([], node(), LARGER, {}),
        ([], None, disruption(), {"deprovisioning": [ONE], "steering": [ONE]}),
        ([], None, node(taints=(GOING_SOON,)), {"steering": [ONE]}),
        ([], node(taints=(GOING_SOON,)), node(), {"steering": [ONE]}),
        ([DELETED], None, ATTACHED, {"termination": ["a"]}),
        ([], None, lease(namespace="kube-node-lease"), {"leases": ["a"]}),
        ([], None, lease(namespace="elsewhere"), {}),
        (
            [],
            None,
            lease(namespace="kube-node-lease", owner_references=(builders.owner("Node", "a"),)),
            {},
        ),
        ([], None, CONFIG, {"settings": [("harbour", "ours")]}),
        ([], CONFIG, None, {}),
    ],
)
def test_who_is_woken(
    there: list[Object], old: Object | None, new: Object | None, expected: dict[str, list[Any]]
) -> None:
    assert woken(View.of(*there), old, new) == expected


WORLDS: dict[str, list[Object]] = {
    "at work": [node(), machine(), provisioner(), pod(), pod("web-2", on="", nominated_to="a")],
    "on its way out": [DELETED, machine(), pod(), ATTACHED],
    "without machines": [node("a"), node("b", provider_id=""), pod(), pod("web-2", on="b")],
    "pods alone": [pod(), pod("web-2", on="", nominated_to="a")],
}


@pytest.mark.parametrize("world", WORLDS)
def test_what_is_not_gone_through_at_the_start_is_named_by_others(world: str) -> None:
    view = View.of(*WORLDS[world])
    for row in RECONCILERS:
        named: dict[bool, set[Any]] = {True: set(), False: set()}
        for wake in row.wakes:
            for obj in view.all(KINDS[wake.kind]).values():
                named[wake.at_start].update(wake.keys(view, None, obj))

        assert named[False] <= named[True], row.name


def test_every_row_can_wake() -> None:
    assert [row.name for row in RECONCILERS if not row.wakes and not row.is_single] == []
    assert len({row.name for row in RECONCILERS}) == len(RECONCILERS)


def test_intervals_are_settings() -> None:
    every = {row.name: row.every_s(View()) for row in RECONCILERS if row.every_s is not None}

    assert every == {
        "deprovisioning": 10.0,
        "garbage": 120.0,
        "unreadable": 60.0,
        "provisioner": 300.0,
    }
