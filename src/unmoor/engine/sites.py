"""Where pods can be put while a plan is made: standing nodes, and machines that the plan opens.

Both know which pods they have and in which domain they lie. A standing node lies in one; a machine
to come may still lie in several (zones, say), until something narrows it down. Who counts pods by
domain counts those on such a machine as possible in each of them, and certain in none.

Must not: decide whether a pod may be put there.
"""

from __future__ import annotations

from collections.abc import Iterable

from unmoor.engine import volumes
from unmoor.engine.held import Held, held_by
from unmoor.engine.requests import Requests
from unmoor.engine.scene import Place, Started, Template
from unmoor.engine.wish import Wish
from unmoor.model import names, resources
from unmoor.model.instance import InstanceType, Offering
from unmoor.model.pod import Pod
from unmoor.model.quantity import QuantityError
from unmoor.model.requirement import Requirement, Requirements
from unmoor.model.resources import Resources
from unmoor.model.snapshot import View

OF_OFFERINGS = (names.ZONE, names.CAPACITY_TYPE)
"""Labels of a machine that its type leaves open."""
OF_NO_TYPE = frozenset((names.PROVISIONER_NAME, names.HOSTNAME))
"""Labels that no type has and every type may get."""


class Tenants:
    """Remembers what pods use and hold on their nodes. Dropping it costs time only.

    It keeps every pod that it was asked about.
    """

    def __init__(self) -> None:
        """Know nobody."""
        self.requests = Requests()
        self._known: dict[int, tuple[Pod, Resources, tuple[Held, ...]]] = {}

    def of(self, pod: Pod) -> tuple[Pod, Resources, tuple[Held, ...]]:
        """Return a pod, what it uses, and what it holds.

        A pod whose requests nobody can read takes its place and no more.
        """
        found = self._known.get(id(pod))
        if found is None:
            try:
                used = self.requests.used_by(pod)
            except QuantityError:
                used = {resources.PODS: 1}
            found = self._known[id(pod)] = (pod, used, held_by(pod))
        return found


class Standing:
    """A place, with what has been promised away on it."""

    def __init__(
        self,
        place: Place,
        view: View,
        known: Tenants | None = None,
        attached: dict[str, set[str]] | None = None,
    ) -> None:
        """Start with the pods that are there.

        ``known``: what was found out about pods. ``attached``: which volumes are, by driver; None:
        it is to be found out.
        """
        there = [*map((known or Tenants()).of, place.pods)]
        self.place = place
        self.name = place.name
        self.pods: list[Pod] = list(place.pods)
        self.used = resources.exact_total((place.reserved, *(used for _, used, _ in there)))
        """By those who were there at first; exact, so that they can be taken away again."""
        self.free = resources.subtract(place.allocatable, resources.bounded(self.used))
        self.held: list[Held] = [*place.held, *(one for _, _, held in there for one in held)]
        self.attached = (
            volumes.attached_on(place.name, place.pods, view)
            if attached is None and place.volume_room
            else attached or {}
        )

    def followed(
        self, place: Place, come: Iterable[Pod], gone: Iterable[Pod], known: Tenants
    ) -> Standing | None:
        """Return what it is with other pods, nobody being promised anything; None: make it anew.

        ``place``: the same node as it is now. ``come``, ``gone``: by whom its pods differ from
        those that were there; none of them has volumes. Costs as much as these.
        """
        if place.held != self.place.held:
            return None
        used = dict(self.used)
        if place.reserved != self.place.reserved:
            _count(used, place.reserved, 1)
            _count(used, self.place.reserved, -1)
        for pods, sign in ((come, 1), (gone, -1)):
            for pod in pods:
                _, part, held = known.of(pod)
                if held:
                    return None
                _count(used, part, sign)
        if not all(used.values()):  # Nobody may be left who names it.
            return None
        found = self.copy()
        found.place, found.pods = place, list(place.pods)
        if used != self.used or place.allocatable != self.place.allocatable:
            found.used = used
            found.free = resources.subtract(place.allocatable, resources.bounded(used))
        return found

    def domains(self, key: str) -> frozenset[str]:
        """Return the one domain of the label ``key`` that it lies in, or none."""
        value = self.place.labels.get(key)
        return frozenset() if value is None else frozenset((value,))

    def copy(self) -> Standing:
        """Return one that can be filled without this one noticing."""
        found: Standing = Standing.__new__(Standing)
        found.__dict__.update(self.__dict__)
        found.pods, found.held = list(self.pods), list(self.held)
        found.attached = {driver: set(handles) for driver, handles in self.attached.items()}
        return found

    def put(self, wish: Wish) -> None:
        """Promise room to a pod."""
        self.pods.append(wish.pod)
        self.free = resources.subtract(self.free, wish.requests)
        self.held += wish.held
        for need in wish.needs:
            if need.driver in self.place.volume_room:
                there = self.attached.setdefault(need.driver, set())
                there.add(need.handle)
                there.discard(volumes.left_behind(need.handle))


def _count(used: dict[str, int], part: Resources, sign: int) -> None:
    for name, amount in part.items():
        used[name] = used.get(name, 0) + sign * amount


