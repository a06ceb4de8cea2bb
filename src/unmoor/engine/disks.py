"""Disks that pods name themselves, without a claim, and that two pods of one node cannot share.

As kube-scheduler's VolumeRestrictions has it: one disk is for one pod of a node, unless all of them
only read; a disk of EBS even then. On another node nobody looks: whether it can be attached to both
is for others to find out.

Must not: know claims; ``volumes`` does.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from unmoor.engine.refusal import Constraint
from unmoor.model.pod import Pod
from unmoor.model.scheduling import Volume


class Disk(msgspec.Struct, frozen=True):
    """One disk. ``source``: the API's word for its kind; ``servers``: by any of which it is known,
    () where names are enough.
    """

    constraint: ClassVar[Constraint] = Constraint.DISK

    source: str
    name: str
    servers: tuple[str, ...] = ()
    is_read_only: bool = False

    def collides(self, other: object) -> bool:
        """True when it is the same disk, and not both only read it."""
        if not isinstance(other, Disk) or (self.source, self.name) != (other.source, other.name):
            return False
        is_known_elsewhere = set(self.servers).isdisjoint(other.servers)
        if (self.servers or other.servers) and is_known_elsewhere:
            return False
        return not (self.is_read_only and other.is_read_only)

    def __str__(self) -> str:
        """``awsElasticBlockStore vol-1``."""
        return f"{self.source} {self.name}"


def disks_of(pod: Pod) -> tuple[Disk, ...]:
    """Return the disks that a pod names, in the order of its volumes."""
    return tuple(one for volume in pod.spec.volumes for one in _disks(volume))


def _disks(volume: Volume) -> tuple[Disk, ...]:
    found = []
    if (ebs := volume.aws_elastic_block_store) is not None:
        found.append(Disk("awsElasticBlockStore", ebs.volume_id))
    if (gce := volume.gce_persistent_disk) is not None:
        found.append(Disk("gcePersistentDisk", gce.pd_name, is_read_only=gce.read_only))
    if (iscsi := volume.iscsi) is not None:
        found.append(Disk("iscsi", iscsi.iqn, is_read_only=iscsi.read_only))
    if (rbd := volume.rbd) is not None:
        name = f"{rbd.pool}/{rbd.image}"
        found.append(Disk("rbd", name, rbd.monitors, is_read_only=rbd.read_only))
    return tuple(found)
