"""Does unmoor write to nothing but what is its own?

Must not: import policy or lifecycle, or write anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.sim import truth as true
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.truth import Truth
from unmoor.sim.witness import Act


def not_ours(truth: Truth, act: Act, entry: Entry) -> Iterator[str]:
    """Unmoor writes to its own nodes, machines, instances and commands, and to nothing else.

    Of a Provisioner, which is a person's, only what is for it to say.
    """
    obj = entry.old or entry.obj
    kind = obj.get("kind", "")
    match kind:
        case "Node":
            is_ours = entry.old is not None and (truth.is_ours(obj) or _is_unclaimed(truth, obj))
        case "Machine":
            is_ours = truth.is_our_machine(obj)
        case "Instance":
            is_ours = obj["spec"].get("cluster") == truth.cluster
        case "Pod":
            is_ours = obj["spec"].get("nodeName", "") in truth.going
        case "PodDisruptionBudget":
            is_ours = act.call.subresource == "eviction"
        case "Lease":
            is_ours = _is_our_lease(truth, obj)
        case "Provisioner":
            is_ours = entry.old is not None and true.asked_of(entry.old) == true.asked_of(entry.obj)
        case _:
            is_ours = kind in {"Disruption", "Event"}
    if not is_ours:
        yield f"{kind} {true.name(obj)} is none of its business"


def _is_unclaimed(truth: Truth, node: JSON) -> bool:
    """A node that nobody has said anything about, on an instance that an attempt of ours made."""
    provider_id = node["spec"].get("providerID", "")
    instance = truth.instance_of(provider_id)
    if instance is None or truth.machines_of(provider_id):
        return False
    spec, meta = instance["spec"], node["metadata"]
    is_marked = names.MANAGED_BY in true.marks_of(node) or bool(meta.get("finalizers"))
    return bool(spec.get("token")) and spec.get("cluster") == truth.cluster and not is_marked


def _is_our_lease(truth: Truth, lease: JSON) -> bool:
    if lease["metadata"].get("namespace") != names.NODE_LEASES:
        return true.name(lease) == "unmoor"
    has_owner = bool(lease["metadata"].get("ownerReferences"))
    return not has_owner and truth.get("Node", true.name(lease)) is None
