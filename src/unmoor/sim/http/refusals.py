"""What is asked for that a simulation cannot have? Containers, measurements, autoscalers.

Each gets a sentence that says so; nothing is imitated.

Must not: refuse what the server serves.
"""

from __future__ import annotations

from unmoor.runtime.ports import ApiError
from unmoor.sim.apiserver import status
from unmoor.sim.http.target import Target

_DOORS = {
    "log": "there are no logs: containers do not run in a simulated cluster",
    "exec": "nothing can be executed: containers do not run in a simulated cluster",
    "attach": "there is nothing to attach to: containers do not run in a simulated cluster",
    "portforward": "no port can be forwarded: containers do not run in a simulated cluster",
    "proxy": "nothing can be proxied: neither nodes nor pods have a network here",
    "ephemeralcontainers": "pods cannot be debugged: containers do not run in a simulated cluster",
    "resize": "pods cannot be resized in place in a simulated cluster",
}
_GROUPS = {
    "metrics.k8s.io": "nothing is measured: there is no metrics API in a simulated cluster",
    "autoscaling": "there are no horizontal pod autoscalers in a simulated cluster; "
    "kubectl scale works",
}


def door(target: Target) -> ApiError | None:
    """Say why this door of a pod or node is shut; None for one that may be open."""
    text = _DOORS.get(target.subresource)
    if text is None or target.served.kind not in {"Pod", "Node"}:
        return None
    return status.failure(405, "MethodNotAllowed", text, {"kind": target.served.plural})


def group(parts: list[str]) -> ApiError | None:
    """Say why there is no such group; None for one that nobody would expect."""
    text = _GROUPS.get(parts[1]) if parts[0] == "apis" and len(parts) > 1 else None
    return None if text is None else status.failure(404, "NotFound", text, {})
