"""What a pod's volumes ask of a node: where they can be reached, and room to attach them.

For each claim: is it in order, from which nodes can its volume be reached, which driver attaches
it. As kube-scheduler has it: a claim that is bound goes where its volume is; one that waits for its
first consumer goes where its class may make a volume; one that is to be bound at once and is not
yet keeps its pod waiting, wherever. One that only happens to be called as the claim of a volume of
the pod's own is somebody else's, and keeps it waiting, too: nobody would let the pod use it.

Must not: choose a volume for a claim. A class that makes none ("no-provisioner") is refused until
somebody has bound the claim: which of the volumes it would get, nobody can promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from unmoor.model import names
from unmoor.model.kinds import CLAIMS, STORAGE_CLASSES, VOLUMES
from unmoor.model.node_selector import FIELD_NAME, NodeSelectorTerm
from unmoor.model.pod import Pod
from unmoor.model.requirement import NodeSelectorRequirement
from unmoor.model.snapshot import View
from unmoor.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass

NO_PROVISIONER = "kubernetes.io/no-provisioner"
ONE_POD_ONLY = "ReadWriteOncePod"
SEVERAL_ZONES = "__"
"""Between the zones in the label of a volume that is in several."""
MIGRATED = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
"""Plugins that Kubernetes once had built in, and the drivers that do their work now."""
_ZONAL = (
    names.ZONE,
    names.REGION,
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)


class Need(msgspec.Struct, frozen=True, gc=False):
    """What one claim asks.

    ``problem``: why no node will do, "" when one may. ``where``: lists of terms; of each list one
    term must match the node. ``driver`` and ``handle`` say what is attached: the same handle is
    attached once; "" counts for no limit. ``is_exclusive``: one pod only may use it.
    """

    claim: str
    problem: str = ""
    where: tuple[tuple[NodeSelectorTerm, ...], ...] = ()
    driver: str = ""
    handle: str = ""
    is_exclusive: bool = False


def needs_of(pod: Pod, view: View) -> tuple[Need, ...]:
    """Return what each claim of the pod asks, in the order of its volumes."""
    return tuple(_need(pod, name, own, view) for name, own in _used_by(pod).items())


def claims_of(pod: Pod) -> tuple[str, ...]:
    """Return the names of the claims that the pod uses; its own are called ``<pod>-<volume>``."""
    return tuple(_used_by(pod))


def _used_by(pod: Pod) -> dict[str, str]:
    """Each claim, and the volume of the pod's own that it is for; "" for one that it shares."""
    found: dict[str, str] = {}
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.setdefault(volume.persistent_volume_claim.claim_name, "")
        elif volume.ephemeral is not None:
            found[f"{pod.name}-{volume.name}"] = volume.name
    return found


def attached_on(node: str, pods: Iterable[Pod], view: View) -> dict[str, set[str]]:
    """Return driver to the handles that are attached to a node with these pods.

    What is still attached for a pod that is gone is marked as :func:`left_behind`.
    """
    found: dict[str, set[str]] = {}
    for pod in pods:
        if pod.spec.volumes:
            for need in needs_of(pod, view):
                if need.driver:
                    found.setdefault(need.driver, set()).add(need.handle)
    for driver, handle in _attachments(node, view):
        there = found.setdefault(driver, set())
        if handle not in there:
            there.add(left_behind(handle))
    return found


def left_behind(handle: str) -> str:
    """Return what stands for a volume that is attached and in no pod's use.

    kube-scheduler counts it beside the same volume of a pod that is to come.
    """
    return f"{handle} left behind"


def _attachments(node: str, view: View) -> Iterator[tuple[str, str]]:
    for one in view.attachments_on(node):
        volume = view.get(VOLUMES, one.spec.source.persistent_volume_name or "")
        if volume is not None and volume.spec.csi is not None and one.spec.attacher:
            yield one.spec.attacher, _driver_of(volume)[1]


def _need(pod: Pod, name: str, own: str, view: View) -> Need:
    claim = view.get(CLAIMS, name, pod.namespace)
    if claim is None:
        return Need(name, problem="there is no such claim")
    if claim.is_deleting:
        return Need(name, problem="the claim is being deleted")
    if own and (problem := _not_its_own(claim, pod, own)):
        return Need(name, problem=problem)
    is_exclusive = ONE_POD_ONLY in claim.spec.access_modes
    if claim.spec.volume_name:
        return msgspec.structs.replace(_bound(claim, view), is_exclusive=is_exclusive)
    return msgspec.structs.replace(_unbound(claim, view), is_exclusive=is_exclusive)


