"""Writes the schemas of the built-in kinds: src/unmoor/sim/data/openapi.json.

Starts the real control plane (hack/controlplane/build.sh), reads its OpenAPI v3, and keeps the
schema of each built-in kind that the embedded server serves, with all that it is made of. Only
descriptions are dropped: types, defaults and the ``x-kubernetes-*`` extensions (list types, merge
keys, group, version and kind) are what the server reads.

    .venv/bin/python -m hack.openapi_extract
"""

import json
from pathlib import Path
from typing import Any

from hack.openapi_fields import GROUP_VERSION_KIND, REF, fetch
from tests.controlplane import ControlPlane
from unmoor.sim.stored import SERVED

TARGET = Path(__file__).parent.parent / "src" / "unmoor" / "sim" / "data" / "openapi.json"
MORE = {
    "api/v1": ("Binding", "Status"),
    "apis/apiextensions.k8s.io/v1": ("CustomResourceDefinition",),
    "apis/authorization.k8s.io/v1": (
        "SelfSubjectAccessReview",
        "SelfSubjectRulesReview",
    ),
    "apis/apps/v1": ("Scale",),
    "apis/events.k8s.io/v1": ("Event",),
    "apis/policy/v1": ("Eviction",),
}
"""What is served beside the kinds that a server has tables of."""


def wanted() -> dict[str, set[str]]:
    """The kinds to keep, by the path of their group and version."""
    found = {path: set(kinds) for path, kinds in MORE.items()}
    for resource in (one for one in SERVED.values() if one.is_built_in):
        prefix = "apis" if resource.group else "api"
        found.setdefault(f"{prefix}/{resource.api_version}", set()).add(resource.kind)
    return found


def bare(schema: Any) -> Any:
    """Drop descriptions, but not a field that is called so."""
    if isinstance(schema, list):
        return [bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {field: bare(one) for field, one in value.items()}
        if name == "properties"
        else bare(value)
        for name, value in schema.items()
        if name != "description" or not isinstance(value, str)
    }


def references(schema: Any) -> set[str]:
    """The names of all schemas that this one refers to."""
    if isinstance(schema, list):
        return set().union(*map(references, schema))
    if not isinstance(schema, dict):
        return set()
    found = set().union(*map(references, schema.values()))
    if isinstance(schema.get("$ref"), str):
        found.add(schema["$ref"].removeprefix(REF))
    return found


def reachable(schemas: dict[str, Any], kinds: set[str]) -> dict[str, Any]:
    """The schemas of these kinds and of their lists, and all that they are made of."""
    lists = {f"{kind}List" for kind in kinds}
    waiting = [
        name
        for name, schema in schemas.items()
        if any(one["kind"] in kinds | lists for one in schema.get(GROUP_VERSION_KIND, ()))
    ]
    found: dict[str, Any] = {}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = bare(schemas[name])
            waiting += sorted(references(found[name]))
    return found


def main() -> None:
    schemas: dict[str, Any] = {}
    with ControlPlane(components=[]) as plane:
        version = fetch(plane, "/version")["gitVersion"]
        paths = fetch(plane, "/openapi/v3")["paths"]
        for path, kinds in wanted().items():
            document = fetch(plane, paths[path]["serverRelativeURL"])
            schemas |= reachable(document["components"]["schemas"], kinds)
    lines = [
        f"{json.dumps(name)}: {json.dumps(schemas[name], separators=(',', ':'), sort_keys=True)}"
        for name in sorted(schemas)
    ]
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(
        f'{{"version": {json.dumps(version)},\n"schemas": {{\n' + ",\n".join(lines) + "\n}}\n"
    )
    print(f"{TARGET}: {len(schemas)} schemas of {version}, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
