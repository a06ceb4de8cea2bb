"""What the server refuses in a CustomResourceDefinition.

The rules that a definition written by hand breaks: its name, its names, its versions, a schema that
leaves the type of a field open, and rules in CEL that cannot be asked.

Must not: serve anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from unmoor.model.base import JSON
from unmoor.sim.apiserver import status, validations
from unmoor.sim.apiserver.status import Cause

SCOPES = ("Cluster", "Namespaced")
APPROVAL = "api-approved.kubernetes.io"
_LOGICAL = ("allOf", "anyOf", "oneOf")
_UNTYPED = ("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields")


def causes(obj: JSON) -> Iterator[Cause]:
    """What is wrong with a definition."""
    meta, spec = obj["metadata"], obj.get("spec") or {}
    names, group = spec.get("names") or {}, spec.get("group") or ""
    if meta.get("name") != f"{names.get('plural', '')}.{group}":
        text = 'must be spec.names.plural+"."+spec.group'
        yield status.bad_value("metadata.name", meta.get("name", ""), text)
    if not group:
        yield status.required("spec.group")
    elif _is_protected(group) and APPROVAL not in (meta.get("annotations") or {}):
        text = (
            f'protected groups must have approval annotation "{APPROVAL}", see '
            "https://github.com/kubernetes/enhancements/pull/1111"
        )
        yield status.required(f"metadata.annotations[{APPROVAL}]", text)
    if not spec.get("scope"):
        yield status.required("spec.scope")
    elif spec["scope"] not in SCOPES:
        yield status.unsupported("spec.scope", spec["scope"], SCOPES)
    yield from _version_causes(obj, spec.get("versions") or [])
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield status.required(f"spec.names.{field}")


def _is_protected(group: str) -> bool:
    return any(group == one or group.endswith(f".{one}") for one in ("k8s.io", "kubernetes.io"))


def _version_causes(obj: JSON, versions: list[JSON]) -> Iterator[Cause]:
    stored = [one for one in versions if one.get("storage")]
    if len(stored) != 1:
        text = "must have exactly one version marked as storage version"
        yield status.bad_value("spec.versions", versions or None, text)
    if not stored and not (obj.get("status") or {}).get("storedVersions"):
        text = "must have at least one stored version"
        yield status.bad_value("status.storedVersions", None, text)
    for index, version in enumerate(versions):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        where = f"spec.versions[{index}].schema.openAPIV3Schema"
        if not isinstance(schema, dict):
            yield status.required(where, "schemas are required")
            continue
        if len(versions) == 1:  # The real server reads the schema of a lone version so.
            where = "spec.validation.openAPIV3Schema"
        if not schema.get("type"):
            yield status.required(f"{where}.type", "must not be empty at the root")
        elif schema["type"] != "object":
            yield status.bad_value(f"{where}.type", schema["type"], "must be object at the root")
        yield from _schema_causes(schema, where, is_root=True)


def _schema_causes(
    schema: JSON, where: str, *, is_root: bool = False, uncorrelated: str = ""
) -> Iterator[Cause]:
    is_untyped = any(schema.get(word) for word in _UNTYPED)
    if not is_root and not schema.get("type") and not is_untyped:
        text = "must not be empty for specified object fields"
        yield status.required(f"{where}.type", text)
    yield from validations.definition_causes(schema, where, uncorrelated)
    for name, inner in (schema.get("properties") or {}).items():
        yield from _schema_causes(inner, f"{where}.properties[{name}]", uncorrelated=uncorrelated)
    if schema.get("items") and schema.get("x-kubernetes-list-type") != "map":
        uncorrelated = uncorrelated or where
    for word in ("items", "additionalProperties"):
        inner = schema.get(word)
        if isinstance(inner, dict):
            yield from _schema_causes(inner, f"{where}.{word}", uncorrelated=uncorrelated)


def immutable_causes(old: JSON, new: JSON) -> Iterator[Cause]:
    """What may not change once the kind is served."""
    conditions = (old.get("status") or {}).get("conditions") or ()
    if not any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
        return
    before, after = old["spec"], new["spec"]
    for field in ("group", "scope"):
        if before.get(field) != after.get(field):
            yield status.bad_value(f"spec.{field}", after.get(field), "field is immutable")
    if before["names"].get("kind") != (after.get("names") or {}).get("kind"):
        kind = (after.get("names") or {}).get("kind")
        yield status.bad_value("spec.names.kind", kind, "field is immutable")
