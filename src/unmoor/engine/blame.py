"""Requirements that nothing on sale meets: which of them is to blame?

One whose values nobody sells is, whatever the others say: a slip of the pen mostly, so the nearest
value that there is gets named. Else the one without which something would do, or the two. What is
out of stock is on sale all the same.

Must not: refuse anything; whoever asks has found out that nothing is left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import combinations

from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.scene import Template
from unmoor.engine.sites import OF_NO_TYPE, all_suiting, type_label
from unmoor.engine.wish import Wish
from unmoor.model import names, resources
from unmoor.model.instance import InstanceType
from unmoor.model.requirement import Requirement, Requirements, integer
from unmoor.model.resources import Resources
from unmoor.model.wording import NAMED_MAX, named

PAIRS_OF_MAX = 12
"""Of more requirements than this no two are looked at together: all types are, for each pair."""
TRIED_MAX = 100
"""So many requirements at most are left out, one after the other."""
ASKED_MAX = 20
"""Of so many values that are not there the nearest is looked for; a slip is one, or a few."""
ALIKE = 0.85
"""So alike are two values, at 1 the same, of which one is a slip of the pen: arm64 is no amd64."""
ALIKE_MAX = 1_000
"""Among so many values the nearest is looked for."""


def is_on_sale(types: Iterable[InstanceType], requirements: Requirements) -> bool:
    """True when there is a type that suits, with an allowed offering, in stock or not."""
    zone, capacity_type = requirements.get(names.ZONE), requirements.get(names.CAPACITY_TYPE)
    return any(
        zone.allows(offering.zone) and capacity_type.allows(offering.capacity_type)
        for one in all_suiting(types, requirements)
        for offering in one.offerings
    )


def words_of(
    requirements: Requirements,
    types: Sequence[InstanceType],
    defaults: Collection[str],
    said_max: int = NAMED_MAX,
) -> str:
    """Say why nothing on sale meets them, "" when something does, or when nothing is on sale.

    ``defaults``: labels that nobody has required anything of, so that they have the usual values.
    ``said_max``: of several whose values nobody sells, so many are said.
    """
    if not types or is_on_sale(types, requirements):
        return ""
    if unknown := list(_sold_nowhere(requirements, types, defaults)):
        more = len(unknown) - said_max
        return "; ".join(unknown[:said_max]) + (f"; and {more} more" if more > 0 else "")
    each = [one for one in requirements if one.key not in OF_NO_TYPE]
    each.sort(key=lambda one: one.key not in defaults)  # What nobody has asked for goes first.
    most = 2 if len(each) <= PAIRS_OF_MAX else 1
    for count in range(1, most + 1):
        for blamed in combinations(each[:TRIED_MAX], count):
            if is_on_sale(types, _without(requirements, blamed)):
                return _is_in_the_way(blamed, requirements, types, defaults)
    return "no instance type suits all of them"


def no_such_provisioner(wish: Wish, called: Collection[str]) -> Refusal | None:
    """Say that the pod asks for a provisioner that is not there, None when it does not."""
    wanted = [way.get(names.PROVISIONER_NAME) for way in wish.ways]
    asked = sorted({value for one in wanted for value in one.values})
    if not asked or any(one.is_complement for one in wanted) or set(asked) & set(called):
        return None
    meant = _meant(asked, called)
    hint = f"did you mean {named(tuple(meant))}?" if meant else _offered(called)
    words = f"no provisioner is called {named(tuple(asked))}; {hint}"
    return Refusal(Constraint.REQUIREMENTS, names.PROVISIONER_NAME, words)


def meant_by(wish: Wish, templates: Sequence[Template]) -> Sequence[Template]:
    """Return those that the pod does not leave out by name; all of them where it leaves out all."""
    names_wanted = [way.get(names.PROVISIONER_NAME) for way in wish.ways]
    meant = [
        one for one in templates if any(wanted.allows(one.provisioner) for wanted in names_wanted)
    ]
    return meant or templates


def largest(types: Iterable[InstanceType], requests: Resources) -> str:
    """Name the largest type in what none of them has enough of; "" when each has some such type."""
    listed = list(types)
    for name, amount in requests.items():
        most = max(listed, key=lambda one: one.allocatable.get(name, 0), default=None)
        if most is not None and most.allocatable.get(name, 0) < amount:
            if not most.allocatable.get(name, 0):
                return f"none has any {name}"
            has = resources.said(name, most.allocatable[name])
            return f"the largest in {name} is {most.name} with {has}"
    return ""


def _meant(asked: Sequence[str], known: Collection[str]) -> list[str]:
    return [found for value in asked[:ASKED_MAX] if (found := nearest(value, known))]


def nearest(value: str, known: Collection[str]) -> str:
    """Return which of these is meant, perhaps; "" when none is like it, or several just as much."""
    found = get_close_matches(value, sorted(known)[:ALIKE_MAX], 2, ALIKE)
    if len(found) > 1 and _likeness(value, found[0]) == _likeness(value, found[1]):
        return ""
    return found[0] if found else ""


def _likeness(value: str, other: str) -> float:
    return SequenceMatcher(None, other, value).ratio()


def _sold_nowhere(
    requirements: Requirements, types: Sequence[InstanceType], defaults: Collection[str]
) -> Iterator[str]:
    """Requirements of whose values none is that of any type or offering."""
    for one in requirements:
        known = frozenset() if one.is_complement else _known(one.key, types)
        if known and one.values and not one.values & known:
            meant = _meant(sorted(one.values), known)
            hint = f"did you mean {named(tuple(meant))}?" if meant else _offered(known)
            yield f"nothing is sold with {one}{_default(one, defaults)}; {hint}"


def _known(key: str, types: Iterable[InstanceType]) -> frozenset[str]:
    if key in {names.ZONE, names.CAPACITY_TYPE}:
        sold = (offering for one in types for offering in one.offerings)
        return frozenset(one.zone if key == names.ZONE else one.capacity_type for one in sold)
    return frozenset(value for one in types if (value := type_label(one, key)) is not None)


def _is_in_the_way(
    blamed: Sequence[Requirement],
    requirements: Requirements,
    types: Sequence[InstanceType],
    defaults: Collection[str],
) -> str:
    """Name them, and what the types that suit all others have in their place."""
    [first, *_] = blamed
    left = _without(requirements, blamed)
    others = [one for one in all_suiting(types, left) if is_on_sale((one,), left)]
    said = " and ".join(f"{one}{_default(one, defaults)}" for one in blamed)
    offered = _offered(_known(first.key, others)) if len(blamed) == 1 else "change one of them"
    return f"no type that suits the others goes with {said}; {offered}"


def _offered(known: Collection[str]) -> str:
    listed = sorted(known, key=lambda value: (integer(value) or 0, value))
    return f"there is {named(tuple(listed))}" if known else "leave it out"


def _default(one: Requirement, defaults: Collection[str]) -> str:
    return " (a default: add a requirement on it)" if one.key in defaults else ""


def _without(requirements: Requirements, blamed: Collection[Requirement]) -> Requirements:
    return Requirements.all_of(one for one in requirements if one not in blamed)
