"""What the engine looks at: places where pods may run, and templates of machines to come.

A place is a node, or a launched machine whose node has not joined yet, with its effective data
(spec 9.5). A started machine is one that exists and is not launched yet: nobody knows its zone or
type, only what it may become. A template is what a provisioner's next machine would be.

Must not: place anything. ``scenery`` builds a scene from a view.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import is_
from types import MappingProxyType

import msgspec

from unmoor.engine.held import Held
from unmoor.model import resources, taint
from unmoor.model.base import Key
from unmoor.model.instance import InstanceType
from unmoor.model.kinds import (
    ATTACHMENTS,
    CLAIMS,
    KINDS,
    NAMESPACES,
    STORAGE_CLASSES,
    VOLUMES,
)
from unmoor.model.pod import Pod
from unmoor.model.requirement import Requirements
from unmoor.model.resources import Resources
from unmoor.model.snapshot import View
from unmoor.model.taint import Taint

ASKED_FOR = (
    NAMESPACES.kind,
    CLAIMS.kind,
    VOLUMES.kind,
    ATTACHMENTS.kind,
    STORAGE_CLASSES.kind,
)
"""The kinds that a simulation asks its view for; the rest of what it reads is in the scene."""


_MACHINE = "machine/"


def site_of_machine(name: str, *, is_namesake: bool) -> str:
    """Return how a machine without a node is called in a scene: as it is, or, where a node has the
    same name, as no object can be.
    """
    return f"{_MACHINE}{name}" if is_namesake else name


def machine_of_site(name: str) -> str:
    """Return the name of a machine that is called so in a scene."""
    return name.removeprefix(_MACHINE)


class Hold(msgspec.Struct, frozen=True):
    """Why a provisioner makes no machine for now, in words.

    ``is_on_trial``: it makes one all the same, to see whether the reason is gone.
    """

    words: str
    is_on_trial: bool = False


class Doubts(msgspec.Struct, frozen=True):
    """What is not counted on.

    ``late``: names of nodes whose taints that go by themselves should be gone by now, so that they
    count. ``avoided``: by provisioner, the offerings (as they write themselves) of which its next
    machine is not to be, and until when. ``sold_out``: offerings that are marked as such, and until
    when they are taken for it; for the words alone. ``held``: by provisioner, why it makes no
    machine now.
    """

    late: frozenset[str] = frozenset()
    avoided: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    sold_out: Mapping[str, str] = MappingProxyType({})
    held: Mapping[str, Hold] = MappingProxyType({})


class Place(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A node as far as pods are concerned.

    ``name``: of the node, or of the machine while there is no node (:func:`site_of_machine`).
    ``labels``: those of the node. ``allocatable`` in the units of ``model.resources``. ``pods``:
    bound to it, finished ones aside, without those that are to be placed anew. ``reserved``: for
    DaemonSet pods that are still to come, and ``held``: what these will have for themselves alone.
    ``volume_room``: driver to the number of volumes it takes in all. ``capacity``: what counts
    against the limits of its provisioner.
    """

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...] = ()
    is_cordoned: bool = False
    allocatable: Resources = {}
    reserved: Resources = {}
    held: tuple[Held, ...] = ()
    pods: tuple[Pod, ...] = ()
    volume_room: dict[str, int] = {}
    is_initialized: bool = True
    is_ready: bool = True
    is_node: bool = True
    provisioner: str = ""
    capacity: Resources = {}

    @property
    def order(self) -> tuple[bool, str]:
        """Initialised ones are tried first, then by name (spec 9.4)."""
        return (not self.is_initialized, self.name)


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """What a provisioner's next machine would be.

    ``requirements``: its own, its labels and its name. ``types``: those that suit them and are to
    be had. ``daemons``: what DaemonSets will ask there, and ``held``: what they will have for
    themselves alone. ``limits``: its limits, by resource, and ``remaining``: what they leave.
    ``problem``: why it cannot be used, "" when it can; ``is_in_order``: it is not its own fault.
    ``hold``: why it is not used for now, although it could be. ``defaults``: labels that it says
    nothing of, so that they have the values that are usual; ``left_out``: types that these alone
    keep out.
    """

    provisioner: str
    weight: int = 0
    requirements: Requirements
    taints: tuple[Taint, ...] = ()
    types: tuple[InstanceType, ...] = ()
    daemons: Resources = {}
    held: tuple[Held, ...] = ()
    limits: Resources = {}
    remaining: Resources = {}
    defaults: frozenset[str] = frozenset()
    left_out: tuple[InstanceType, ...] = ()
    problem: str = ""
    is_in_order: bool = False
    hold: Hold | None = None

    @property
    def machines_max(self) -> int | None:
        """How many machines of it one plan may have, None without a bound."""
        if self.problem:
            return 0
        return None if self.hold is None else int(self.hold.is_on_trial)

    @property
    def order(self) -> tuple[int, str]:
        """The heaviest first, then by name (spec 9.4)."""
        return (-self.weight, self.provisioner)


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that exists and is not launched yet: what it may become.

    ``types``: those that its requirements name and that still are to be had; where none is, all of
    them, as if they were: the cloud has not been asked yet. ``daemons`` and ``held`` as in a
    template, ``capacity`` as of a place: the most that it may come to. What it was made for is
    pending and looks for a place like everybody else. ``name``: see :func:`site_of_machine`.
    """

    name: str
    provisioner: str
    requirements: Requirements
    taints: tuple[Taint, ...] = ()
    types: tuple[InstanceType, ...] = ()
    daemons: Resources = {}
    held: tuple[Held, ...] = ()
    capacity: Resources = {}


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a simulation reads. ``view`` answers for namespaces and storage.

    ``places`` by :attr:`Place.order`, ``started`` by name, ``templates`` by :attr:`Template.order`.
    ``promised``: pod key to the place or started machine that an earlier plan has for it. Whoever
    still may go there does, in this order, before anybody else is placed.
    """

    view: View
    places: tuple[Place, ...] = ()
    started: tuple[Started, ...] = ()
    templates: tuple[Template, ...] = ()
    promised: Mapping[Key, str] = MappingProxyType({})

    def soft_grounds(self) -> Iterator[Place | Started | Template]:
        """Yield where pods are not welcome, and may run all the same."""
        grounds: tuple[Iterable[Place | Started | Template], ...]
        grounds = (self.places, self.started, self.templates)
        yield from (one for some in grounds for one in some if _has_soft_taint(one))

    @property
    def has_soft_taints(self) -> bool:
        """True when there is such a place, machine or template."""
        return any(True for _ in self.soft_grounds())

    def without(self, gone: Collection[str]) -> Scene:
        """Return the scene when these places and started machines are gone, and their pods.

        What limits leave grows by their capacity.
        """
        freed: dict[str, list[Resources]] = {}
        for place in self.places:
            if place.name in gone:
                freed.setdefault(place.provisioner, []).append(place.capacity)
        for started in self.started:
            if started.name in gone:
                freed.setdefault(started.provisioner, []).append(started.capacity)
        return msgspec.structs.replace(
            self,
            places=tuple(one for one in self.places if one.name not in gone),
            started=tuple(one for one in self.started if one.name not in gone),
            templates=tuple(
                msgspec.structs.replace(
                    one, remaining=freed_by(one.remaining, freed.get(one.provisioner, ()))
                )
                for one in self.templates
            ),
        )


