"""What people may do to a simulated cluster: one function for each habit.

Each is one request or two, as ``kubectl`` would send it. Where there is nothing to do it to,
nothing is done.

Must not: touch what unmoor alone writes, or know what it is going to do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from unmoor.model import kinds, names
from unmoor.model.base import JSON
from unmoor.model.settings import CONFIG_MAP_NAME, NAMESPACE
from unmoor.runtime.ports import DeleteOptions
from unmoor.sim import draws, manifests
from unmoor.sim.draws import APPS, BAD_SETTINGS, CLUSTER, GOOD_SETTINGS
from unmoor.sim.person import Person, machine_of
from unmoor.sim.truth import controller_of, is_deleting, marks_of

MACHINES_MOST = 9
INTERFERENCE_LOOK_S = 2.0
INTERFERENCE_LOOKS = 300
"""Who waits for a command waits ten minutes at most."""
EMPTY_TTL = "ttlSecondsAfterEmpty"

# Nodes and machines.


async def delete_node(person: Person) -> None:
    """``kubectl delete node``, rather one with pods on it than an empty one."""
    nodes = [n for n in await person.our_nodes() if not is_deleting(n)]
    used = {pod["spec"].get("nodeName") for pod in await person.all(kinds.PODS)}
    busy = [node for node in nodes if node["metadata"]["name"] in used]
    await person.delete_one(busy if busy and person.dice.randrange(3) else nodes)


async def delete_machine(person: Person) -> None:
    """``kubectl delete machine``."""
    await person.delete_one(await person.our_machines())


async def delete_foreign_node(person: Person) -> None:
    """A node that is not unmoor's: nobody may hurry it on."""
    await person.delete_one([n for n in await person.all(kinds.NODES) if not machine_of(n)])


async def create_machine(person: Person) -> None:
    """Apply a Machine, if there is room for one."""
    if len(await person.our_machines()) < MACHINES_MOST:
        name = person.another("n")
        provisioner = person.dice.choice(sorted(person.provisioners))
        await person.apply(_machine(person, name, provisioner))


