"""People: whoever deletes, cordons, scales and edits in a simulated cluster, wisely or not.

Each act is one request or two to the API server, as ``kubectl`` would send it, on what is there at
that moment; what the server refuses is their problem. They stop when they are told to, and then
remove what only a person can: budgets that nothing can satisfy, and their own holds.

Must not: touch what unmoor alone writes, or know what it is going to do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from unmoor.model import kinds, names
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import Resource
from unmoor.runtime.ports import Api, ApiError, Clock, DeleteOptions
from unmoor.sim import draws, manifests
from unmoor.sim.checkers import Allowances
from unmoor.sim.draws import (
    APPS,
    BAD_SETTINGS,
    CLUSTER,
    GOOD_SETTINGS,
    NAMESPACE,
    SETTINGS_NAME,
    Draw,
)
from unmoor.sim.manifests import Manifest

MACHINES_MOST = 9
INTERFERENCE_LOOK_S = 2.0
INTERFERENCE_LOOKS = 300
"""Who waits for a command waits ten minutes at most."""
DEADLINES = {"3m": 180.0, "8m": 480.0}


class People:
    """They act until ``stop``; ``done`` counts what they did."""

    def __init__(self, api: Api, clock: Clock, draw: Draw, allowances: Allowances) -> None:
        """``allowances``: what they do to deadlines and rounds is allowed for."""
        self._api = api
        self._clock = clock
        self._draw = draw
        self._dice = Random(f"people/{draw.seed}")
        self._allowances = allowances
        self._made = 0
        self._provisioners = {one.name: one for one in draw.provisioners}
        self.done: dict[str, int] = {}
        self.cordons: set[str] = set()
        """Uids of nodes that a person has cordoned and not let go again."""
        self._allow_deadline(draw.settings.get("unmoor.drainDeadline"))

    async def run(self) -> None:
        """Act now and then, until cancelled."""
        habits = [what for what, _ in self._draw.habits]
        weights = [weight for _, weight in self._draw.habits]
        while True:
            await self._clock.sleep(self._dice.expovariate(1 / self._draw.pause_s))
            (what,) = self._dice.choices(habits, weights)
            try:
                if await ACTS[what](self):
                    self.done[what] = self.done.get(what, 0) + 1
            except ApiError:
                continue

    async def apply(self, *objects: Manifest) -> None:
        """Create objects; one that is there stays as it is."""
        for ref, body in objects:
            try:
                await self._api.create(ref, body)
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise

    async def settle(self) -> None:
        """Remove what would hold a drain for ever."""
        for budget in await self._all(kinds.BUDGETS):
            await self._delete(budget)
        for pod in await self._all(kinds.PODS):
            if pod["metadata"].get("finalizers"):
                await self._patch(pod, {"metadata": {"finalizers": None}})

    # What they can do. True when there was something to do it to.

    async def delete_node(self) -> bool:
        """``kubectl delete node``, rather one with pods on it than an empty one."""
        nodes = [n for n in await self._our_nodes() if "deletionTimestamp" not in n["metadata"]]
        used = {pod["spec"].get("nodeName") for pod in await self._all(kinds.PODS)}
        busy = [node for node in nodes if node["metadata"]["name"] in used]
        return await self._delete_one(busy if busy and self._dice.randrange(3) else nodes)

    async def delete_machine(self) -> bool:
        """``kubectl delete machine``."""
        return await self._delete_one(await self._our_machines())

    async def create_machine(self) -> bool:
        """Apply a Machine, if there is room for one."""
        if len(await self._our_machines()) >= MACHINES_MOST:
            return False
        name = f"n{self._made}"
        self._made += 1
        provisioner = self._dice.choice(sorted(self._provisioners))
        await self.apply(
            manifests.machine(name, provisioner, cluster=CLUSTER, types=self._draw.types)
        )
        return True

    async def create_bad_machine(self) -> bool:
        """Apply a Machine that cannot be launched."""
        ref, body = manifests.machine(
            f"bad{self._made}", "red", cluster=CLUSTER, types=self._draw.types
        )
        self._made += 1
        requirements: list[JSON] = body["spec"]["requirements"]
        requirements[0] = self._dice.choice(
            (
                {**requirements[0], "operator": "Near"},
                {**requirements[0], "values": ["no-such-type"]},
                {"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["lots"]},
            )
        )
        await self.apply((ref, body))
        return True

    async def scale(self) -> bool:
        """Scale a workload up or down."""
        return await self._scale_to(self._dice.randint(1, 6))

    async def scale_to_nothing(self) -> bool:
        """Scale a workload down to no pods; its nodes may be empty then."""
        return await self._scale_to(0)

    async def cordon(self) -> bool:
        """``kubectl cordon``: says nothing to a node that is cordoned already."""
        nodes = [n for n in await self._all(kinds.NODES) if not n["spec"].get("unschedulable")]
        if not nodes:
            return False
        used = {pod["spec"].get("nodeName") for pod in await self._all(kinds.PODS)}
        empty = [node for node in nodes if node["metadata"]["name"] not in used]
        node = self._dice.choice(empty if empty and self._dice.randrange(2) else nodes)
        await self._cordon(node)
        return True

    async def uncordon(self) -> bool:
        """``kubectl uncordon``, whoever has cordoned it."""
        nodes = [n for n in await self._all(kinds.NODES) if n["spec"].get("unschedulable")]
        if not nodes:
            return False
        node = self._dice.choice(nodes)
        await self._patch(node, {"spec": {"unschedulable": None}})
        self.cordons.discard(node["metadata"]["uid"])
        return True

    async def edit_settings(self) -> bool:
        """Set something, or return something to its default."""
        change: dict[str, str | None] = dict(self._dice.choice(GOOD_SETTINGS))
        if self._dice.randrange(3) == 0:
            change = dict.fromkeys(change)
        self._allow_deadline(change.get("unmoor.drainDeadline"))
        rounds = change.get("unmoor.returningPodsRounds")
        if rounds:
            self._allowances.rounds = min(self._allowances.rounds, int(rounds))
        return await self._edit(change)

    async def edit_settings_badly(self) -> bool:
        """Set something to nonsense."""
        return await self._edit(dict(self._dice.choice(BAD_SETTINGS)))

    async def remove_budget(self) -> bool:
        """Somebody gives in."""
        return await self._delete_one(await self._all(kinds.BUDGETS))

    async def create_budget(self) -> bool:
        """Protect a workload that was not protected, or once more."""
        app = f"web{self._dice.randrange(3)}"
        spec = self._dice.choice(({"maxUnavailable": 1}, {"minAvailable": "50%"}))
        await self.apply(manifests.budget(f"{app}-{self._made}", APPS, app, **spec))
        self._made += 1
        return True

    async def create_pod(self) -> bool:
        """A naked pod."""
        await self.apply(draws.naked_pod(self._dice, f"bare{self._made}"))
        self._made += 1
        return True

    async def delete_pod(self) -> bool:
        """``kubectl delete pod``."""
        return await self._delete_one(await self._all(kinds.PODS))

    async def force_pod(self) -> bool:
        """Delete a node and, at once, force its pods away; a StatefulSet's is back elsewhere."""
        ours = {node["metadata"]["name"]: node for node in await self._our_nodes()}
        pods = [p for p in await self._all(kinds.PODS) if p["spec"].get("nodeName") in ours]
        named = [pod for pod in pods if _owner_of(pod) == "StatefulSet"]
        if not pods:
            return False
        name = self._dice.choice(named or pods)["spec"]["nodeName"]
        if "deletionTimestamp" not in ours[name]["metadata"]:
            await self._delete(ours[name])
            await self._clock.sleep(self._dice.uniform(0.0, 3.0))
        for pod in (one for one in named or pods if one["spec"]["nodeName"] == name):
            await self._api.delete(_ref(pod), DeleteOptions(grace_s=0))
        return True

    async def interfere(self) -> bool:
        """Have a node that is empty, wait for a command to mark it, and change one's mind then."""
        lets_go = sorted(n for n, one in self._provisioners.items() if one.ttl_s is not None)
        if not lets_go:
            return False
        name, provisioner = f"e{self._made}", self._dice.choice(lets_go)
        self._made += 1
        await self.apply(
            manifests.machine(name, provisioner, cluster=CLUSTER, types=self._draw.types)
        )
        is_to_be_cordoned = self._dice.randrange(3) > 0
        for _ in range(INTERFERENCE_LOOKS):
            await self._clock.sleep(INTERFERENCE_LOOK_S)
            node = next((n for n in await self._our_nodes() if _machine_of(n) == name), None)
            if node is not None and "deletionTimestamp" in node["metadata"]:
                return False
            if node is not None and _mark_of(node):
                await self._clock.sleep(self._dice.uniform(0.0, 3.0))
                return await self._interfere_with(node)
            if node is not None and is_to_be_cordoned:
                await self._cordon(node)
                is_to_be_cordoned = False
        return False

    async def _cordon(self, node: JSON) -> None:
        await self._patch(node, {"spec": {"unschedulable": True}})
        self.cordons.add(node["metadata"]["uid"])

    async def _interfere_with(self, node: JSON) -> bool:
        match self._dice.randrange(4):
            case 0:
                await self._patch(node, {"spec": {"unschedulable": None}})
                self.cordons.discard(node["metadata"]["uid"])
            case 1:
                await self._api.delete(kinds.DISRUPTIONS.ref(_mark_of(node)), DeleteOptions())
            case 2:
                body = {"metadata": {"annotations": {names.DO_NOT_DISRUPT: names.TRUE}}}
                await self._patch(node, body)
            case _:
                spec = manifests.pod_spec(nodeName=node["metadata"]["name"])
                await self.apply(manifests.pod(f"late{self._made}", APPS, spec))
                self._made += 1
        return True

    async def delete_command(self) -> bool:
        """``kubectl delete disruption``."""
        return await self._delete_one(await self._all(kinds.DISRUPTIONS))

    async def protect_node(self) -> bool:
        """``karpenter.sh/do-not-disrupt``, for a while."""
        nodes = await self._our_nodes()
        if not nodes:
            return False
        node = self._dice.choice(nodes)
        is_protected = names.DO_NOT_DISRUPT in (node["metadata"].get("annotations") or {})
        value = None if is_protected else names.TRUE
        await self._patch(node, {"metadata": {"annotations": {names.DO_NOT_DISRUPT: value}}})
        return True

    async def delete_provisioner(self) -> bool:
        """The cascade, in the background or in the foreground; then the Provisioner comes back."""
        name = self._dice.choice(sorted(self._provisioners))
        background = DeleteOptions(propagation="Background")
        foreground = DeleteOptions(propagation="Foreground")
        options = self._dice.choice((background, foreground))
        await self._api.delete(kinds.PROVISIONERS.ref(name), options)
        await self._clock.sleep(self._dice.uniform(30, 600))
        await self.apply(self.provisioner(name))
        return True

    def provisioner(self, name: str) -> Manifest:
        """The manifest that people keep in their repository."""
        ttl_s = self._provisioners[name].ttl_s
        more: JSON = {} if ttl_s is None else {"ttlSecondsAfterEmpty": ttl_s}
        return manifests.provisioner(name, **more)

    async def change_ttl(self) -> bool:
        """Let empty nodes go sooner or later, where they go at all."""
        names_of = sorted(n for n, one in self._provisioners.items() if one.ttl_s is not None)
        if not names_of:
            return False
        found = await self._api.get(kinds.PROVISIONERS.ref(self._dice.choice(names_of)))
        await self._patch(found, {"spec": {"ttlSecondsAfterEmpty": self._dice.randint(0, 400)}})
        return True

    async def delete_foreign_node(self) -> bool:
        """A node that is not unmoor's: nobody may hurry it on."""
        nodes = [n for n in await self._all(kinds.NODES) if not _machine_of(n)]
        return await self._delete_one(nodes)

    async def annotate_deadline(self) -> bool:
        """Give the drain of one node an end."""
        nodes = await self._our_nodes()
        if not nodes:
            return False
        value = self._dice.choice(("240s", "900s", "later"))
        body = {"metadata": {"annotations": {names.DRAIN_DEADLINE: value}}}
        await self._patch(self._dice.choice(nodes), body)
        return True

    # How they do it.

    def _allow_deadline(self, value: str | None) -> None:
        if value not in DEADLINES and value != "10m":
            return
        deadline_s = DEADLINES.get(value or "", 600.0)
        known = self._allowances.deadline_s
        self._allowances.deadline_s = deadline_s if known is None else min(known, deadline_s)

    async def _edit(self, change: dict[str, Any]) -> bool:
        await self._api.patch(kinds.CONFIG_MAPS.ref(SETTINGS_NAME, NAMESPACE), {"data": change})
        return True

    async def _scale_to(self, replicas: int) -> bool:
        owners = [*await self._all(kinds.DEPLOYMENTS), *await self._all(kinds.STATEFUL_SETS)]
        if not owners:
            return False
        await self._patch(self._dice.choice(owners), {"spec": {"replicas": replicas}})
        return True

    async def _all(self, resource: Resource[Any]) -> list[JSON]:
        return list((await self._api.list(resource.raw())).items)

    async def _our_machines(self) -> list[JSON]:
        return [m for m in await self._all(kinds.MACHINES) if _manager_of(m) == CLUSTER]

    async def _our_nodes(self) -> list[JSON]:
        return [n for n in await self._all(kinds.NODES) if _machine_of(n)]

    async def _delete_one(self, some: list[JSON]) -> bool:
        if not some:
            return False
        await self._delete(self._dice.choice(some))
        return True

    async def _delete(self, obj: JSON) -> None:
        await self._api.delete(_ref(obj), DeleteOptions())

    async def _patch(self, obj: JSON, body: JSON) -> None:
        await self._api.patch(_ref(obj), body)


