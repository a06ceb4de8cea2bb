"""What a person has at hand in a simulated cluster: ``kubectl``, and a memory of what was applied.

Each call is one request to the API server, on what is there at that moment; what the server refuses
is the caller's problem.

Must not: choose what to do (``acts``).
"""

from __future__ import annotations

from random import Random
from typing import Any

from unmoor.model import kinds, names
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import Resource
from unmoor.runtime.ports import Api, ApiError, Clock, DeleteOptions
from unmoor.sim.allowances import Allowances
from unmoor.sim.draws import CLUSTER, Draw
from unmoor.sim.manifests import Manifest
from unmoor.sim.truth import marks_of

DEADLINES = {"3m": 180.0, "8m": 480.0, "10m": 600.0}
"""The drain deadlines that can be read, in seconds."""


class Person:
    """Everybody who speaks to the server; ``dice`` decide what cannot be looked up."""

    def __init__(self, api: Api, clock: Clock, drawn: Draw, allowances: Allowances) -> None:
        """``allowances``: what they do to deadlines and rounds is allowed for."""
        self.api = api
        self.clock = clock
        self.drawn = drawn
        self.dice = Random(f"people/{drawn.seed}")
        self.allowances = allowances
        self.provisioners = {ref.name: (ref, body) for ref, body in drawn.provisioners}
        """The manifests that people keep in their repository."""
        self.cordons: set[str] = set()
        """Uids of nodes that a person has cordoned and not let go again."""
        self._made = 0
        self.allow_deadline(drawn.settings.get("unmoor.drainDeadline"))

    def another(self, prefix: str) -> str:
        """A name that nobody has used."""
        self._made += 1
        return f"{prefix}{self._made - 1}"

    def allow_deadline(self, value: str | None) -> None:
        """Nodes may be drained by force from now on, after that time."""
        deadline_s = DEADLINES.get(value or "")
        if deadline_s is not None:
            known = self.allowances.deadline_s
            self.allowances.deadline_s = deadline_s if known is None else min(known, deadline_s)

    def provisioners_with(self, field: str) -> list[str]:
        """The names of those that set a field of their spec."""
        return sorted(n for n, (_, body) in self.provisioners.items() if field in body["spec"])

    # Looking.

    async def all(self, resource: Resource[Any]) -> list[JSON]:
        """Every object of a kind."""
        return list((await self.api.list(resource.raw())).items)

    async def our_machines(self) -> list[JSON]:
        """The Machines of this cluster."""
        found = await self.all(kinds.MACHINES)
        return [m for m in found if marks_of(m).get(names.MANAGED_BY) == CLUSTER]

    async def our_nodes(self) -> list[JSON]:
        """The nodes that have a Machine."""
        return [node for node in await self.all(kinds.NODES) if machine_of(node)]

    # Doing.

    async def apply(self, *objects: Manifest) -> None:
        """Create objects; one that is there stays as it is."""
        for ref, body in objects:
            try:
                await self.api.create(ref, body)
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise

    async def patch(self, obj: JSON, body: JSON) -> None:
        """Merge into an object."""
        await self.api.patch(ref_of(obj), body)

    async def delete(self, obj: JSON, options: DeleteOptions = DeleteOptions()) -> None:
        """Delete an object."""
        await self.api.delete(ref_of(obj), options)

    async def delete_one(self, some: list[JSON]) -> None:
        """Delete one of several, if there is any."""
        if some:
            await self.delete(self.dice.choice(some))

    async def cordon(self, node: JSON) -> None:
        """``kubectl cordon``."""
        await self.patch(node, {"spec": {"unschedulable": True}})
        self.cordons.add(node["metadata"]["uid"])

    async def uncordon(self, node: JSON) -> None:
        """``kubectl uncordon``."""
        await self.patch(node, {"spec": {"unschedulable": None}})
        self.cordons.discard(node["metadata"]["uid"])


def ref_of(obj: JSON) -> Ref:
    """By name, as people do."""
    meta = obj["metadata"]
    return Ref(obj["kind"], meta["name"], namespace=meta.get("namespace", ""))


def machine_of(node: JSON) -> str:
    """The name of its Machine, "" when it has none."""
    owners = node["metadata"].get("ownerReferences") or []
    return next((str(one["name"]) for one in owners if one["kind"] == "Machine"), "")
