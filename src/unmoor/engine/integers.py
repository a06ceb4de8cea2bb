"""Which integers of a pod are none that its field can hold?

The API allows 32 bits where the engine counts with what stands there. A server never tells more; a
file may, or a server of another make. Such a pod is refused by itself, so that nobody counts on.

Must not: judge values that a field can hold.
"""

from __future__ import annotations

from collections.abc import Iterator

from unmoor.engine.refusal import Constraint, Refusal
from unmoor.model.pod import Pod
from unmoor.model.scheduling import Affinity

LEAST, MOST = -(2**31), 2**31 - 1
DIGITS_MAX = 20
"""So many digits of a number are shown; there may be thousands."""


def excess_of(pod: Pod, affinity: Affinity) -> Iterator[Refusal]:
    """Refuse what no field can hold, but in containers. ``affinity``: of the pod."""
    for at, spread in enumerate(pod.spec.topology_spread_constraints):
        field = f"topologySpreadConstraints[{at}]"
        yield from _checked(f"{field}.maxSkew", spread.max_skew)
        yield from _checked(f"{field}.minDomains", spread.min_domains)
    nodes, near, apart = affinity.node_affinity, affinity.pod_affinity, affinity.pod_anti_affinity
    weights = {
        "nodeAffinity": [one.weight for one in nodes.preferred] if nodes else (),
        "podAffinity": [one.weight for one in near.preferred] if near else (),
        "podAntiAffinity": [one.weight for one in apart.preferred] if apart else (),
    }
    for field, listed in weights.items():
        for at, weight in enumerate(listed):
            where = f"affinity.{field}.preferredDuringSchedulingIgnoredDuringExecution[{at}].weight"
            yield from _checked(where, weight)


def excess_of_containers(pod: Pod) -> Iterator[Refusal]:
    """Refuse ports that no field can hold."""
    for field, containers in (
        ("containers", pod.spec.containers),
        ("initContainers", pod.spec.init_containers),
    ):
        for at, container in enumerate(containers):
            for number, port in enumerate(container.ports):
                where = f"{field}[{at}].ports[{number}]"
                yield from _checked(f"{where}.hostPort", port.host_port)
                yield from _checked(f"{where}.containerPort", port.container_port)


def _checked(field: str, value: int | None) -> Iterator[Refusal]:
    if value is not None and not LEAST <= value <= MOST:
        words = f"it is {_shown(value)}: use {LEAST} to {MOST}"
        yield Refusal(Constraint.INVALID, f"spec.{field}", words)


def _shown(value: int) -> str:
    """The number, or how large it is: Python does not write down any number."""
    if abs(value) < 10**DIGITS_MAX:
        return str(value)
    return f"{'-' if value < 0 else ''}2^{value.bit_length() - 1} or more"
