"""Is room being made on a node for a pod that is not there yet?

unmoor does not place pods itself yet, so the only nomination there is is kube-scheduler's own: a
pending pod whose ``status.nominatedNodeName`` names the node. It lasts as long as the pod says so.

Must not: remember anything; when we place pods, their targets will be objects, too.
"""

from __future__ import annotations

from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View


def nominated_for(view: View, node: Node) -> Pod | None:
    """Return a pending pod that is on its way to the node, None when there is none (T114)."""
    coming = (pod for pod in view.pods_nominated_to(node.name) if not _is_over(pod))
    return next(coming, None)


def _is_over(pod: Pod) -> bool:
    return pod.is_deleting or pod.is_terminal
