"""What a column is, and how the cells of most built-in kinds read.

Everything is read with care: an object may lack any field.

Must not: know pods and workloads, which have modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from unmoor.model.base import JSON
from unmoor.sim.http.ages import age, duration, since, time_of

NONE = "<none>"
UNSET = "<unset>"
_ROLE = "node-role.kubernetes.io/"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"

Cells = Callable[[JSON, datetime], list[Any]]


class Column(msgspec.Struct, frozen=True):
    """One column. ``priority`` over 0: shown with ``-o wide``."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0

    def to_json(self) -> JSON:
        """As it stands in a table."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": "",
            "priority": self.priority,
        }


class Layout(msgspec.Struct, frozen=True):
    """The columns of a kind and what fills them."""

    columns: tuple[Column, ...]
    cells: Cells


NAME = Column("Name", format="name")
AGE = Column("Age")


def text(*names: str) -> tuple[Column, ...]:
    """Columns of text."""
    return tuple(Column(name) for name in names)


def numbers(*names: str) -> tuple[Column, ...]:
    """Columns of whole numbers."""
    return tuple(Column(name, type="integer") for name in names)


def wide(*names: str) -> tuple[Column, ...]:
    """Columns of text that only ``-o wide`` shows."""
    return tuple(Column(name, priority=1) for name in names)


def part(obj: JSON, *names: str) -> Any:
    """What is found there, an empty object when nothing is."""
    value: Any = obj
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return {} if value is None else value


def name_of(obj: JSON) -> str:
    """The object's name."""
    return str(obj["metadata"].get("name", ""))


