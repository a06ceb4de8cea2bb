"""Who owns the fields of what is written? ``managedFields``, from the point of view of one write.

An object without entries has none, and its writes cost nothing, until somebody applies to it (as on
a real server whose object lost its entries).

Must not: store anything.
"""

from __future__ import annotations

from typing import Any

from unmoor.model.base import JSON
from unmoor.sim.apiserver import last_applied, status
from unmoor.sim.apiserver.fields import managers
from unmoor.sim.apiserver.fields.managers import APPLY, UPDATE, Identity, Keeps, Owners, Owning
from unmoor.sim.apiserver.fields.paths import Difference, Path
from unmoor.sim.apiserver.forms import shape_of
from unmoor.sim.apiserver.rules import SCALE_VERSION, Rules
from unmoor.sim.apiserver.storage import Store, Table
from unmoor.sim.apiserver.terms import Terms

UNKNOWN = "unknown"
_EACH = "*"
_BY_ADMISSION: dict[str, tuple[Path, ...]] = {
    "Pod": (
        ("f:spec", "f:tolerations"),
        ("f:spec", "f:priority"),
        ("f:spec", "f:priorityClassName"),
        ("f:spec", "f:preemptionPolicy"),
    ),
    "Node": (("f:spec", "f:taints"),),
    "Namespace": (("f:spec", "f:finalizers"),),
    "Job": (
        ("f:metadata", "f:labels"),
        ("f:spec", "f:selector"),
        ("f:spec", "f:template", "f:metadata"),
    ),
    "Service": (
        ("f:spec", "f:clusterIP"),
        ("f:spec", "f:clusterIPs"),
        ("f:spec", "f:ipFamilies"),
        ("f:spec", "f:ipFamilyPolicy"),
        ("f:spec", "f:ports", _EACH, "f:nodePort"),
    ),
}
"""What the server adds after it has noted whose fields these are: nobody owns it."""


def owning_of(
    store: Store, table: Table, terms: Terms, operation: str, subresource: str = ""
) -> Owning:
    """One write, as those who own fields see it."""
    resource = table.resource
    who = Identity(terms.manager or UNKNOWN, operation, resource.api_version, subresource)
    owning = Owning(shape_of(table), who, _keeps(table.rules, subresource), store.now())
    if table.rules.scale is not None:
        owning.replicas = tuple(f"f:{step}" for step in table.rules.scale.replicas)
    return owning


def _keeps(rules: Rules, subresource: str) -> Keeps:
    if subresource != "status":
        return (lambda path: path[0] != "f:status") if rules.has_status else (lambda _: True)
    hidden = {f"f:{field}" for field in rules.unwritten}

    def keeps(path: Path) -> bool:
        if path[0] != "f:metadata":
            return path[0] == "f:status"
        return not rules.keeps_metadata and (len(path) == 1 or path[1] not in hidden)

    return keeps


def of_created(store: Store, table: Table, terms: Terms, body: JSON, obj: JSON) -> list[JSON]:
    """The entries of a new object that was asked for as ``body``, and is now as ``obj``."""
    owning = owning_of(store, table, terms, UPDATE)
    hidden = _BY_ADMISSION.get(table.resource.kind, ())
    if hidden:
        said = Difference(owning.shape, owning.zero, _part(body, hidden)).written
        keeps, places = owning.keeps, {one[:2] for one in hidden}

        def is_hidden(path: Path) -> bool:
            return path[:2] in places and any(_begins(path, one) for one in hidden)

        owning.keeps = lambda path: keeps(path) and (path in said or not is_hidden(path))
    return managers.encode(owning.create(obj), [])


def _begins(path: Path, pattern: Path) -> bool:
    """The path is, or is below, what the pattern says."""
    return len(path) >= len(pattern) and all(
        wanted in (_EACH, part) for part, wanted in zip(path, pattern, strict=False)
    )


def _part(body: JSON, paths: tuple[Path, ...]) -> JSON:
    """What a body says about these paths, and perhaps a little more."""
    found: JSON = {}
    for section, field, *_ in paths:
        inner = body.get(section[2:])
        if isinstance(inner, dict) and field[2:] in inner:
            found.setdefault(section[2:], {})[field[2:]] = inner[field[2:]]
    return found


def of_applied(store: Store, table: Table, terms: Terms, config: JSON) -> list[JSON]:
    """The entries of an object that an apply creates."""
    owning = owning_of(store, table, terms, APPLY)
    return managers.encode(owning.apply({}, config, {}, force=True)[1], [])


def of_updated(owning: Owning, old: JSON, new: JSON, given: Any) -> list[JSON]:
    """The entries after an update, which may have brought entries of its own."""
    before: list[JSON] = old["metadata"].get("managedFields") or []
    owners = managers.decode(before) or {}
    if given is not None and given != before and not owning.identity.subresource:
        if given == [{}]:
            return []
        owners = managers.decode(given) or owners
    if owning.identity.subresource == "scale" and not _has_owner(owners, owning):
        return before
    return managers.encode(owning.update(old, new, owners), before)


def _has_owner(owners: Owners, owning: Owning) -> bool:
    return any(owning.replicas in owned.paths for owned in owners.values())


def _applied(
    owning: Owning, live: JSON, config: JSON, owners: Owners, *, force: bool
) -> tuple[JSON, Owners]:
    """What kubectl's other way of applying has said, it may say anew without a conflict."""
    try:
        return owning.apply(live, config, owners, force=force)
    except managers.Conflict as conflict:
        if owning.identity.manager != last_applied.MANAGER:
            raise
        allowed = last_applied.paths_in(owning.shape, live)
        others = {who: paths - allowed for who, paths in conflict.paths.items()}
        others = {who: paths for who, paths in others.items() if paths}
        if others:
            raise managers.Conflict(others) from conflict
        return owning.apply(live, config, owners, force=True)


def applied(owning: Owning, old: JSON, config: JSON, *, force: bool) -> tuple[JSON, list[JSON]]:
    """The object under an applied configuration, and its entries; raises 409 for a conflict."""
    meta = old["metadata"]
    before: list[JSON] = meta.get("managedFields") or []
    live = {**old, "metadata": {name: meta[name] for name in meta if name != "managedFields"}}
    owners = managers.decode(before) or {}
    if owning.identity.subresource == "scale" and not _has_owner(owners, owning):
        first = Identity(managers.BEFORE_FIRST_APPLY, UPDATE, SCALE_VERSION, "scale")
        owners[first] = managers.Owned(frozenset({owning.replicas}), owning.now)
    try:
        new, owners = _applied(owning, live, config, owners, force=force)
    except managers.Conflict as conflict:
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": field}
            for who, field in conflict.found
        ]
        raise status.failure(409, "Conflict", conflict.message, {"causes": causes}) from conflict
    if owning.identity.manager == last_applied.MANAGER:
        new = last_applied.noted(new, config)
    found = managers.encode(owners, before)
    return (old if new == live else new), found
