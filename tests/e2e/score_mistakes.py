"""Mistakes that a scheduler's scores could have, as what it would then see of a cluster."""

from __future__ import annotations

from tests.e2e.score_clusters import SOFT, Objects
from unmoor.model.base import JSON


def forgets_who_made_a_pod(objects: Objects) -> Objects:
    """Pods of one owner are spread only where they say so."""
    return [_without(one, "ownerReferences") for one in objects]


def counts_those_who_leave(objects: Objects) -> Objects:
    """A pod that is on its way out is spread away from."""
    return [_without(one, "deletionTimestamp") for one in objects]


def forgets_what_those_want_who_are_there(objects: Objects) -> Objects:
    """Only the pod that comes is asked whom it wants near."""
    return [_of_those_there(one, affinity=None) for one in objects]


def forgets_what_a_pod_asks_for_as_a_whole(objects: Objects) -> Objects:
    """A pod that is there counts for what its containers ask."""
    return [_of_those_there(one, resources=None) for one in objects]


def forgets_taints_that_say_rather_not(objects: Objects) -> Objects:
    """They keep nobody out, so they say nothing."""
    return [_untainted(one) if one["kind"] == "Node" else one for one in objects]


def takes_nothing_for_nothing(objects: Objects) -> Objects:
    """A container that asks for nothing counts for nothing."""
    return [_said(one) if one["kind"] == "Pod" else one for one in objects]


def _without(body: JSON, word: str) -> JSON:
    if body["kind"] != "Pod":
        return body
    kept = {key: value for key, value in body["metadata"].items() if key != word}
    return {**body, "metadata": kept}


def _of_those_there(body: JSON, **spec: object) -> JSON:
    if body["kind"] != "Pod" or not body["spec"].get("nodeName"):
        return body
    return {**body, "spec": {**body["spec"], **spec}}


def _untainted(node: JSON) -> JSON:
    taints = [one for one in node["spec"].get("taints", ()) if one["key"] not in SOFT]
    return {**node, "spec": {**node["spec"], "taints": taints}}


def _said(pod: JSON) -> JSON:
    containers = []
    for one in pod["spec"]["containers"]:
        given = one.get("resources", {})
        limits, requests = given.get("limits", {}), given.get("requests", {})
        said = {"cpu": "0", "memory": "0", **limits, **requests}
        containers.append({**one, "resources": {"limits": limits, "requests": said}})
    return {**pod, "spec": {**pod["spec"], "containers": containers}}