async def create_bad_machine(person: Person) -> None:
    """Apply a Machine that cannot be launched."""
    ref, body = _machine(person, person.another("bad"), "red")
    requirements: list[JSON] = body["spec"]["requirements"]
    requirements[0] = person.dice.choice(
        (
            {**requirements[0], "operator": "Near"},
            {**requirements[0], "values": ["no-such-type"]},
            {"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["lots"]},
        )
    )
    await person.apply((ref, body))


def _machine(person: Person, name: str, provisioner: str) -> manifests.Manifest:
    return manifests.machine(name, provisioner, cluster=CLUSTER, types=person.drawn.types)


async def cordon(person: Person) -> None:
    """``kubectl cordon``: says nothing to a node that is cordoned already."""
    nodes = [n for n in await person.all(kinds.NODES) if not n["spec"].get("unschedulable")]
    if nodes:
        used = {pod["spec"].get("nodeName") for pod in await person.all(kinds.PODS)}
        empty = [node for node in nodes if node["metadata"]["name"] not in used]
        node = person.dice.choice(empty if empty and person.dice.randrange(2) else nodes)
        await person.cordon(node)


async def uncordon(person: Person) -> None:
    """``kubectl uncordon``, whoever has cordoned it."""
    nodes = [n for n in await person.all(kinds.NODES) if n["spec"].get("unschedulable")]
    if nodes:
        await person.uncordon(person.dice.choice(nodes))


async def protect_node(person: Person) -> None:
    """``karpenter.sh/do-not-disrupt``, for a while."""
    nodes = await person.our_nodes()
    if nodes:
        node = person.dice.choice(nodes)
        value = None if names.DO_NOT_DISRUPT in marks_of(node) else names.TRUE
        await person.patch(node, {"metadata": {"annotations": {names.DO_NOT_DISRUPT: value}}})


async def annotate_deadline(person: Person) -> None:
    """Give the drain of one node an end."""
    nodes = await person.our_nodes()
    if nodes:
        value = person.dice.choice(("240s", "900s", "later"))
        body = {"metadata": {"annotations": {names.DRAIN_DEADLINE: value}}}
        await person.patch(person.dice.choice(nodes), body)


# Provisioners, settings and commands.


async def delete_provisioner(person: Person) -> None:
    """The cascade, in the background or in the foreground; then the Provisioner comes back."""
    name = person.dice.choice(sorted(person.provisioners))
    background = DeleteOptions(propagation="Background")
    foreground = DeleteOptions(propagation="Foreground")
    options = person.dice.choice((background, foreground))
    await person.api.delete(kinds.PROVISIONERS.ref(name), options)
    await person.clock.sleep(person.dice.uniform(30, 600))
    await person.apply(person.provisioners[name])


async def change_ttl(person: Person) -> None:
    """Let empty nodes go sooner or later, where they go at all."""
    having = person.provisioners_with(EMPTY_TTL)
    if having:
        found = await person.api.get(kinds.PROVISIONERS.ref(person.dice.choice(having)))
        await person.patch(found, {"spec": {EMPTY_TTL: person.dice.randint(0, 400)}})


async def edit_provisioner(person: Person) -> None:
    """Ask for other nodes: those that are there drift."""
    name = person.dice.choice(sorted(person.provisioners))
    found = await person.api.get(kinds.PROVISIONERS.ref(name))
    edition = str(person.dice.randint(1, 3))
    await person.patch(found, {"spec": {"annotations": {"example.org/edition": edition}}})


async def edit_settings(person: Person) -> None:
    """Set something, or return something to its default."""
    change: dict[str, str | None] = dict(person.dice.choice(GOOD_SETTINGS))
    if person.dice.randrange(3) == 0:
        change = dict.fromkeys(change)
    person.allow_deadline(change.get("unmoor.drainDeadline"))
    rounds = change.get("unmoor.returningPodsRounds")
    if rounds:
        person.allowances.rounds = min(person.allowances.rounds, int(rounds))
    await _edit(person, change)


async def edit_settings_badly(person: Person) -> None:
    """Set something to nonsense."""
    await _edit(person, dict(person.dice.choice(BAD_SETTINGS)))


async def _edit(person: Person, change: JSON) -> None:
    await person.api.patch(kinds.CONFIG_MAPS.ref(CONFIG_MAP_NAME, NAMESPACE), {"data": change})


async def delete_command(person: Person) -> None:
    """``kubectl delete disruption``."""
    await person.delete_one(await person.all(kinds.DISRUPTIONS))


async def interfere(person: Person) -> None:
    """Have a node that is empty, wait for a command to mark it, and change one's mind then."""
    having = person.provisioners_with(EMPTY_TTL)
    if not having:
        return
    provisioner, name = person.dice.choice(having), person.another("e")
    await person.apply(_machine(person, name, provisioner))
    is_to_be_cordoned = person.dice.randrange(3) > 0
    for _ in range(INTERFERENCE_LOOKS):
        await person.clock.sleep(INTERFERENCE_LOOK_S)
        node = next((n for n in await person.our_nodes() if machine_of(n) == name), None)
        if node is None:
            continue
        if is_deleting(node):
            return
        if names.DISRUPTION in marks_of(node):
            await person.clock.sleep(person.dice.uniform(0.0, 3.0))
            await _interfere_with(person, node)
            return
        if is_to_be_cordoned:
            await person.cordon(node)
            is_to_be_cordoned = False


async def _interfere_with(person: Person, node: JSON) -> None:
    match person.dice.randrange(4):
        case 0:
            await person.uncordon(node)
        case 1:
            command = marks_of(node)[names.DISRUPTION]
            await person.api.delete(kinds.DISRUPTIONS.ref(command), DeleteOptions())
        case 2:
            body = {"metadata": {"annotations": {names.DO_NOT_DISRUPT: names.TRUE}}}
            await person.patch(node, body)
        case _:
            spec = manifests.pod_spec(nodeName=node["metadata"]["name"])
            await person.apply(manifests.pod(person.another("late"), APPS, spec))


# Workloads.


async def scale(person: Person) -> None:
    """Scale a workload up or down."""
    await _scale_to(person, person.dice.randint(1, 6))


async def scale_to_nothing(person: Person) -> None:
    """Scale a workload down to no pods; its nodes may be empty then."""
    await _scale_to(person, 0)


async def _scale_to(person: Person, replicas: int) -> None:
    owners = [*await person.all(kinds.DEPLOYMENTS), *await person.all(kinds.STATEFUL_SETS)]
    if owners:
        await person.patch(person.dice.choice(owners), {"spec": {"replicas": replicas}})


async def remove_budget(person: Person) -> None:
    """Somebody gives in."""
    await person.delete_one(await person.all(kinds.BUDGETS))


async def create_budget(person: Person) -> None:
    """Protect a workload that was not protected, or once more."""
    app = f"web{person.dice.randrange(3)}"
    spec = person.dice.choice(({"maxUnavailable": 1}, {"minAvailable": "50%"}))
    await person.apply(manifests.budget(person.another(f"{app}-"), APPS, app, **spec))


async def create_pod(person: Person) -> None:
    """A naked pod."""
    await person.apply(draws.naked_pod(person.dice, person.another("bare")))


async def delete_pod(person: Person) -> None:
    """``kubectl delete pod``."""
    await person.delete_one(await person.all(kinds.PODS))


async def force_pod(person: Person) -> None:
    """Delete a node and, at once, force its pods away; a StatefulSet's is back elsewhere."""
    ours = {node["metadata"]["name"]: node for node in await person.our_nodes()}
    pods = [p for p in await person.all(kinds.PODS) if p["spec"].get("nodeName") in ours]
    named = [pod for pod in pods if controller_of(pod).get("kind") == "StatefulSet"]
    if not pods:
        return
    name = person.dice.choice(named or pods)["spec"]["nodeName"]
    if not is_deleting(ours[name]):
        await person.delete(ours[name])
        await person.clock.sleep(person.dice.uniform(0.0, 3.0))
    for pod in (one for one in named or pods if one["spec"]["nodeName"] == name):
        await person.delete(pod, DeleteOptions(grace_s=0))


ACTS: dict[str, Callable[[Person], Awaitable[None]]] = {
    "delete a node": delete_node,
    "delete a machine": delete_machine,
    "create a machine": create_machine,
    "create a bad machine": create_bad_machine,
    "scale": scale,
    "scale to nothing": scale_to_nothing,
    "cordon": cordon,
    "uncordon": uncordon,
    "edit the settings": edit_settings,
    "edit the settings badly": edit_settings_badly,
    "remove a budget": remove_budget,
    "create a budget": create_budget,
    "create a pod": create_pod,
    "delete a pod": delete_pod,
    "force a pod": force_pod,
    "interfere": interfere,
    "delete a command": delete_command,
    "protect a node": protect_node,
    "delete a provisioner": delete_provisioner,
    "change a TTL": change_ttl,
    "delete a foreign node": delete_foreign_node,
    "annotate a deadline": annotate_deadline,
    "edit a provisioner": edit_provisioner,
}
"""Every habit that can be drawn."""
