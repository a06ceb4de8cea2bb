"""Which templates has an owner had? Each is a ControllerRevision, numbered in the order of use.

A pod bears the mark of the revision that it was made of. While an owner has one revision, all its
pods are of that one, whatever their mark: a cluster that was loaded without its revisions keeps its
pods. Old revisions are kept (a real controller keeps ten).

Must not: make pods, or delete them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from unmoor.model import names
from unmoor.model.base import JSON, Object, without_nulls
from unmoor.model.kinds import REVISIONS, STATEFUL_SETS, Resource, ref_of
from unmoor.model.pod import Pod
from unmoor.model.workload import ControllerRevision
from unmoor.sim.actors.actor import Stage
from unmoor.sim.actors.owners import digest, reference

MARK = "controller-revision-hash"


class Marks(msgspec.Struct, frozen=True):
    """``newest``: what new pods are marked with. ``has_older``: there were other templates."""

    newest: str
    has_older: bool

    def is_outdated(self, pod: Pod) -> bool:
        """The pod was made of an earlier template."""
        return self.has_older and pod.metadata.labels.get(MARK, "") != self.newest


class Revisions:
    """The history of all owners of one kind."""

    def __init__(self, stage: Stage, resource: Resource[Any]) -> None:
        """Start without knowing anybody's."""
        self._stage = stage
        self._resource = resource
        self._known: dict[str, tuple[int, str]] = {}

    async def marks(self, owner: Object, template: JSON) -> Marks:
        """Write down the template if it is new or used again; return who is marked how."""
        there = {
            one.name: one
            for one in self._stage.store.all(REVISIONS).values()
            if one.metadata.controller is not None and one.metadata.controller.uid == owner.uid
        }
        name = await self._name(owner, template, there.values())
        number = max((one.revision for one in there.values()), default=0)
        current = there.pop(name, None)
        if current is None:
            body = self._body(owner, name, template, number + 1)
            await self._stage.create(REVISIONS.ref(name, owner.namespace), body)
        elif current.revision < number:
            await self._stage.patch(current, {"revision": number + 1})
        return Marks(self._mark(owner, name), has_older=bool(there))

    async def _name(
        self, owner: Object, template: JSON, there: Iterable[ControllerRevision]
    ) -> str:
        """The name of the template's revision, which another server's controller may have given."""
        known = self._known.get(owner.uid)
        if known is not None and known[0] == owner.metadata.generation:
            return known[1]
        name = f"{owner.name}-{digest(template)}"
        by_name = {one.name: one for one in there}
        if name not in by_name:
            for other in sorted(by_name):
                body = await self._stage.api.get(ref_of(by_name[other]))
                if _template_in(body) == without_nulls(template):
                    name = other
        self._known[owner.uid] = (owner.metadata.generation, name)
        return name

    def _mark(self, owner: Object, name: str) -> str:
        """StatefulSets mark pods with the name, DaemonSets with its last part."""
        return name if self._resource is STATEFUL_SETS else name.removeprefix(f"{owner.name}-")

    def _body(self, owner: Object, name: str, template: JSON, number: int) -> JSON:
        labels = (template.get("metadata") or {}).get("labels") or {}
        said = {k: v for k, v in owner.metadata.annotations.items() if k != names.LAST_APPLIED}
        return {
            "apiVersion": REVISIONS.api_version,
            "kind": REVISIONS.kind,
            "metadata": {
                "name": name,
                "namespace": owner.namespace,
                "labels": {**labels, MARK: self._mark(owner, name)},
                "annotations": said,
                "ownerReferences": [reference(self._resource, owner)],
            },
            "data": _patch(template),
            "revision": number,
        }


def _patch(template: JSON) -> JSON:
    """What brings the template back; kubectl compares it as text, so its order counts."""
    patch = {"spec": {"template": {**template, "$patch": "replace"}}}
    found: JSON = msgspec.json.decode(msgspec.json.encode(patch, order="sorted"))
    return found


def _template_in(body: JSON) -> JSON:
    template = ((body.get("data") or {}).get("spec") or {}).get("template") or {}
    found: JSON = without_nulls({k: v for k, v in template.items() if k != "$patch"})
    return found
