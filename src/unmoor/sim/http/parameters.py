"""What a query string says: selectors, versions, limits, options; or why it cannot be.

Must not: act on any of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from unmoor.model.base import JSON
from unmoor.runtime.ports import ApiError, DeleteOptions, Query
from unmoor.sim.apiserver import deletion, status
from unmoor.sim.apiserver.status import Cause
from unmoor.sim.apiserver.terms import Validation

MANAGER_LIMIT_CHARS = 128
INT64_MAX = 2**63 - 1
MATCHES = ("Exact", "NotOlderThan", "")
VALIDATIONS = ("", "Ignore", "Strict", "Warn")
RETRY_S = 1
_NUMBER = re.compile("[+-]?[0-9]+")


def flag(query: Mapping[str, str], name: str) -> bool:
    """A yes or no; anything that is not clearly no is a yes (as the real server reads it)."""
    return name in query and query[name].lower() not in {"false", "0"}


def number(query: Mapping[str, str], name: str) -> int | None:
    """A whole number, None when it is not given."""
    text = query.get(name, "")
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        raise status.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    value = int(text) if len(text) < 32 else INT64_MAX + 1  # noqa: PLR2004
    if abs(value) > INT64_MAX:
        raise status.bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return value


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What GET of a collection may say (API reference: metav1.ListOptions)."""

    query: Query
    is_watch: bool
    limit: int
    after: str
    version: str
    match: str
    bookmarks: bool
    initial: bool
    """Begin a watch with what there is, and say where that ends."""
    timeout_s: int | None


def list_options(query: Mapping[str, str], namespace: str, name: str = "") -> ListOptions:
    """Read and hold together what a list or a watch is asked with."""
    fields = query.get("fieldSelector", "")
    if name:
        fields = f"metadata.name={name}"
    is_watch = flag(query, "watch")
    options = ListOptions(
        query=Query(namespace=namespace, labels=query.get("labelSelector", ""), fields=fields),
        is_watch=is_watch,
        limit=max(number(query, "limit") or 0, 0),
        after=query.get("continue", ""),
        version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
        bookmarks=flag(query, "allowWatchBookmarks"),
        initial=flag(query, "sendInitialEvents"),
        timeout_s=number(query, "timeoutSeconds"),
    )
    causes = _list_causes(options, has_initial="sendInitialEvents" in query)
    if causes:
        raise _invalid("ListOptions", causes)
    return options


def _list_causes(options: ListOptions, *, has_initial: bool) -> list[Cause]:
    causes = []
    if options.match not in MATCHES:
        causes.append(status.unsupported("resourceVersionMatch", options.match, MATCHES))
    if has_initial:
        if not options.is_watch:
            text = "sendInitialEvents is forbidden for list"
            causes.append(status.forbidden_field("sendInitialEvents", text))
        elif options.match != "NotOlderThan":
            text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            causes.append(status.forbidden_field("resourceVersionMatch", text))
    elif options.match:
        if options.is_watch:
            text = (
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            )
            causes.append(status.forbidden_field("resourceVersionMatch", text))
        elif options.after:
            text = "resourceVersionMatch is forbidden when continue is provided"
            causes.append(status.forbidden_field("resourceVersionMatch", text))
        elif not options.version:
            text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            causes.append(status.forbidden_field("resourceVersionMatch", text))
        elif options.match == "Exact" and options.version == "0":
            text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            causes.append(status.forbidden_field("resourceVersionMatch", text))
    return causes


def hold_version(options: ListOptions, current: str) -> None:
    """Raise for a version that a list cannot be of: one that is no number, to come, or gone."""
    version = options.version
    if not version or options.after:
        return
    if not (version.isascii() and version.isdigit()) or int(version) > INT64_MAX:
        text = f'strconv.ParseUint: parsing "{version}": invalid syntax'
        raise status.bad_request(str(status.bad_value("resourceVersion", version, text)))
    if int(version) > int(current):
        raise too_large(version, current)
    if options.match == "Exact" and version != current:
        raise status.expired("The provided resource version is too old.")


