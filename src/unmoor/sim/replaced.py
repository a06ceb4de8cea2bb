"""Do the machines that a command makes come and go as they should?

Plain code on the server's objects, like all that checks.

Must not: import policy or lifecycle, or write anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.sim import truth as true
from unmoor.sim.truth import Truth


def command_of(machine: JSON) -> str:
    """The name of the command that a Machine is a replacement for, "" for none."""
    return true.marks_of(machine).get(names.REPLACEMENT_FOR, "")


def is_replacement(machine: JSON) -> bool:
    """It was made for a command that may be under way."""
    return bool(command_of(machine))


def made(truth: Truth, machine: JSON, blind_s: float) -> Iterator[str]:
    """Say when a replacement is made that no command asks for any more, or that was there already.

    That a command has ended lately may not be known to whoever makes it.
    """
    name = command_of(machine)
    command = truth.get("Disruption", name)
    if truth.time_s() - truth.ended_at.get(name, -blind_s) < blind_s:
        return
    if command is None or not true.is_active(command):
        yield f"there is no command {name} under way"
        return
    listed = [one["name"] for one in command["spec"].get("replacements") or ()]
    status = command.get("status") or {}
    if true.name(machine) not in listed:
        yield f"command {name} has not asked for it"
    if status.get("phase") != "Launching":
        yield f"command {name} is {status.get('phase', 'Pending')}"
    if true.name(machine) in (status.get("launched") or {}):
        yield f"command {name} has had it already"


def not_up(truth: Truth, command: JSON) -> Iterator[str]:
    """Say which replacement of a command was never ready for pods, when a node of it goes."""
    launched = (command.get("status") or {}).get("launched") or {}
    for one in command["spec"].get("replacements") or ():
        if launched.get(one["name"]) not in truth.risen:
            yield f"its replacement {one['name']} was never ready for pods"


def taken_back(truth: Truth, machine: JSON) -> bool:
    """It came for a command that is over, so it may go although its instance runs."""
    command = truth.get("Disruption", command_of(machine))
    return is_replacement(machine) and (command is None or not true.is_active(command))


def serving(truth: Truth, machine: JSON) -> list[JSON]:
    """The workload pods on the node of a machine."""
    provider_id = (machine.get("status") or {}).get("providerID", "")
    nodes = (one for one in truth.all("Node") if one["spec"].get("providerID") == provider_id)
    on_it = (pod for node in nodes for pod in truth.pods_on(true.name(node)) if provider_id)
    return [pod for pod in on_it if true.is_workload(pod) and not true.is_deleting(pod)]


def making_way(truth: Truth, machine: JSON) -> frozenset[str]:
    """The instances (provider ids) that go when a replacement is up: limits count without (R41)."""
    command = truth.get("Disruption", command_of(machine)) if is_replacement(machine) else None
    uids = {one["uid"] for one in command["spec"].get("nodes") or ()} if command else set()
    nodes = [one for one in truth.all("Node") if true.uid(one) in uids]
    return frozenset(one["spec"].get("providerID", "") for one in nodes)
