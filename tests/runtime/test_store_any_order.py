"""Any operations in any order: indexes and frozen views are as if built anew."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import budget, machine, node, owner, pod, provisioner
from tests.runtime.states import at_version, body_of, broken, take
from unmoor.model import kinds
from unmoor.model.base import Object, ObjectMeta, Ref
from unmoor.model.kinds import KIND_OF, KINDS, Resource
from unmoor.model.snapshot import View
from unmoor.model.storage import VolumeAttachment, VolumeAttachmentSpec
from unmoor.runtime.reconciler import either
from unmoor.runtime.store import Store

NAMES = st.sampled_from(["a", "b", "c"])
WHERE = st.sampled_from(["", "a", "b"])


@st.composite
def objects(draw: st.DrawFn) -> Any:
    """An object of some kind, whose every index entry may be this or that."""
    name, where = draw(NAMES), draw(WHERE)
    match draw(st.sampled_from(["Pod", "Node", "Machine", "Budget", "Attachment", "Provisioner"])):
        case "Pod":
            owners = draw(st.lists(st.sampled_from(["x", "y"]), unique=True, max_size=2))
            references = tuple(owner("ReplicaSet", uid, uid) for uid in owners)
            obj: Any = pod(name, on=where, owners=references)
        case "Node":
            obj = node(name, provider_id=where, disruption=draw(WHERE))
        case "Machine":
            obj = machine(name, provider_id=where)
        case "Budget":
            obj = budget(name, namespace=draw(st.sampled_from(["shop", "bank"])))
        case "Attachment":
            obj = VolumeAttachment(
                metadata=ObjectMeta(name=name), spec=VolumeAttachmentSpec(node_name=where)
            )
        case _:
            obj = provisioner(name)
    uid = f"{name}-{draw(st.integers(1, 2))}"
    return at_version(obj, draw(st.integers(0, 30)), uid=uid)


def resource_of(obj: Object) -> Resource[Any]:
    return KINDS[KIND_OF[type(obj)]]


@st.composite
def operations(draw: st.DrawFn) -> tuple[str, Any]:
    what = draw(st.sampled_from(["put", "put", "drop", "fold", "break", "list", "forget"]))
    if what != "list":
        return what, draw(objects())
    some = draw(st.lists(objects(), max_size=4))
    return what, (draw(st.integers(0, 30)), some)


def apply(store: Store, what: str, given_: Any) -> None:
    match what:
        case "put":
            store.put(resource_of(given_), given_)
        case "drop":
            store.drop(resource_of(given_), given_)
        case "fold":
            store.fold(KIND_OF[type(given_)], body_of(given_))
        case "break":
            store.mark_broken(
                resource_of(given_), broken(given_, int(given_.metadata.resource_version))
            )
        case "forget":
            store.forget(KIND_OF[type(given_)], given_.key, given_.uid)
        case _:
            version, some = given_
            for resource in (kinds.PODS, kinds.NODES, kinds.MACHINES):
                of_kind = {o.key: o for o in some if resource_of(o) == resource}
                take(store, resource, of_kind.values(), str(version))


def everything(view: View) -> list[Object]:
    return [obj for resource in KINDS.values() for obj in view.sorted(resource)]


@given(st.lists(operations(), max_size=40))
def test_indexes_are_as_if_built_anew(steps: list[tuple[str, Any]]) -> None:
    store = Store()
    frozen: list[tuple[View, list[Object]]] = []
    mirror: dict[Ref, Any] = {}

    def hear(kind: str, old: Any | None, new: Any | None) -> None:
        obj = either(old, new)
        where = Ref(kind, obj.name, namespace=obj.namespace)
        assert mirror.get(where) == old
        mirror[where] = new

    store.subscribe(hear)
    for what, given_ in steps:
        apply(store, what, given_)
        frozen.append((store.freeze(), everything(store)))

    for view, objects_then in [*frozen, (store, everything(store))]:
        assert view._indexes == View.of(*objects_then)._indexes
        assert everything(view) == objects_then
    assert [mirror[ref] for ref in sorted(mirror) if mirror[ref] is not None] == sorted(
        everything(store), key=lambda obj: Ref(KIND_OF[type(obj)], obj.name, obj.namespace)
    )


@given(
    st.lists(st.tuples(NAMES, st.sampled_from(["write", "write", "delete"])), max_size=15),
    st.randoms(use_true_random=False),
)
def test_late_and_repeated_events_of_a_history_lead_to_its_end(
    writes: list[tuple[str, str]], chance: Random
) -> None:
    there: dict[str, Any] = {}
    events: list[tuple[str, Any]] = []
    for number, (name, what) in enumerate(writes):
        old = there.pop(name, None)
        uid = old.uid if old is not None else f"{name}-{number}"
        new = at_version(node(name), number + 1, uid=uid)
        if what == "write":
            there[name] = new
            events.append(("put", new))
        elif old is not None:
            events.append(("drop", new))
    told = [*events, *events[::2]]
    chance.shuffle(told)

    store = Store()
    for what, obj in told:
        apply(store, what, obj)

    assert everything(store) == [there[name] for name in sorted(there)]


@given(
    st.lists(operations(), max_size=30),
    st.lists(objects(), max_size=6, unique_by=lambda obj: (KIND_OF[type(obj)], obj.key)),
    st.integers(0, 30),
)
def test_a_list_that_was_asked_for_ends_all_doubt(
    steps: list[tuple[str, Any]], listed: list[Any], version: int
) -> None:
    """Whatever was known: a server may have gone back in time, or somebody may have lied."""
    store = Store()
    for what, given_ in steps:
        apply(store, what, given_)

    for resource in KINDS.values():
        store.begin(resource)
        take(store, resource, [o for o in listed if resource_of(o) == resource], str(version))

    assert everything(store) == [
        obj
        for resource in KINDS.values()
        for obj in sorted(listed, key=lambda obj: obj.key)
        if resource_of(obj) == resource
    ]
    assert not any(store.broken(resource) for resource in KINDS.values())
