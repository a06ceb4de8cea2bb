"""What becomes of a write to an existing object: which parts of it count, and whether it may be.

PUT and PATCH end here with the object as the client wants it; what may not change is put back or
refused, as the real server does. A write that changes nothing is no write: no version, no event.

Must not: know how the wanted object was arrived at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from unmoor.model.base import JSON, Key
from unmoor.runtime.ports import ApiError
from unmoor.sim.apiserver import checks, definition_checks, services, status
from unmoor.sim.apiserver.defaults import with_allocatable
from unmoor.sim.apiserver.fields.managers import UPDATE
from unmoor.sim.apiserver.filling import TEMPLATE_GENERATION
from unmoor.sim.apiserver.ownership import of_updated, owning_of
from unmoor.sim.apiserver.patch import is_same
from unmoor.sim.apiserver.status import Cause
from unmoor.sim.apiserver.storage import Store, Table
from unmoor.sim.apiserver.terms import PLAIN

Verb: TypeAlias = Literal["update", "patch"]

_MAPS_AND_LISTS = ("labels", "annotations", "finalizers", "ownerReferences")
_EDITABLE = ("tolerations", "activeDeadlineSeconds", "containers", "initContainers")
_GATES = "schedulingGates"
_SERVER_OWNED = ("creationTimestamp", "generation", "selfLink", "managedFields")
_PROVIDER_RULE = 'node updates may not change providerID except from "" to valid'
_POD_LIST_RULE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)


class Write:
    """One write: where it goes, what stands there, and through which door it comes."""

    __slots__ = (
        "door",
        "dry_run",
        "entries",
        "key",
        "old",
        "store",
        "subresource",
        "table",
        "terms",
        "verb",
    )

    def __init__(self, store: Store, table: Table, key: Key, verb: Verb = "update") -> None:
        """Look up what is there now; raises NotFound when there is nothing."""
        self.store = store
        self.table = table
        self.key = key
        self.verb: Verb = verb
        self.subresource = ""
        self.door = ""
        """The subresource as owners of fields name it, which knows scale as well."""
        self.terms = PLAIN
        self.entries: list[JSON] | None = None
        """The managedFields after this write, when they are known already."""
        self.dry_run = False
        old = table.objects.get(key)
        if old is None:
            raise status.not_found(table.resource, key[1])
        self.old: JSON = old

    def apply(self, wanted: JSON) -> JSON:
        """Carry it out, and return the object as it is afterwards."""
        old, table = self.old, self.table
        if wanted is old and self.entries is None:
            return old
        if table.schema is not None:
            wanted = table.schema.prune(wanted)
        elif table.fill is not None:
            wanted = table.fill(wanted, False)
        meta = self._metadata(wanted.get("metadata"))
        new = self._parts(wanted, meta)
        if self.entries is not None or "managedFields" in old["metadata"]:
            new = self._owned(new, (wanted.get("metadata") or {}).get("managedFields"))
        causes = [] if new["metadata"] is old["metadata"] else self._metadata_causes(meta)
        if self._same(new):
            if causes:
                raise status.invalid(table.resource, self.key[1], *causes)
            return old
        problem = checks.quantity_problem(table.resource, new)
        if problem:
            raise self._undecodable(problem)
        causes += checks.spec_causes(table.resource, new)
        if table.schema is not None:
            causes += table.schema.causes(new, old)
        causes += self._immutable_causes(new)
        if causes:
            raise status.invalid(table.resource, self.key[1], *causes)
        return self._commit(new)

    # ------------------------------------------------------------------------------------ metadata

    def _metadata(self, wanted: JSON | None) -> JSON:
        """The metadata after this write: what the client may say, and what only the server says."""
        old: JSON = self.old["metadata"]
        if wanted is old:
            return old
        wanted = wanted or {}
        self._hold_identity(wanted, old)
        problem = checks.type_problem(wanted)
        if problem:
            raise self._undecodable(f"json: cannot unmarshal value into Go struct field {problem}")
        has_other_uid = self._has_other_uid(wanted, old)
        rules = self.table.rules
        if self.subresource == "status" and rules.keeps_metadata:
            return old
        meta = _tidied(wanted)
        owned = ("name", "namespace", "resourceVersion", *_SERVER_OWNED)
        _put_back(owned if has_other_uid else ("uid", *owned), meta, old)
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
            if field in old and field not in meta:
                meta[field] = old[field]
        if self.subresource == "status":
            _put_back(rules.unwritten, meta, old)
        return meta

    def _hold_identity(self, wanted: JSON, old: JSON) -> None:
        """Raise when the object is another, or another version, than the client thinks."""
        name = self.key[1]
        if wanted.get("name", name) != name:
            text = f"the name of the object ({wanted['name']}) does not match the name on the URL"
            raise status.bad_request(f"{text} ({name})")
        if wanted.get("namespace", self.key[0]) != self.key[0]:
            text = "the namespace of the provided object does not match the namespace sent on the"
            raise status.bad_request(f"{text} request")
        version = wanted.get("resourceVersion") or ""
        if version and version != old["resourceVersion"]:
            raise status.conflict(self.table.resource, name)

    def _undecodable(self, problem: str) -> ApiError:
        """What the wanted object is told when it cannot be one of its kind."""
        if self.verb == "patch":
            return status.unusable_patch(problem)
        kind, version = self.table.resource.kind, self.table.resource.version
        text = f'{kind} in version "{version}" cannot be handled as a {kind}: {problem}'
        return status.bad_request(text)

    def _has_other_uid(self, meta: JSON, old: JSON) -> bool:
        if not meta.get("uid") or meta["uid"] == old["uid"]:
            return False
        if self.verb == "patch":
            return True  # A patched uid is an edit of an immutable field: told with the causes.
        text = (
            f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: "
            f"{old['uid']}"
        )
        raise status.conflict(self.table.resource, self.key[1], text)

    def _metadata_causes(self, meta: JSON) -> list[Cause]:
        old = self.old["metadata"]
        causes = self._finalizer_causes(meta)
        causes += [
            status.bad_value(f"metadata.{field}", meta[field], "field is immutable")
            for field in ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")
            if field in meta and meta[field] != old.get(field)
        ]
        rules = self.table.rules
        causes += checks.metadata_causes(self.table.resource, meta, rules.is_custom)
        return causes

    def _finalizer_causes(self, meta: JSON) -> list[Cause]:
        old = self.old["metadata"]
        known = old.get("finalizers") or ()
        added = [one for one in meta.get("finalizers") or () if one not in known]
        if "deletionTimestamp" not in old or not added:
            return []
        listed = ", ".join(f'"{one}"' for one in added)
        text = (
            "no new finalizers can be added if the object is being deleted, found new finalizers "
            f"[]string{{{listed}}}"
        )
        return [status.forbidden_field("metadata.finalizers", text)]

    def _owned(self, new: JSON, given: object) -> JSON:
        """With the managedFields that it has after this write."""
        old: JSON = self.old["metadata"]
        entries = self.entries
        if entries is None:
            owning = owning_of(self.store, self.table, self.terms, UPDATE, self.door)
            entries = of_updated(owning, self.old, new, given)
        if entries is old.get("managedFields"):
            return new
        meta = {name: value for name, value in new["metadata"].items() if name != "managedFields"}
        if entries:
            meta["managedFields"] = entries
        return {**new, "metadata": meta}

    # --------------------------------------------------------------------------------- other parts

    def _parts(self, wanted: JSON, meta: JSON) -> JSON:
        """The object after this write, from the parts that this door may write."""
        old, resource = self.old, self.table.resource
        if self.subresource == "status":
            new = {**old, "metadata": meta}
            if "status" in wanted:
                new["status"] = wanted["status"]
                if resource.kind == "Node":
                    new["status"] = with_allocatable(wanted["status"])
            else:
                new.pop("status", None)
            return new
        new = {**wanted, "metadata": meta}
        new["apiVersion"] = resource.api_version
        new["kind"] = resource.kind
        if self.table.rules.has_status:
            if "status" in old:
                new["status"] = old["status"]
            else:
                new.pop("status", None)
        spec = new.get("spec")
        if spec and None in spec.values() and not self.table.rules.is_custom:
            new["spec"] = {name: value for name, value in spec.items() if value is not None}
        return self._settled(new)

    def _settled(self, new: JSON) -> JSON:
        """With what the server itself keeps, counts or leaves out in an object of this kind."""
        old, spec = self.old, new.get("spec") or {}
        match self.table.resource.kind:
            case "Node":
                return {**new, "spec": _without_zeroes(spec)}
            case "DaemonSet":
                return {**new, "metadata": _with_template_generation(old, new)}
            case "Service":
                return services.allocated(self.table, new, old)
            case "Pod" if new.get("spec") is not old.get("spec"):
                return {**new, "spec": self._with_kept_tolerations(spec)}
            case _:
                return new

    def _with_kept_tolerations(self, spec: JSON) -> JSON:
        """Tolerations that admission has added come back by themselves."""
        before = self.old["spec"].get("tolerations") or []
        now = spec.get("tolerations") or []
        lost = [one for one in before if one not in now and one.get("tolerationSeconds") == 300]  # noqa: PLR2004
        return {**spec, "tolerations": [*now, *lost]} if lost else spec

    def _same(self, new: JSON) -> bool:
        old = self.old
        if len(new) != len(old):
            return False
        return all(
            name in old and (value is old[name] or is_same(old[name], value))
            for name, value in new.items()
        )

    def _immutable_causes(self, new: JSON) -> list[Cause]:
        if self.table.resource.kind == "CustomResourceDefinition":
            return list(definition_checks.immutable_causes(self.old, new))
        if self.table.resource.kind == "Node":
            before = (self.old.get("spec") or {}).get("providerID")
            if before and before != (new.get("spec") or {}).get("providerID"):
                return [status.forbidden_field("spec.providerID", _PROVIDER_RULE)]
        if self.table.resource.kind != "Pod" or new["spec"] is self.old["spec"]:
            return []
        if _comparable(self.old["spec"]) != _comparable(new["spec"]):
            return [status.forbidden_field("spec", _POD_LIST_RULE)]
        before = self.old["spec"].get("tolerations") or []
        if any(one not in (new["spec"].get("tolerations") or []) for one in before):
            return [status.forbidden_field("spec", _POD_LIST_RULE)]
        return list(_new_gates(self.old["spec"], new["spec"]))

    def _spec_changed(self, new: JSON) -> bool:
        old = self.old
        rules = self.table.rules
        if not rules.is_custom:
            meta, old_meta = new["metadata"], old["metadata"]
            is_annotated = meta.get("annotations") != old_meta.get("annotations")
            if rules.counts_annotations and is_annotated:
                return True
            return not is_same(old.get("spec"), new.get("spec"))
        skipped = {"metadata", "status"} if rules.has_status else {"metadata"}
        names = {**old, **new}.keys() - skipped
        return any(not is_same(old.get(name), new.get(name)) for name in names)

    # ------------------------------------------------------------------------------------- the end

    def _commit(self, new: JSON) -> JSON:
        meta = dict(new["metadata"])
        new["metadata"] = meta
        counts = self.table.rules.has_generation and self.subresource != "status"
        if counts and self._spec_changed(new):
            meta["generation"] = self.old["metadata"].get("generation", 0) + 1
        if self.dry_run:
            return new
        if self._is_over(new, meta):
            self.store.remove(self.table, self.key)
            return new
        return self.store.put(self.table, self.key, new)

    def _is_over(self, new: JSON, meta: JSON) -> bool:
        """True when this write takes the last finalizer off an object that waits for just that."""
        old = self.old["metadata"]
        return (
            "deletionTimestamp" in old
            and not meta.get("finalizers")
            and not old.get("deletionGracePeriodSeconds")
            and not (new["kind"] == "Namespace" and (new.get("spec") or {}).get("finalizers"))
        )


def _tidied(wanted: JSON) -> JSON:
    """Metadata as it is stored: without nulls and without what is empty."""
    meta = {field: value for field, value in wanted.items() if value is not None}
    for field in _MAPS_AND_LISTS:
        if field in meta and not meta[field]:
            del meta[field]
    for field in ("labels", "annotations"):
        if field in meta and None in meta[field].values():
            meta[field] = checks.without_nulls(meta[field])
    return meta


def _put_back(fields: Iterable[str], meta: JSON, old: JSON) -> None:
    """Give fields the value that they had."""
    for field in fields:
        if field in old:
            meta[field] = old[field]
        else:
            meta.pop(field, None)


def _with_template_generation(old: JSON, new: JSON) -> JSON:
    """A DaemonSet's metadata, in which the server counts how often the template has changed."""
    meta: JSON = new["metadata"]
    before = (old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    if not before.isdigit():
        return meta
    templates = [(one.get("spec") or {}).get("template") for one in (old, new)]
    count = before if is_same(*templates) else str(int(before) + 1)
    return {**meta, "annotations": {**(meta.get("annotations") or {}), TEMPLATE_GENERATION: count}}


def _without_zeroes(spec: JSON) -> JSON:
    """The real server leaves out ``unschedulable: false`` and empty lists of a node."""
    if spec.get("unschedulable") is False or spec.get("taints") == []:
        return {name: value for name, value in spec.items() if value not in (False, [])}
    return spec


def _new_gates(old: JSON, new: JSON) -> Iterable[Cause]:
    """A pod's scheduling gates may be taken away, and nothing else."""
    before = [one.get("name") for one in old.get(_GATES) or ()]
    for one in new.get(_GATES) or ():
        name = one.get("name")
        if name not in before:
            words = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield status.forbidden_field(f"spec.{_GATES}", words)


def _comparable(spec: JSON) -> JSON:
    """A pod's spec without what may be edited."""
    kept = {name: value for name, value in spec.items() if name not in _EDITABLE and name != _GATES}
    if kept.get("terminationGracePeriodSeconds", 0) < 0:
        kept["terminationGracePeriodSeconds"] = 1
    for group in ("containers", "initContainers"):
        kept[group] = [
            {name: value for name, value in one.items() if name != "image"}
            for one in spec.get(group) or ()
        ]
    return kept
