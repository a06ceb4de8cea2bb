"""Plain objects as our own structs, read as from the server that has them.

Done here is what a real API server and its controllers would have done to them, as far as it
matters where a pod may run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from unmoor.model.base import JSON
from unmoor.model.kinds import CLAIMS, KINDS, PODS
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View

NAME_LABEL = "kubernetes.io/metadata.name"


def view_of(objects: Iterable[JSON]) -> View:
    """What a watch would have told of these objects; kinds that we do not watch are left out."""
    known = [one for one in objects if one["kind"] in KINDS]
    return View.of(*map(read, (*known, *_missing_claims(known))))


def read(body: JSON) -> Any:
    """One object as its struct."""
    metadata = {"uid": f"uid-{body['kind']}-{body['metadata']['name']}", **body["metadata"]}
    kind = KINDS[body["kind"]]
    if kind.is_namespaced:
        metadata.setdefault("namespace", "default")
    if body["kind"] == "Namespace":
        metadata["labels"] = {NAME_LABEL: metadata["name"], **metadata.get("labels", {})}
    return msgspec.convert({**body, "metadata": metadata}, kind.type, strict=False)


def read_pod(body: JSON) -> Pod:
    """A pod."""
    found: Pod = read(body)
    return found


def own_claims(pod: JSON) -> Iterator[JSON]:
    """The claims that are made for a pod's ephemeral volumes."""
    for volume in pod["spec"].get("volumes", ()):
        if "ephemeral" in volume:
            name = f"{pod['metadata']['name']}-{volume['name']}"
            namespace = pod["metadata"].get("namespace") or "default"
            yield {
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": namespace},
                "spec": volume["ephemeral"]["volumeClaimTemplate"]["spec"],
            }


def _missing_claims(objects: Iterable[JSON]) -> Iterator[JSON]:
    """Claims of ephemeral volumes that are not told of: their controller makes them."""
    known = list(objects)
    there = {_key(one) for one in known if one["kind"] == CLAIMS.kind}
    for one in known:
        if one["kind"] == PODS.kind:
            yield from (claim for claim in own_claims(one) if _key(claim) not in there)


def _key(body: JSON) -> tuple[str, str]:
    return body["metadata"].get("namespace") or "default", body["metadata"]["name"]