def is_same(now: Scene, then: Scene) -> bool:
    """True when a simulation finds the same in both."""
    return (
        len(now.places) == len(then.places)
        and all(map(is_, now.places, then.places))
        and now.started == then.started
        and now.templates == then.templates
        and now.promised == then.promised
        and looks_alike(now.view, then.view)
    )


def looks_alike(now: View, then: View) -> bool:
    """True when nothing has changed in all that a simulation asks its view for."""
    changed = (now.changed_since(then, KINDS[kind]) for kind in ASKED_FOR)
    return now is then or all(one is not None and not one for one in changed)


def differing(
    before: tuple[Pod, ...], after: tuple[Pod, ...]
) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
    """Return both without the very same pods that they begin and end with."""
    alike = bytes(map(is_, before, after)).find(0)
    start = min(len(before), len(after)) if alike < 0 else alike
    before, after = before[start:], after[start:]
    alike = bytes(map(is_, reversed(before), reversed(after))).find(0)
    end = min(len(before), len(after)) if alike < 0 else alike
    return before[: len(before) - end], after[: len(after) - end]


def _has_soft_taint(ground: Place | Started | Template) -> bool:
    return any(one.effect == taint.PREFER_NO_SCHEDULE for one in ground.taints)


def freed_by(remaining: Resources, gone: Iterable[Resources]) -> dict[str, int]:
    """Return what limits leave when machines of these capacities are gone."""
    freed = resources.total(gone)
    return {name: amount + freed.get(name, 0) for name, amount in remaining.items()}