def _ref(obj: JSON) -> Ref:
    """By name, as people do."""
    meta = obj["metadata"]
    return Ref(obj["kind"], meta["name"], namespace=meta.get("namespace", ""))


def _owner_of(pod: JSON) -> str:
    owners = pod["metadata"].get("ownerReferences") or []
    return next((str(one["kind"]) for one in owners if one.get("controller")), "")


def _machine_of(node: JSON) -> str:
    owners = node["metadata"].get("ownerReferences") or []
    return next((str(one["name"]) for one in owners if one["kind"] == "Machine"), "")


def _mark_of(node: JSON) -> str:
    return str((node["metadata"].get("annotations") or {}).get(names.DISRUPTION, ""))


def _manager_of(machine: JSON) -> str:
    return str((machine["metadata"].get("annotations") or {}).get(names.MANAGED_BY, ""))


ACTS: dict[str, Callable[[People], Awaitable[bool]]] = {
    "delete a node": People.delete_node,
    "delete a machine": People.delete_machine,
    "create a machine": People.create_machine,
    "create a bad machine": People.create_bad_machine,
    "scale": People.scale,
    "scale to nothing": People.scale_to_nothing,
    "cordon": People.cordon,
    "uncordon": People.uncordon,
    "edit the settings": People.edit_settings,
    "edit the settings badly": People.edit_settings_badly,
    "remove a budget": People.remove_budget,
    "create a budget": People.create_budget,
    "create a pod": People.create_pod,
    "delete a pod": People.delete_pod,
    "force a pod": People.force_pod,
    "interfere": People.interfere,
    "delete a command": People.delete_command,
    "protect a node": People.protect_node,
    "delete a provisioner": People.delete_provisioner,
    "change a TTL": People.change_ttl,
    "delete a foreign node": People.delete_foreign_node,
    "annotate a deadline": People.annotate_deadline,
}
"""Every habit that can be drawn."""
