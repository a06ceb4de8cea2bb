"""What a checker must know of the past: what the server's objects do not say themselves.

Kept from every write to the server, whoever made it. Objects are the server's own raw JSON.

Must not: judge, or use anything of what unmoor decides by: a checker that shares a mistake with
what it checks finds nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.model.cluster import SIMULATED_SCHEME
from unmoor.model.instance import InstanceType
from unmoor.model.kinds import KINDS
from unmoor.sim.apiserver.server import Server
from unmoor.sim.apiserver.storage import Entry

TERMINAL = {"Succeeded", "Failed"}
FINAL = {"Succeeded", "Failed", "Cancelled"}


class Truth:
    """The server's state, and what has led to it."""

    def __init__(
        self,
        server: Server,
        cluster: str,
        time_s: Callable[[], float],
        types: tuple[InstanceType, ...] = (),
        is_in_stock: bool = True,  # noqa: FBT001, FBT002
    ) -> None:
        """``cluster``: whose machines are unmoor's.

        ``types``: what its cloud sells; ``is_in_stock``: and is never out of.
        """
        self.server = server
        self.types = types
        self.is_in_stock = is_in_stock
        self.cluster = cluster
        self.time_s = time_s
        self.bound_at: dict[str, float] = {}
        """When each pod was bound, by uid."""
        self.admitted: set[str] = set()
        """Pods, by uid, whose eviction the server has admitted for unmoor."""
        self.rounds: Counter[tuple[str, str]] = Counter()
        """How many pods of an owner (uid) were admitted on a node (name)."""
        self.attempts: set[str] = set()
        """Every launch token that was ever written to a Machine."""
        self.cordoned_by: dict[str, str] = {}
        """Who set the cordon that a node has now, by uid."""
        self.occupied_at: dict[str, float] = {}
        """When a pod on each node (name) last came, changed or went."""
        self.commands: Counter[str] = Counter()
        """How many commands each method has begun."""
        self.begun: dict[str, tuple[str, float]] = {}
        """Commands, by uid: which process has begun them, and when."""
        self.withdrawn: dict[str, tuple[JSON, float]] = {}
        """Commands, by uid, that a person took away too early: what each was like, and when."""
        self.ended_at: dict[str, float] = {}
        """When each command, by name, was over, or taken away."""
        self.risen: set[str] = set()
        """Machines, by uid, that were ever ready for pods."""
        self.made: dict[str, tuple[str, float]] = {}
        """Machines, by uid, that unmoor has made: which process, and when."""
        self.promised: dict[str, tuple[str, float]] = {}
        """Where each pod, by uid, was to go, and when unmoor said so last."""
        self.launched_at: dict[str, float] = {}
        """When it was known of each Machine, by uid, which instance it is."""
        self.orphaned_at: dict[str, float] = {}
        """When a Machine of an instance, by provider id, was last gone."""
        self.placeless_until: dict[str, float] = {}
        """When a pod without a place got one, went, or was deleted, by uid."""
        self.last_seen: dict[str, JSON] = {}
        """What each of them was like before."""
        self.planned: set[str] = set()
        """Machines, by uid, onto which unmoor has said that pods are to go."""
        self.room_at: dict[str, float] = {}
        """When room was made last on a node, or a machine, by name; by anything but unmoor's making
        the machine."""
        self.going: set[str] = set()
        """Names of nodes of ours that were ever deleted, or whose Machine was: the node follows it.
        Names of machines do not come twice."""
        self._typed: dict[tuple[str, str, str], tuple[JSON, Any]] = {}

    # Reading.

    def all(self, kind: str) -> Iterator[JSON]:
        """Every object of a kind, in the order of their creation."""
        yield from self.server.store.tables[kind].objects.values()

    def get(self, kind: str, name: str, namespace: str = "") -> JSON | None:
        """One object."""
        return self.server.store.tables[kind].objects.get((namespace, name))

    def typed(self, body: JSON) -> Any:
        """One of the server's objects as the model knows it, read once for each of its versions."""
        meta = body["metadata"]
        where = (body["kind"], meta.get("namespace", ""), meta["name"])
        known = self._typed.get(where)
        if known is None or known[0] is not body:
            known = self._typed[where] = (body, typed(body))
        return known[1]

    def now(self) -> datetime:
        """True time."""
        return self.server.store.wall()

    def pods_on(self, node: str) -> list[JSON]:
        """The pods that are bound to a node."""
        return [pod for pod in self.all("Pod") if pod["spec"].get("nodeName") == node]

    def machines_of(self, provider_id: str) -> list[JSON]:
        """The Machines that name an instance."""
        if not provider_id:
            return []
        return [
            one
            for one in self.all("Machine")
            if (one.get("status") or {}).get("providerID") == provider_id
        ]

    def provisioner_of(self, node: JSON) -> JSON | None:
        """The Provisioner that a node names."""
        labels = node["metadata"].get("labels") or {}
        return self.get("Provisioner", labels.get(names.PROVISIONER_NAME, ""))

    def instance_of(self, provider_id: str) -> JSON | None:
        """The instance behind a provider id."""
        return self.get("Instance", provider_id.rpartition("/")[2]) if provider_id else None

    def is_ours(self, node: JSON) -> bool:
        """Decisions, "Ours": every Machine of it names this cluster, or it has none and does."""
        provider_id = node["spec"].get("providerID", "")
        if not provider_id.startswith(f"{SIMULATED_SCHEME}://"):
            return False
        machines = self.machines_of(provider_id)
        if machines:
            return all(self.is_our_machine(one) for one in machines)
        return bool(marks_of(node).get(names.MANAGED_BY) == self.cluster)

    def is_our_machine(self, machine: JSON) -> bool:
        """It names this cluster, and is of our cloud or of none yet."""
        provider_id = (machine.get("status") or {}).get("providerID", "")
        is_our_cloud = not provider_id or provider_id.startswith(f"{SIMULATED_SCHEME}://")
        return is_our_cloud and marks_of(machine).get(names.MANAGED_BY) == self.cluster

    def without_place(self, lately_s: float) -> list[str]:
        """The pods, by uid, that have no place, will lose it, or had none ``lately_s`` ago."""
        found = [uid(pod) for pod in self.all("Pod") if self._is_placeless(pod)]
        lately = self.time_s() - lately_s
        found += [one for one, until in self.placeless_until.items() if until >= lately]
        return sorted(set(found))

    def placeless(self, lately_s: float) -> list[JSON]:
        """Return the pods of :meth:`without_place`, as they are or were."""
        now = [pod for pod in self.all("Pod") if self._is_placeless(pod)]
        lately = self.time_s() - lately_s
        there = {uid(pod) for pod in now}
        before = [
            self.last_seen[one]
            for one, until in self.placeless_until.items()
            if until >= lately and one not in there
        ]
        return [*now, *before]

    def is_news(self, command: JSON, who: str, lately_s: float) -> bool:
        """Tell whether another process than ``who`` has begun a command that lately."""
        by, at = self.begun.get(uid(command), (who, 0.0))
        return by != who and at > self.time_s() - lately_s

    def commands_since(self, lately_s: float) -> list[JSON]:
        """Return the commands that are not over, or that a person took away that lately."""
        lately = self.time_s() - lately_s
        active = [one for one in self.all("Disruption") if is_active(one)]
        return [*active, *(one for one, at in self.withdrawn.values() if at >= lately)]

    def _is_placeless(self, pod: JSON) -> bool:
        if not is_workload(pod) or is_deleting(pod):
            return False
        node = pod["spec"].get("nodeName", "")
        return node in self.going if node else has_found_no_place(pod)

    # Remembering.

    def note(self, entry: Entry, who: str) -> None:
        """Take a write. ``who``: "" for everybody but unmoor."""
        kind = entry.obj.get("kind")
        if self._makes_room(entry, who):
            obj = entry.obj
            where = obj["spec"]["nodeName"] if obj["kind"] == "Pod" else name(obj)
            self.room_at[where] = self.time_s()
        if kind == "Pod":
            self._note_pod(entry)
        elif kind == "Node":
            self._note_node(entry, who)
        elif kind == "Machine":
            self._note_machine(entry, who)
        elif kind == "Disruption":
            self._note_command(entry, who)

    def _makes_room(self, entry: Entry, who: str) -> bool:
        old, new = entry.old, entry.obj
        match new.get("kind"):
            case "Pod":
                node = new["spec"].get("nodeName", "")
                is_leaving = entry.type == "DELETED" or is_deleting(new) or not is_workload(new)
                return bool(node) and node not in self.going and is_leaving
            case "Node":
                return entry.type != "DELETED" and (old is None or room_of(old) != room_of(new))
            case "Machine":
                if old is None:
                    return not who
                return (old.get("status") or {}) != (new.get("status") or {})
            case _:
                return False

    def _note_pod(self, entry: Entry) -> None:
        pod = entry.obj
        node = pod["spec"].get("nodeName", "")
        if node and controller_of(pod).get("kind") != "DaemonSet":
            self.occupied_at[node] = self.time_s()
        was = entry.old is not None and self._is_placeless(entry.old)
        if was and (entry.type == "DELETED" or not self._is_placeless(pod)):
            self.placeless_until[uid(pod)] = self.time_s()
            assert entry.old is not None
            self.last_seen[uid(pod)] = entry.old
        if entry.type == "DELETED":
            return
        if pod["spec"].get("nodeName") and uid(pod) not in self.bound_at:
            self.bound_at[uid(pod)] = self.time_s()

    def _note_machine(self, entry: Entry, who: str) -> None:
        number = marks_of(entry.obj).get(names.LAUNCH_ATTEMPT)
        if number:
            self.attempts.add(f"{uid(entry.obj)}-{number}")
        if who and entry.type == "ADDED":
            self.made[uid(entry.obj)] = (who, self.time_s())
        status = entry.obj.get("status") or {}
        provider_id = status.get("providerID")
        known = [(one["type"], one["status"]) for one in status.get("conditions") or ()]
        if ("MachineInitialized", "True") in known:
            self.risen.add(uid(entry.obj))
        if provider_id and entry.type == "DELETED":
            self.orphaned_at[provider_id] = self.time_s()
        if provider_id:
            self.launched_at.setdefault(uid(entry.obj), self.time_s())
        if provider_id and is_deleting(entry.obj):
            nodes = [n for n in self.all("Node") if n["spec"].get("providerID") == provider_id]
            self.going |= {name(node) for node in nodes if self.is_ours(node)}

    def _note_command(self, entry: Entry, who: str) -> None:
        old, new = entry.old, entry.obj
        if entry.type == "ADDED":
            self.commands[new["spec"].get("method", "")] += 1
            self.begun[uid(new)] = (who, self.time_s())
            self.ended_at.pop(name(new), None)
            return
        if entry.type == "DELETED" or not is_active(new):
            self.ended_at.setdefault(name(new), self.time_s())
        is_taken = entry.type == "DELETED" or is_deleting(new)
        if old is not None and is_active(old) and is_taken and not who:
            self.withdrawn[uid(new)] = (old, self.time_s())

    def _note_node(self, entry: Entry, who: str) -> None:
        node = entry.obj
        if entry.type == "DELETED":
            self.cordoned_by.pop(uid(node), None)
        was = bool(entry.old and entry.old["spec"].get("unschedulable"))
        if not node["spec"].get("unschedulable"):
            self.cordoned_by.pop(uid(node), None)
        elif not was:
            self.cordoned_by[uid(node)] = who or "a person"
        if is_deleting(node) and self.is_ours(node):
            self.going.add(name(node))

    def admit(self, pod: JSON) -> None:
        """The server has admitted the eviction of a pod."""
        if uid(pod) in self.admitted:
            return
        self.admitted.add(uid(pod))
        self.rounds[pod["spec"].get("nodeName", ""), owner_of(pod)] += 1


