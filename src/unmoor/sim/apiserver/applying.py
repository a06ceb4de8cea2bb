"""What a server-side apply does: hold its configuration, create or merge, and note who owns what.

Must not: know how fields are merged or owned; ``fields`` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unmoor.model.base import JSON, Key
from unmoor.runtime.ports import ApiError, PatchType
from unmoor.sim.apiserver import creation, ownership, scale, status
from unmoor.sim.apiserver.fields.managers import APPLY
from unmoor.sim.apiserver.fields.merging import tidied
from unmoor.sim.apiserver.forms import hold_config
from unmoor.sim.apiserver.status import Cause
from unmoor.sim.apiserver.storage import Store, Table
from unmoor.sim.apiserver.terms import Terms
from unmoor.sim.apiserver.update import Write

MANAGER_LIMIT_BYTES = 128


def hold_terms(terms: Terms, how: PatchType) -> None:
    """Raise 422 for options of a patch that contradict each other."""
    causes: list[Cause] = []
    if how != "apply" and terms.force is not None:
        text = "may not be specified for non-apply patch"
        causes.append(status.forbidden_field("force", text))
    if how == "apply" and not terms.manager:
        causes.append(status.required("fieldManager", "is required for apply patch"))
    if len(terms.manager.encode()) > MANAGER_LIMIT_BYTES:
        text = f"Too long: may not be more than {MANAGER_LIMIT_BYTES} bytes"
        causes.append(Cause("FieldValueTooLong", text, "fieldManager"))
    if causes:
        raise status.bad_options("PatchOptions", causes)


class Call:
    """One apply to one object."""

    def __init__(self, store: Store, table: Table, key: Key, terms: Terms, dry_run: bool) -> None:  # noqa: FBT001
        """Say what is applied to, and on what terms."""
        self._store, self._table, self._key = store, table, key
        self._terms, self._dry_run = terms, dry_run

    def to_subresource(
        self, door: Callable[[Table, Key, str], Write], body: Any, subresource: str
    ) -> JSON:
        """Carry it out; ``door`` opens a write to an existing object."""
        if subresource == "scale":
            return self._to_scale(door(self._table, self._key, subresource), body)
        if self._key not in self._table.objects and not subresource:
            hold_config(self._table, body, self._terms)
            return self._create(body)
        write = door(self._table, self._key, subresource)
        hold_config(self._table, body, self._terms)
        return write.apply(self._merge(write, body))

    def _merge(self, write: Write, config: JSON) -> JSON:
        write.verb = "patch"
        write.dry_run, write.terms = self._dry_run, self._terms
        terms, door = self._terms, write.door
        owning = ownership.owning_of(self._store, self._table, terms, APPLY, door)
        force = bool(terms.force)
        new, write.entries = ownership.applied(owning, write.old, config, force=force)
        return self._without_nulls(new)

    def _without_nulls(self, new: JSON) -> JSON:
        """Built-in kinds do not know nulls; custom kinds refuse them here (as the real server)."""
        table, name = self._table, self._key[1]
        if not (new.get("metadata") or {}).get("name"):
            raise _nameless(name)
        if table.schema is None:
            obj: JSON = tidied(new)
            return obj
        causes = table.schema.causes_of_nulls(new)
        if causes:
            causes += table.schema.causes(table.schema.prune(new))
            raise status.invalid(table.resource, name, *causes)
        return {**new, "metadata": tidied(new["metadata"])}

    def _create(self, config: JSON) -> JSON:
        resource, (namespace, name) = self._table.resource, self._key
        meta = config.get("metadata") or {}
        if meta.get("uid"):
            text = (
                f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing "
                "object was found"
            )
            raise status.conflict(resource, name, text)
        if not meta.get("name"):
            raise _nameless(name)
        if meta["name"] != name:
            text = f"the name of the object ({meta['name']}) does not match the name on the URL"
            raise status.bad_request(f"{text} ({name})")
        entries = ownership.of_applied(self._store, self._table, self._terms, config)
        return creation.create(
            self._store,
            self._table,
            namespace,
            config,
            dry_run=self._dry_run,
            own=lambda _body, _obj: entries,
        )

    def _to_scale(self, write: Write, body: Any) -> JSON:
        if not isinstance(body, dict) or body.get("kind") != "Scale":
            raise status.bad_request("invalid object type: the scale subresource takes a Scale")
        replicas = (body.get("spec") or {}).get("replicas")
        if replicas is None:
            return scale.scale_of(write.table, write.old)
        scale.hold_replicas(write, replicas)
        new = self._merge(write, scale.config_of(write.table, replicas))
        return scale.scale_of(write.table, write.apply(new))


def _nameless(name: str) -> ApiError:
    """400: nobody says what the object is called."""
    text = f"the name of the object ({name} based on URL) was undeterminable"
    return status.bad_request(f"{text}: name must be provided")
