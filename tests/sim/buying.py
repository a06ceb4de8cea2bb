"""A small server on which machines are bought, under the eyes of all checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.sim.promising import BLIND_S, Stage, machine
from unmoor.model.base import JSON
from unmoor.model.kinds import MACHINES, PODS, PROVISIONERS, Resource
from unmoor.runtime.around import Call
from unmoor.sim.allowances import Allowances
from unmoor.sim.apiserver.storage import Entry
from unmoor.sim.checkers import Checkers
from unmoor.sim.witness import Act, Witness


class Market(Stage):
    """A stage on which whatever unmoor buys is judged, besides what it promises."""

    def __init__(self, *, is_in_stock: bool = True) -> None:
        super().__init__(is_in_stock=is_in_stock)
        self.witness = Witness(lambda: self.time_s)
        allowances = Allowances(unseen_s=BLIND_S, blind_s=BLIND_S)
        self.checkers = Checkers(self.truth, self.witness, allowances)

    def note(self, _resource: Resource[Any], _entry: Entry) -> None:
        """The checkers note it themselves."""

    def told(self, rule: str) -> list[str]:
        """What was said of the breaches of a rule, without whose act it was."""
        said = (one.message for one in self.checkers.breaches if one.rule == rule)
        return [words.partition(": ")[2] for words in said]

    def provisioner(self, **limits: str) -> None:
        """The one that machines are of."""
        spec = {"limits": {"resources": limits}} if limits else {}
        ref = PROVISIONERS.ref("default")
        self.server.create(ref, {"metadata": {"name": "default"}, "spec": spec})

    def pending(self, name: str, cpu: str = "1", **wishes: Any) -> None:
        """A pod of which the scheduler says that no node takes it."""
        self.pod(name, cpu, **wishes)
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        ref = PODS.ref(name, "default")
        self.server.patch(ref, {"status": {"conditions": [said]}}, subresource="status")

    def machine(self, name: str, *types: str, by: str = "unmoor-a") -> None:
        """A machine that unmoor makes, not launched yet."""
        ref = MACHINES.ref(name)
        body = machine(name, *types)
        self.act(by, Call("create", ref, body=body), lambda: self.server.create(ref, body))

    def persons(self, name: str, *types: str) -> None:
        """A machine that a person has written."""
        self.server.create(MACHINES.ref(name), machine(name, *types))

    def launched(self, name: str, cpu: str) -> None:
        """The cloud has given it an instance, and unmoor writes that down."""
        ref = MACHINES.ref(name)
        call = Call("patch", ref, "status")
        self.act("unmoor-a", call, lambda: super(Market, self).launched(name, cpu))

    def act(self, who: str, call: Call, write: Callable[[], JSON | None]) -> None:
        """One write of unmoor."""
        self.witness.acting = Act(who, call)
        write()
        self.witness.acting = None