def labels_text(labels: JSON) -> str:
    """``a=b,c=d``, or that there are none."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) or NONE


# ----------------------------------------------------------------------------- nodes and namespaces


def _node(obj: JSON, now: datetime) -> list[Any]:
    conditions = part(obj, "status", "conditions") or []
    ready = next((one for one in conditions if one.get("type") == "Ready"), None)
    state = "Unknown"
    if ready is not None:
        state = "Ready" if ready.get("status") == "True" else "NotReady"
    if part(obj, "spec", "unschedulable"):
        state += ",SchedulingDisabled"
    info = part(obj, "status", "nodeInfo")
    known = {name: info.get(name) or "<unknown>" for name in _NODE_INFO}
    if info.get("architecture"):
        known["kernelVersion"] += f" ({info['architecture']})"
    return [
        name_of(obj),
        state,
        _roles(part(obj, "metadata", "labels")),
        age(obj, now),
        info.get("kubeletVersion", ""),
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        *known.values(),
    ]


_NODE_INFO = ("osImage", "kernelVersion", "containerRuntimeVersion")


def _roles(labels: JSON) -> str:
    roles = {key[len(_ROLE) :] for key in labels if key.startswith(_ROLE)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return ",".join(sorted(role for role in roles if role)) or NONE


def _address(node: JSON, kind: str) -> str:
    found = part(node, "status", "addresses") or []
    return next((one.get("address", "") for one in found if one.get("type") == kind), NONE)


def _namespace(obj: JSON, now: datetime) -> list[Any]:
    return [name_of(obj), part(obj, "status", "phase") or "", age(obj, now)]


def _config_map(obj: JSON, now: datetime) -> list[Any]:
    return [name_of(obj), len(part(obj, "data")) + len(part(obj, "binaryData")), age(obj, now)]


def _lease(obj: JSON, now: datetime) -> list[Any]:
    return [name_of(obj), part(obj, "spec", "holderIdentity") or "", age(obj, now)]


# ------------------------------------------------------------------------------------------- events


def _event(obj: JSON, now: datetime) -> list[Any]:
    first_at = obj.get("firstTimestamp") or obj.get("eventTime")
    last_at = obj.get("lastTimestamp") or first_at
    count = obj.get("count") or 1
    series = obj.get("series")
    if series:
        last_at, count = series.get("lastObservedTime") or last_at, series.get("count") or count
    about = part(obj, "involvedObject")
    kind, name = str(about.get("kind", "")).lower(), about.get("name", "")
    return [
        since(last_at, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        about.get("fieldPath", ""),
        _source(obj),
        str(obj.get("message", "")).strip(),
        since(first_at, now),
        count,
        name_of(obj),
    ]


def _source(event: JSON) -> str:
    source = part(event, "source")
    component = source.get("component") or event.get("reportingComponent", "")
    host = source.get("host") or event.get("reportingInstance", "")
    return f"{component}, {host}" if host else str(component)


# ------------------------------------------------------------------------------------------ storage


def _modes(modes: Any) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in (modes or ()))


def _class_of(obj: JSON) -> str:
    old = part(obj, "metadata", "annotations").get(_OLD_CLASS)
    return str(old or part(obj, "spec").get("storageClassName") or "")


def _phase(obj: JSON) -> str:
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    return part(obj, "status", "phase") or ""


def _claim(obj: JSON, now: datetime) -> list[Any]:
    spec, found = part(obj, "spec"), part(obj, "status")
    volume = spec.get("volumeName") or ""
    return [
        name_of(obj),
        _phase(obj),
        volume,
        part(found, "capacity").get("storage", "0") if volume else "",
        _modes(found.get("accessModes")) if volume else "",
        _class_of(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def _volume(obj: JSON, now: datetime) -> list[Any]:
    spec, found = part(obj, "spec"), part(obj, "status")
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        part(spec, "capacity").get("storage", "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class_of(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        found.get("reason", ""),
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def _storage_class(obj: JSON, now: datetime) -> list[Any]:
    is_default = part(obj, "metadata", "annotations").get(_DEFAULT_CLASS) == "true"
    return [
        name_of(obj) + (" (default)" if is_default else ""),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        age(obj, now),
    ]


def _csi_node(obj: JSON, now: datetime) -> list[Any]:
    return [name_of(obj), len(part(obj, "spec", "drivers")), age(obj, now)]


def _attachment(obj: JSON, now: datetime) -> list[Any]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        spec.get("attacher", ""),
        part(spec, "source").get("persistentVolumeName") or "",
        spec.get("nodeName", ""),
        bool(part(obj, "status").get("attached")),
        age(obj, now),
    ]


# ----------------------------------------------------------------------------------------- policies


def _budget(obj: JSON, now: datetime) -> list[Any]:
    spec = part(obj, "spec")

    def shown(name: str) -> str:
        value = spec.get(name)
        return "N/A" if value is None else str(value)

    allowed = part(obj, "status").get("disruptionsAllowed", 0)
    return [name_of(obj), shown("minAvailable"), shown("maxUnavailable"), allowed, age(obj, now)]


def _priority_class(obj: JSON, now: datetime) -> list[Any]:
    return [
        name_of(obj),
        obj.get("value", 0),
        bool(obj.get("globalDefault")),
        age(obj, now),
        obj.get("preemptionPolicy") or "PreemptLowerPriority",
    ]


def _created(obj: JSON, _: datetime) -> list[Any]:
    return [name_of(obj), obj["metadata"].get("creationTimestamp")]


PLAIN = Layout((NAME, Column("Created At", type="date")), _created)
"""What a kind without columns of its own gets."""

LAYOUTS: dict[str, Layout] = {
    "Node": Layout(
        (
            NAME,
            *text("Status", "Roles", "Age", "Version"),
            *wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node,
    ),
    "Namespace": Layout((NAME, *text("Status", "Age")), _namespace),
    "ConfigMap": Layout((NAME, *text("Data", "Age")), _config_map),
    "Lease": Layout((NAME, *text("Holder", "Age")), _lease),
    "Event": Layout(
        (
            *text("Last Seen", "Type", "Reason", "Object"),
            *wide("Subobject", "Source"),
            Column("Message"),
            *wide("First Seen", "Count"),
            Column("Name", format="name", priority=1),
        ),
        _event,
    ),
    "PersistentVolumeClaim": Layout(
        (
            NAME,
            *text("Status", "Volume", "Capacity", "Access Modes", "StorageClass"),
            *text("VolumeAttributesClass", "Age"),
            *wide("VolumeMode"),
        ),
        _claim,
    ),
    "PersistentVolume": Layout(
        (
            NAME,
            *text("Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass"),
            *text("VolumeAttributesClass", "Reason", "Age"),
            *wide("VolumeMode"),
        ),
        _volume,
    ),
    "StorageClass": Layout(
        (
            NAME,
            *text("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion"),
            AGE,
        ),
        _storage_class,
    ),
    "CSINode": Layout((NAME, *numbers("Drivers"), AGE), _csi_node),
    "VolumeAttachment": Layout(
        (
            NAME,
            Column("Attacher", format="name"),
            *text("PV", "Node"),
            Column("Attached", type="boolean"),
            AGE,
        ),
        _attachment,
    ),
    "PodDisruptionBudget": Layout(
        (NAME, *text("Min Available", "Max Unavailable"), *numbers("Allowed Disruptions"), AGE),
        _budget,
    ),
    "PriorityClass": Layout(
        (
            NAME,
            *numbers("Value"),
            Column("Global-Default", type="boolean"),
            *text("Age", "PreemptionPolicy"),
        ),
        _priority_class,
    ),
}

__all__ = [
    "AGE",
    "LAYOUTS",
    "NAME",
    "NONE",
    "PLAIN",
    "Cells",
    "Column",
    "Layout",
    "age",
    "duration",
    "labels_text",
    "name_of",
    "numbers",
    "part",
    "text",
    "time_of",
    "wide",
]
