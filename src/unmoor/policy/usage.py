"""What does a provisioner have? Its instances, what they come to, and whose they are.

Counted is what is paid for: nodes, and launched machines that have no node yet; those that are on
their way out, too, until they are gone. It is what a person reads in ``status.resources``, and so
it may pass a limit for as long as one machine takes another's place. Limits are held against what
stays (spec 9.4 leaves out what is going): else a drain that waits for its pods to run elsewhere
would wait for a machine that waits for the drain.

An instance counts once, whatever stands for it. Where a machine and its node name two provisioners,
it is the machine's.

Must not: judge limits (``engine.limits``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from unmoor.engine.places import capacity_of
from unmoor.model import resources
from unmoor.model.kinds import NODES
from unmoor.model.machine import Machine
from unmoor.model.node import Node
from unmoor.model.resources import Resources
from unmoor.model.snapshot import View
from unmoor.policy.ownership import is_our_machine, is_ours

_Quantities: TypeAlias = tuple[tuple[str, str | float], ...]
_Written: TypeAlias = tuple[_Quantities, _Quantities, bool]


class Usage(msgspec.Struct, frozen=True):
    """What a provisioner has. ``is_ours``: at least one instance of it is, or it has none."""

    capacity: Resources
    is_ours: bool


def usage_of(view: View, provisioner: str) -> Usage:
    """Return what the provisioner of this name has; nothing of it needs to be readable."""
    alike: dict[_Written, tuple[dict[str, int], int]] = {}
    is_ours, count = False, 0
    for node, machine in _instances(view, provisioner):
        count += 1
        is_ours = is_ours or _is_ours(view, node, machine)
        written = _written(node, machine)
        one, times = alike.get(written) or (capacity_of(node, machine), 0)
        alike[written] = (one, times + 1)
    capacity: Counter[str] = Counter()
    for one, times in alike.values():
        for name, amount in one.items():
            capacity[name] += amount * times
    bounded = resources.total((capacity,))
    return Usage({n: bounded[n] for n in sorted(bounded) if bounded[n]}, is_ours or not count)


def _instances(view: View, provisioner: str) -> Iterator[tuple[Node | None, Machine | None]]:
    """Each with a node, a machine or both."""
    seen = set()
    for machine in view.machines_launched_by(provisioner):
        if machine.provider_id in seen:
            continue
        if machine.provider_id:
            seen.add(machine.provider_id)
        nodes = view.nodes_of(machine.provider_id)
        yield (nodes[0] if nodes else None), machine
    for node in view.all(NODES).values():
        if node.provisioner_name != provisioner or node.provider_id in seen:
            continue
        machines = view.machines_of(node.provider_id)
        if not any(machine.provisioner_name for machine in machines):
            yield node, (machines[0] if machines else None)


def _is_ours(view: View, node: Node | None, machine: Machine | None) -> bool:
    if machine is not None:
        return is_our_machine(machine, view.identity)
    return node is not None and is_ours(view, node)


def _written(node: Node | None, machine: Machine | None) -> _Written:
    """All that the capacity follows from: most instances of a provisioner are alike."""
    reported = node.status.capacity if node is not None else {}
    promised = machine.status.capacity if machine is not None else {}
    is_initialized = node is not None and node.is_initialized
    return (tuple(reported.items()), tuple(promised.items()), is_initialized)