def too_large(version: str, current: str) -> ApiError:
    """504: a version that is yet to come."""
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    text = f"Too large resource version: {version}, current: {current}"
    return status.failure(504, "Timeout", text, {"causes": [cause.to_json()]}, RETRY_S)


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a write may say (API reference: metav1.CreateOptions and its like)."""

    dry_run: bool = False
    manager: str = ""
    force: bool | None = None
    validation: Validation = "Warn"


def write_options(query: Any, what: str) -> WriteOptions:
    """Read the options of a write; ``what`` names them in refusals, as ``CreateOptions``."""
    dry = query.getall("dryRun", [])
    causes = [status.unsupported("dryRun", dry, ("All",)) for one in dry if one != "All"]
    manager = query.get("fieldManager", "")
    if len(manager) > MANAGER_LIMIT_CHARS:
        text = f"may not be more than {MANAGER_LIMIT_CHARS} bytes"
        causes.append(Cause("FieldValueTooLong", f"Too long: {text}", "fieldManager"))
    elif not manager.isprintable():
        text = "should only contain printable characters"
        causes.append(status.bad_value("fieldManager", manager, text))
    validation = query.get("fieldValidation", "")
    if validation not in VALIDATIONS:
        causes.append(status.unsupported("fieldValidation", validation, VALIDATIONS))
    if causes:
        raise _invalid(what, causes)
    return WriteOptions(
        dry_run=bool(dry),
        manager=manager,
        force=flag(query, "force") if "force" in query else None,
        validation=validation or "Warn",
    )


def delete_options(query: Any, body: Any) -> DeleteOptions:
    """Read a deletion's options from its body, or from the query when there is none."""
    if not body:
        body = _delete_body(query)
    if not isinstance(body, dict):
        raise status.bad_request("the body of a DELETE is an object: DeleteOptions")
    kind = body.get("kind") or "DeleteOptions"
    if kind != "DeleteOptions":
        text = "cannot be handled as a DeleteOptions"
        raise status.bad_request(f"converting (v1.{kind}) to (v1.DeleteOptions): {text}")
    _hold_types(body)
    dry = body.get("dryRun") or ()
    if any(one != "All" for one in dry):
        raise _invalid("DeleteOptions", [status.unsupported("dryRun", dry, ("All",))])
    orphan = body.get("orphanDependents")
    if orphan is not None:
        if body.get("propagationPolicy"):
            text = "orphanDependents and deletionPropagation cannot be both set"
            raise _invalid("DeleteOptions", [status.bad_value("propagationPolicy", "", text)])
        body = {**body, "propagationPolicy": "Orphan" if orphan else "Background"}
    return deletion.options_of(body)


def _delete_body(query: Any) -> JSON:
    body: JSON = {}
    if query.get("propagationPolicy"):
        body["propagationPolicy"] = query["propagationPolicy"]
    grace_s = number(query, "gracePeriodSeconds")
    if grace_s is not None:
        body["gracePeriodSeconds"] = grace_s
    if query.getall("dryRun", []):
        body["dryRun"] = query.getall("dryRun")
    if "orphanDependents" in query:
        body["orphanDependents"] = flag(query, "orphanDependents")
    return body


_TYPES: dict[str, type] = {
    "gracePeriodSeconds": int,
    "preconditions": dict,
    "propagationPolicy": str,
    "orphanDependents": bool,
    "dryRun": list,
}


def _hold_types(body: JSON) -> None:
    for name, wanted in _TYPES.items():
        value = body.get(name)
        is_right = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
        if value is not None and not is_right:
            text = f"json: cannot unmarshal into Go struct field DeleteOptions.{name}"
            raise status.bad_request(text)
    for name, value in (body.get("preconditions") or {}).items():
        if value is not None and not isinstance(value, str):
            text = f"json: cannot unmarshal into Go struct field Preconditions.preconditions.{name}"
            raise status.bad_request(text)


def _invalid(what: str, causes: list[Cause]) -> ApiError:
    words = [str(cause) for cause in causes]
    text = words[0] if len(words) == 1 else f"[{', '.join(words)}]"
    details = {
        "group": "meta.k8s.io",
        "kind": what,
        "causes": [cause.to_json() for cause in causes],
    }
    return status.failure(422, "Invalid", f'{what}.meta.k8s.io "" is invalid: {text}', details)
