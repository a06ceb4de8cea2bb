"""What does a simulated cluster begin with? Manifests are created, what a server had is put back.

An object with a uid comes from another server's storage. It keeps its uid, times, owners and
status, so that pods stay on their nodes and with their owners. Anything else is created as by
``kubectl apply``. Nodes that no simulated machine carries are marked for the hollow kubelets.

Must not: read files, or let anybody act before everything is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from unmoor.app import manifests
from unmoor.app.cli.command import Failure
from unmoor.app.manifests import Objects
from unmoor.model import kinds, names
from unmoor.model.base import JSON, Ref
from unmoor.model.settings import CONFIG_MAP_NAME, NAMESPACE
from unmoor.runtime.ports import ApiError
from unmoor.sim.actors.kubelet import HOLLOW
from unmoor.sim.apiserver import Server, definitions
from unmoor.sim.apiserver.terms import Terms
from unmoor.sim.manifests import make, settings
from unmoor.sim.stored import SERVED

FIRST = (*manifests.FIRST, "Machine", "Node")
"""Kinds that make up the cluster; the others run on it."""
DEFINITIONS = definitions.DEFINITIONS.kind
MANAGER = "unmoor-sim"
CONFLICT = 409
OBJECTS_AT_ONCE = 100
OWNER_OF = {"Machine": "Provisioner", "ReplicaSet": "Deployment"}
"""Whose objects of a kind mostly are."""


async def load(
    server: Server, objects: Objects, *, cluster: str, notes: manifests.Notes | None = None
) -> None:
    """Store all objects; ``cluster`` is the name in the settings, unless the objects bring some.

    Raises Failure for the first that cannot be stored, with its kind, name, and file in ``notes``.
    """
    notes = notes or manifests.Notes()
    _hold_owners(objects)
    played = {ref.name for ref, _ in objects if ref.kind == kinds.INSTANCES.kind}
    everything = [*namespaces_of(objects), *objects]
    for number, (ref, body) in enumerate(
        sorted(everything, key=lambda one: one[0].kind not in FIRST)
    ):
        if number % OBJECTS_AT_ONCE == 0:
            await asyncio.sleep(0)  # whoever wants to stop is heard
        is_lonely = ref.kind == kinds.NODES.kind and ref.name not in played
        _store(server, ref, _hollow(body) if is_lonely else body, notes)
    ours = settings(CONFIG_MAP_NAME, NAMESPACE, {"aws.clusterName": cluster})
    for ref, body in (make(kinds.NAMESPACES, NAMESPACE), ours):
        if not server.has(ref):
            _store(server, ref, body, notes)


def namespaces_of(objects: Objects) -> Iterator[tuple[Ref, JSON]]:
    """Namespaces that the objects are in and do not bring along."""
    present = {ref.name for ref, _ in objects if ref.kind == kinds.NAMESPACES.kind}
    for name in sorted({ref.namespace for ref, _ in objects if ref.namespace} - present):
        yield make(kinds.NAMESPACES, name)


def _store(server: Server, ref: Ref, body: JSON, notes: manifests.Notes) -> None:
    meta = body["metadata"]
    try:
        if meta.get("uid") and ref.kind != DEFINITIONS:
            server.restore(ref, body)
            return
        meta = {name: value for name, value in meta.items() if name != "resourceVersion"}
        server.create(ref, {**body, "metadata": meta}, terms=Terms(manager=MANAGER))
    except ApiError as error:
        is_there = error.code == CONFLICT and ref.kind in {"Namespace", DEFINITIONS}
        if not is_there:
            raise Failure(f"{notes.named(ref)} cannot be loaded: {error.message}") from None


def _hollow(body: JSON) -> JSON:
    meta = body["metadata"]
    labels = {**(meta.get("labels") or {}), HOLLOW: names.TRUE}
    return {**body, "metadata": {**meta, "labels": labels}}


def _hold_owners(objects: Objects) -> None:
    """Refuse a dump that the garbage collector would eat: owners must come along, all of them."""
    there = {body["metadata"].get("uid") for _, body in objects}
    missing: dict[str, str] = {}
    for ref, body in objects:
        owners = body["metadata"].get("ownerReferences") or ()
        for owner in owners if body["metadata"].get("uid") else ():
            kind = owner.get("kind")
            if kind in SERVED and owner.get("uid") not in there:
                missing.setdefault(kind, f"{ref} belongs to {kind.lower()}/{owner.get('name')}")
    if missing:
        # An owner that is not there does not say whose it is.
        wanted = dict.fromkeys(kind for one in missing for kind in (one, OWNER_OF.get(one)) if kind)
        plurals = ",".join(SERVED[kind].plural for kind in wanted)
        raise Failure(
            f"{', '.join(missing.values())}, which {'is' if len(missing) == 1 else 'are'} not "
            f"loaded: dump all of these kinds too, with `kubectl get {plurals} -A -o json`"
        )
