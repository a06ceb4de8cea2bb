"""What a DELETE does: at once, after a grace period, or when the last finalizer is gone.

Only pods have a grace period. Everything else goes at once, unless finalizers hold it; foreground
and orphan deletion are finalizers, too, which the garbage collector takes off.

Must not: delete dependents; that is the garbage collector's work.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from unmoor.model.base import JSON, Key
from unmoor.model.moment import rfc3339
from unmoor.runtime.ports import DeleteOptions
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.checks import CLEANUP
from unmoor.sim.apiserver.defaults import TERMINATION_GRACE_S
from unmoor.sim.apiserver.storage import Store, Table

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
FINALIZER_OF = {"Foreground": FOREGROUND, "Orphan": ORPHAN}
TERMINAL = ("Succeeded", "Failed")
_POLICIES = ("Foreground", "Background", "Orphan", "nil")


def options_of(body: JSON | None) -> DeleteOptions:
    """Read metav1.DeleteOptions; raises 422 for a policy that does not exist."""
    if not body:
        return DeleteOptions()
    conditions = body.get("preconditions") or {}
    propagation: Any = body.get("propagationPolicy") or ""
    if propagation not in {"", "Background", "Foreground", "Orphan"}:
        cause = status.unsupported("propagationPolicy", propagation, _POLICIES)
        details = {
            "group": "meta.k8s.io",
            "kind": "DeleteOptions",
            "causes": [cause.to_json()],
        }
        text = f'DeleteOptions.meta.k8s.io "" is invalid: {cause}'
        raise status.failure(422, "Invalid", text, details)
    return DeleteOptions(
        uid=conditions.get("uid") or "",
        resource_version=conditions.get("resourceVersion") or "",
        grace_s=body.get("gracePeriodSeconds"),
        propagation=propagation,
        dry_run="All" in (body.get("dryRun") or ()),
    )


def delete(store: Store, table: Table, key: Key, options: DeleteOptions) -> JSON:
    """Carry out a deletion; return the object as it is now, or the Status of a finished one."""
    old = table.objects.get(key)
    if old is None:
        raise status.not_found(table.resource, key[1])
    hold_preconditions(table, old, options)
    match table.resource.kind:
        case "Pod":
            return _delete_pod(store, table, key, options)
        case "CustomResourceDefinition":
            return _delete_definition(store, table, key, options)
        case "Namespace":
            return _delete_namespace(store, table, key, options)
        case _:
            return _delete_plain(store, table, key, options)


def hold_preconditions(table: Table, old: JSON, options: DeleteOptions) -> None:
    """Raise 409 when the object is not the one that is meant."""
    meta = old["metadata"]
    if options.uid and options.uid != meta["uid"]:
        text = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({meta['uid']}). The object might have been deleted and then recreated"
        )
        raise status.precondition(table.resource, meta["name"], text)
    if options.resource_version and options.resource_version != meta["resourceVersion"]:
        text = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match "
            f"the ResourceVersion in record ({meta['resourceVersion']}). The object might have "
            "been modified"
        )
        raise status.precondition(table.resource, meta["name"], text)


def _finalizers(meta: JSON, options: DeleteOptions) -> list[str]:
    """The finalizers as the propagation policy wants them."""
    now: list[str] = list(meta.get("finalizers") or ())
    if not options.propagation:
        return now
    wanted = FINALIZER_OF.get(options.propagation, "")
    kept = [one for one in now if one not in {FOREGROUND, ORPHAN} or one == wanted]
    return [*kept, wanted] if wanted and wanted not in kept else kept


def _with_finalizers(meta: JSON, finalizers: list[str]) -> JSON:
    if finalizers == (meta.get("finalizers") or []):
        return dict(meta)
    new = {name: value for name, value in meta.items() if name != "finalizers"}
    return {**new, "finalizers": finalizers} if finalizers else new


def _bump(meta: JSON) -> None:
    if meta.get("generation"):
        meta["generation"] += 1


def _delete_plain(store: Store, table: Table, key: Key, options: DeleteOptions) -> JSON:
    old = table.objects[key]
    meta = old["metadata"]
    finalizers = _finalizers(meta, options)
    new_meta = _with_finalizers(meta, finalizers)
    if not finalizers:
        if options.dry_run and "finalizers" in meta:
            # The real server rehearses this on an empty object, and shows it.
            return {"kind": old["kind"], "apiVersion": old["apiVersion"], "metadata": {}}
        return _gone(store, table, key, options)
    if "deletionTimestamp" not in meta:
        _bump(new_meta)
        new_meta["deletionTimestamp"] = store.now()
        new_meta["deletionGracePeriodSeconds"] = 0
    elif new_meta == meta:
        return old
    new = {**old, "metadata": new_meta}
    return new if options.dry_run else store.put(table, key, new)


def _delete_definition(store: Store, table: Table, key: Key, options: DeleteOptions) -> JSON:
    """A definition waits for its objects; who watches it, deletes them."""
    old = table.objects[key]
    meta = old["metadata"]
    if "deletionTimestamp" in meta:
        return old
    finalizers = _finalizers(meta, options)
    new_meta = {**meta, "deletionTimestamp": store.now()}
    new_meta["finalizers"] = finalizers if CLEANUP in finalizers else [*finalizers, CLEANUP]
    found = old["status"]
    text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    condition = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": store.now(),
        "reason": "InstanceDeletionPending",
        "message": text,
    }
    conditions = [*(found.get("conditions") or ()), condition]
    new = {**old, "metadata": new_meta, "status": {**found, "conditions": conditions}}
    return new if options.dry_run else store.put(table, key, new)


def _gone(store: Store, table: Table, key: Key, options: DeleteOptions) -> JSON:
    old = table.objects[key]
    last = old if options.dry_run else store.remove(table, key)
    if table.rules.returns_deleted:
        return last
    return status.deleted(table.resource, key[1], old["metadata"]["uid"])


def _delete_pod(store: Store, table: Table, key: Key, options: DeleteOptions) -> JSON:
    old = table.objects[key]
    meta = old["metadata"]
    grace_s = _pod_grace_s(old, options)
    if "deletionTimestamp" in meta:
        before_s = meta.get("deletionGracePeriodSeconds", 0)
        if before_s == 0:  # Only finalizers hold it, as they would anything else.
            return _delete_plain(store, table, key, options)
        if options.grace_s is None or grace_s >= before_s:
            # Longer never lengthens.
            return old
        asked = _read(meta["deletionTimestamp"]) - timedelta(seconds=before_s)
    else:
        asked = store.wall()
    finalizers = _finalizers(meta, options)
    new_meta = _with_finalizers(meta, finalizers)
    if "deletionTimestamp" not in meta:
        _bump(new_meta)
    new_meta["deletionTimestamp"] = rfc3339(asked + timedelta(seconds=grace_s))
    new_meta["deletionGracePeriodSeconds"] = grace_s
    new = {**old, "metadata": new_meta}
    if options.dry_run:
        return new
    # A pod that goes at once is told twice: as terminating, and as gone (as the real server does).
    stored = store.put(table, key, new)
    return stored if grace_s or finalizers else store.remove(table, key)


def _pod_grace_s(pod: JSON, options: DeleteOptions) -> int:
    spec = pod["spec"]
    asked = options.grace_s
    if asked is None:
        asked = spec.get("terminationGracePeriodSeconds", TERMINATION_GRACE_S)
    phase = (pod.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in TERMINAL:
        return 0
    return int(asked) if asked >= 0 else 1


def _read(timestamp: str) -> datetime:
    return datetime.fromisoformat(timestamp)


def _delete_namespace(store: Store, table: Table, key: Key, options: DeleteOptions) -> JSON:
    """A namespace waits for its content: until ``spec.finalizers`` is emptied by ``finalize``."""
    old = table.objects[key]
    meta = old["metadata"]
    if "deletionTimestamp" in meta:
        return old
    new_meta = _with_finalizers(meta, _finalizers(meta, options))
    new_meta["deletionTimestamp"] = store.now()
    new = {
        **old,
        "metadata": new_meta,
        "status": {**(old.get("status") or {}), "phase": "Terminating"},
    }
    if options.dry_run:
        return new
    stored = store.put(table, key, new)
    if (old.get("spec") or {}).get("finalizers") or new_meta.get("finalizers"):
        return stored
    return store.remove(table, key)
