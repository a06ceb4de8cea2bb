"""How does a pod read in a line? Ready containers, the word for its state, restarts, place.

Must not: judge whether a pod is healthy; ``policy.pods`` does, by other rules.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from unmoor.model.base import JSON
from unmoor.sim.http.ages import age, since
from unmoor.sim.http.columns import NAME, NONE, Layout, name_of, part, text, wide

_TERMINAL = ("Succeeded", "Failed")


def _cells(pod: JSON, now: datetime) -> list[Any]:
    spec, found = part(pod, "spec"), part(pod, "status")
    ready, word, restarts = _Reading(pod).read(now)
    total = len(spec.get("containers") or ()) + len(_sidecars(pod))
    addresses = found.get("podIPs") or ([{"ip": found["podIP"]}] if found.get("podIP") else [])
    return [
        name_of(pod),
        f"{ready}/{total}",
        word,
        restarts,
        age(pod, now),
        addresses[0].get("ip") or NONE if addresses else NONE,
        spec.get("nodeName") or NONE,
        found.get("nominatedNodeName") or NONE,
        _gates(spec.get("readinessGates") or [], found.get("conditions") or []),
    ]


def _gates(gates: list[JSON], conditions: list[JSON]) -> str:
    if not gates:
        return NONE
    true = {one.get("type") for one in conditions if one.get("status") == "True"}
    met = sum(1 for gate in gates if gate.get("conditionType") in true)
    return f"{met}/{len(gates)}"


def _sidecars(pod: JSON) -> set[str]:
    """Init containers that keep running."""
    return {
        one.get("name", "")
        for one in part(pod, "spec", "initContainers") or ()
        if one.get("restartPolicy") == "Always"
    }


def _is_true(pod: JSON, kind: str) -> bool:
    conditions = part(pod, "status", "conditions") or []
    return any(one.get("type") == kind and one.get("status") == "True" for one in conditions)


class _Restarts:
    """How often containers began again, and when last."""

    def __init__(self) -> None:
        self.count, self.last = 0, ""

    def add(self, container: JSON) -> None:
        self.count += container.get("restartCount") or 0
        ended = part(container, "lastState", "terminated").get("finishedAt") or ""
        self.last = max(self.last, ended)

    def text(self, now: datetime) -> str:
        if self.count and self.last:
            return f"{self.count} ({since(self.last, now)} ago)"
        return str(self.count)


class _Reading:
    """One look at a pod, container by container."""

    def __init__(self, pod: JSON) -> None:
        self._pod = pod
        self._ready = 0
        self._word = ""
        self._restarts, self._sidecar_restarts = _Restarts(), _Restarts()

    def read(self, now: datetime) -> tuple[int, str, str]:
        """Ready containers, the word, and the restarts."""
        pod = self._pod
        found = part(pod, "status")
        self._word = found.get("reason") or found.get("phase") or ""
        for one in found.get("conditions") or ():
            if one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated":
                self._word = "SchedulingGated"
        if not self._is_initializing() or _is_true(pod, "Initialized"):
            self._restarts = self._sidecar_restarts
            self._read_containers()
        if "deletionTimestamp" in pod["metadata"]:
            if found.get("reason") == "NodeLost":
                self._word = "Unknown"
            elif found.get("phase") not in _TERMINAL:
                self._word = "Terminating"
        return self._ready, self._word, self._restarts.text(now)

    def _is_initializing(self) -> bool:
        sidecars = _sidecars(self._pod)
        total = len(part(self._pod, "spec", "initContainers"))
        for index, one in enumerate(part(self._pod, "status", "initContainerStatuses") or ()):
            self._restarts.add(one)
            is_sidecar = one.get("name") in sidecars
            if is_sidecar:
                self._sidecar_restarts.add(one)
            ended = part(one, "state").get("terminated")
            waits = part(one, "state", "waiting").get("reason")
            if ended is not None and not ended.get("exitCode"):
                continue
            if is_sidecar and one.get("started"):
                self._ready += 1 if one.get("ready") else 0
                continue
            if ended is not None:
                self._word = f"Init:{_end(ended)}"
            elif waits and waits != "PodInitializing":
                self._word = f"Init:{waits}"
            else:
                self._word = f"Init:{index}/{total}"
            return True
        return False

    def _read_containers(self) -> None:
        has_running = False
        for one in reversed(part(self._pod, "status", "containerStatuses") or []):
            self._restarts.add(one)
            state = part(one, "state")
            if waits := part(state, "waiting").get("reason"):
                self._word = waits
            elif state.get("terminated") is not None:
                self._word = _end(state["terminated"])
            elif one.get("ready") and state.get("running") is not None:
                has_running = True
                self._ready += 1
        if self._word == "Completed" and has_running:
            self._word = "Running" if _is_true(self._pod, "Ready") else "NotReady"


def _end(terminated: JSON) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


LAYOUT = Layout(
    (
        NAME,
        *text("Ready", "Status", "Restarts", "Age"),
        *wide("IP", "Node", "Nominated Node", "Readiness Gates"),
    ),
    _cells,
)
