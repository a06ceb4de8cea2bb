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


def view_of(objects: Iterable[JSON], coming: Iterable[JSON] = ()) -> View:
    """What a watch would have told of these objects; kinds that we do not watch are left out.

    ``coming``: pods of which only the claims of their own volumes are there.
    """
    known = [one for one in objects if one["kind"] in KINDS]
    return View.of(*map(read, (*known, *_missing_claims(known, coming))))


def read(body: JSON) -> Any:
    """One object as its struct."""
    metadata = {"uid": uid_of(body), **body["metadata"]}
    kind = KINDS[body["kind"]]
    if kind.is_namespaced:
        metadata.setdefault("namespace", "default")
    if body["kind"] == "Namespace":
        metadata["labels"] = {NAME_LABEL: metadata["name"], **metadata.get("labels", {})}
    return msgspec.convert({**body, "metadata": metadata}, kind.type, strict=False)


def uid_of(body: JSON) -> str:
    """The uid of an object: its own, or one after its kind and name."""
    return str(body["metadata"].get("uid") or f"uid-{body['kind']}-{body['metadata']['name']}")


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
            owner = {"kind": "Pod", "name": pod["metadata"]["name"], "uid": uid_of(pod)}
            owners = [{"apiVersion": "v1", **owner, "controller": True}]
            yield {
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": namespace, "ownerReferences": owners},
                "spec": volume["ephemeral"]["volumeClaimTemplate"]["spec"],
            }


def is_made_for(claim: JSON, pod: JSON) -> bool:
    """True when a claim is controlled by the pod: it is not just called so."""
    owners = claim["metadata"].get("ownerReferences", ())
    return any(one.get("controller") and one["uid"] == uid_of(pod) for one in owners)


def _missing_claims(known: Iterable[JSON], coming: Iterable[JSON]) -> Iterator[JSON]:
    """Claims of ephemeral volumes that are not told of: their controller makes them."""
    known = list(known)
    there = {_key(one) for one in known if one["kind"] == CLAIMS.kind}
    for one in (*known, *coming):
        if one["kind"] == PODS.kind:
            yield from (claim for claim in own_claims(one) if _key(claim) not in there)


def _key(body: JSON) -> tuple[str, str]:
    return body["metadata"].get("namespace") or "default", body["metadata"]["name"]
