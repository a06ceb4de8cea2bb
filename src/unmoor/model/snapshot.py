"""Everything at one instant: the objects, their indexes, the settings and the answers.

A ``View`` is what every decision reads. ``runtime.store`` keeps a live one current and hands out
frozen ones, which see its tables as they were (index entries are tuples that are replaced, never
mutated). ``View.of`` builds one from objects, for tests and for plans.

Must not: be changed by whoever receives it. The underscored writers are the store's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

import msgspec

from unmoor.model.base import Key, Object, Ref
from unmoor.model.disruption import Disruption
from unmoor.model.disruption_budget import PodDisruptionBudget
from unmoor.model.instance import CloudInstance
from unmoor.model.kinds import KIND_OF, KINDS, Resource
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.observation import Answer, Asked
from unmoor.model.pod import Pod
from unmoor.model.provisioner import Provisioner
from unmoor.model.selector import problem
from unmoor.model.settings import Settings
from unmoor.model.storage import PersistentVolumeClaim, VolumeAttachment
from unmoor.model.table import Past, Table

T = TypeVar("T", bound=Object)
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Rows: TypeAlias = Table[K, V] | Past[K, V]
"""Tables of a live view, or of a frozen one."""


class Identity(msgspec.Struct, frozen=True):
    """Who we are: ``cluster`` and the configured provider's ``scheme`` ("" when there is none).

    Ownership is judged by it (decisions, "Ours"). ``is_observing``: we touch nothing.
    """

    cluster: str = ""
    scheme: str = ""
    is_observing: bool = False


class Unreadable(msgspec.Struct, frozen=True):
    """An object that cannot be read: what is wrong with it, and the node that it names, if any."""

    problem: str
    node: str = ""


class Index(msgspec.Struct, frozen=True):
    """A way to find objects of one kind: ``of`` gives the entries under which one is filed."""

    name: str
    kind: str
    of: Callable[[Any], Collection[Hashable]]


def _given(value: str) -> tuple[str, ...]:
    return (value,) if value else ()


def _waiting(pod: Pod) -> tuple[str, ...]:
    return () if pod.spec.node_name or pod.is_terminal else ("",)


def _labels_of_selected(budget: PodDisruptionBudget) -> list[tuple[str, str, str]]:
    """A label that all whom it selects have; where none is sure, only the namespace."""
    selector = budget.spec.selector
    if selector is None:
        return []  # It selects nobody.
    # One that cannot be evaluated is taken to select everybody.
    is_sure = bool(selector.match_labels) and not problem(selector)
    label = min(selector.match_labels.items()) if is_sure else ("", "")
    return [(budget.namespace, *label)]


INDEXES: tuple[Index, ...] = (
    Index("pods_by_node", "Pod", lambda pod: _given(pod.spec.node_name)),
    Index("pods_by_nomination", "Pod", lambda pod: _given(pod.nominated_to)),
    Index("pods_without_node", "Pod", _waiting),
    Index("pods_by_owner", "Pod", lambda pod: [o.uid for o in pod.metadata.owner_references]),
    Index("nodes_by_provider_id", "Node", lambda node: _given(node.spec.provider_id)),
    Index("nodes_by_disruption", "Node", lambda node: _given(node.disruption)),
    Index("machines_by_provider_id", "Machine", lambda machine: _given(machine.provider_id)),
    Index("machines_by_claim", "Machine", lambda machine: machine.claims),
    Index("machines_by_provisioner", "Machine", lambda machine: _given(machine.provisioner_name)),
    Index("budgets_by_namespace", "PodDisruptionBudget", lambda budget: [budget.namespace]),
    Index("budgets_by_label", "PodDisruptionBudget", _labels_of_selected),
    Index("disruptions_by_left_node", "Disruption", lambda disruption: disruption.left_alone),
    Index("claims_by_volume", "PersistentVolumeClaim", lambda c: _given(c.spec.volume_name)),
    Index("attachments_by_node", "VolumeAttachment", lambda a: _given(a.spec.node_name)),
)
_INDEXES_OF: dict[str, tuple[Index, ...]] = {
    kind: tuple(index for index in INDEXES if index.kind == kind) for kind in KINDS
}


_NONE: dict[Key, Unreadable] = {}
"""What a frozen view has of a kind that can be read. Never changed."""


class View:
    """A read-only picture of the cluster. Lookups return None or () for what is not there."""

    def __init__(self, settings: Settings = Settings(), identity: Identity = Identity()) -> None:
        """Start empty."""
        self.settings = settings
        self.identity = identity
        self.version = 0
        self._objects: dict[str, Rows[Key, Any]] = {kind: Table() for kind in KINDS}
        self._indexes: dict[str, Rows[Hashable, tuple[Key, ...]]] = {
            index.name: Table() for index in INDEXES
        }
        self._answers: defaultdict[Asked, dict[str, Answer[Any]]] = defaultdict(dict)
        self._broken: dict[str, dict[Key, Unreadable]] = {kind: {} for kind in KINDS}

    @classmethod
    def of(
        cls,
        *objects: Object,
        settings: Settings = Settings(),
        identity: Identity = Identity(),
        answers: Mapping[tuple[Asked, str], Answer[Any]] | None = None,
    ) -> View:
        """Build a view of just these objects."""
        view = cls(settings, identity)
        for obj in objects:
            view._put(obj)
        for (asked, subject), answer in (answers or {}).items():
            view._answers[asked][subject] = answer
        return view

    def all(self, resource: Resource[T]) -> Mapping[Key, T]:
        """Every object of a kind by (namespace, name), in no particular order."""
        return self._objects[resource.kind]

    def sorted(self, resource: Resource[T]) -> list[T]:
        """Every object of a kind by (namespace, name): wherever order could leak out."""
        return [obj for _, obj in sorted(self._objects[resource.kind].items())]

    def get(self, resource: Resource[T], name: str, namespace: str = "") -> T | None:
        """One object by name."""
        found: T | None = self._objects[resource.kind].get((namespace, name))
        return found

    def find(self, ref: Ref) -> Any | None:
        """The object that ``ref`` means: same kind and name, and same uid where it has one."""
        found = self._objects[ref.kind].get(ref.key)
        return found if found is not None and ref.uid in {"", found.uid} else None

    def node(self, name: str) -> Node | None:
        """One node by name."""
        found: Node | None = self._objects["Node"].get(("", name))
        return found

    def machine(self, name: str) -> Machine | None:
        """One machine by name."""
        found: Machine | None = self._objects["Machine"].get(("", name))
        return found

    def provisioner(self, name: str) -> Provisioner | None:
        """One provisioner by name."""
        found: Provisioner | None = self._objects["Provisioner"].get(("", name))
        return found

    def disruption(self, name: str) -> Disruption | None:
        """One disruption by name."""
        found: Disruption | None = self._objects["Disruption"].get(("", name))
        return found

    def pods_on(self, node_name: str) -> tuple[Pod, ...]:
        """The pods bound to a node, ordered by (namespace, name)."""
        return self._by("pods_by_node", "Pod", node_name)

    def pods_by_node(self) -> dict[str, tuple[Pod, ...]]:
        """What :meth:`pods_on` says of each node that has pods, several times as fast."""
        held = self._objects["Pod"]
        pods = held.whole() if isinstance(held, Past) else held
        entries = self._indexes["pods_by_node"].items()
        return {str(node): tuple([pods[key] for key in keys]) for node, keys in entries}

    def pods_without_node(self) -> tuple[Pod, ...]:
        """The pods that are bound to no node yet, finished ones aside, by (namespace, name)."""
        return self._by("pods_without_node", "Pod", "")

    def pods_nominated_to(self, node_name: str) -> tuple[Pod, ...]:
        """The pending pods that the scheduler is making room for on a node."""
        return self._by("pods_by_nomination", "Pod", node_name)

    def pods_of(self, owner_uid: str) -> tuple[Pod, ...]:
        """The pods that name this owner."""
        return self._by("pods_by_owner", "Pod", owner_uid)

    def nodes_of(self, provider_id: str) -> tuple[Node, ...]:
        """The nodes of one cloud machine: one, normally."""
        return self._by("nodes_by_provider_id", "Node", provider_id) if provider_id else ()

    def nodes_in(self, disruption: str) -> tuple[Node, ...]:
        """The nodes that carry a disruption's name."""
        return self._by("nodes_by_disruption", "Node", disruption)

    def disruptions_without(self, node_uid: str) -> tuple[Disruption, ...]:
        """The disruptions that left a node out of which others keep away for a while."""
        return self._by("disruptions_by_left_node", "Disruption", node_uid)

    def machines_of(self, provider_id: str) -> tuple[Machine, ...]:
        """The machines of one cloud machine: one, normally."""
        return self._by("machines_by_provider_id", "Machine", provider_id) if provider_id else ()

    def machines_claiming(self, provider_id: str) -> tuple[Machine, ...]:
        """The machines that stand for one cloud machine, or are linked to it: one, normally."""
        return self._by("machines_by_claim", "Machine", provider_id) if provider_id else ()

    def is_claimed(self, provider_id: str) -> bool:
        """Some machine stands for this cloud machine, or is linked to it."""
        return self._indexes["machines_by_claim"].get(provider_id) is not None

    def machine_of(self, node: Node) -> Machine | None:
        """The machine behind a node, None when there is none or more than one."""
        machines = self.machines_of(node.provider_id)
        return machines[0] if len(machines) == 1 else None

    def machines_launched_by(self, provisioner: str) -> tuple[Machine, ...]:
        """The machines of one provisioner."""
        return self._by("machines_by_provisioner", "Machine", provisioner)

    def budgets_in(self, namespace: str) -> tuple[PodDisruptionBudget, ...]:
        """The disruption budgets of a namespace."""
        return self._by("budgets_by_namespace", "PodDisruptionBudget", namespace)

    def budgets_near(self, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        """The disruption budgets that may select a pod, by name: no other one does."""
        index, namespace = self._indexes["budgets_by_label"], pod.namespace
        entries = [(namespace, "", "")]
        entries += [(namespace, key, value) for key, value in pod.metadata.labels.items()]
        keys = [key for entry in entries for key in index.get(entry, ())]
        budgets = self._objects["PodDisruptionBudget"]
        return tuple([budgets[key] for key in sorted(set(keys))])

    def attachments_on(self, node_name: str) -> tuple[VolumeAttachment, ...]:
        """The volumes attached to a node."""
        return self._by("attachments_by_node", "VolumeAttachment", node_name)

    def claims_of(self, volume: str) -> tuple[PersistentVolumeClaim, ...]:
        """The claims that name a volume: one of them has it, if any."""
        return self._by("claims_by_volume", "PersistentVolumeClaim", volume)

    def answer(self, asked: Asked, subject: str) -> Answer[Any] | None:
        """What the outside last said to a question, None when it was not asked."""
        return self._answers.get(asked, {}).get(subject)

    def answers(self, asked: Asked) -> Iterator[tuple[str, Answer[Any]]]:
        """All that was last said to one sort of question, by subject, in no particular order."""
        yield from self._answers.get(asked, {}).items()

    def instance(self, provider_id: str) -> Answer[CloudInstance] | None:
        """What the cloud last said about one machine."""
        return self.answer(Asked.INSTANCE, provider_id)

    def broken(self, resource: Resource[T]) -> Mapping[Key, str]:
        """Objects of a kind that cannot be read, with what is wrong with each.

        Their last readable state, if there was one, is still in the view. Whoever concludes
        something from an object's absence must look here first.
        """
        return {key: one.problem for key, one in self._broken[resource.kind].items()}

    def unreadable_pods_on(self, node_name: str) -> tuple[tuple[Key, str], ...]:
        """The pods on a node that could never be read there, with what is wrong with each.

        Nobody knows what kind of pod one is. Whoever was readable there before is in ``pods_on``.
        """
        pods = self._objects["Pod"]
        on_it = (
            (key, one.problem)
            for key, one in self._broken["Pod"].items()
            if one.node == node_name and (key not in pods or pods[key].node_name != node_name)
        )
        return tuple(sorted(on_it))

    def nodes_with_unreadable_pods(self) -> frozenset[str]:
        """The names of the nodes for which :meth:`unreadable_pods_on` has something to say."""
        pods = self._objects["Pod"]
        return frozenset(
            one.node
            for key, one in self._broken["Pod"].items()
            if one.node and (key not in pods or pods[key].node_name != one.node)
        )

    def freeze(self) -> View:
        """The view as it is now, for as long as it is kept, while the live view goes on."""
        frozen: View = View.__new__(View)
        frozen.settings, frozen.identity = self.settings, self.identity
        frozen.version = self.version
        frozen._objects = {kind: _past(objects) for kind, objects in self._objects.items()}
        frozen._indexes = {name: _past(entries) for name, entries in self._indexes.items()}
        known = {asked: dict(answers) for asked, answers in self._answers.items()}
        frozen._answers = defaultdict(dict, known)
        frozen._broken = {kind: dict(one) if one else _NONE for kind, one in self._broken.items()}
        return frozen

    def changed_since(self, earlier: View, resource: Resource[T]) -> Collection[Key] | None:
        """The keys of a kind whose objects may have changed since an earlier, frozen view.

        None when nobody knows: the two do not show the same store, or not in this order.
        """
        then = earlier._objects[resource.kind]
        if not isinstance(then, Past) or earlier.version > self.version:
            return None
        return then.since(self._objects[resource.kind])

    def _by(self, index: str, kind: str, entry: Hashable) -> tuple[Any, ...]:
        keys = self._indexes[index].get(entry)
        if keys is None:
            return ()
        objects = self._objects[kind]
        return tuple([objects[key] for key in keys])

    def _put(self, obj: Object) -> None:
        kind, key = KIND_OF[type(obj)], obj.key
        self._hold(kind, key, self._objects[kind].get(key), obj)

    def _hold(self, kind: str, key: Key, old: Any | None, new: Any) -> None:
        """Have ``new`` where ``old`` was."""
        _live(self._objects[kind]).put(key, new)
        self._reindex(kind, key, old, new)

    def _drop(self, kind: str, key: Key) -> None:
        old = _live(self._objects[kind]).remove(key)
        if old is not None:
            self._reindex(kind, key, old, None)

    def _reindex(self, kind: str, key: Key, old: Any | None, new: Any | None) -> None:
        for index in _INDEXES_OF[kind]:
            before = index.of(old) if old is not None else ()
            after = index.of(new) if new is not None else ()
            if before == after:  # Nearly always: most changes are of status or annotations.
                continue
            entries = _live(self._indexes[index.name])
            for entry in dict.fromkeys(before):
                if entry not in after:
                    left = _without(entries[entry], key)
                    if left:
                        entries.put(entry, left)
                    else:
                        entries.remove(entry)
            for entry in dict.fromkeys(after):
                if entry not in before:
                    entries.put(entry, _with(entries.get(entry, ()), key))
        self.version += 1


def _live(rows: Rows[K, V]) -> Table[K, V]:
    assert isinstance(rows, Table), "a frozen view does not change"
    return rows


def _past(rows: Rows[K, V]) -> Past[K, V]:
    return rows.past() if isinstance(rows, Table) else rows


def _with(keys: tuple[Key, ...], key: Key) -> tuple[Key, ...]:
    """These ordered keys and one more; an owner may have thousands of pods."""
    at = bisect_left(keys, key)
    return (*keys[:at], key, *keys[at:])


def _without(keys: tuple[Key, ...], key: Key) -> tuple[Key, ...]:
    at = bisect_left(keys, key)
    assert keys[at] == key, key
    return keys[:at] + keys[at + 1 :]


__all__ = ["INDEXES", "Identity", "Index", "View"]
