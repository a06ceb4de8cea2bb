"""One fact about the real kube-scheduler, in a form that both it and we can be asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unmoor.model.base import JSON


@dataclass(frozen=True)
class Fact:
    """On which nodes of ``cluster`` may ``pod`` run? On those of ``fits``, and on no other.

    ``because``: a part of what kube-scheduler says of the nodes that it refuses.
    """

    cluster: Sequence[JSON]
    pod: JSON
    fits: str
    because: str = ""

    @property
    def fitting(self) -> frozenset[str]:
        return frozenset(self.fits.split())

    @property
    def refusing(self) -> frozenset[str]:
        names = {one["metadata"]["name"] for one in self.cluster if one["kind"] == "Node"}
        return frozenset(names - self.fitting)
