"""Facts about devices that pods ask for by a ResourceClaim. Every function is a row."""

from __future__ import annotations

from tests.facts.fact import Fact
from tests.facts.raw import node, pod
from unmoor.model.base import JSON

GROUP = "resource.k8s.io/v1"


def _asks(claim: str) -> JSON:
    return {"resourceClaims": [{"name": "device", "resourceClaimName": claim}]}


def _claim(name: str, *classes: str) -> JSON:
    requests = [{"name": one, "exactly": {"deviceClassName": one}} for one in classes]
    return {
        "apiVersion": GROUP,
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": requests}},
    }


def a_claim_of_devices_that_no_node_has_refuses_every_node() -> Fact:
    gpus = {"apiVersion": GROUP, "kind": "DeviceClass", "metadata": {"name": "gpus"}, "spec": {}}
    cluster = [node("a"), gpus, _claim("gpu", "gpus")]
    return Fact(cluster, pod(**_asks("gpu")), "", "cannot allocate all claims")


def a_claim_of_nothing_is_met_anywhere() -> Fact:
    return Fact([node("a"), _claim("nothing")], pod(**_asks("nothing")), "a")
