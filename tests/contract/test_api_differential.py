"""The same random requests to the embedded server and to a real one, and the same answers.

The cases of the other files are what we thought of; these are what we did not. A failure names the
seed and the story up to the first difference.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract import faces
from tests.contract.faces import Place, causes
from tests.controlplane import ControlPlane
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import BUDGETS, CONFIG_MAPS, DEPLOYMENTS, MACHINES, NODES, PODS, Resource
from unmoor.runtime.ports import ApiError, DeleteOptions

pytestmark = pytest.mark.e2e

STEPS = 120
SEEDS = range(1, 9)
KINDS_HERE: tuple[Resource[Any], ...] = (CONFIG_MAPS, MACHINES, NODES, PODS, BUDGETS, DEPLOYMENTS)

Request = Callable[[Place], Any]
"""Built once from the dice, sent to each face; looks up uids and versions where it is sent."""


class Dice:
    """Draws requests. What it draws depends on the seed alone, never on an answer."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def request(self) -> tuple[str, Request]:
        resource = self.one(*KINDS_HERE)
        name = self.one("a", "b")
        draw = self.one(
            self.create, self.create, self.merge, self.merge, self.merge, self.listed, self.delete
        )
        if resource is PODS:
            draw = self.one(draw, draw, self.evict, self.bind)
        told, request = draw(resource, name)
        return f"{told} {resource.kind} {name}", request

    def create(self, resource: Resource[Any], name: str) -> tuple[str, Request]:
        meta: JSON = {"labels": {"app": "x"}, **self.metadata()}
        body: JSON = {"spec": self.spec(resource, is_new=True), "status": self.status(resource)}
        if resource is CONFIG_MAPS:
            body = {"data": {"k": "v"}}
        dry_run = self.one(False, False, True)

        async def send(place: Place) -> JSON:
            full = {"metadata": {**meta, "name": named(place, resource, name)}, **body}
            return await place.create(resource, full, dry_run=dry_run)

        return f"create {meta} {body}{' (dry)' if dry_run else ''}", send

    def merge(self, resource: Resource[Any], name: str) -> tuple[str, Request]:
        body: JSON = {"metadata": self.metadata()}
        if resource is CONFIG_MAPS:
            body["data"] = self.one({"k": "w"}, {"k": None}, {})
        else:
            body["spec"] = self.one({}, {}, self.spec(resource, is_new=False))
            body["status"] = self.status(resource)
        version = self.one("", "", "current", "1")
        uid = self.one("", "", "current", "another")
        door = self.one("", "", "status")
        how = self.one("merge", "merge", "strategic")
        dry_run = self.one(False, False, False, True)

        async def send(place: Place) -> JSON:
            ref = ref_of(place, resource, name)
            meta = dict(body["metadata"])
            for field, wanted in (("resourceVersion", version), ("uid", uid)):
                if wanted == "current":
                    meta[field] = (await place.api.get(ref))["metadata"][field]
                elif wanted:
                    meta[field] = wanted
            full = {**body, "metadata": meta}
            return await place.api.patch(ref, full, how=how, subresource=door, dry_run=dry_run)

        return f"{how} {body} version={version} uid={uid} {door} dry={dry_run}", send

    def listed(self, resource: Resource[Any], name: str) -> tuple[str, Request]:
        operations = [
            self.one(
                {"op": "add", "path": "/metadata/labels", "value": {"y": "z"}},
                {"op": "remove", "path": "/metadata/labels/app"},
                {"op": "remove", "path": "/metadata/finalizers/0"},
                {"op": "add", "path": "/metadata/finalizers/-", "value": "a.b/z"},
                {"op": "remove", "path": "/metadata/finalizers"},
                {"op": "test", "path": "/metadata/labels/app", "value": "x"},
                {"op": "replace", "path": "/metadata/labels/app", "value": "w"},
                {"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"},
            )
            for _ in range(self.one(1, 2))
        ]
        door = self.one("", "", "status")

        async def send(place: Place) -> JSON:
            ref = ref_of(place, resource, name)
            return await place.api.patch(ref, operations, how="json", subresource=door)

        return f"json {operations} {door}", send

    def delete(self, resource: Resource[Any], name: str) -> tuple[str, Request]:
        options = DeleteOptions(
            uid=self.one("", "", "", "another"),
            resource_version=self.one("", "", "", "1"),
            grace_s=self.one(None, None, 0, 5, 60),
            propagation=self.one("", "", "Background", "Foreground", "Orphan"),
            dry_run=self.one(False, False, False, True),
        )

        async def send(place: Place) -> JSON:
            return await place.api.delete(ref_of(place, resource, name), options)

        return f"delete {options}", send

    def evict(self, resource: Resource[Any], name: str) -> tuple[str, Request]:
        grace = self.one({}, {}, {"gracePeriodSeconds": 0}, {"gracePeriodSeconds": 5})

        async def send(place: Place) -> JSON:
            return await place.evict(ref_of(place, resource, name), **grace)

        return f"evict {grace}", send

    def bind(self, resource: Resource[Any], name: str) -> tuple[str, Request]:
        node = self.one("n1", "n2")

        async def send(place: Place) -> JSON:
            return await place.bind(ref_of(place, resource, name), node)

        return f"bind to {node}", send

    # ----------------------------------------------------------------------------- parts of objects

    def metadata(self) -> JSON:
        meta: JSON = {}
        if self.one(True, False):
            meta["labels"] = self.one({"app": "y"}, {"app": None, "z": "1"}, {"z": None}, {})
        if self.one(True, False, False):
            meta["annotations"] = self.one({"n": "1"}, {"n": None}, {"m": "2"})
        if self.one(True, False, False):
            choices: tuple[Any, ...] = (["a.b/c"], ["a.b/c", "a.b/d"], ["a.b/d"], [], None)
            meta["finalizers"] = self.one(*choices)
        return meta

    def spec(self, resource: Resource[Any], *, is_new: bool) -> JSON:
        match resource.kind:
            case "Machine":
                return dict(self.one({}, {"taints": [{"key": "k"}]}, {"taints": [], "color": 1}))
            case "Node":
                taint = {"key": "k", "effect": self.one("NoSchedule", "NoExecute", "Bad")}
                cordon = {"unschedulable": self.one(True, None)}
                return dict(self.one({}, cordon, {"taints": [taint]}))
            case "Pod" if is_new:
                place: JSON = self.one({}, {"nodeName": "n"}, {"nodeName": "n"})
                return {"containers": [{"name": "main", "image": "i"}], **place}
            case "Pod":
                return dict(self.one({"nodeName": "m"}, {"activeDeadlineSeconds": 5}))
            case "PodDisruptionBudget":
                selector = {"matchLabels": {"app": self.one("x", "y")}}
                return {"minAvailable": self.one(1, 2), "selector": selector}
            case _:
                return faces.WORKLOAD if is_new else {"replicas": self.one(1, 2)}

    def status(self, resource: Resource[Any]) -> JSON:
        ready = {"type": "Ready", "status": self.one("True", "False")}
        match resource.kind:
            case "Machine":
                return dict(self.one({}, {"nodeName": "n"}, {"nodeName": None, "color": "red"}))
            case "Node":
                return dict(self.one({}, {"capacity": {"cpu": "4"}}, {"conditions": [ready]}))
            case "Pod":
                phase = self.one("Pending", "Running", "Running", "Succeeded")
                return {"phase": phase, "conditions": [ready]}
            case "PodDisruptionBudget":
                counts = {"currentHealthy": self.one(0, 1, 2), "desiredHealthy": 1}
                allowed = {"disruptionsAllowed": self.one(0, 1, 2), "expectedPods": 2}
                return {"observedGeneration": self.one(0, 1, 9), **counts, **allowed}
            case _:
                return {"replicas": 1} if resource is DEPLOYMENTS else {}


