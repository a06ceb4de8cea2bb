"""What must finally hold, once faults have stopped and people leave the cluster alone.

Each rule lists what is not settled yet; a world is settled when none lists anything. What only a
person can resolve is not waited for, and each such case is named here.

Must not: import policy or lifecycle, or write anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from unmoor.model import names, quantity
from unmoor.model.base import JSON, Ref
from unmoor.model.cluster import SIMULATED_SCHEME
from unmoor.sim import replaced
from unmoor.sim import truth as true
from unmoor.sim.halves import half_done
from unmoor.sim.methods import METHODS
from unmoor.sim.past import Past
from unmoor.sim.truth import Truth

Unsettled = tuple[str, Ref]
Rule = Callable[[Truth], Iterator[Unsettled]]


def unsettled(truth: Truth, past: Past | None = None) -> list[tuple[str, str, Ref]]:
    """What is not as it finally should be: rule, words, object. ``past``: of commands."""
    found = [(name, message, ref) for name, rule in RULES.items() for message, ref in rule(truth)]
    halves = half_done(past) if past is not None else ()
    found += [("no-command-is-half-done", said, _ref(command)) for said, command in halves]
    return found


def _ref(obj: JSON) -> Ref:
    meta = obj["metadata"]
    return Ref(obj["kind"], meta["name"], namespace=meta.get("namespace", ""), uid=meta["uid"])


def _deleted_nodes_are_gone(truth: Truth) -> Iterator[Unsettled]:
    for node in truth.all("Node"):
        held = names.TERMINATION_FINALIZER in true.finalizers(node)
        if true.is_deleting(node) and truth.is_ours(node) and held:
            yield f"node {true.name(node)} was deleted and is still there", _ref(node)


def _deleted_machines_are_gone(truth: Truth) -> Iterator[Unsettled]:
    for machine in truth.all("Machine"):
        if true.is_deleting(machine) and truth.is_our_machine(machine):
            yield f"machine {true.name(machine)} was deleted and is still there", _ref(machine)


def _instances_have_machines(truth: Truth) -> Iterator[Unsettled]:
    """But one with a claimed node whose Provisioner is gone: a person has to say (T03)."""
    tokens = set()
    for machine in truth.all("Machine"):
        number = true.marks_of(machine).get(names.LAUNCH_ATTEMPT, "")
        tokens.add(f"{true.uid(machine)}-{number}")
    for instance in truth.all("Instance"):
        spec = instance["spec"]
        if spec.get("cluster") != truth.cluster or true.is_going(instance):
            continue
        if truth.machines_of(f"{SIMULATED_SCHEME}:///{spec['zone']}/{true.name(instance)}"):
            continue
        provisioner = (spec.get("labels") or {}).get(names.PROVISIONER_NAME, "")
        claimed = [n for n in truth.all("Node") if true.name(n) == true.name(instance)]
        if provisioner and truth.get("Provisioner", provisioner) is None and claimed:
            continue
        waits = "and is waited for" if spec.get("token") in tokens else "and no Machine"
        yield f"instance {true.name(instance)} runs {waits}", _ref(instance)


def _machines_have_instances(truth: Truth) -> Iterator[Unsettled]:
    for machine in truth.all("Machine"):
        provider_id = (machine.get("status") or {}).get("providerID", "")
        if not truth.is_our_machine(machine):
            continue
        instance = truth.instance_of(provider_id)
        if provider_id and (instance is None or true.is_going(instance)):
            yield f"machine {true.name(machine)} has no instance any more", _ref(machine)


def _machines_are_up_or_gone(truth: Truth) -> Iterator[Unsettled]:
    """A Machine that never gets a node is given up after a while."""
    for machine in truth.all("Machine"):
        conditions = (machine.get("status") or {}).get("conditions") or ()
        known = [one["type"] for one in conditions if one["status"] == "True"]
        if truth.is_our_machine(machine) and "MachineRegistered" not in known:
            yield f"machine {true.name(machine)} has no node and was not given up", _ref(machine)


def _nothing_of_ours_is_left(truth: Truth) -> Iterator[Unsettled]:
    """No mark and no cordon of ours on a node that no command acts on and nobody deleted."""
    active = {true.name(one) for one in truth.all("Disruption") if true.is_active(one)}
    for node in truth.all("Node"):
        marks = true.marks_of(node)
        if true.is_deleting(node) or marks.get(names.DISRUPTION) in active:
            continue
        if names.DISRUPTION in marks:
            yield f"node {true.name(node)} still bears the name of a command", _ref(node)
        by = truth.cordoned_by.get(true.uid(node), "a person")
        if node["spec"].get("unschedulable") and by != "a person":
            yield f"node {true.name(node)} is still cordoned by {by}", _ref(node)


def _machines_bear_no_command(truth: Truth) -> Iterator[Unsettled]:
    """What came for a command is an ordinary machine, or gone, when the command is over."""
    active = {true.name(one) for one in truth.all("Disruption") if true.is_active(one)}
    for machine in truth.all("Machine"):
        name = replaced.command_of(machine)
        if name and name not in active and truth.is_our_machine(machine):
            yield f"machine {true.name(machine)} still bears the name of {name}", _ref(machine)


def _commands_are_over(truth: Truth) -> Iterator[Unsettled]:
    for command in truth.all("Disruption"):
        if true.is_active(command):
            phase = (command.get("status") or {}).get("phase", "Pending")
            yield f"disruption {true.name(command)} is still {phase}", _ref(command)


def _nodes_have_gone_in_time(truth: Truth) -> Iterator[Unsettled]:
    """Where their Provisioner says so, and nobody has asked for them to stay."""
    for node in truth.all("Node"):
        provisioner = truth.provisioner_of(node)
        if provisioner is None or not truth.is_ours(node) or true.is_deleting(node):
            continue
        is_up = (node["metadata"].get("labels") or {}).get(names.INITIALIZED) == names.TRUE
        if not is_up or not truth.machines_of(node["spec"].get("providerID", "")):
            continue
        if names.DO_NOT_DISRUPT in true.marks_of(node):
            continue
        for method, row in METHODS.items():
            late = row.overdue(truth, node, provisioner) if row.asks(provisioner) else ""
            if late:
                yield f"node {true.name(node)} should have gone by {method}: {late}", _ref(node)


def _pods_that_left_are_evicted(truth: Truth) -> Iterator[Unsettled]:
    """No pod of ours is left on a machine that is gone, but those that somebody holds."""
    for pod in truth.all("Pod"):
        node = pod["spec"].get("nodeName", "")
        if not node or true.finalizers(pod) or truth.get("Node", node) is not None:
            continue
        yield f"pod {true.name(pod)} is bound to {node}, which is gone", _ref(pod)


def _provisioners_say_what_they_have(truth: Truth) -> Iterator[Unsettled]:
    """Each instance once, in cores; and where nothing of it is ours, nothing has to be said."""
    for provisioner in truth.all("Provisioner"):
        of_it = [
            one
            for one in (*truth.all("Machine"), *truth.all("Node"))
            if (one["metadata"].get("labels") or {}).get(names.PROVISIONER_NAME)
            == true.name(provisioner)
        ]
        machines = [one for one in of_it if one["kind"] == "Machine"]
        if true.is_deleting(provisioner) or (
            of_it and not any(map(truth.is_our_machine, machines))
        ):
            continue
        cores = {}
        for one in of_it:
            status = one.get("status") or {}
            known = status.get("providerID") or one["spec"].get("providerID") or true.uid(one)
            cores[known] = quantity.parse((status.get("capacity") or {}).get("cpu", 0))
        status = provisioner.get("status") or {}
        said = quantity.parse((status.get("resources") or {}).get("cpu", 0))
        if said != sum(cores.values()) or not status.get("conditions"):
            words = f"says {quantity.format_decimal(said)} cores"
            has = quantity.format_decimal(sum(cores.values()))
            yield (
                f"provisioner {true.name(provisioner)} {words} and has {has}",
                _ref(provisioner),
            )


def _pods_have_places(truth: Truth) -> Iterator[Unsettled]:
    """As long as some Provisioner may have as many machines as it takes."""
    is_open = any(
        not true.is_deleting(one) and not one["spec"].get("limits")
        for one in truth.all("Provisioner")
    )
    for pod in truth.all("Pod") if is_open else ():
        is_waiting = not pod["spec"].get("nodeName") and not true.is_deleting(pod)
        if is_waiting and true.is_workload(pod) and true.has_found_no_place(pod):
            yield f"pod {true.name(pod)} still waits for a node", _ref(pod)


RULES: dict[str, Rule] = {
    "deleted-nodes-go": _deleted_nodes_are_gone,
    "deleted-machines-go": _deleted_machines_are_gone,
    "no-instance-is-leaked": _instances_have_machines,
    "no-machine-outlives-its-instance": _machines_have_instances,
    "machines-come-up-or-go": _machines_are_up_or_gone,
    "nothing-of-ours-is-left": _nothing_of_ours_is_left,
    "no-machine-waits-for-a-command": _machines_bear_no_command,
    "commands-end": _commands_are_over,
    "nodes-go-in-time": _nodes_have_gone_in_time,
    "no-pod-is-forgotten": _pods_that_left_are_evicted,
    "pods-find-a-place": _pods_have_places,
    "provisioners-say-what-they-have": _provisioners_say_what_they_have,
}