def typed(body: JSON) -> Any:
    """An object as the model knows it."""
    return msgspec.convert(body, KINDS[body["kind"]].type, strict=False)


def name(obj: JSON) -> str:
    """Its name."""
    return str(obj["metadata"]["name"])


def uid(obj: JSON) -> str:
    """Its identity."""
    return str(obj["metadata"]["uid"])


def marks_of(obj: JSON) -> dict[str, str]:
    """Its annotations."""
    found: dict[str, str] = obj["metadata"].get("annotations") or {}
    return found


def finalizers(obj: JSON) -> list[str]:
    """Its finalizers."""
    return obj["metadata"].get("finalizers") or []


def is_deleting(obj: JSON) -> bool:
    """Its deletion was asked for."""
    return "deletionTimestamp" in obj["metadata"]


def deleted_at(obj: JSON) -> datetime:
    """When its deletion was asked for; of a pod, when it should be gone."""
    return datetime.fromisoformat(obj["metadata"]["deletionTimestamp"])


def created_at(obj: JSON) -> datetime:
    """When it was made."""
    return datetime.fromisoformat(obj["metadata"]["creationTimestamp"])


def controller_of(obj: JSON) -> JSON:
    """Its owner that is its controller, {} when it has none."""
    owners: list[Any] = obj["metadata"].get("ownerReferences") or []
    return next((one for one in owners if one.get("controller")), {})


