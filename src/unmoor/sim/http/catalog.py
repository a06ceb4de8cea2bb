"""Which kinds are served, under which group and version, and by which names people call them.

Read off the server's tables each time, so that a kind which comes later is served as well.

Must not: hold what the server needs to know of a kind; that is ``apiserver.rules``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from unmoor.model.base import JSON
from unmoor.model.kinds import Resource
from unmoor.sim.apiserver.rules import SCALE_VERSION, Rules
from unmoor.sim.apiserver.server import Server

_SHORT: dict[str, tuple[str, ...]] = {
    "Pod": ("po",),
    "Node": ("no",),
    "Namespace": ("ns",),
    "ConfigMap": ("cm",),
    "Service": ("svc",),
    "ServiceAccount": ("sa",),
    "ResourceQuota": ("quota",),
    "LimitRange": ("limits",),
    "Ingress": ("ing",),
    "NetworkPolicy": ("netpol",),
    "Event": ("ev",),
    "PersistentVolumeClaim": ("pvc",),
    "PersistentVolume": ("pv",),
    "ReplicaSet": ("rs",),
    "Deployment": ("deploy",),
    "StatefulSet": ("sts",),
    "DaemonSet": ("ds",),
    "PodDisruptionBudget": ("pdb",),
    "PriorityClass": ("pc",),
    "StorageClass": ("sc",),
    "CustomResourceDefinition": ("crd", "crds"),
}
_CATEGORIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("Pod", "Service", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job"),
        ("all",),
    ),
    "CustomResourceDefinition": ("api-extensions",),
}
EVENTS_GROUP = "events.k8s.io"
_OBJECT_VERBS = ("delete", "get", "patch", "update")
_COLLECTION_VERBS = ("create", "deletecollection", "list", "watch")


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """One kind under one group and version. ``is_view``: stored as another version of the kind."""

    resource: Resource[Any]
    rules: Rules
    group: str
    version: str
    singular: str
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    definition: JSON | None = None
    """The CustomResourceDefinition's spec."""

    @property
    def kind(self) -> str:
        """The kind's name."""
        return self.resource.kind

    @property
    def plural(self) -> str:
        """The kind's name in paths."""
        return self.resource.plural

    @property
    def api_version(self) -> str:
        """What objects say here."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def is_view(self) -> bool:
        """True where objects are stored under another group."""
        return self.group != self.resource.group

    @property
    def verbs(self) -> tuple[str, ...]:
        """What can be done to it, sorted."""
        verbs = {*_OBJECT_VERBS, *_COLLECTION_VERBS}
        if self.kind == "Namespace":
            verbs.discard("deletecollection")
        return tuple(sorted(verbs))

    def subresources(self) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
        """Name, kind, group and version, and verbs of each door beside the main one."""
        readable = ("get", "patch", "update")
        if self.rules.has_status:
            yield "status", self.kind, self.api_version, readable
        if self.rules.has_scale:
            yield "scale", "Scale", SCALE_VERSION, readable
        if self.kind == "Pod":
            yield "binding", "Binding", "v1", ("create",)
            yield "eviction", "Eviction", "policy/v1", ("create",)
        if self.kind == "Namespace":
            yield "finalize", "Namespace", "v1", ("update",)


class Catalog:
    """All that a server serves."""

    def __init__(self, server: Server) -> None:
        """Read the server's tables whenever they have become others."""
        self._server = server
        self._known = -1
        self._served: dict[tuple[str, str, str], Served] = {}

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """The kind behind a path, None when there is none."""
        return self._current().get((group, version, plural))

    def all(self) -> tuple[Served, ...]:
        """Every kind, in the order in which the server has them."""
        return tuple(self._current().values())

    def groups(self) -> dict[str, tuple[str, ...]]:
        """The versions of each group, the unnamed one first and then by name."""
        found: dict[str, set[str]] = {}
        for one in self.all():
            found.setdefault(one.group, set()).add(one.version)
        return {group: tuple(sorted(found[group])) for group in sorted(found)}

    def of(self, group: str, version: str) -> tuple[Served, ...]:
        """The kinds of one group and version, by name."""
        found = [one for one in self.all() if (one.group, one.version) == (group, version)]
        return tuple(sorted(found, key=lambda one: one.plural))

    def _current(self) -> dict[tuple[str, str, str], Served]:
        store = self._server.store
        if store.served != self._known:
            self._served = {}
            for table in store.tables.values():
                for one in _served(table.resource, table.rules, table.definition):
                    self._served[one.group, one.version, one.plural] = one
            self._known = store.served
        return self._served


def _served(resource: Resource[Any], rules: Rules, definition: JSON | None) -> Iterator[Served]:
    names = definition["names"] if definition else {}
    one = Served(
        resource=resource,
        rules=rules,
        group=resource.group,
        version=resource.version,
        singular=names.get("singular") or resource.kind.lower(),
        short=tuple(names.get("shortNames") or _SHORT.get(resource.kind, ())),
        categories=tuple(names.get("categories") or _CATEGORIES.get(resource.kind, ())),
        definition=definition,
    )
    yield one
    if resource.kind == "Event":
        yield msgspec.structs.replace(one, group=EVENTS_GROUP, version="v1")
