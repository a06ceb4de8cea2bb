"""What a world about provisioning has besides: choosy pods, slow boots, and a cloud that runs out.

About a third of the seeds stand for such a world. It is drawn with dice of its own, so that all
else that a seed stands for stays as it is in the others. Whatever is asked here can be met: by a
new machine of the Provisioners that every world has, once there is stock again.

Must not: run anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

import msgspec

from unmoor.model import kinds, names
from unmoor.model.base import JSON
from unmoor.sim import manifests
from unmoor.sim.manifests import Manifest

ONE_IN = 3
"""So many seeds for one world about provisioning."""
GREEN = "green"
"""The Provisioner that only these worlds have: preferred, narrow, and limited always, since some
pods could not run on its machines."""
LOGS = "logs"
"""The DaemonSet that only these worlds have."""
PORT = 8080
SHORTAGES = (
    "* us-east-1a *",
    "* us-east-1b *",
    "* * on-demand",
    "c6a.* * *",
    "t3*.* * *",
    "c* * *",
    "* * *",
)
"""What a cloud may be out of, in the words of ``cloud/choice``."""
BOOTS: tuple[tuple[float, float] | None, ...] = (None, (60.0, 240.0), (120.0, 420.0))
"""A machine is up after some minutes. Nobody waits for one longer than 15 (registration)."""


class Shortage(msgspec.Struct, frozen=True):
    """The cloud is out of something for a while, in seconds since people began."""

    begins_s: float
    ends_s: float
    what: str


class Demands(msgspec.Struct, frozen=True, kw_only=True):
    """``wishes``: of the pods of each app, by name. ``boot_s`` None: as anywhere else."""

    wishes: dict[str, tuple[str, ...]] = {}
    provisioners: tuple[Manifest, ...] = ()
    daemons: tuple[Manifest, ...] = ()
    boot_s: tuple[float, float] | None = None
    shortages: tuple[Shortage, ...] = ()

    def of(self, apps: Sequence[Manifest]) -> tuple[Manifest, ...]:
        """Return the workloads with what their pods ask besides, and more of them."""
        asking = (_asking(app, self.wishes.get(app[0].name, ())) for app in apps)
        return (*asking, *self.daemons)

    def lines(self) -> Iterator[str]:
        """What was drawn, for people."""
        if self.wishes:
            said = (f"{app} {' and '.join(wishes)}" for app, wishes in sorted(self.wishes.items()))
            yield f"  pods: {', '.join(said)}"
        if self.boot_s is not None:
            yield "  a machine boots for {:.0f} to {:.0f} s".format(*self.boot_s)
        if self.shortages:
            said = (f"{s.what!r} from {s.begins_s:.0f} to {s.ends_s:.0f} s" for s in self.shortages)
            yield f"  not to be had: {', '.join(said)}"


def demands_of(seed: int, namespace: str, apps: Sequence[Manifest]) -> Demands:
    """Draw them; most seeds have none. ``apps``: the workloads of the seed."""
    dice = Random(f"swarm/demands/{seed}")
    if dice.randrange(ONE_IN):
        return Demands()
    long_lived = [ref.name for ref, _ in apps if ref.kind in {"Deployment", "StatefulSet"}]
    wishes = {app: tuple(_wishes(dice)) for app in long_lived}
    return Demands(
        wishes={app: some for app, some in wishes.items() if some},
        provisioners=tuple(_provisioners(dice)),
        daemons=tuple(_daemons(dice, namespace)),
        boot_s=dice.choice(BOOTS),
        shortages=tuple(_shortages(dice)),
    )


def _wishes(dice: Random) -> Iterator[str]:
    """One of each kind at most: two about company could contradict each other."""
    company, size, port = (dice.choice(sorted(some)) for some in (COMPANY, SIZES, PORTS))
    rolled = (dice.randrange(3) > 0, dice.randrange(2) > 0, dice.randrange(4) == 0)
    yield from (wish for wish, is_on in zip((company, size, port), rolled, strict=True) if is_on)


def _provisioners(dice: Random) -> Iterator[Manifest]:
    if dice.randrange(4):
        zones = sorted(dice.sample(("us-east-1a", "us-east-1b", "us-east-1c"), 2))
        more: JSON = {}
        if dice.randrange(2):
            more["ttlSecondsAfterEmpty"] = 60
        if dice.randrange(2):
            more["taints"] = [{"key": "example.org/own", "effect": "NoSchedule"}]
        yield manifests.provisioner(
            GREEN,
            weight=dice.choice((10, 50)),
            limits={"resources": {"cpu": dice.choice(("4", "12")), "memory": "64Gi"}},
            requirements=[{"key": names.ZONE, "operator": "In", "values": zones}],
            **more,
        )


def _daemons(dice: Random, namespace: str) -> Iterator[Manifest]:
    if dice.randrange(4):
        pod = manifests.template(LOGS, {})
        _ask(pod["spec"], dice.choice(("300m", "600m")), dice.choice(("128Mi", "1Gi")))
        yield manifests.workload(kinds.DAEMON_SETS, LOGS, namespace, pod)


def _shortages(dice: Random) -> Iterator[Shortage]:
    for _ in range(dice.choice((0, 1, 2, 4))):
        begins_s = dice.uniform(0.0, 5400.0)
        what = dice.choice(SHORTAGES)
        yield Shortage(begins_s, begins_s + dice.uniform(120.0, 1500.0), what)


def _asking(app: Manifest, wishes: Sequence[str]) -> Manifest:
    ref, body = app
    if not wishes:
        return app
    pod = msgspec.json.decode(msgspec.json.encode(body["spec"]["template"]))
    for wish in wishes:
        WISHES[wish](pod["spec"], ref.name)
    return ref, {**body, "spec": {**body["spec"], "template": pod}}


# What pods may ask. Each is done to the pod's spec; ``app`` is the label that its pods have.

Asking = Callable[[JSON, str], None]


def _spread(key: str, when: str) -> Asking:
    def ask(spec: JSON, app: str) -> None:
        chosen = {"matchLabels": {"app": app}}
        spec["topologySpreadConstraints"] = [
            {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": chosen}
        ]

    return ask


def _near(kind: str, key: str, *, required: bool, whom: str = "") -> Asking:
    """``kind``: podAffinity or podAntiAffinity, to the app ``whom``, "" for its own pods."""

    def ask(spec: JSON, app: str) -> None:
        term = {"labelSelector": {"matchLabels": {"app": whom or app}}, "topologyKey": key}
        preferred = {"weight": 10, "podAffinityTerm": term}
        asked = (
            {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            if required
            else {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}
        )
        spec["affinity"] = {kind: asked}

    return ask


COMPANY: dict[str, Asking] = {
    "apart": _near("podAntiAffinity", names.HOSTNAME, required=True),
    "apart from web0": _near("podAntiAffinity", names.HOSTNAME, required=True, whom="web0"),
    "in one zone": _near("podAffinity", names.ZONE, required=True),
    "rather apart": _near("podAntiAffinity", names.HOSTNAME, required=False),
    "rather in the zone of web0": _near("podAffinity", names.ZONE, required=False, whom="web0"),
    "rather spread over nodes": _spread(names.HOSTNAME, "ScheduleAnyway"),
    "spread over nodes": _spread(names.HOSTNAME, "DoNotSchedule"),
    "spread over zones": _spread(names.ZONE, "DoNotSchedule"),
}


def _ask(spec: JSON, cores: str, memory: str) -> None:
    spec["containers"][0]["resources"] = {"requests": {"cpu": cores, "memory": memory}}


def _hold(spec: JSON, port: int) -> None:
    spec["containers"][0]["ports"] = [{"containerPort": port, "hostPort": port}]


SIZES: dict[str, Asking] = {
    "of 1.5 cores": lambda spec, _app: _ask(spec, "1500m", "1Gi"),
    "of 3 cores": lambda spec, _app: _ask(spec, "3", "2Gi"),
}
PORTS: dict[str, Asking] = {"with a host port": lambda spec, _app: _hold(spec, PORT)}
WISHES = {**COMPANY, **SIZES, **PORTS}
"""Every wish that can be drawn."""
