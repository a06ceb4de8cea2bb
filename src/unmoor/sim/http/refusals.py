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
    "token": "there are no tokens: nobody is held to be a ServiceAccount in a simulated cluster",
    "ephemeralcontainers": "pods cannot be debugged: containers do not run in a simulated cluster",
    "resize": "pods cannot be resized in place in a simulated cluster",
}
_PLURALS = (
    "certificatesigningrequests",
    "cronjobs",
    "endpoints",
    "endpointslices",
    "podtemplates",
    "replicationcontrollers",
)
"""Kinds that every real cluster has, and that commands create without asking whether there are."""
_GROUPS = {
    "metrics.k8s.io": "nothing is measured: there is no metrics API in a simulated cluster",
    "autoscaling": "there are no horizontal pod autoscalers in a simulated cluster; "
    "kubectl scale works",
}


def door(target: Target) -> ApiError | None:
    """Say why this door of such an object is shut; None for one that may be open."""
    text = _DOORS.get(target.subresource)
    if text is None or target.served.kind not in {"Pod", "Node", "Service", "ServiceAccount"}:
        return None
    return status.failure(405, "MethodNotAllowed", text, {"kind": target.served.plural})


def absent(parts: list[str]) -> ApiError | None:
    """Say why there is no such group or kind; None for one that nobody would expect."""
    text = _GROUPS.get(parts[1]) if parts[0] == "apis" and len(parts) > 1 else None
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[:1] == ["namespaces"]:
        rest = rest[2:]
    plural = rest[0] if rest else ""
    if text is None and plural in _PLURALS:
        text = f"there are no {plural} in a simulated cluster"
    return None if text is None else status.failure(404, "NotFound", text, {})
