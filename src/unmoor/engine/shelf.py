"""The places of the last scene, in their order: only what is made of something else is made anew.

Must not: look at a view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from unmoor.engine.daemons import Daemon
from unmoor.engine.places import Made, Sources, made_of
from unmoor.engine.roll import PlaceKey
from unmoor.engine.scene import Place
from unmoor.model import resources
from unmoor.model.resources import Resources


class Shelf:
    """What was made, by the key of its place. Dropping it costs time only.

    An exception leaves it half done: it is not to be used again.
    """

    def __init__(self) -> None:
        """Start with nothing made."""
        self.made: dict[PlaceKey, Made] = {}
        self._daemons: tuple[Daemon, ...] = ()
        self._at: dict[PlaceKey, int] = {}
        """Which of the places is whose; empty while they have to be sorted anew."""
        self._places: list[Place] = []
        self._capacity: Mapping[str, Resources] | None = None

    def renew(self, sources: Mapping[PlaceKey, Sources], daemons: tuple[Daemon, ...]) -> None:
        """Have a place of each of these, and no other."""
        self._at, self._capacity = {}, None
        known = self.made if daemons == self._daemons else {}
        self.made = {key: known[key] for key in sources if key in known}
        self._daemons = daemons
        self._make(sources, sources)

    def follow(
        self,
        sources: Mapping[PlaceKey, Sources],
        keys: Iterable[PlaceKey],
        daemons: tuple[Daemon, ...],
    ) -> None:
        """The same where only those of these keys may be others than before."""
        if daemons == self._daemons:
            self._make(sources, keys)
        else:
            self.renew(sources, daemons)

    def _make(self, sources: Mapping[PlaceKey, Sources], keys: Iterable[PlaceKey]) -> None:
        for key in keys:
            before, found = self.made.get(key), sources.get(key)
            if found is None:
                if before is not None:
                    del self.made[key]
                    self._at, self._capacity = {}, None
            elif before is None or before.sources != found:
                made = self.made[key] = made_of(found, self._daemons, before)
                self._put(key, None if before is None else before.place, made.place)

    def _put(self, key: PlaceKey, before: Place | None, place: Place) -> None:
        """Have it where it was, if it still belongs there."""
        if before is None or before.order != place.order:
            self._at = {}
        elif self._at:
            self._places[self._at[key]] = place
        if before is None or _counted(before) != _counted(place):
            self._capacity = None

    def places(self, without: frozenset[str]) -> tuple[Place, ...]:
        """Return all places in their order; ``without``: names of nodes and machines that go."""
        if not self._at:
            # A node may have the name of a machine, and comes before it.
            ordered = sorted(self.made.items(), key=lambda one: (one[1].place.order, not one[0][0]))
            self._places = [made.place for _, made in ordered]
            self._at = {key: at for at, (key, _) in enumerate(ordered)}
        if not without:
            return tuple(self._places)
        going = {key for key, made in self.made.items() if made.sources.is_called(without)}
        return tuple(self._places[at] for key, at in self._at.items() if key not in going)

    def capacity(self, without: frozenset[str]) -> Mapping[str, Resources]:
        """Return the exact sum of what counts against limits, by provisioner."""
        if without:
            return _sums(self.places(without))
        if self._capacity is None:
            self._capacity = _sums(self.places(without))
        return self._capacity


def _counted(place: Place) -> tuple[str, Resources]:
    return (place.provisioner, place.capacity)


def _sums(places: Iterable[Place]) -> dict[str, Resources]:
    by_provisioner: dict[str, list[Resources]] = {}
    for place in places:
        by_provisioner.setdefault(place.provisioner, []).append(place.capacity)
    return {name: resources.exact_total(parts) for name, parts in by_provisioner.items()}