def named(place: Place, resource: Resource[Any], name: str) -> str:
    return name if resource.is_namespaced else place.name(name)


def ref_of(place: Place, resource: Resource[Any], name: str) -> Ref:
    return place.ref(resource, named(place, resource, name))


# --------------------------------------------------------------------------------- what is compared

TIMES = {
    "creationTimestamp",
    "lastHeartbeatTime",
    "lastPhaseTransitionTime",
    "lastProbeTime",
    "lastTransitionTime",
}
OWN = {"uid", "resourceVersion", "managedFields"}
FILLED_IN = {"daemonEndpoints", "nodeInfo", "allocatable"}


def plain(value: Any) -> Any:
    """Without what differs by nature, and without what the real server fills in for show."""
    if isinstance(value, dict):
        hidden = TIMES | OWN | FILLED_IN
        kept = {name: plain(one) for name, one in value.items() if name not in hidden}
        kept = {name: one for name, one in kept.items() if one}
        if "disruptedPods" in kept:
            kept["disruptedPods"] = sorted(kept["disruptedPods"])
        if "deletionTimestamp" in kept:
            kept["deletionTimestamp"] = "then"
        if "template" in kept:
            kept = {"replicas": kept["replicas"], "selector": kept["selector"]}
        return kept
    return [plain(one) for one in value] if isinstance(value, list) else value


async def answer(place: Place, request: Request) -> Any:
    try:
        return plain(await request(place))
    except ApiError as error:
        return error.code, error.reason, causes(error), error.retry_after_s


async def world(place: Place) -> Any:
    """Everything there is, and in which order it was last written."""
    found: dict[str, Any] = {}
    versions: list[tuple[int, str]] = []
    for resource in KINDS_HERE:
        for name in ("a", "b"):
            ref = ref_of(place, resource, name)
            if await faces.exists(place.api, ref):
                obj = await place.api.get(ref)
                label = f"{resource.kind} {name}"
                found[label] = plain(obj)
                versions.append((int(obj["metadata"]["resourceVersion"]), label))
    return found, [label for _, label in sorted(versions)]


def of_the_same_object(story: list[str]) -> str:
    """What happened to the object of the last request."""
    subject = story[-1].split()[-2:]
    return "\n".join(one for one in story if one.split()[-2:] == subject)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.timeout(300)
async def test_both_servers_answer_alike(plane: ControlPlane, seed: int) -> None:
    dice = Dice(seed)
    async with faces.direct() as ours, faces.real(plane)() as theirs:
        places = Place(ours), Place(theirs)
        places[0].unique = places[1].unique
        places[0].namespace = places[1].namespace
        for place in places:
            await place.enter()
        story: list[str] = []
        for _ in range(STEPS):
            told, request = dice.request()
            story.append(told)
            answers = [await answer(place, request) for place in places]
            assert answers[0] == answers[1], of_the_same_object(story)
        worlds = [await world(place) for place in places]
        assert worlds[0] == worlds[1], "\n".join(story)