def _not_its_own(claim: PersistentVolumeClaim, pod: Pod, volume: str) -> str:
    """Why a claim is not the one of a volume of the pod's own; "" when it is.

    kube-scheduler, kubelet and the controller that makes such claims all ask for the pod's uid: an
    earlier pod of the same name is another one.
    """
    controller = claim.metadata.controller
    if controller is None:
        whose = "names no controller"
    elif controller.uid == pod.uid:
        return ""
    else:
        whose = f"names {controller.kind} {controller.name} with uid {controller.uid}"
    return (
        f"spec.volumes[{volume}].ephemeral needs a claim made for pod {pod.name} with uid "
        f"{pod.uid}, but its metadata.ownerReferences {whose}: delete the claim, and it is made "
        "anew, or give the pod or the volume another name"
    )


def _bound(claim: PersistentVolumeClaim, view: View) -> Need:
    if not claim.is_bound:
        named = claim.spec.volume_name
        return Need(claim.name, problem=f"it names volume {named} and is not bound to it yet")
    volume = view.get(VOLUMES, claim.spec.volume_name)
    if volume is None:
        return Need(claim.name, problem=f"its volume {claim.spec.volume_name} does not exist")
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    where = [] if required is None else [required.node_selector_terms]
    where += [(_in(key, *values),) for key, values in _zones(volume)]
    driver, handle = _driver_of(volume)
    return Need(claim.name, where=tuple(where), driver=driver, handle=handle)


def _zones(volume: PersistentVolume) -> Iterator[tuple[str, tuple[str, ...]]]:
    for key in _ZONAL:
        value = volume.metadata.labels.get(key)
        if value:
            yield names.normalised(key), tuple(value.split(SEVERAL_ZONES))


def _driver_of(volume: PersistentVolume) -> tuple[str, str]:
    if volume.spec.csi is not None:
        return volume.spec.csi.driver, volume.spec.csi.volume_handle or volume.name
    if volume.spec.aws_elastic_block_store is not None:
        return MIGRATED["kubernetes.io/aws-ebs"], volume.name
    return "", ""


def _unbound(claim: PersistentVolumeClaim, view: View) -> Need:
    wanted = claim.spec.storage_class_name
    found = default_class(view) if wanted is None else view.get(STORAGE_CLASSES, wanted)
    if found is None:
        about = (
            "it names no class, and none is the default"
            if not wanted
            else (f"its class {wanted} does not exist")
        )
        return Need(claim.name, problem=f"it is not bound, and {about}")
    if not found.is_waiting:
        return Need(
            claim.name, problem=f"it is not bound yet, and class {found.name} does not wait"
        )
    if found.provisioner == NO_PROVISIONER:
        return Need(claim.name, problem=f"it is not bound, and class {found.name} makes none")
    driver = MIGRATED.get(found.provisioner, found.provisioner)
    where = [terms for terms in (_allowed(found), _chosen(claim)) if terms]
    handle = f"{claim.namespace}/{claim.name}"
    return Need(claim.name, where=tuple(where), driver=driver, handle=handle)


def _chosen(claim: PersistentVolumeClaim) -> tuple[NodeSelectorTerm, ...]:
    """The node that kube-scheduler has chosen, as long as the volume is still being made for it."""
    node = claim.metadata.annotations.get(names.SELECTED_NODE)
    if not node:
        return ()
    one = NodeSelectorRequirement(key=FIELD_NAME, operator="In", values=(node,))
    return (NodeSelectorTerm(match_fields=(one,)),)


def default_class(view: View) -> StorageClass | None:
    """Return the newest of those that say they are; of equally old ones the first by name."""
    marked = [one for one in view.sorted(STORAGE_CLASSES) if one.is_default]
    stamps = [one.metadata.creation_timestamp for one in marked]
    newest = max((stamp for stamp in stamps if stamp is not None), default=None)
    return next((one for one, at in zip(marked, stamps, strict=True) if at == newest), None)


def _allowed(found: StorageClass) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        NodeSelectorTerm(
            match_expressions=tuple(
                NodeSelectorRequirement(key=one.key, operator="In", values=one.values)
                for one in term.match_label_expressions
            )
        )
        for term in found.allowed_topologies
    )


def _in(key: str, *values: str) -> NodeSelectorTerm:
    one = NodeSelectorRequirement(key=key, operator="In", values=values)
    return NodeSelectorTerm(match_expressions=(one,))
