"""Machines of the simulated cloud: what becomes of an Instance once it is asked for.

Pending, after a while Running; told to go, ShuttingDown, after a while Terminated, and after a
longer while forgotten. A machine may also die: it is Terminated from one moment to the next, and
nobody is told. (To pull the plug of one by hand: ``kubectl delete instance``.)

Must not: touch nodes. What runs on a machine, and falls silent with it, is the kubelet's part.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from unmoor.model.cluster import Instance
from unmoor.model.kinds import INSTANCES
from unmoor.model.moment import HOUR, Moment, rfc3339
from unmoor.sim.actors.actor import Actor, Key, Seconds, Stage


class MachineDelays(msgspec.Struct, frozen=True, kw_only=True):
    """How long things take. ``mean_life_h``: machines die by themselves, None: they do not."""

    launch_s: Seconds = (2.0, 15.0)
    shut_down_s: Seconds = (5.0, 40.0)
    forget_s: Seconds = (600.0, 600.0)
    mean_life_h: float | None = None


class Machines(Actor):
    """Plays every Instance."""

    kinds: ClassVar[tuple[str, ...]] = (INSTANCES.kind,)

    def __init__(self, stage: Stage, delays: MachineDelays = MachineDelays()) -> None:
        """Play with these delays."""
        super().__init__(stage)
        self.delays = delays
        self._since: dict[str, tuple[str, float]] = {}

    async def kill(self, name: str) -> None:
        """Let one machine die now. A machine that is not there has nothing to lose."""
        instance = self.store.get(INSTANCES, name)
        if instance is not None:
            await self._become(instance, "Terminated")

    def look(self, kind: str, old: Any | None, new: Any | None) -> None:
        """Every change of an Instance concerns that Instance."""
        del kind
        if new is None:
            self._since.pop(old.name if old else "", None)
        else:
            self.mark((new.name,))

    async def play(self, key: Key, moment: Moment) -> float | None:
        """Bring one machine to its next phase when its time has come."""
        instance = self.store.get(INSTANCES, key[0])
        if instance is None:
            return None
        phase = instance.status.phase or "Pending"
        since = self._in_phase_since(instance, phase, moment)
        match phase:
            case "Pending" | "Running" if instance.spec.is_terminating:
                await self._become(instance, "ShuttingDown")
            case "Pending":
                due = since + self._draw("launch", instance, self.delays.launch_s)
                if moment.mono < due:
                    return due
                running = {"nodeName": instance.name, "runningAt": rfc3339(moment.wall)}
                await self._become(instance, "Running", running)
            case "Running":
                return await self._live(instance, since, moment)
            case "ShuttingDown":
                due = since + self._draw("shut down", instance, self.delays.shut_down_s)
                if moment.mono < due:
                    return due
                await self._become(instance, "Terminated")
            case _:
                due = since + self._draw("forget", instance, self.delays.forget_s)
                if moment.mono < due:
                    return due
                await self.stage.delete(instance)
        return None

    async def _live(self, instance: Instance, since: float, moment: Moment) -> float | None:
        if self.delays.mean_life_h is None:
            return None
        mean_s = self.delays.mean_life_h * HOUR
        due = since + self.stage.draw_life_s("life", instance.uid, mean_s)
        if moment.mono < due:
            return due
        await self._become(instance, "Terminated")
        return None

    async def _become(
        self, instance: Instance, phase: str, more: dict[str, str] | None = None
    ) -> None:
        body = {"status": {"phase": phase, **(more or {})}}
        await self.stage.patch(instance, body, subresource="status")

    def _in_phase_since(self, instance: Instance, phase: str, moment: Moment) -> float:
        """Since when it is in this phase: what the object says, else when we first saw it so."""
        known = self._since.get(instance.name)
        if known is not None and known[0] == phase:
            return known[1]
        status, meta = instance.status, instance.metadata
        stamped = {"Pending": meta.creation_timestamp, "Running": status.running_at}.get(phase)
        since = moment.mono - moment.since_s(stamped)
        self._since[instance.name] = (phase, since)
        return since

    def _draw(self, what: str, instance: Instance, seconds: Seconds) -> float:
        return self.stage.draw(what, instance.uid, seconds)