class Opened:
    """A machine to come: what it may still become, and the pods promised to it."""

    def __init__(
        self, name: str, base: Template | Started, types: tuple[InstanceType, ...]
    ) -> None:
        """Start without pods, as one of ``types``."""
        self.name = name
        self.base = base
        self.provisioner = base.provisioner
        self.requirements = base.requirements
        self.types = types
        self.requests = base.daemons
        self.is_started = isinstance(base, Started)
        self.pods: list[Pod] = []
        self.held: list[Held] = list(base.held)

    def domains(self, key: str) -> frozenset[str]:
        """Return the domains of the label ``key`` that it may still lie in."""
        if key == names.HOSTNAME:
            return frozenset((self.name,))
        return values_of(key, self.requirements, self.types)

    def put(self, wish: Wish, narrowed: Requirements, types: tuple[InstanceType, ...]) -> None:
        """Promise room to a pod, for which the machine is narrowed down."""
        self.pods.append(wish.pod)
        self.held += wish.held
        self.requests = resources.add(self.requests, wish.requests)
        self.requirements = narrowed
        self.types = types


def values_of(
    key: str, requirements: Requirements, types: Iterable[InstanceType]
) -> frozenset[str]:
    """Return the values that the label ``key`` may get on a machine of one of these types.

    A label that the types do not have gets what the requirements list; where they list nothing, the
    value that is given to it, if any.
    """
    wanted = requirements.get(key)
    if key in OF_OFFERINGS:
        sold = (offering for one in types for offering in offerings_of(one, requirements))
        found = {one.zone if key == names.ZONE else one.capacity_type for one in sold}
        return frozenset(found)
    of_types = {label for one in types if (label := type_label(one, key)) is not None}
    if of_types:
        return frozenset(value for value in of_types if wanted.allows(value))
    return listed_values(wanted)


def listed_values(wanted: Requirement) -> frozenset[str]:
    """Return the values that a label may get that no type has."""
    if not wanted.is_complement:
        return wanted.values
    value = given_value(wanted)
    return frozenset((value,)) if value else frozenset()


def given_value(wanted: Requirement) -> str:
    """The first allowed value of a label that is the user's own; "" when it may be absent."""
    is_users = wanted.key not in names.WELL_KNOWN_LABELS
    if not is_users or wanted.may_be_absent or names.restricted_label_problem(wanted.key):
        return ""
    if not wanted.is_complement:
        return min(wanted.values, default="")
    numbers = map(str, range(*_bounds(wanted)))
    return next((number for number in numbers if wanted.allows(number)), "")


def _bounds(wanted: Requirement) -> tuple[int, int]:
    least = max(0 if wanted.greater_than is None else wanted.greater_than + 1, 0)
    most = least + len(wanted.values) + 1
    return least, most if wanted.less_than is None else min(most, wanted.less_than)


def type_label(one: InstanceType, key: str) -> str | None:
    """Return the label that every machine of this type has, None when it has no such label."""
    if key == names.INSTANCE_TYPE:
        return one.name
    return one.arch if key == names.ARCH else one.labels.get(key)


def offerings_of(one: InstanceType, requirements: Requirements) -> tuple[Offering, ...]:
    """Return the offerings of a type that the requirements allow and that are to be had."""
    zone, capacity_type = (requirements.get(key) for key in OF_OFFERINGS)
    return tuple(
        offering
        for offering in one.offerings
        if offering.is_available
        and zone.allows(offering.zone)
        and capacity_type.allows(offering.capacity_type)
    )


def suits(one: InstanceType, requirements: Requirements) -> bool:
    """True when a machine of this type can satisfy the requirements, stock aside.

    A well-known label that the type does not have is one that the machine will not have.
    """
    return all(_agrees(one, wanted) for wanted in requirements)


def all_suiting(
    types: Iterable[InstanceType], requirements: Requirements
) -> tuple[InstanceType, ...]:
    """Return the types that :func:`suits`; each value of a label is looked at once."""
    left = tuple(types)
    for wanted in requirements:
        if wanted.key not in OF_OFFERINGS and wanted.key not in OF_NO_TYPE:
            labels = [type_label(one, wanted.key) for one in left]
            agreed = {label: _agrees_with(wanted, label) for label in dict.fromkeys(labels)}
            left = tuple(one for one, label in zip(left, labels, strict=True) if agreed[label])
    return left


def all_sold(types: Iterable[InstanceType], requirements: Requirements) -> tuple[InstanceType, ...]:
    """Return the types with :func:`offerings_of`; each zone and capacity type is looked at once."""
    zone, capacity_type = (requirements.get(key) for key in OF_OFFERINGS)
    allowed: dict[tuple[str, str], bool] = {}
    left = []
    for one in types:
        for each in one.offerings:
            if not each.is_available:
                continue
            at = (each.zone, each.capacity_type)
            is_allowed = allowed.get(at)
            if is_allowed is None:
                is_allowed = zone.allows(at[0]) and capacity_type.allows(at[1])
                allowed[at] = is_allowed
            if is_allowed:
                left.append(one)
                break
    return tuple(left)


def _agrees(one: InstanceType, wanted: Requirement) -> bool:
    key = wanted.key
    if key in OF_OFFERINGS or key in OF_NO_TYPE:
        return True
    return _agrees_with(wanted, type_label(one, key))


def _agrees_with(wanted: Requirement, label: str | None) -> bool:
    return (label is None and wanted.key not in names.WELL_KNOWN_LABELS) or wanted.allows(label)


def types_left(
    types: Iterable[InstanceType], requirements: Requirements, requests: Resources
) -> tuple[InstanceType, ...]:
    """Return the types that suit, have room for ``requests`` and are to be had."""
    suiting = all_suiting(types, requirements)
    return all_sold(
        (one for one in suiting if resources.fits(requests, one.allocatable)), requirements
    )
