"""Which volumes must let go of a node before its machine may end? (case T05)

A volume of an evicted pod is waited for, so that its successor can mount it elsewhere; not those of
pods that stay (DaemonSet, static) nor those that many nodes may use at once. The wait has a limit,
six minutes by default: as long as Kubernetes' own controller waits for an unmount.

Must not: detach anything.
"""

from __future__ import annotations

from unmoor.model.node import Node
from unmoor.model.snapshot import View
from unmoor.model.storage import PersistentVolumeClaim

ONE_NODE_MODES = frozenset(("ReadWriteOnce", "ReadWriteOncePod"))


def awaited(view: View, node: Node) -> tuple[str, ...]:
    """Return the names of the volumes that are still attached and should not be."""
    attached = [
        attachment.spec.source.persistent_volume_name
        for attachment in view.attachments_on(node.name)
        if attachment.status.attached
    ]
    if not attached:
        return ()
    staying = {
        (pod.namespace, volume.persistent_volume_claim.claim_name)
        for pod in view.pods_on(node.name)
        if pod.is_of_its_node
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    }
    return tuple(name for name in attached if name and _holds(view.claims_of(name), staying))


def _holds(claims: tuple[PersistentVolumeClaim, ...], staying: set[tuple[str, str]]) -> bool:
    if any(claim.key in staying for claim in claims):
        return False
    return any(set(claim.spec.access_modes) <= ONE_NODE_MODES for claim in claims)
