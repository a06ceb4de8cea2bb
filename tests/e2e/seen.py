"""What kube-scheduler has made of a pod, read off what the API server tells of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tests.e2e import hollow
from tests.e2e.extender import Promises
from unmoor.model.base import JSON

SETTLED_S: Final = 30.0
"""How long an answer may take; it comes within milliseconds, but on crowded machines."""
CHOSEN: Final = "volume.kubernetes.io/selected-node"
REFUSED: Final = {"Unschedulable", "SchedulingGated"}
"""Reasons why a pod is nowhere; with SchedulerError something has gone wrong and is tried again."""
NOT_YET: Final = "waiting for ephemeral volume controller"
"""A refusal that says only that kube-scheduler has not yet seen a claim that we have just made."""


class Settled(NamedTuple):
    """Where a pod is, or why nowhere."""

    node: str | None
    message: str = ""


@dataclass
class Seen:
    """Pods by uid, claims and volumes, as they have become since we look."""

    promises: Promises
    pods: dict[str, JSON] = field(default_factory=dict)
    claims: dict[str, JSON] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)
    """Claims for which kube-scheduler has taken a volume, and its name."""
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def follow(self, events: AsyncIterator[JSON]) -> None:
        """Take in what a watch says."""
        async for event in events:
            body = event["object"]
            match body["kind"]:
                case "Pod":
                    self.pods[body["metadata"]["uid"]] = body
                case "PersistentVolumeClaim":
                    self.claims[hollow.key(body)] = body
                case "PersistentVolume":
                    if claim := body["spec"].get("claimRef"):
                        where = f"{claim.get('namespace')}/{claim.get('name')}"
                        self.taken[where] = body["metadata"]["name"]
                case _:
                    raise RuntimeError(f"a watch ended: {body}")
            async with self.changed:
                self.changed.notify_all()

    async def settled(self, uid: str) -> Settled:
        """Wait until kube-scheduler has made up its mind about a pod."""
        try:
            async with asyncio.timeout(SETTLED_S), self.changed:
                while (answer := self._answer(uid)) is None:
                    await self.changed.wait()
                return answer
        except TimeoutError:
            raise TimeoutError(
                f"nothing came of it within {SETTLED_S} s: {self.pods.get(uid)}"
            ) from None

    def _answer(self, uid: str) -> Settled | None:
        pod = self.pods.get(uid)
        if pod is None:
            return None
        if node := pod["spec"].get("nodeName") or self._is_chosen_for(uid, pod):
            return Settled(node)
        for condition in pod["status"].get("conditions", ()):
            message: str = condition.get("message", "")
            reason: str = condition.get("reason", "")
            if reason in REFUSED and NOT_YET not in message:
                return Settled(None, f"{reason}: {message}")
        return None

    def _is_chosen_for(self, uid: str, pod: JSON) -> str | None:
        """The node, if only the pod's volumes are still to come.

        Two pods may wait for one volume, so that the claim alone says nothing about the second.
        """
        left = self.promises.left.get(uid, ())
        for name in _claims(pod):
            claim = self.claims.get(name, {}).get("metadata", {})
            node = claim.get("annotations", {}).get(CHOSEN)
            if node in left:
                return str(node)
            if left and name in self.taken:
                return " or ".join(left)
        return None


def _claims(pod: JSON) -> Iterator[str]:
    namespace = pod["metadata"]["namespace"]
    for name, _ in hollow.own_claims(pod):
        yield f"{namespace}/{name}"
    for volume in pod["spec"].get("volumes", ()):
        if claim := volume.get("persistentVolumeClaim"):
            yield f"{namespace}/{claim['claimName']}"
