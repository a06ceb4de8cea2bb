"""Mistakes that the engine could make, each as a cluster in which it is right to say what it says.

A limit that is off by one is one of volumes here: kube-scheduler knows nothing of the limits of a
Provisioner, which tests/engine plants besides (``planted``).

Who forgets a constraint says what would be right if nobody had it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.e2e.engine_promises import Objects
from unmoor.model.base import JSON


def spreads_off_by_one(objects: Objects) -> Objects:
    """One pod more in a domain than maxSkew allows."""

    def laxer(spec: JSON) -> JSON:
        constraints = spec.get("topologySpreadConstraints", ())
        more = [{**one, "maxSkew": one["maxSkew"] + 1} for one in constraints]
        return {**spec, "topologySpreadConstraints": more}

    return _specs(objects, laxer, _waits)


def forgets_that_anti_affinity_is_symmetric(objects: Objects) -> Objects:
    """Who runs keeps nobody away."""

    def alone(spec: JSON) -> JSON:
        affinity = spec.get("affinity", {})
        kept = {word: affinity[word] for word in affinity if word != "podAntiAffinity"}
        return {**spec, "affinity": kept}

    return _specs(objects, alone, lambda spec: not _waits(spec))


def forgets_daemon_sets(objects: Objects) -> Objects:
    """No room is kept for their pods."""
    return [one for one in objects if one["kind"] != "DaemonSet"]


def ignores_host_ports(objects: Objects) -> Objects:
    """Of who waits."""

    def without_ports(spec: JSON) -> JSON:
        containers = spec["containers"]
        return {**spec, "containers": [{**one, "ports": []} for one in containers]}

    return _specs(objects, without_ports, _waits)


def attaches_one_volume_too_many(objects: Objects) -> Objects:
    """A limit off by one, on each node that takes only so many."""
    return [_roomier(one) if one["kind"] == "CSINode" else one for one in objects]


def reads_no_taints_of_nodes(objects: Objects) -> Objects:
    """What is made of a node is wrong from the start."""
    return [_untainted(one) if one["kind"] == "Node" else one for one in objects]


def _untainted(node: JSON) -> JSON:
    return {**node, "spec": {word: node["spec"][word] for word in node["spec"] if word != "taints"}}


def _roomier(node: JSON) -> JSON:
    drivers = [
        {**one, "allocatable": {"count": one["allocatable"]["count"] + 1}}
        if "count" in one.get("allocatable", {})
        else one
        for one in node["spec"]["drivers"]
    ]
    return {**node, "spec": {"drivers": drivers}}


def _waits(spec: JSON) -> bool:
    return not spec.get("nodeName")


def _specs(objects: Objects, change: Callable[[JSON], JSON], of: Callable[[Any], bool]) -> Objects:
    return [
        {**one, "spec": change(one["spec"])} if one["kind"] == "Pod" and of(one["spec"]) else one
        for one in objects
    ]
