"""What the doors beside the main one do: binding, and a namespace's finalize.

Must not: hold the status door, which is a write like any other (``update``), scale or evictions.
"""

from __future__ import annotations

from unmoor.model.base import JSON, Key
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.conditions import with_condition
from unmoor.sim.apiserver.storage import Store, Table
from unmoor.sim.apiserver.update import Write


def bind(store: Store, key: Key, body: JSON, *, dry_run: bool = False) -> JSON:
    """POST pods/binding: put a pod on a node, which need not exist."""
    meta, target = body.get("metadata") or {}, body.get("target") or {}
    if meta.get("name") != key[1]:
        raise status.bad_request("name in URL does not match name in Binding object")
    if target.get("kind", "") not in {"", "Node"}:
        cause = status.unsupported("target.kind", target["kind"], ("Node", "<empty>"))
        raise status.failure(500, "", str(cause))
    if not target.get("name"):
        raise status.failure(500, "", str(status.required("target.name")))
    table = store.tables["Pod"]
    pod = table.objects.get(key)
    if pod is None:
        raise status.not_found(table.resource, key[1])
    _refuse(table, key, pod, meta)
    found = pod.get("status") or {}
    conditions = with_condition(found.get("conditions") or [], "PodScheduled", store.now())
    new_meta = dict(pod["metadata"])
    if meta.get("annotations"):
        new_meta["annotations"] = {**(new_meta.get("annotations") or {}), **meta["annotations"]}
    new = {
        **pod,
        "metadata": new_meta,
        "spec": {**pod["spec"], "nodeName": target["name"]},
        "status": {**found, "conditions": conditions},
    }
    if not dry_run:
        store.put(table, key, new)
    return status.success(201)


def _refuse(table: Table, key: Key, pod: JSON, meta: JSON) -> None:
    name = key[1]
    if meta.get("uid") and meta["uid"] != pod["metadata"]["uid"]:
        text = (
            f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: "
            f"{pod['metadata']['uid']}"
        )
        raise status.conflict(table.resource, name, text)
    if "deletionTimestamp" in pod["metadata"]:
        text = f"pod {name} is being deleted, cannot be assigned to a host"
        raise status.not_bindable(name, text)
    if pod["spec"].get("nodeName"):
        text = f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
        raise status.not_bindable(name, text)
    if pod["spec"].get("schedulingGates"):
        raise status.not_bindable(name, f"pod {name} has non-empty .spec.schedulingGates")


def finalize(store: Store, key: Key, body: JSON) -> JSON:
    """PUT namespaces/finalize: who has emptied a namespace lets it go."""
    table = store.tables["Namespace"]
    old = Write(store, table, key).old
    spec = {**(old.get("spec") or {}), "finalizers": (body.get("spec") or {}).get("finalizers")}
    if not spec["finalizers"]:
        del spec["finalizers"]
    new = {**old, "metadata": dict(old["metadata"]), "spec": spec}
    is_over = "deletionTimestamp" in old["metadata"] and not old["metadata"].get("finalizers")
    if is_over and "finalizers" not in spec:
        store.remove(table, key)
        return new
    return store.put(table, key, new)
