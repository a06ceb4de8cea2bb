"""Host ports: two pods on one node that want the same one (API reference: v1.ContainerPort).

An address of "", "0.0.0.0" or "::" stands for all of them. For kube-scheduler "::" is an address
like any other; here it keeps clear of the same port on every address, too (T383).

Must not: know nodes.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from unmoor.engine.refusal import Constraint
from unmoor.model.pod import Pod

EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 - compared with, never listened on


class HostPort(msgspec.Struct, frozen=True, order=True):
    """One port of the node."""

    constraint: ClassVar[Constraint] = Constraint.HOST_PORT

    port: int
    protocol: str = "TCP"
    address: str = ""

    def collides(self, other: object) -> bool:
        """True when the two cannot be on one node."""
        if not isinstance(other, HostPort):
            return False
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        return (
            self.address == other.address
            or self.address in EVERY_ADDRESS
            or other.address in EVERY_ADDRESS
        )

    def __str__(self) -> str:
        """``TCP 8080`` or ``UDP 10.0.0.1:53``."""
        where = f"{self.address}:{self.port}" if self.address else str(self.port)
        return f"{self.protocol} {where}"


def ports_of(pod: Pod) -> tuple[HostPort, ...]:
    """Return the host ports that a pod takes, sorted. Sidecars run beside; init containers end."""
    beside = (one for one in pod.spec.init_containers if one.restart_policy == "Always")
    found = set()
    for container in (*pod.spec.containers, *beside):
        for one in container.ports:
            number = one.host_port or (one.container_port if pod.spec.host_network else 0)
            if number > 0:
                found.add(HostPort(number, one.protocol or "TCP", one.host_ip))
    return tuple(sorted(found))
