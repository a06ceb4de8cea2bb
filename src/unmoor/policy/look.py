"""What a method looks with: a frozen view, a moment, and a simulation of what would be.

The simulation is made when the first method asks for it. Until the cloud has said what it sells
there is none, and a method that needs one says so.

Must not: decide anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from unmoor.engine.scene import Doubts
from unmoor.model.moment import Moment
from unmoor.model.snapshot import View
from unmoor.policy import provisionable, stock
from unmoor.policy.simulation import Simulation, Simulator


class Look:
    """One look of the methods at the cluster."""

    def __init__(
        self,
        view: View,
        moment: Moment,
        simulator: Simulator | None = None,
        doubts: Doubts = Doubts(),
        *,
        is_observing: bool = False,
        gone: Collection[str] = (),
    ) -> None:
        """``simulator``: what the last look has found out. ``doubts``: what is not counted on.

        ``is_observing``: it is about what is only observed; ``gone``: nodes that would be gone.
        """
        self.view = view
        self.moment = moment
        self._simulator = simulator
        self._doubts = doubts
        self.is_observing = is_observing
        self.gone = frozenset(gone)
        self.is_simulated = False
        """True once a method has asked for the simulation."""
        self.totals: Mapping[str, tuple[float, float]] | None = None
        """Price and disruption of all nodes by provisioner, once they were added up (3.11)."""

    @cached_property
    def simulation(self) -> Simulation | None:
        """What answers "would it fit elsewhere"; None while nobody knows what the cloud sells."""
        self.is_simulated = True
        sold = stock.types_of(self.view)
        if sold is None or sold.result is None:
            return None
        types = stock.in_stock(sold.result, stock.sold_out(self.view, self.moment))
        wanting = provisionable.find(self.view, self.moment)
        simulator = self._simulator or Simulator()
        found = simulator.simulation(self.view, types, wanting, self._doubts)
        return found.beside(self.gone) if self.gone else found
