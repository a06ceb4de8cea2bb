"""Is a pod refused for what a provisioner does not even say? Its defaults are named then.

Who wrote no word about instance categories or architectures has to hear that something was chosen
for him, and what to write instead.

Must not: refuse anything.
"""

from __future__ import annotations

import msgspec

from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.scene import Template
from unmoor.model import names, resources
from unmoor.model.instance import InstanceType
from unmoor.model.provisioner import NARROWS_TYPES
from unmoor.model.resources import PODS, Resources
from unmoor.model.wording import named


def listed(requests: Resources) -> str:
    """Say what is asked for; that a pod takes the place of one pod is said by nobody."""
    shown = {name: amount for name, amount in requests.items() if (name, amount) != (PODS, 1)}
    return ", ".join(f"{name} {amount}" for name, amount in resources.render(shown).items())


def by_default(
    refusals: tuple[Refusal, ...], template: Template, requests: Resources
) -> tuple[Refusal, ...]:
    """Return the same reasons; where a default of the provisioner decides, it is named."""
    return tuple(_explained(one, template, requests) for one in refusals)


def _explained(one: Refusal, template: Template, requests: Resources) -> Refusal:
    who = f"provisioner {template.provisioner}"
    if one.constraint is Constraint.REQUIREMENTS and one.subject in template.defaults:
        more = f"that is the default, as {who} has no requirement on it: add one"
    elif one.constraint is Constraint.INSTANCE_TYPE and template.left_out:
        roomy = [kind for kind in template.left_out if resources.fits(requests, kind.allocatable)]
        if not roomy or any(resources.fits(requests, kind.allocatable) for kind in template.types):
            return one
        more = (
            f"{named(tuple(kind.name for kind in roomy))} would have it, but {who} says nothing of "
            f"instance types, and by default gets {_defaults(template)}: allow "
            f"{' or '.join(_categories(roomy))} by a requirement on {names.INSTANCE_CATEGORY}"
        )
    else:
        return one
    return msgspec.structs.replace(one, missing=f"{one.missing} ({more})")


def _defaults(template: Template) -> str:
    chosen = sorted(template.defaults & NARROWS_TYPES)
    return " and ".join(str(template.requirements.get(key)) for key in chosen)


def _categories(types: list[InstanceType]) -> list[str]:
    found = {one.labels.get(names.INSTANCE_CATEGORY, "") for one in types}
    return sorted(found - {""})
