"""What effects of the droppable kind leave in the view."""

from __future__ import annotations

from typing import Any

from unmoor.lifecycle.effects import Avoid, Nominate, Publish, Suppose
from unmoor.model.observation import Asked


def answers(effect: Nominate | Publish | Avoid | Suppose) -> list[tuple[Asked, str, Any]]:
    """Which answer to which question: what was asked, about whom, and the result."""
    match effect:
        case Nominate():
            return [(Asked.NOMINATION, place, pods) for place, pods in effect.places.items()]
        case Avoid():
            return [(Asked.NO_SHOW, effect.subject, effect.times)]
        case Suppose():
            return [(Asked.SUPPOSED, effect.machine.uid, effect.conditions)]
        case Publish():
            return []
