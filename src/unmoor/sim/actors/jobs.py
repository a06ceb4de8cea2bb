"""Jobs: pods that end, again and again until enough have succeeded or too many failed.

A pod that is deleted before it has ended counts as failed, as in a real cluster; which pods have
been counted is remembered here. Pods end by themselves when they say so (the kubelet's
``run-seconds``).

Must not: restart a pod; each try is a new one.
"""

from __future__ import annotations

from typing import Any, ClassVar

from unmoor.model.base import JSON
from unmoor.model.kinds import JOBS, PODS
from unmoor.model.moment import Moment, rfc3339
from unmoor.model.workload import Job
from unmoor.sim.actors.actor import Key, Stage
from unmoor.sim.actors.owners import OwnerActor, numbered

BACK_OFF_LIMIT = 6
"""Failures that a Job survives, unless it says otherwise (API reference: batch/v1 JobSpec)."""

_BEFORE = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}
"""What is said first of a Job that ends so."""
_REASONS = {
    "Complete": {
        "reason": "CompletionsReached",
        "message": "Reached expected number of succeeded pods",
    },
    "Failed": {
        "reason": "BackoffLimitExceeded",
        "message": "Job has reached the specified backoff limit",
    },
}


class Jobs(OwnerActor):
    """Keeps the pods of each Job and counts how they ended."""

    owner = JOBS
    kinds: ClassVar[tuple[str, ...]] = (JOBS.kind, PODS.kind)

    def __init__(self, stage: Stage) -> None:
        """Start without numbers."""
        super().__init__(stage)
        self._next: dict[str, int] = {}
        self._succeeded: dict[str, set[str]] = {}
        self._failed: dict[str, set[str]] = {}
        self._said: dict[str, JSON] = {}

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        """Count how each pod ends, seen or unseen."""
        if kind == PODS.kind:
            pod = new if new is not None else old
            controller = pod.metadata.controller if pod is not None else None
            if pod is None or controller is None or controller.kind != JOBS.kind:
                return
            if pod.status.phase == "Succeeded":
                self._succeeded.setdefault(controller.uid, set()).add(pod.uid)
            elif pod.status.phase == "Failed" or new is None:
                self._failed.setdefault(controller.uid, set()).add(pod.uid)
        super().look(kind, old, new)

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Make the next tries, or finish."""
        owner = self.store.get(JOBS, key[1], key[0])
        if owner is None or owner.is_deleting or owner.is_finished:
            return None
        spec = await self.spec_of(owner)
        completions = owner.spec.completions or 1
        succeeded = max(len(self._succeeded.get(owner.uid, ())), owner.status.succeeded)
        failed = max(len(self._failed.get(owner.uid, ())), owner.status.failed)
        if succeeded >= completions:
            await self._report(owner, succeeded, failed, moment, "Complete")
            return None
        if failed > spec.get("backoffLimit", BACK_OFF_LIMIT):
            for pod in self.pods_of(owner):
                await self.stage.delete(pod)
            await self._report(owner, succeeded, failed, moment, "Failed")
            return None
        wanted = min(owner.spec.parallelism or 1, completions - succeeded)
        for _ in range(wanted - len(self.pods_of(owner))):
            await self._add(owner, spec)
        await self._report(owner, succeeded, failed, moment)
        return None

    async def _add(self, owner: Job, spec: JSON) -> None:
        if owner.uid not in self._next:
            self._next[owner.uid] = numbered(self.store.pods_of(owner.uid))
        name = f"{owner.name}-{self._next[owner.uid]}"
        await self.make_pod(owner, name, spec["template"])
        self._next[owner.uid] += 1

    async def _report(
        self, owner: Job, succeeded: int, failed: int, moment: Moment, end: str = ""
    ) -> None:
        pods = self.pods_of(owner)
        status: JSON = {
            "terminating": self.terminating(owner),
            "uncountedTerminatedPods": {},
            "active": 0 if end else len(pods),
            "ready": sum(pod.is_ready for pod in pods),
            "succeeded": succeeded,
            "failed": failed,
        }
        now = rfc3339(moment.wall)
        before = self._said.get(owner.uid)
        if end:
            times = {"lastProbeTime": now, "lastTransitionTime": now}
            status["conditions"] = [
                {"type": one, "status": "True", **_REASONS[end], **times}
                for one in (_BEFORE[end], end)
            ]
        if end == "Complete":
            status["completionTime"] = now
        if before != status:
            await self.say(owner, status if before else {**status, "startTime": now})
            self._said[owner.uid] = status
