"""Who wrote what? Every write of every unmoor process in a world, at the moment it was made.

A witness stands right in front of the server, behind whatever loses and delays, so it sees what
really arrives, in the order in which it does. While a call is being carried out, ``acting`` says
whose it is: the server's observers, called in the middle of it, can tell unmoor's writes from
everybody else's. All calls together are one trace: two runs with the same trace were the same.

Must not: judge (``checkers``), or keep more than a number and a digest of what has passed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable

import msgspec

from unmoor.runtime.around import Call
from unmoor.runtime.ports import Api
from unmoor.sim.gate import Gate
from unmoor.sim.trap import Trap


class Act(msgspec.Struct, frozen=True):
    """One call of one process, while it lasts."""

    who: str
    call: Call


Heard = Callable[[Act], None]
"""Called with an act that the server has carried out."""


class Witness:
    """The record of a world. ``acting``: what is being carried out at this very moment."""

    def __init__(self, time_s: Callable[[], float]) -> None:
        """``time_s`` reads the world's clock."""
        self._time_s = time_s
        self._digest = hashlib.sha256()
        self._listeners: list[Heard] = []
        self.acting: Act | None = None
        self.writes: Counter[str] = Counter()
        """How many writes of each kind of object and verb were carried out."""
        self.last_effect_s = 0.0
        """When something was written last that is neither a lease nor an event."""

    @property
    def trace_hash(self) -> str:
        """A digest of every write so far: when, who, what."""
        return self._digest.hexdigest()

    def listen(self, heard: Heard) -> None:
        """Be told of every write that the server has carried out."""
        self._listeners.append(heard)

    def door(self, who: str, api: Api, trap: Trap | None = None) -> Gate:
        """A way to the server for one process, under this witness's eyes.

        ``api`` must answer without waiting, or somebody else's write would be taken for this one's.
        """
        sprung = trap or Trap()

        def begin(call: Call) -> None:
            sprung.before(call)
            if call.is_write:
                self.acting = Act(who, call)

        def end(call: Call) -> None:
            self._end(who, call)
            sprung.after(call)

        def refused(call: Call) -> None:
            self._refused(call)
            sprung.after(call)

        return Gate(api, before=begin, after=end, refused=refused)

    def _end(self, who: str, call: Call) -> None:
        if not call.is_write:
            return
        self.acting = None
        kind = call.ref.kind
        self.writes[f"{call.subresource or call.verb} {kind}"] += 1
        now = self._time_s()
        if kind not in {"Lease", "Event"}:
            self.last_effect_s = now
        said = (now, who, call.verb, str(call.ref), call.subresource, call.body)
        self._digest.update(msgspec.json.encode(said, order="deterministic"))
        act = Act(who, call)
        for heard in self._listeners:
            heard(act)

    def _refused(self, call: Call) -> None:
        if call.is_write:
            self.acting = None
