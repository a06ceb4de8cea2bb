"""Writes which fields the real API has: tests/model/data/openapi-fields.json.

Starts the real control plane (hack/controlplane/build.sh), reads its OpenAPI, and keeps the names
of the fields of each built-in kind that we use, and of what they are made of. Descriptions and
types are dropped: the test only wants to know whether a name exists, since a name that does not
exist decodes to its default without a word.

    .venv/bin/python -m hack.openapi_fields
"""

import json
import ssl
import urllib.request
from pathlib import Path
from typing import Any

from tests import controlplane
from tests.controlplane import ControlPlane
from unmoor.model.kinds import KINDS

TARGET = Path(__file__).parent.parent / "tests" / "model" / "data" / "openapi-fields.json"
GROUP_VERSION_KIND = "x-kubernetes-group-version-kind"
REF = "#/components/schemas/"


def fetch(plane: ControlPlane, path: str) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310 - our own server
        plane.url + path, headers={"Authorization": f"Bearer {controlplane.ADMIN_TOKEN}"}
    )
    trust = ssl.create_default_context(cafile=plane.ca_file)
    with urllib.request.urlopen(request, context=trust) as response:  # noqa: S310
        answer: dict[str, Any] = json.load(response)
        return answer


def reference(schema: dict[str, Any]) -> str:
    """The schema that a field, its items or its values refer to; "" for plain values."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(REF)
    for inner in (
        *schema.get("allOf", ()),
        schema.get("items"),
        schema.get("additionalProperties"),
    ):
        if isinstance(inner, dict) and (found := reference(inner)):
            return found
    return ""


def reachable(schemas: dict[str, Any], start: str) -> dict[str, dict[str, str]]:
    """Fields, and what each refers to, of a schema and all that it is made of."""
    found: dict[str, dict[str, str]] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        properties = schemas[name].get("properties", {})
        found[name] = {field: reference(schema) for field, schema in sorted(properties.items())}
        waiting += [ref for ref in found[name].values() if ref]
    return found


def main() -> None:
    kinds: dict[str, str] = {}
    fields: dict[str, dict[str, str]] = {}
    with ControlPlane(components=[]) as plane:
        version = fetch(plane, "/version")["gitVersion"]
        paths = fetch(plane, "/openapi/v3")["paths"]
        for resource in (one for one in KINDS.values() if one.is_built_in):
            prefix = "apis" if resource.group else "api"
            document = fetch(plane, paths[f"{prefix}/{resource.api_version}"]["serverRelativeURL"])
            schemas = document["components"]["schemas"]
            identity = {
                "group": resource.group,
                "kind": resource.kind,
                "version": resource.version,
            }
            kinds[resource.kind] = next(
                name
                for name, schema in schemas.items()
                if identity in schema.get(GROUP_VERSION_KIND, ())
            )
            fields |= reachable(schemas, kinds[resource.kind])
    lines = [f"{json.dumps(name)}: {json.dumps(fields[name])}" for name in sorted(fields)]
    TARGET.write_text(
        f'{{"version": {json.dumps(version)},\n"kinds": {json.dumps(kinds, indent=1)},\n'
        '"schemas": {\n' + ",\n".join(lines) + "\n}}\n"
    )
    print(f"{TARGET}: {len(kinds)} kinds, {len(fields)} schemas of {version}")


if __name__ == "__main__":
    main()