def owner_of(pod: JSON) -> str:
    """The uid of its controller."""
    return str(controller_of(pod).get("uid", ""))


def is_workload(pod: JSON) -> bool:
    """It runs, or is to run, and somebody could miss it: not of a DaemonSet, static or finished."""
    if controller_of(pod).get("kind") in {"DaemonSet", "Node"}:
        return False
    if names.MIRROR_POD in marks_of(pod):
        return False
    return (pod.get("status") or {}).get("phase") not in TERMINAL


def has_found_no_place(pod: JSON) -> bool:
    """The scheduler says that no node takes it."""
    said = (pod.get("status") or {}).get("conditions") or ()
    return any(
        (one["type"], one["status"], one.get("reason"))
        == ("PodScheduled", "False", "Unschedulable")
        for one in said
    )


def room_of(node: JSON) -> list[Any]:
    """Return all that decides who may be on a node."""
    status = node.get("status") or {}
    ready = [one["status"] for one in status.get("conditions") or () if one["type"] == "Ready"]
    labels = node["metadata"].get("labels")
    return [node["spec"], labels, status.get("allocatable"), ready, is_deleting(node)]


def asked_of(provisioner: JSON) -> JSON:
    """All but what unmoor says about it, and what changes with every write."""
    meta = provisioner["metadata"]
    ours = {"annotations", "managedFields", "resourceVersion"}
    marks = marks_of(provisioner).items()
    return {
        "metadata": {name: value for name, value in meta.items() if name not in ours},
        "annotations": {name: value for name, value in marks if name != names.PROVISIONER_HASH},
        "spec": provisioner.get("spec"),
    }


def is_going(instance: JSON) -> bool:
    """It was told to go, or has gone."""
    phase = (instance.get("status") or {}).get("phase", "Pending")
    return bool(instance["spec"].get("terminate")) or phase in {"ShuttingDown", "Terminated"}


def is_active(disruption: JSON) -> bool:
    """A command that is not over."""
    phase = (disruption.get("status") or {}).get("phase", "Pending")
    return phase not in FINAL and not is_deleting(disruption)
