"""What is a provisioner's reason good for, to who reads it? It names what to change.

Who wrote no word about instance categories or architectures has to hear that something was chosen
for him, and what to write instead. Where no type is left, the requirement that is in the way is
named, or how large the largest type is.

Must not: refuse anything.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from unmoor.engine import blame
from unmoor.engine.refusal import Constraint, Refusal, Refusals
from unmoor.engine.scene import Template
from unmoor.engine.sites import all_suiting, offerings_of, suits
from unmoor.engine.wish import Wish
from unmoor.model import names, resources
from unmoor.model.instance import InstanceType
from unmoor.model.provisioner import NARROWS_TYPES
from unmoor.model.requirement import Requirements
from unmoor.model.resources import PODS, Resources
from unmoor.model.wording import counted, joined, named

NONE = " none is to be had"
"""Before all that was asked for."""


def listed(requests: Resources) -> str:
    """Say what is asked for; that a pod takes the place of one pod is said by nobody."""
    shown = {name: amount for name, amount in requests.items() if (name, amount) != (PODS, 1)}
    return joined(f"{name} {resources.said(name, shown[name], up=True)}" for name in sorted(shown))


def no_type(types: Iterable[InstanceType], wanted: Requirements, requests: Resources) -> Refusal:
    """Say which of the three it was: room, the requirements, or the offerings."""
    roomy = [one for one in types if resources.fits(requests, one.allocatable)]
    asked = listed(requests)
    if not roomy:
        return Refusal(Constraint.INSTANCE_TYPE, "resources", f"no type has room for {asked}")
    words = f"of {counted(len(roomy), 'type')} with room for {asked}{NONE} with {wanted}"
    return Refusal(Constraint.INSTANCE_TYPE, "requirements", words)


def with_all_types(template: Template) -> Template | None:
    """What it would be if its defaults left out no types, None when they leave out none."""
    if not template.left_out:
        return None
    return msgspec.structs.replace(
        template,
        requirements=Requirements.all_of(
            one for one in template.requirements if one.key not in template.defaults & NARROWS_TYPES
        ),
        types=template.types + template.left_out,
        defaults=template.defaults - NARROWS_TYPES,
        left_out=(),
    )


def by_default(refusals: Refusals, template: Template, wish: Wish, still: Refusals) -> Refusals:
    """Return the same reasons; where a default of the provisioner decides, it is named.

    ``still``: what would be in the way if the defaults left out no types.
    """
    return tuple(_explained(one, template, wish, still) for one in refusals)


def _explained(one: Refusal, template: Template, wish: Wish, still: Refusals) -> Refusal:
    if one.constraint is Constraint.REQUIREMENTS and one.subject in template.defaults:
        more = "that is the default where there is no requirement on it: add one"
    elif one.constraint is Constraint.INSTANCE_TYPE:
        return _of_types(one, template, wish, still)
    else:
        more = ""
    if not more:
        return one
    return msgspec.structs.replace(one, missing=f"{one.missing} ({more})")


def _of_types(one: Refusal, template: Template, wish: Wish, still: Refusals) -> Refusal:
    """Who hears what is in the way needs no list of all that was asked for."""
    why = _by_default(template, wish, still)
    if not why and (to_blame := _to_blame(template, wish)):
        return msgspec.structs.replace(one, missing=to_blame)
    why = why or _largest(template, wish)
    if not why:
        return one
    head, none, _ = one.missing.partition(NONE)
    return msgspec.structs.replace(one, missing=f"{head}{none} ({why})")


def _by_default(template: Template, wish: Wish, still: Refusals) -> str:
    """Types that would do, if the defaults did not leave them out, and what to do about that."""
    others = _would_do(template.left_out, template, wish)
    if not others or _would_do(template.types, template, wish):
        return ""
    remedy = f"even with these: {still[0]}" if still else _remedy(others, template)
    return (
        f"{named(tuple(kind.name for kind in others))} would do, but provisioner "
        f"{template.provisioner} says nothing of instance types, and by default gets "
        f"{_defaults(template)}: {remedy}"
    )


def _to_blame(template: Template, wish: Wish) -> str:
    """Which requirement is in the way, whatever the size; "" where some way leaves a type."""
    both = (template.requirements.intersection(way) for way in wish.ways)
    said = [blame.words_of(one, template.types, template.defaults) for one in both]
    return said[0] if said and all(said) else ""


def _largest(template: Template, wish: Wish) -> str:
    """How far the largest type goes that is what the pod asks for."""
    requests = resources.add(template.daemons, wish.requests)
    both = [template.requirements.intersection(way) for way in wish.ways]
    suiting = [
        one for way in both for one in all_suiting(template.types, way) if offerings_of(one, way)
    ]
    return blame.largest(suiting, requests)


def _would_do(types: Iterable[InstanceType], template: Template, wish: Wish) -> list[InstanceType]:
    """The types that have room for the pod, and are what it asks for."""
    requests = resources.add(template.daemons, wish.requests)
    roomy = [one for one in types if resources.fits(requests, one.allocatable)]
    return [one for one in roomy if any(suits(one, way) for way in wish.ways)]


def _remedy(types: list[InstanceType], template: Template) -> str:
    allowed = template.requirements.get(names.INSTANCE_CATEGORY)
    missing = [one for one in _categories(types) if not allowed.allows(one)]
    if not missing:
        return f"add a requirement on {names.INSTANCE_GENERATION}"
    return f"allow {' or '.join(missing)} by a requirement on {names.INSTANCE_CATEGORY}"


def _defaults(template: Template) -> str:
    chosen = sorted(template.defaults & NARROWS_TYPES)
    return " and ".join(str(template.requirements.get(key)) for key in chosen)


def _categories(types: list[InstanceType]) -> list[str]:
    found = {one.labels.get(names.INSTANCE_CATEGORY, "") for one in types}
    return sorted(found - {""})
