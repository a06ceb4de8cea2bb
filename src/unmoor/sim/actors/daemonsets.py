"""DaemonSets: one pod on every node that would take it, bound from the start.

Room does not matter, cordons do not matter (the usual tolerations), and a pod that is deleted is
made again as long as its node is there: that is why a drain leaves these pods alone. When the
template has changed, pods are deleted as ``maxUnavailable`` allows; there is no surge.

Must not: care whether the pod starts; on a node that is silent, it will not.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from unmoor.engine import judge
from unmoor.model.base import JSON
from unmoor.model.kinds import DAEMON_SETS, NODES, PODS, REVISIONS
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.workload import DAEMON_TOLERATIONS, DaemonSet
from unmoor.sim.actors.actor import Key, Stage
from unmoor.sim.actors.owners import OwnerActor, pod_body, scaled, with_labels
from unmoor.sim.actors.revisions import MARK, Marks, Revisions


class DaemonSets(OwnerActor):
    """Keeps the pods of each DaemonSet."""

    owner = DAEMON_SETS
    kinds: ClassVar[tuple[str, ...]] = (
        DAEMON_SETS.kind,
        NODES.kind,
        PODS.kind,
        REVISIONS.kind,
    )

    def __init__(self, stage: Stage) -> None:
        """Start having said nothing."""
        super().__init__(stage)
        self._revisions = Revisions(stage, DAEMON_SETS)
        self._said: dict[str, JSON] = {}

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        """A node that comes, goes or changes concerns every DaemonSet."""
        if kind != NODES.kind:
            super().look(kind, old, new)
        elif old is None or new is None or _looks_different(old, new):
            for key in sorted(self.store.all(DAEMON_SETS)):
                self.mark(key)

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Make what is missing, delete what is in the wrong place, then say how it stands."""
        del moment
        owner = self.store.get(DAEMON_SETS, key[1], key[0])
        if owner is None or owner.is_deleting:
            return None
        spec = await self.spec_of(owner)
        marks = await self._revisions.marks(owner, spec["template"])
        template = with_labels(_tolerant(spec["template"]), {MARK: marks.newest})
        probe = msgspec.convert(
            pod_body(DAEMON_SETS, owner, "probe", template, None), Pod, strict=False
        )
        there: dict[str, list[Pod]] = {}
        for pod in self.store.pods_of(owner.uid):
            there.setdefault(pod.node_name, []).append(pod)
        desired = 0
        for node in self.store.sorted(NODES):
            is_wanted = not judge.placement_refusals(probe, node)
            desired += is_wanted
            await self._keep(owner, node, there.get(node.name, []), template if is_wanted else None)
        await self._renew(owner, spec, desired, marks)
        await self._report(owner, desired, marks)
        return None

    async def _renew(self, owner: DaemonSet, spec: JSON, desired: int, marks: Marks) -> None:
        """Delete pods of earlier templates, those that are not ready at once."""
        strategy = spec.get("updateStrategy") or {}
        rolling = strategy.get("rollingUpdate") or {}
        if strategy.get("type") == "OnDelete":
            return
        pods = self.pods_of(owner)
        may_miss = max(scaled(rolling.get("maxUnavailable", 1), desired), 1)
        missing = desired - sum(pod.is_ready for pod in pods)
        outdated = sorted(
            (pod for pod in pods if marks.is_outdated(pod)),
            key=lambda pod: (pod.is_ready, pod.name),
        )
        for pod in outdated:
            if not pod.is_ready or missing < may_miss:
                missing += pod.is_ready
                await self.stage.delete(pod)

    async def _keep(
        self, owner: DaemonSet, node: Node, there: list[Pod], template: JSON | None
    ) -> None:
        if template is not None and not there:
            more = {"nodeName": node.name}
            await self.make_pod(owner, f"{owner.name}-{node.name}", template, more)
        for pod in there:
            if not pod.is_deleting and (template is None or pod.is_terminal):
                await self.stage.delete(pod)

    async def _report(self, owner: DaemonSet, desired: int, marks: Marks) -> None:
        pods = self.pods_of(owner)
        ready = sum(pod.is_ready for pod in pods)
        status = {
            "desiredNumberScheduled": desired,
            "currentNumberScheduled": len(pods),
            "updatedNumberScheduled": sum(not marks.is_outdated(pod) for pod in pods),
            "numberMisscheduled": 0,
            "numberReady": ready,
            "numberAvailable": ready,
            "observedGeneration": owner.metadata.generation,
        }
        if self._said.get(owner.uid) != status:
            await self.say(owner, status)
            self._said[owner.uid] = status


def _looks_different(old: Node, new: Node) -> bool:
    return old.spec != new.spec or old.metadata.labels != new.metadata.labels


def _tolerant(template: JSON) -> JSON:
    spec = template.get("spec", {})
    usual = msgspec.to_builtins(DAEMON_TOLERATIONS)
    return {**template, "spec": {**spec, "tolerations": [*(spec.get("tolerations") or []), *usual]}}
