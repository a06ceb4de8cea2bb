"""Is each machine that unmoor makes needed, and within its Provisioner's limits?

Plain code on the server's objects, like all that checks: what unmoor may not know yet, since a
watch hangs or another instance has just acted, is left out of what is held against it.

Must not: import engine, policy or lifecycle, or know where a pod fits (``promises`` does).
"""

from __future__ import annotations

from collections.abc import Iterator

from unmoor.model import names, resources
from unmoor.model.base import JSON
from unmoor.model.resources import Resources
from unmoor.sim import promises
from unmoor.sim import truth as true
from unmoor.sim.truth import Truth


def needless(truth: Truth, made: JSON, blind_s: float) -> Iterator[str]:
    """Say when more machines are on their way than pods are without a place, or were lately.

    A machine counts while it is to take one of them, and would.
    """
    without = truth.without_place(blind_s)
    expected = promises.expected(truth, without)
    coming = [
        true.name(one)
        for one in truth.all("Machine")
        if true.uid(one) in truth.made
        and not true.is_deleting(one)
        and not (one.get("status") or {}).get("nodeName")
        and one is not made
        and true.name(one) in expected
    ]
    if len(coming) + 1 > len(without):
        pods = ", ".join(without) or "none"
        yield f"pods without a place: {pods}; machines on their way: {', '.join(coming) or 'none'}"


def beyond_limits(truth: Truth, made: JSON, who: str, blind_s: float) -> Iterator[str]:
    """Say when a machine is made although its Provisioner has as much as it may have.

    A machine has what its status says, or at least what it was made for. One that a person has
    written counts once it is launched: there may be no such machine.
    """
    owner = _provisioner_of(made)
    provisioner = truth.get("Provisioner", owner)
    limits = ((provisioner or {}).get("spec", {}).get("limits") or {}).get("resources") or {}
    if not limits:
        return
    lately = truth.time_s() - blind_s
    counted: list[Resources] = [_requests_of(made)]
    seen: set[str] = set()
    for one in truth.all("Machine"):
        provider_id = (one.get("status") or {}).get("providerID", "")
        by, at = truth.made.get(true.uid(one), ("", truth.time_s()))
        is_unseen = by != who and at > lately and not _is_older(truth, one, blind_s)
        if one is made or _provisioner_of(one) != owner or is_unseen or provider_id in seen:
            continue
        if not provider_id and true.uid(one) not in truth.made:
            continue
        if not true.is_deleting(one) and not _is_leaving(truth, provider_id):
            is_known = truth.launched_at.get(true.uid(one), truth.time_s()) <= lately
            counted.append(_capacity_of(one) if is_known else _requests_of(one))
            seen |= {provider_id} - {""}
    for name in resources.exceeds(resources.total(counted), resources.parse_resources(limits)):
        has = resources.render(resources.total(counted))[name]
        yield f"Provisioner {owner} would have {has} of {name}, and its limit is {limits[name]}"


def _is_older(truth: Truth, machine: JSON, age_s: float) -> bool:
    return (truth.now() - true.created_at(machine)).total_seconds() > age_s


def _is_leaving(truth: Truth, provider_id: str) -> bool:
    nodes = [node for node in truth.all("Node") if node["spec"].get("providerID") == provider_id]
    return bool(provider_id) and any(true.is_deleting(node) for node in nodes)


def _provisioner_of(machine: JSON) -> str:
    labels = machine["metadata"].get("labels") or {}
    return str(labels.get(names.PROVISIONER_NAME, ""))


def _requests_of(machine: JSON) -> Resources:
    return resources.parse_resources((machine["spec"].get("resources") or {}).get("requests") or {})


def _capacity_of(machine: JSON) -> Resources:
    return resources.parse_resources((machine.get("status") or {}).get("capacity") or {})
