"""Random applies, updates and removals of the embedded server and a real one: the same owners.

Each step is one write by one of a few managers to one of a few objects. What is compared after each
is the answer: its code and words, the object without times, and who owns which field.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract import faces
from tests.contract.customs import Custom
from tests.contract.faces import Place
from tests.contract.wire import Answer, Wire
from tests.controlplane import ControlPlane
from unmoor.model.base import JSON, Ref
from unmoor.model.kinds import CONFIG_MAPS, DEPLOYMENTS, NODES
from unmoor.runtime.ports import PatchType

pytestmark = pytest.mark.e2e

STEPS = 100
SEEDS = range(1, 9)
MANAGERS = ("m", "n", "o")
HIDDEN = ("creationTimestamp", "managedFields", "resourceVersion", "uid", "generation")
"""A generation is compared elsewhere; here fields that the real one fills in would disturb it."""


class Dice:
    """Draws writes. What it draws depends on the seed alone, never on an answer."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def some(self, *choices: Any) -> list[Any]:
        """Some of them, in any order."""
        return self.random.sample(choices, self.random.randint(0, len(choices)))

    def chosen(self, **fields: Callable[[], Any]) -> JSON:
        return {name: fields[name]() for name in self.some(*fields)}

    # ------------------------------------------------------------------------------------- objects

    def metadata(self) -> JSON:
        return self.chosen(
            labels=lambda: {name: self.one("1", "2") for name in self.some("p", "q", "r")},
            annotations=lambda: {name: self.one("1", "2") for name in self.some("p", "q")},
            finalizers=lambda: self.some("a.b/x", "a.b/y", "a.b/z"),
        )

    def config_map(self) -> JSON:
        return {"data": {name: self.one("1", "2") for name in self.some("a", "b", "c", "d")}}

    def node(self) -> JSON:
        taints = [{"key": key, "effect": "NoSchedule"} for key in self.some("s", "t")]
        return {
            "spec": self.chosen(
                taints=lambda: taints, providerID=lambda: "x", unschedulable=lambda: True
            )
        }

    def container(self, name: str) -> JSON:
        parts = self.chosen(
            image=lambda: self.one("i:1", "i:2"),
            command=lambda: self.some("x", "y"),
            env=lambda: [{"name": one, "value": self.one("1", "2")} for one in self.some(*"EFG")],
            ports=lambda: [{"containerPort": ord(name) + one} for one in self.some(80, 90)],
            resources=lambda: {"requests": dict.fromkeys(self.some("cpu", "memory"), "1")},
        )
        return {"name": name, "image": "i:0", **parts}

    def deployment(self) -> JSON:
        containers = [self.container(name) for name in self.some("c", "d", "e")]
        pod: JSON = {"containers": containers} if containers else {}
        if self.one(True, False):
            pod["nodeSelector"] = dict.fromkeys(self.some("k", "l"), "1")
        template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
        spec: JSON = {"template": template, "selector": {"matchLabels": {"a": "b"}}}
        return {"spec": spec | self.chosen(replicas=lambda: self.one(1, 2, 3))}

    def widget(self) -> JSON:
        parts = [
            {"name": name, **self.chosen(value=lambda: self.one("1", "2"))}
            for name in self.some("a", "b", "c")
        ]
        spec = self.chosen(
            size=lambda: self.one(2, 3, 4),
            color=lambda: self.one("red", "blue"),
            tags=lambda: self.some("x", "y") or ["z"],
            free=lambda: self.one({}, {"a": 1}, {"a": {"b": 1}, "c": [1, 2]}, {"a": {"d": {}}}),
            parts=lambda: parts,
            nest=lambda: self.one({}, {"deep": "y"}),
            maybe=lambda: self.one("1", "2"),
        )
        return {"spec": spec} if self.one(True, True, True, False) else {}


class Story:
    """One object of each kind, written to by several."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice

    def step(self) -> tuple[str, Callable[[Place], Any]]:
        dice = self.dice
        kind, body = dice.one(
            ("ConfigMap", dice.config_map()),
            ("Node", dice.node()),
            ("Deployment", dice.deployment()),
            ("Widget", dice.widget()),
        )
        if meta := dice.metadata():
            body["metadata"] = meta
        manager = dice.one(*MANAGERS)
        how: PatchType = dice.one("apply", "apply", "apply", "merge", "json")
        options = {"fieldManager": manager}
        if how == "apply" and dice.one(True, False):
            options["force"] = "true"
        sent: Any = self.removal() if how == "json" else body

        async def send(place: Place) -> Answer:
            wire, ref = Wire.of(place), ref_of(place, kind)
            if how == "apply":
                return await wire.apply(ref, sent, **options)
            return await wire.patch(ref, sent, how=how, **options)

        return f"{how} {options} {sent} {kind}", send

    def removal(self) -> list[JSON]:
        path = self.dice.one(
            "/metadata/labels/p", "/metadata/labels", "/metadata/finalizers/0", "/data/a", "/data",
            "/spec/taints", "/spec/parts/0", "/spec/tags", "/spec/free",
            "/spec/template/spec/containers/1", "/spec/template/spec/containers/0/env/0",
        )  # fmt: skip
        return [{"op": "remove", "path": path}]


def ref_of(place: Place, kind: str) -> Ref:
    match kind:
        case "ConfigMap":
            return place.ref(CONFIG_MAPS, "a")
        case "Deployment":
            return place.ref(DEPLOYMENTS, "a")
        case "Node":
            return NODES.ref(place.name("a"))
        case _:
            return Custom(place, "Widget", "widgets").ref("a")


def plain(answer: Answer) -> Any:
    """What must be alike."""
    if answer.code >= 400:
        return answer.code, answer.reason, answer.causes or answer.message
    body = dict(answer.body)
    body["metadata"] = {k: v for k, v in body["metadata"].items() if k not in HIDDEN and v}
    return answer.code, answer.owners, shown(body), list(answer.warnings)


def shown(value: Any) -> Any:
    """Without what the real server fills in for show."""
    if isinstance(value, dict):
        kept = {name: shown(one) for name, one in value.items() if name != "status"}
        return {name: one for name, one in kept.items() if one not in ({}, None)}
    return [shown(one) for one in value] if isinstance(value, list) else value


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two answers part."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            line
            for name in {**ours, **theirs}
            for line in differences(
                ours.get(name, "nothing"), theirs.get(name, "nothing"), f"{path}/{name}"
            )
        ]
    if isinstance(ours, tuple) and isinstance(theirs, tuple) and len(ours) == len(theirs):
        return [
            line
            for one, other in zip(ours, theirs, strict=True)
            for line in differences(one, other, path)
        ]
    return [] if ours == theirs else [f"{path}: {ours} is really {theirs}"]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.timeout(300)
async def test_both_servers_know_the_same_owners(plane: ControlPlane, seed: int) -> None:
    story, told = Story(Dice(seed)), list[str]()
    async with faces.direct() as ours, faces.real(plane)() as theirs:
        places = Place(ours), Place(theirs)
        places[0].unique = places[1].unique
        places[0].namespace = places[1].namespace
        for place in places:
            await place.enter()
            await Custom(place, "Widget", "widgets").define()
        for _ in range(STEPS):
            words, send = story.step()
            told.append(words)
            answers = [plain(await send(place)) for place in places]
            kind = words.split()[-1]
            found = differences(*answers)
            assert not found, "\n".join([*found, *(one for one in told if one.split()[-1] == kind)])
