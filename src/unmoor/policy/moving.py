"""Whose place is being made before they have to go? (spec 4.1)

A command that replaces nodes makes machines for the pods on them, and deletes the nodes when those
are ready. Until then these pods run where they are, wait for nothing, and yet the room on the new
machines is theirs: whoever else needs a place gets another one. No machine is bought for them,
their command sees to that.

Must not: place pods.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from unmoor.engine.scene import Scene, machine_of_site
from unmoor.model.base import Key
from unmoor.model.disruption import Disruption, DisruptionPhase
from unmoor.model.kinds import DISRUPTIONS, MACHINES, PODS
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View

PLACE = f"{MACHINES.kind.lower()}/"
UNDER_WAY = frozenset((DisruptionPhase.LAUNCHING, DisruptionPhase.DELETING))


class Moving(msgspec.Struct, frozen=True):
    """A pod that a command will move, and the name of the machine that is made for it."""

    pod: Pod
    machine: str


def find(view: View) -> tuple[Moving, ...]:
    """Return the pods for which machines of a running command are made, by (namespace, name)."""
    found: dict[Key, Moving] = {}
    for command in view.sorted(DISRUPTIONS):
        if command.is_running and command.phase in UNDER_WAY:
            found |= {one.pod.key: one for one in _of(view, command)}
    return tuple(found[key] for key in sorted(found))


def _of(view: View, command: Disruption) -> Iterable[Moving]:
    nodes = {one.name: one.uid for one in command.nodes}
    for one in command.spec.replacements:
        for written in command.spec.moves.get(f"{PLACE}{one.name}", ()):
            namespace, _, name = written.partition("/")
            pod = view.get(PODS, name, namespace)
            # Of a node that goes already, it is one of those that need a place anyway.
            if pod is not None and _is_on(view, pod, nodes):
                yield Moving(pod, one.name)


def _is_on(view: View, pod: Pod, nodes: dict[str, str]) -> bool:
    node = view.node(pod.node_name) if pod.node_name in nodes else None
    is_its_node = node is not None and node.uid == nodes[node.name] and not node.is_deleting
    return is_its_node and not (pod.is_deleting or pod.is_terminal)


def closed(scene: Scene, moving: Iterable[Moving]) -> Scene:
    """Return the scene with no room for anybody on the nodes that these pods are to leave.

    They are there until their machines are up, whatever a simulation makes of it. A cordon does not
    keep everybody out, and who is planned onto such a node would keep it from going.
    """
    left = {one.pod.node_name for one in moving}
    places = tuple(
        msgspec.structs.replace(one, allocatable={}) if one.is_node and one.name in left else one
        for one in scene.places
    )
    return msgspec.structs.replace(scene, places=places) if left else scene


def promised(view: View, scene: Scene, moving: Iterable[Moving]) -> dict[Key, str]:
    """Return under which name of the scene each has its place; a machine may not be there yet."""
    sites = {machine_of_site(one.name): one.name for one in scene.started}
    sites |= {machine_of_site(one.name): one.name for one in scene.places if not one.is_node}
    nodes = {one.name for one in scene.places if one.is_node}
    found = {}
    for one in moving:
        site = _node_of(view, one.machine, nodes) or sites.get(one.machine)
        if site is not None:
            found[one.pod.key] = site
    return found


def _node_of(view: View, machine: str, nodes: Collection[str]) -> str:
    held = view.machine(machine)
    there = view.nodes_of(held.provider_id) if held is not None else ()
    return next((node.name for node in there if node.name in nodes), "")
