"""Which nodes of commands may still be called back? Whoever waits had better go there.

Until a command has taken its last look, its nodes are cordoned and nothing has happened to them. A
pod that would fit onto one needs no new machine: it is planned there, and as a node that pods are
planned onto does not go (R30), the command goes on without it.

Must not: call a command off.
"""

from __future__ import annotations

import msgspec

from unmoor.engine.scene import Place, Scene
from unmoor.model import names
from unmoor.model.disruption import DisruptionPhase
from unmoor.model.kinds import DISRUPTIONS
from unmoor.model.snapshot import View


def open_nodes(view: View) -> frozenset[str]:
    """Return the names of the nodes that a command has cordoned and may still let go."""
    undecided = (
        one
        for one in view.sorted(DISRUPTIONS)
        if one.is_running and one.phase is DisruptionPhase.PENDING
    )
    marked = (node for one in undecided for node in view.nodes_in(one.name))
    return frozenset(one.name for one in marked if one.is_cordoned_by_us and not one.is_deleting)


def reopened(view: View, scene: Scene) -> Scene:
    """Return the scene with these nodes as they were before."""
    names_of = open_nodes(view)
    if not names_of:
        return scene
    places = tuple(_opened(one) if one.name in names_of else one for one in scene.places)
    return msgspec.structs.replace(scene, places=places)


def _opened(place: Place) -> Place:
    taints = tuple(one for one in place.taints if one.key != names.UNSCHEDULABLE)
    return msgspec.structs.replace(place, is_cordoned=False, taints=taints)
