"""Is a pod refused for what a provisioner does not even say? Its defaults are named then.

Who wrote no word about instance categories or architectures has to hear that something was chosen
for him, and what to write instead.

Must not: refuse anything.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.scene import Template
from unmoor.engine.sites import suits
from unmoor.engine.wish import Wish
from unmoor.model import names, resources
from unmoor.model.instance import InstanceType
from unmoor.model.provisioner import NARROWS_TYPES
from unmoor.model.resources import PODS, Resources
from unmoor.model.wording import joined, named


def listed(requests: Resources) -> str:
    """Say what is asked for; that a pod takes the place of one pod is said by nobody."""
    shown = {name: amount for name, amount in requests.items() if (name, amount) != (PODS, 1)}
    return joined(f"{name} {amount}" for name, amount in resources.render(shown).items())


def by_default(
    refusals: tuple[Refusal, ...], template: Template, wish: Wish
) -> tuple[Refusal, ...]:
    """Return the same reasons; where a default of the provisioner decides, it is named."""
    return tuple(_explained(one, template, wish) for one in refusals)


def _explained(one: Refusal, template: Template, wish: Wish) -> Refusal:
    who = f"provisioner {template.provisioner}"
    if one.constraint is Constraint.REQUIREMENTS and one.subject in template.defaults:
        more = f"that is the default, as {who} has no requirement on it: add one"
    elif one.constraint is Constraint.INSTANCE_TYPE and template.left_out:
        others = _would_do(template.left_out, template, wish)
        if not others or _would_do(template.types, template, wish):
            return one
        more = (
            f"{named(tuple(kind.name for kind in others))} would do, but {who} says nothing of "
            f"instance types, and by default gets {_defaults(template)}: "
            f"{_remedy(others, template)}"
        )
    else:
        return one
    return msgspec.structs.replace(one, missing=f"{one.missing} ({more})")


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
