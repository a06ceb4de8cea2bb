"""Facts about disks that pods name themselves, without a claim. Every function is a row."""

from __future__ import annotations

from tests.facts.fact import Fact
from tests.facts.raw import ended, leaving, node, pod
from unmoor.model.base import JSON

TAKEN = "node(s) had no available disk"


def _disk(**source: object) -> JSON:
    return {"volumes": [{"name": "disk", **source}]}


def _ebs(volume: str, **more: object) -> JSON:
    return _disk(awsElasticBlockStore={"volumeID": volume, **more})


def _gce(disk: str, **more: object) -> JSON:
    return _disk(gcePersistentDisk={"pdName": disk, **more})


def _iscsi(iqn: str, **more: object) -> JSON:
    return _disk(iscsi={"iqn": iqn, "targetPortal": "10.0.0.1", "lun": 0, **more})


def _rbd(*monitors: str, **more: object) -> JSON:
    return _disk(rbd={"monitors": list(monitors), "image": "i", **more})


def _beside(old: JSON, new: JSON, fits: str = "b") -> Fact:
    """Two nodes; on the first is a pod that has a disk."""
    cluster = [node("a"), node("b"), pod("old", on="a", **old)]
    return Fact(cluster, pod(**new), fits, TAKEN)


def two_pods_of_a_node_do_not_share_a_disk() -> Fact:
    return _beside(_gce("d"), _gce("d"))


def they_may_have_two() -> Fact:
    return _beside(_gce("d"), _gce("e"), "a b")


def who_only_reads_may_share() -> Fact:
    return _beside(_gce("d", readOnly=True), _gce("d", readOnly=True), "a b")


def both_must_only_read() -> Fact:
    return _beside(_gce("d", readOnly=True), _gce("d"))


def a_disk_of_ebs_is_not_shared_even_then() -> Fact:
    return _beside(_ebs("vol", readOnly=True), _ebs("vol", readOnly=True))


def disks_of_two_kinds_are_two() -> Fact:
    return _beside(_ebs("d"), _gce("d"), "a b")


def a_target_of_iscsi_is_a_disk_whatever_its_units() -> Fact:
    return _beside(_iscsi("iqn.2024-05.com.example:d", lun=1), _iscsi("iqn.2024-05.com.example:d"))


def an_image_of_ceph_is_a_disk() -> Fact:
    return _beside(_rbd("m1", "m2"), _rbd("m2", "m3"))


def by_other_monitors_it_is_another() -> Fact:
    return _beside(_rbd("m1", "m2"), _rbd("m3"), "a b")


def in_another_pool_it_is_another() -> Fact:
    return _beside(_rbd("m1", pool="p"), _rbd("m1"), "a b")


def a_pod_that_has_ended_has_no_disks() -> Fact:
    return Fact([node("a"), ended(pod("old", on="a", **_ebs("vol")))], pod(**_ebs("vol")), "a")


def a_pod_that_is_leaving_has_its_disks() -> Fact:
    old = leaving(pod("old", on="a", **_ebs("vol")))
    return Fact([node("a"), node("b"), old], pod(**_ebs("vol")), "b", TAKEN)


def namespaces_share_disks() -> Fact:
    old = pod("old", on="a", namespace="other", **_ebs("vol"))
    return Fact([node("a"), node("b"), old], pod(**_ebs("vol")), "b", TAKEN)
