"""Hollow kubelets: one actor that plays the kubelet of every simulated node.

It plays a node whose Instance is Running, and a node labelled ``sim.unmoor.dev/hollow=true``. It
registers the node when the machine has booted, makes it ready, renews its lease, starts the pods
that are bound to it, and stops those that are deleted, within their grace. When the machine dies,
or the kubelet crashes, there is silence: nothing says so, the leases just grow old. As with a real
kubelet, a node that is deleted while its machine runs does not come back by itself.

Annotations of a pod: ``sim.unmoor.dev/stop-seconds`` (how long its containers take to stop),
``run-seconds`` (they end by themselves), ``exit-code`` (how), ``ready`` ("false": never ready).

Must not: bind pods, evict, or set any taint after the registration.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from unmoor.model import names
from unmoor.model.base import JSON, condition_of
from unmoor.model.instance import InstanceType
from unmoor.model.kinds import INSTANCES, LEASES, NODES, PODS
from unmoor.model.moment import HOUR, Moment, earliest
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.runtime.ports import ApiError, PortError
from unmoor.sim.actors import hollow
from unmoor.sim.actors.actor import NOT_FOUND, Actor, Key, Seconds, Stage

HOLLOW = f"{names.SIM_GROUP}/hollow"
"""Label of a node without an Instance that is played all the same."""
STOP_SECONDS = f"{names.SIM_GROUP}/stop-seconds"
RUN_SECONDS = f"{names.SIM_GROUP}/run-seconds"
EXIT_CODE = f"{names.SIM_GROUP}/exit-code"
READY = f"{names.SIM_GROUP}/ready"

RENEW: Key = ("leases",)


class KubeletDelays(msgspec.Struct, frozen=True, kw_only=True):
    """How long things take. ``mean_h_between_crashes`` None: kubelets do not crash."""

    boot_s: Seconds = (15.0, 45.0)
    ready_s: Seconds = (5.0, 15.0)
    start_s: Seconds = (1.0, 5.0)
    stop_s: Seconds = (0.5, 5.0)
    lease_every_s: float = 10.0
    status_every_s: float = 300.0
    mean_h_between_crashes: float | None = None
    crash_s: Seconds = (10.0, 300.0)


class HollowKubelets(Actor):
    """Plays all simulated nodes. ``types``: what a machine of each instance type has."""

    kinds: ClassVar[tuple[str, ...]] = (INSTANCES.kind, NODES.kind, PODS.kind)

    def __init__(
        self,
        stage: Stage,
        types: Mapping[str, InstanceType],
        delays: KubeletDelays = KubeletDelays(),
    ) -> None:
        """Play machines of these types with these delays."""
        super().__init__(stage)
        self.types = types
        self.delays = delays
        self._registered: set[str] = set()
        self._leased: set[str] = set()
        self._beat_at: dict[str, float] = {}
        self._silent_until: dict[str, float] = {}
        self._crash_at: dict[str, float] = {}
        self._bound_at: dict[str, float] = {}
        self._stop_at: dict[str, float] = {}

    def plays(self, node_name: str) -> bool:
        """True while there is a kubelet on that node to speak."""
        silent_until = self._silent_until.get(node_name)
        if silent_until is not None and self.stage.clock.now().mono < silent_until:
            return False
        instance = self.store.get(INSTANCES, node_name)
        if instance is not None:
            return instance.status.phase == "Running"
        node = self.store.node(node_name)
        return node is not None and node.metadata.labels.get(HOLLOW) == names.TRUE

    def crash(self, node_name: str, for_s: float) -> None:
        """Silence one kubelet for a while; its containers go on."""
        self._silent_until[node_name] = self.stage.clock.now().mono + for_s
        self.mark(("node", node_name))

    def enter(self) -> None:
        """Renew leases from now on."""
        super().enter()
        self.mark(RENEW)

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        """Instances and nodes concern their node; a pod concerns itself once it is bound."""
        if kind == PODS.kind:
            self._look_at_pod(old, new)
        elif new is not None:
            self.mark(("node", new.name))
            if kind == INSTANCES.kind or old is None or old.is_ready != new.is_ready:
                for pod in self.store.pods_on(new.name):
                    self.mark(("pod", *pod.key))
        elif kind == NODES.kind and old is not None:
            self._leased.discard(old.name)
        elif old is not None:
            self._registered.discard(old.name)

    def _look_at_pod(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            if old is not None:
                self._bound_at.pop(old.uid, None)
                self._stop_at.pop(old.uid, None)
        elif new.node_name:
            self.mark(("pod", *new.key))

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Leases, a node, or a pod."""
        match key:
            case ("leases",):
                return await self._renew(moment)
            case ("node", name):
                return await self._play_node(name, moment)
            case (_, namespace, name):
                return await self._play_pod(namespace, name, moment)
            case _:
                raise AssertionError(f"no such key: {key}")

    # Leases.

    async def _renew(self, moment: Moment) -> float:
        """One wake-up for all leases; one that fails is tried again with the next."""
        nodes = [node for node in self.store.sorted(NODES) if self.plays(node.name)]
        renewal = hollow.renewal(moment.wall)
        for first in range(0, len(nodes), self.stage.at_once):
            some = nodes[first : first + self.stage.at_once]
            if len(some) == 1:
                await self._renew_one(some[0], renewal, moment)
            else:
                await asyncio.gather(*(self._renew_one(one, renewal, moment) for one in some))
        return moment.after(self.delays.lease_every_s)

    async def _renew_one(self, node: Node, renewal: JSON, moment: Moment) -> None:
        ref = LEASES.ref(node.name, names.NODE_LEASES)
        key: Key = ("lease", node.name)
        try:
            if node.name not in self._leased:
                await self._create_lease(node, moment)
                self._leased.add(node.name)
            await self.api.patch(ref, renewal)
        except PortError as error:
            self.problems[key] = str(error)
            if isinstance(error, ApiError) and error.code == NOT_FOUND:
                self._leased.discard(node.name)
        else:
            self.problems.pop(key, None)

    async def _create_lease(self, node: Node, moment: Moment) -> None:
        ref = LEASES.ref(node.name, names.NODE_LEASES)
        try:
            await self.api.create(ref, hollow.lease(node, moment.wall))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            # Left over by a node of the same name: it is ours now.
            body = hollow.lease(node, moment.wall)
            await self.api.patch(ref, {"metadata": body["metadata"], "spec": body["spec"]})

    # Nodes.

    async def _play_node(self, name: str, moment: Moment) -> float | None:
        silent_until = self._silent_until.get(name, 0.0)
        if moment.mono < silent_until:
            return silent_until
        if self._silent_until.pop(name, None) is not None:
            self.mark(RENEW)
            for pod in self.store.pods_on(name):
                self.mark(("pod", *pod.key))
        node = self.store.node(name)
        if node is None:
            return await self._register(name, moment)
        if not self.plays(name):
            return None
        self._registered.add(name)
        crash_at = self._draw_crash(node, moment)
        if crash_at is not None and crash_at <= moment.mono:
            self._crash_at.pop(node.uid)
            self.crash(name, self.stage.draw("crash", f"{name}/{crash_at}", self.delays.crash_s))
            return None
        return earliest(crash_at, await self._post_status(node, moment))

    async def _register(self, name: str, moment: Moment) -> float | None:
        instance = self.store.get(INSTANCES, name)
        if instance is None or name in self._registered or not self.plays(name):
            return None
        running_s = moment.since_s(instance.status.running_at)
        boot_s = self.stage.draw("boot", instance.uid, self.delays.boot_s)
        if running_s < boot_s:
            return moment.after(boot_s - running_s)
        body = hollow.node(instance, self.types.get(instance.spec.instance_type))
        await self.stage.create(NODES.ref(name), body)
        return None

    async def _post_status(self, node: Node, moment: Moment) -> float | None:
        ready = condition_of(node.status.conditions, "Ready")
        if ready is None:
            one = self.types.get(node.metadata.labels.get(names.INSTANCE_TYPE, ""))
            body = hollow.first_status(node.name, one, moment.wall)
            await self.stage.patch(node, body, how="strategic", subresource="status")
            self._mark_lease(node)
            return None
        if not ready.is_true:
            is_starting = ready.status == "False" and ready.message == hollow.STARTING
            if ready.status == "False" and not is_starting:
                return None  # somebody else's word, as a shutdown has it: not ours to take back
            ready_s = self.stage.draw("ready", node.uid, self.delays.ready_s)
            waited_s = moment.since_s(ready.last_transition_time)
            if is_starting and waited_s < ready_s:
                return moment.after(ready_s - waited_s)
            body = {"status": {"conditions": [hollow.ready_condition(moment.wall, is_ready=True)]}}
            await self.stage.patch(node, body, how="strategic", subresource="status")
        beat_at = self._beat_at.get(node.uid)
        if beat_at is not None and moment.mono >= beat_at:
            body = hollow.heartbeat(moment.wall)
            await self.stage.patch(node, body, how="strategic", subresource="status")
            beat_at = None
        if beat_at is None:
            beat_at = moment.after(self.delays.status_every_s)
            self._beat_at[node.uid] = beat_at
        return beat_at

    def _mark_lease(self, node: Node) -> None:
        """A new node's first lease does not wait for the others' next one."""
        if node.name not in self._leased:
            self.mark(RENEW)

    def _draw_crash(self, node: Node, moment: Moment) -> float | None:
        if self.delays.mean_h_between_crashes is None:
            return None
        crash_at = self._crash_at.get(node.uid)
        if crash_at is None:
            mean_s = self.delays.mean_h_between_crashes * HOUR
            who = f"{node.name}/{moment.mono}"
            crash_at = moment.after(self.stage.draw_life_s("crash", who, mean_s))
            self._crash_at[node.uid] = crash_at
        return crash_at

    # Pods.

    async def _play_pod(self, namespace: str, name: str, moment: Moment) -> float | None:
        pod = self.store.get(PODS, name, namespace)
        if pod is None or not pod.node_name or not self.plays(pod.node_name):
            return None
        if pod.is_deleting:
            return await self._stop(pod, moment)
        if pod.is_terminal:
            return None
        if pod.status.phase != "Running":
            return await self._start(pod, moment)
        return await self._keep_running(pod, moment)

    async def _start(self, pod: Pod, moment: Moment) -> float | None:
        node = self.store.node(pod.node_name)
        if node is None or not node.is_ready:
            return None
        bound_at = self._bound_at.setdefault(pod.uid, moment.mono)
        due = bound_at + self.stage.draw("start", pod.uid, self.delays.start_s)
        if moment.mono < due:
            return due
        is_ready = pod.metadata.annotations.get(READY) != "false"
        body = hollow.started(pod, hollow.address_of(pod), moment.wall, is_ready=is_ready)
        await self.stage.patch(pod, body, how="strategic", subresource="status")
        return None

    async def _keep_running(self, pod: Pod, moment: Moment) -> float | None:
        run_s = _seconds(pod, RUN_SECONDS)
        if run_s is not None:
            ran_s = moment.since_s(pod.status.start_time)
            if ran_s < run_s:
                return moment.after(run_s - ran_s)
            body = hollow.ended(pod, int(_seconds(pod, EXIT_CODE) or 0), moment.wall)
            await self.stage.patch(pod, body, how="strategic", subresource="status")
        elif not pod.is_ready and pod.metadata.annotations.get(READY) != "false":
            body = hollow.ready_again(moment.wall)
            await self.stage.patch(pod, body, how="strategic", subresource="status")
        return None

    async def _stop(self, pod: Pod, moment: Moment) -> float | None:
        """Containers take their time, but not longer than the grace that is left."""
        killed_at = moment.at(pod.gone_by or moment.wall)
        stop_at = self._stop_at.get(pod.uid)
        if stop_at is None:
            asked = _seconds(pod, STOP_SECONDS)
            drawn = self.stage.draw("stop", pod.uid, self.delays.stop_s)
            takes_s = drawn if asked is None else asked
            stop_at = moment.after(takes_s if pod.status.phase == "Running" else 0.0)
            self._stop_at[pod.uid] = stop_at
        due = min(stop_at, killed_at)
        if moment.mono < due:
            return due
        if not pod.is_terminal:
            is_killed = killed_at < stop_at
            code = (
                hollow.KILLED_CODE if is_killed else hollow.stopped_code(_seconds(pod, RUN_SECONDS))
            )
            body = hollow.ended(pod, code, moment.wall)
            await self.stage.patch(pod, body, how="strategic", subresource="status")
        await self.stage.delete(pod, grace_s=0)
        return None


def _seconds(pod: Pod, annotation: str) -> float | None:
    """A number in an annotation; what is no number is not there."""
    try:
        return max(float(pod.metadata.annotations[annotation]), 0.0)
    except (KeyError, ValueError):
        return None
