"""A view as the engine looks at it: places, started machines and templates.

Bad input makes nothing else bad: a place whose quantities cannot be read offers nothing; a machine
whose requirements mean nothing is left out; a provisioner that cannot be used says why in
``Template.problem``. Nothing here raises for what an API object holds.

Must not: place anything, or decide what is to go; whoever asks says so in ``without``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from unmoor.engine.ahead import Ahead
from unmoor.engine.daemons import Daemons
from unmoor.engine.places import capacity_of
from unmoor.engine.roll import Roll
from unmoor.engine.scene import Doubts, Scene
from unmoor.engine.shelf import Shelf
from unmoor.model import resources
from unmoor.model.base import Key
from unmoor.model.instance import InstanceType
from unmoor.model.kinds import (
    CSI_NODES,
    DAEMON_SETS,
    MACHINES,
    NODES,
    PODS,
    PROVISIONERS,
)
from unmoor.model.resources import Resources
from unmoor.model.snapshot import View

MADE_OF = (
    NODES.kind,
    PODS.kind,
    MACHINES.kind,
    CSI_NODES.kind,
    DAEMON_SETS.kind,
    PROVISIONERS.kind,
)
"""The kinds that a scene is made of."""


def scene_of(
    view: View,
    types: Sequence[InstanceType],
    *,
    without: Collection[str] = (),
    placing: Collection[Key] = (),
    doubts: Doubts = Doubts(),
) -> Scene:
    """Return what a simulation looks at.

    ``types``: what the cloud offers, as it is now. ``without``: names of nodes and machines that
    are to go; their pods are nowhere. ``placing``: keys of pods that are to be placed anew, so that
    they count nowhere. ``doubts``: what is not counted on.
    """
    return Scenery().scene_of(view, types, without=without, placing=placing, doubts=doubts)


class Scenery:
    """Keeps what was found out for the last scene, as far as nothing has changed since.

    Dropping it costs time only. It keeps the last view, too, from which a later one of the same
    store tells what has changed. Not to be used by two threads at a time.
    """

    def __init__(self) -> None:
        """Start knowing nothing."""
        self._last: tuple[View, Roll, Daemons] | None = None
        self._shelf = Shelf()
        self._ahead = Ahead()

    @property
    def kept(self) -> int:
        """How many places are kept."""
        return len(self._shelf.made)

    def rest(self) -> None:
        """Let the last view go, as nobody will ask for a while: an old view grows with time."""
        self._last = None

    def scene_of(
        self,
        view: View,
        types: Sequence[InstanceType],
        *,
        without: Collection[str] = (),
        placing: Collection[Key] = (),
        doubts: Doubts = Doubts(),
    ) -> Scene:
        """Return what a simulation looks at (see :func:`scene_of`)."""
        last, self._last = self._last, None  # What is left half done is not used again.
        shelf, self._shelf = self._shelf, Shelf()
        ahead, self._ahead = self._ahead, Ahead()
        gone = frozenset(without)
        news = last[1].follow(last[0], view, placing, doubts.late) if last is not None else None
        if last is None or news is None:
            roll, asking = Roll.of(view, placing, doubts.late), Daemons(view)
            shelf.renew(roll.sources, asking.all)
        else:
            _, roll, asking = last
            asking.follow(last[0], view, news.left, news.come)
            shelf.follow(roll.sources, news.places, asking.all)
        begun = [one for _, one in sorted(roll.begun.items()) if one.name not in gone]
        ahead.look(types, asking.all)
        started = ahead.started_of(begun, view.all(NODES))
        lost = [one for one in roll.lost.values() if one.name not in gone]
        places = shelf.places(gone)
        provisioners = [one for one in view.sorted(PROVISIONERS) if not one.is_deleting]
        used = _used(
            frozenset(one.name for one in provisioners if one.limits),
            [
                *shelf.capacity(gone).items(),
                *((one.provisioner, one.capacity) for one in started),
                *((one.provisioner_name, capacity_of(None, one)) for one in lost),
            ],
        )
        templates = ahead.templates_of(provisioners, used, doubts)
        self._last, self._shelf, self._ahead = (view, roll, asking), shelf, ahead
        return Scene(
            view=view,
            places=places,
            started=tuple(started),
            templates=tuple(sorted(templates, key=lambda template: template.order)),
        )


def _used(limited: frozenset[str], parts: Iterable[tuple[str, Resources]]) -> dict[str, Resources]:
    """Capacity by provisioner, of those that have limits."""
    by_provisioner: dict[str, list[Resources]] = {name: [] for name in sorted(limited)}
    for provisioner, capacity in parts:
        if provisioner in by_provisioner:
            by_provisioner[provisioner].append(capacity)
    return {name: resources.total(parts) for name, parts in by_provisioner.items()}
