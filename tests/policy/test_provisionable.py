"""Which pods need a place? One row each (spec 9.1, 9.2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.builders import machine, moment, node
from tests.lifecycle.pending import waiting
from unmoor.model import names
from unmoor.model.snapshot import View
from unmoor.policy import provisionable
from unmoor.policy.verdict import Reason

GOING = node(deleted_at=builders.NOW)
OPTS_OUT = {"key": names.PROVISIONER_NAME, "operator": "DoesNotExist"}
ELSEWHERE = {"key": "team", "operator": "In", "values": ["shop"]}


def owned_by(kind: str) -> dict[str, Any]:
    return {
        "owners": [
            {"kind": kind, "name": "x", "uid": "u", "apiVersion": "apps/v1", "controller": True}
        ]
    }


def required(*terms: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    listed = [{"matchExpressions": list(term)} for term in terms]
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": listed}}
    return {"spec": {"affinity": {"nodeAffinity": wanted}}}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, ""),
        ({"status": {"conditions": []}}, "has not said"),
        ({"status": {"nominatedNodeName": "stays"}}, "makes room for it on node stays"),
        ({"status": {"nominatedNodeName": "goes"}}, ""),
        ({"status": {"nominatedNodeName": "gone"}}, ""),
        ({"spec": {"schedulingGates": [{"name": "example.org/wait"}]}}, "gate example.org/wait"),
        ({"spec": {"schedulerName": "batch-scheduler"}}, ""),
        (
            {"spec": {"schedulerName": "batch-scheduler"}, "status": {"conditions": []}},
            "has not said",
        ),
        ({"status": {"phase": "Failed"}}, "not to run any more"),
        (owned_by("DaemonSet"), "a node of its own"),
        (owned_by("Node"), "a node of its own"),
        (required((OPTS_OUT,)), "without the label"),
        (required((OPTS_OUT,), (ELSEWHERE,)), ""),
        (required((ELSEWHERE, OPTS_OUT), (OPTS_OUT,)), "without the label"),
    ],
)
def test_who_counts_without_a_node(given: dict[str, Any], why: str) -> None:
    pod = waiting(**given)
    view = View.of(pod, node("stays"), node("goes", deleted_at=builders.NOW))
    found = provisionable.why_not(view, pod)

    assert why in found
    assert bool(why) == bool(found)
    pending = provisionable.find(view, moment()).pending
    assert pending == (() if why else (pod,))


def test_why_a_pod_is_left_out_is_said() -> None:
    pod = waiting(**required((OPTS_OUT,)))
    found = provisionable.find(View.of(pod), moment())

    assert [one.reason for one in found.verdicts] == [Reason.NOT_PROVISIONABLE]
    assert "pod shop/web-1" in found.verdicts[0].message


@pytest.mark.parametrize(
    ("there", "given", "counts"),
    [
        pytest.param([GOING, machine()], {}, True, id="its node goes"),
        pytest.param(
            [node(), machine(deleted_at=builders.NOW)], {}, True, id="its machine is deleted"
        ),
        pytest.param([node(), machine()], {}, False, id="its node stays"),
        pytest.param(
            [node(deleted_at=builders.NOW, is_ours=False)], {}, False, id="the node is not ours"
        ),
        pytest.param([GOING, machine()], {"owners": []}, False, id="nobody makes another"),
        pytest.param([GOING, machine()], owned_by("DaemonSet"), False, id="of a DaemonSet"),
        pytest.param([GOING, machine()], owned_by("Node"), False, id="static"),
        pytest.param([GOING, machine()], {"status": {"phase": "Succeeded"}}, False, id="finished"),
    ],
)
def test_who_counts_on_a_node(there: list[Any], given: dict[str, Any], *, counts: bool) -> None:
    pod = waiting(on="a", **given)
    found = provisionable.find(View.of(*there, pod, identity=builders.IDENTITY), moment())

    assert found.leaving == ((pod,) if counts else ())
    assert found.pods == found.leaving


def test_a_pod_that_terminates_is_followed_by_one_that_waits_itself() -> None:
    pod = builders.pod(gone_by=builders.at(20))
    found = provisionable.find(View.of(GOING, machine(), pod, identity=builders.IDENTITY), moment())

    assert found.pods == ()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, ""),
        (
            {
                "affinity": {
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]
                    }
                }
            },
            "apart from other pods",
        ),
        (
            {
                "topologySpreadConstraints": [
                    {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
                ]
            },
            "spread over zone",
        ),
        (
            {
                "topologySpreadConstraints": [
                    {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
                ]
            },
            "",
        ),
    ],
)
def test_what_may_hinder_consolidation(spec: dict[str, Any], words: str) -> None:
    found = provisionable.hindrance(waiting(spec=spec))

    assert words in found
    assert bool(words) == bool(found)
