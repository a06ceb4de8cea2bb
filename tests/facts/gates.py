"""Facts about pods and clusters that are not even looked at. Every function is a row."""

from __future__ import annotations

from tests.facts.fact import Fact
from tests.facts.raw import node, pod


def a_gated_pod_waits() -> Fact:
    gates = [{"name": "example.com/quota"}]
    return Fact([node("a")], pod(schedulingGates=gates), "", "SchedulingGated")


def a_cluster_without_nodes_takes_no_pod() -> Fact:
    return Fact([], pod(), "", "no nodes available to schedule pods")
