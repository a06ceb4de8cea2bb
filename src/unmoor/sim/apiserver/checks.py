"""What the server refuses in an object: names, labels, and the values that people get wrong.

Few rules, each in the real server's words. Custom kinds are held to their schema elsewhere.

Must not: change an object, or look at any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from unmoor.model import quantity
from unmoor.model.base import JSON
from unmoor.model.kinds import Resource
from unmoor.sim.apiserver import definition_checks, status
from unmoor.sim.apiserver.status import Cause

NAME_LIMIT_CHARS = 253
LABEL_LIMIT_CHARS = 63
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""Holds a definition until the last object of its kind is gone."""
STANDARD_FINALIZERS = ("foregroundDeletion", "orphan", "kubernetes", CLEANUP)

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_NAME_PART_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',"
    "  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_QUANTITY_RULE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_FINALIZER_RULE = "name is neither a standard finalizer name nor is it fully qualified"


@lru_cache(maxsize=16_384)
def is_subdomain(name: str) -> bool:
    """True for a name that an object may bear."""
    return len(name) <= NAME_LIMIT_CHARS and _SUBDOMAIN.fullmatch(name) is not None


def _key_problem(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    if not _LABEL_NAME.fullmatch(name) or (slash and not is_subdomain(prefix)):
        return _NAME_PART_RULE
    if len(name) > LABEL_LIMIT_CHARS:
        return "name part must be no more than 63 bytes"
    return ""


@lru_cache(maxsize=16_384)
def _label_problem(key: str, value: str) -> Cause | None:
    problem = _key_problem(key)
    if problem:
        return status.bad_value("metadata.labels", key, problem)
    if len(value) > LABEL_LIMIT_CHARS:
        return status.bad_value("metadata.labels", value, "must be no more than 63 bytes")
    if value and not _LABEL_NAME.fullmatch(value):
        return status.bad_value("metadata.labels", value, _VALUE_RULE)
    return None


@lru_cache(maxsize=16_384)
def _annotation_problem(key: str) -> Cause | None:
    """Keys are held to the rule of labels, but the prefix may be in upper case."""
    problem = _key_problem(key.lower())
    return status.bad_value("metadata.annotations", key, problem) if problem else None


def type_problem(meta: JSON) -> str:
    """Say what in the metadata has the wrong JSON type, "" when nothing has."""
    for field in ("labels", "annotations"):
        values = meta.get(field)
        if values is not None and not isinstance(values, dict):
            return f"ObjectMeta.metadata.{field} of type map[string]string"
        for value in (values or {}).values():
            if value is not None and not isinstance(value, str):
                return f"ObjectMeta.metadata.{field} of type string"
    for field in ("finalizers", "ownerReferences"):
        if not isinstance(meta.get(field) or [], list):
            return f"ObjectMeta.metadata.{field}"
    return ""


def without_nulls(values: dict[str, str | None]) -> dict[str, str]:
    """Labels or annotations in which a null is an empty text (as the real server reads it)."""
    return {key: value or "" for key, value in values.items()}


def metadata_causes(resource: Resource[Any], meta: JSON, is_custom: bool) -> Iterator[Cause]:  # noqa: FBT001
    """What is wrong with labels, annotations, finalizers and owner references."""
    for key, value in (meta.get("labels") or {}).items():
        cause = _label_problem(key, value)
        if cause is not None:
            yield cause
    for key in meta.get("annotations") or ():
        cause = _annotation_problem(key)
        if cause is not None:
            yield cause
    if meta.get("finalizers"):
        yield from _finalizer_causes(meta["finalizers"], is_custom)
    if meta.get("ownerReferences"):
        yield from _owner_causes(resource, meta["ownerReferences"])


def _finalizer_causes(finalizers: list[str], is_custom: bool) -> Iterator[Cause]:  # noqa: FBT001
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        yield status.bad_value("metadata.finalizers", finalizers, text)
    for index, finalizer in enumerate(() if is_custom else finalizers):
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            where = f"metadata.finalizers[{index}]"
            yield status.bad_value(where, finalizer, _FINALIZER_RULE)


def _owner_causes(resource: Resource[Any], owners: list[JSON]) -> Iterator[Cause]:
    for index, owner in enumerate(owners):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                where = f"metadata.ownerReferences[{index}].{field}"
                yield status.bad_value(where, "", "must not be empty")
    if sum(1 for owner in owners if owner.get("controller")) > 1:
        yield status.bad_value(
            "metadata.ownerReferences",
            owners,
            f"Only one reference can have Controller set to true in {resource.kind}",
        )


def name_causes(name: str) -> Iterator[Cause]:
    """What is wrong with the name of a new object."""
    if not name:
        yield status.required("metadata.name", "name or generateName is required")
    elif not is_subdomain(name):
        yield status.bad_value("metadata.name", name, _SUBDOMAIN_RULE)


def path_name_causes(name: str) -> Iterator[Cause]:
    """What is wrong with the name of a new object that need only fit into a path."""
    if not name:
        yield status.required("metadata.name", "name or generateName is required")
    elif name in {".", ".."}:
        yield status.bad_value("metadata.name", name, f"may not be '{name}'")
    for sign in "/%":
        if sign in name:
            yield status.bad_value("metadata.name", name, f"may not contain '{sign}'")


def quantity_problem(resource: Resource[Any], obj: JSON) -> str:
    """Say which quantity cannot be read, "" when all can. The real server fails to decode them."""
    if resource.kind == "Node":
        found = obj.get("status") or {}
        lists = [found.get("capacity"), found.get("allocatable")]
    elif resource.kind == "Pod":
        spec = obj.get("spec") or {}
        lists = []
        for group in ("containers", "initContainers"):
            for container in spec.get(group) or ():
                wanted = container.get("resources")
                if wanted:
                    lists += [wanted.get("requests"), wanted.get("limits")]
    else:
        return ""
    for amounts in lists:
        for value in (amounts or {}).values():
            if not quantity.is_quantity(value):
                return _QUANTITY_RULE
    return ""


def spec_causes(resource: Resource[Any], obj: JSON) -> Iterator[Cause]:
    """What is wrong with the spec and status of a built-in object."""
    check = _CHECKS.get(resource.kind)
    return check(obj) if check is not None else iter(())


def _node(obj: JSON) -> Iterator[Cause]:
    seen: list[tuple[str, str]] = []
    for index, taint in enumerate((obj.get("spec") or {}).get("taints") or ()):
        # The real server says "metadata", too.
        where = f"metadata.taints[{index}]"
        key, effect = taint.get("key", ""), taint.get("effect", "")
        if not key:
            yield status.bad_value(f"{where}.key", key, "name part must be non-empty")
        if effect not in TAINT_EFFECTS:
            yield status.unsupported(f"{where}.effect", effect, TAINT_EFFECTS)
        if (key, effect) in seen:
            text = "taints must be unique by key and effect pair"
            yield Cause("FieldValueDuplicate", f"Duplicate value: {key}:{effect}: {text}", where)
        seen.append((key, effect))


def _pod(obj: JSON) -> Iterator[Cause]:
    spec = obj.get("spec") or {}
    yield from _containers("spec", spec)


def _containers(where: str, spec: JSON) -> Iterator[Cause]:
    containers = spec.get("containers")
    if not containers:
        yield status.required(f"{where}.containers")
    for index, container in enumerate(containers or ()):
        for field in ("name", "image"):
            if not container.get(field):
                yield status.required(f"{where}.containers[{index}].{field}")


def _budget(obj: JSON) -> Iterator[Cause]:
    spec = obj.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        yield status.bad_value("spec", {}, text)
    for field in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        value = (obj.get("status") or {}).get(field, 0)
        if value < 0:
            text = "must be greater than or equal to 0"
            yield status.bad_value(f"status.{field}", value, text)


def _workload(obj: JSON) -> Iterator[Cause]:
    spec = obj.get("spec") or {}
    if not spec.get("selector"):
        yield status.required("spec.selector")
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    selector = spec.get("selector")
    wanted = (selector or {}).get("matchLabels") or {}
    if selector is None or any(labels.get(key) != value for key, value in wanted.items()):
        text = "`selector` does not match template `labels`"
        yield status.bad_value("spec.template.metadata.labels", labels, text)
    yield from _containers("spec.template.spec", template.get("spec") or {})


def _job(obj: JSON) -> Iterator[Cause]:
    template = (obj.get("spec") or {}).get("template") or {}
    yield from _containers("spec.template.spec", template.get("spec") or {})


_CHECKS: dict[str, Callable[[JSON], Iterator[Cause]]] = {
    "Node": _node,
    "Pod": _pod,
    "PodDisruptionBudget": _budget,
    "Deployment": _workload,
    "ReplicaSet": _workload,
    "StatefulSet": _workload,
    "DaemonSet": _workload,
    "Job": _job,
    "CustomResourceDefinition": definition_checks.causes,
}
