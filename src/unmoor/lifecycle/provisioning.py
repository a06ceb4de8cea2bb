"""Machines for pods that wait: pods that come together are planned together (spec 9).

The need is read off the cluster at each look: pods without a place, and pods of nodes that go. A
machine that is coming up is a place as well, launched or not, so nothing is bought twice for the
same pods; and its name follows from what it is for (``new_machine``). Hence a crash at any point
costs a look. What is remembered is when the batch began, and what was said.

Room on machines that a command makes for the pods that it will move is kept for them.

Must not: decide where a pod fits (``engine``), or launch (``launch``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from unmoor.engine.plan import NewMachine, Plan
from unmoor.engine.scene import Scene, machine_of_site
from unmoor.engine.scenery import Scenery
from unmoor.engine.solving import Solver
from unmoor.lifecycle import doubtful, new_machine, refusals
from unmoor.lifecycle import provisioning_report as report
from unmoor.lifecycle.effects import AnyEffect, Create, Fact, Nominate, Observe, say_all
from unmoor.lifecycle.provisioning_report import Made, Result, Told
from unmoor.lifecycle.refusals import Refused
from unmoor.lifecycle.step import Step, join, spoken
from unmoor.model.base import Key, Ref
from unmoor.model.instance import InstanceType
from unmoor.model.kinds import MACHINES, NODES
from unmoor.model.moment import Moment
from unmoor.model.observation import Asked
from unmoor.model.pod import Pod
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View
from unmoor.policy import moving, nomination, provisionable, recalling, stock
from unmoor.policy.provisionable import Wanting
from unmoor.policy.stock import Sold

CREATED_MAX = 3_000
"""So many machines are created in one step; the others in the next, a moment later."""


class Memory(msgspec.Struct, frozen=True):
    """Droppable. Times are monotonic.

    ``known``: pods (uid) that are in the batch, or were planned. ``began_at``: when the batch under
    way began, None when there is none; ``latest_at``: when the last pod joined it. ``again_at``:
    when pods that were planned and still wait are looked at again. ``refused``: by provisioner, the
    last refusal of a machine of it. ``scenery`` and ``solver`` keep what the last look has found
    out.
    """

    known: frozenset[str] = frozenset()
    began_at: float | None = None
    latest_at: float = 0.0
    again_at: float = 0.0
    told: Told = Told()
    refused: dict[str, Refused] = {}
    scenery: Scenery = msgspec.field(default_factory=Scenery)
    solver: Solver = msgspec.field(default_factory=Solver)


def advance(view: View, key: str, memory: Memory | None, moment: Moment) -> Step[Memory]:
    """Take one step; ``key`` is the same always."""
    del key
    if not view.identity.cluster or not view.identity.scheme:
        return Step()  # nobody could launch anything, and nothing would be ours
    wanting = provisionable.find(view, moment)
    batch = _batch(wanting, memory or Memory(), moment)
    if not wanting.pods:
        return Step(memory=_at_rest(memory), verdicts=wanting.verdicts)
    due = batch.again_at if batch.began_at is None else _ends_at(batch, view.settings)
    if due is not None and moment.mono < due:
        return Step(memory=batch, verdicts=wanting.verdicts, wake_at=due)
    return _look(view, wanting, batch, moment)


def _at_rest(memory: Memory | None) -> Memory | None:
    """Nobody waits: there is nothing to remember but what is the same next time."""
    if memory is None:
        return None
    memory.scenery.rest()
    memory.solver.rest()
    return Memory(scenery=memory.scenery, solver=memory.solver)


def _batch(wanting: Wanting, memory: Memory, moment: Moment) -> Memory:
    """Let pods that are new join the batch; the first of them begins one."""
    uids = frozenset(pod.uid for pod in wanting.pods)
    if uids <= memory.known:
        return msgspec.structs.replace(memory, known=uids)
    began_at = moment.mono if memory.began_at is None else memory.began_at
    return msgspec.structs.replace(memory, known=uids, began_at=began_at, latest_at=moment.mono)


def _ends_at(batch: Memory, settings: Settings) -> float | None:
    """When nobody has joined for a while, or it has been open for long enough."""
    if batch.began_at is None:
        return None
    idle_at = batch.latest_at + settings.batch_idle_duration_s
    return min(idle_at, batch.began_at + settings.batch_max_duration_s)


def _look(view: View, wanting: Wanting, batch: Memory, moment: Moment) -> Step[Memory]:
    """Plan with what the cloud sells; until it has said so, nothing can be planned."""
    sold = stock.types_of(view)
    asks: tuple[AnyEffect, ...] = ()
    if sold is None or moment.mono >= stock.ask_again_at(view, sold):
        asks = (Observe(asked=Asked.INSTANCE_TYPES, subject=view.identity.scheme),)
    if sold is None or sold.problem is not None:
        known = Step(effects=asks, memory=batch, verdicts=wanting.verdicts)
        return known if sold is None else join(known, _unknown(view, wanting, sold))
    assert sold.result is not None
    step = _plan(view, wanting, sold.result, batch, moment)
    return msgspec.structs.replace(step, effects=(*asks, *step.effects))


def _unknown(view: View, wanting: Wanting, sold: Sold) -> Step[Memory]:
    assert sold.problem is not None
    verdict = report.types_unknown(wanting.pods[0], sold.problem)
    return spoken(verdict, wake_at=stock.ask_again_at(view, sold))


def _plan(
    view: View,
    wanting: Wanting,
    types: tuple[InstanceType, ...],
    batch: Memory,
    moment: Moment,
) -> Step[Memory]:
    moved = moving.find(view)
    placing = [pod.key for pod in (*wanting.leaving, *(one.pod for one in moved))]
    refused, complaints = refusals.look(view, batch.refused, moment)
    doubts = doubtful.doubts(view, refused, moment)
    left = stock.in_stock(types, doubts.sold_out)
    scene = batch.scenery.scene_of(view, left, placing=placing, doubts=doubts)
    scene = moving.closed(recalling.reopened(view, scene), moved)
    kept = moving.promised(view, scene, moved)
    promised = nomination.promised(view, scene, wanting.pods) | kept
    scene = msgspec.structs.replace(scene, promised=promised)
    plan = _solve(batch.solver, scene, wanting.pods, [o.pod for o in moved if o.pod.key in kept])
    order = Order(view, scene, plan, wanting)
    result = order.result()
    said, told = report.events(view, wanting, result, batch.told, moment)
    retry_s = view.settings.cadence.pending_pod_retry_s
    again_at = moment.mono if order.is_cut else moment.after(retry_s)
    return Step(
        effects=(*order.creates, *_nominated(result.places), *say_all(complaints), *said),
        memory=msgspec.structs.replace(
            batch, began_at=None, latest_at=0.0, again_at=again_at, told=told, refused=refused
        ),
        verdicts=(*complaints, *wanting.verdicts, *report.verdicts(wanting, result)),
        wake_at=again_at,
        facts=(Fact("provisioner_scheduling_queue_depth", value=float(len(wanting.pods))),),
    )


def _solve(solver: Solver, scene: Scene, wanting: Sequence[Pod], moved: Sequence[Pod]) -> Plan:
    """Plan with the room taken that is kept for pods ``moved`` later; nothing is bought for them.

    Whoever of them does not fit where it was to go takes no room: what its command does then is not
    for us to say.
    """
    while True:
        plan = solver.solve(scene, (*wanting, *moved))
        bought = {key for one in plan.machines for key in one.pods}
        staying = [pod for pod in moved if pod.key not in bought]
        if len(staying) == len(moved):
            return plan
        moved = staying


class Order:
    """The machines that a plan takes, under their names.

    ``is_cut``: there are too many for one step.
    """

    def __init__(self, view: View, scene: Scene, plan: Plan, wanting: Wanting) -> None:
        self.creates: list[Create] = []
        self.is_cut = False
        self._scene, self._plan = scene, plan
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._made: dict[str, Made] = {}
        self._sold = stock.by_name(view)
        pods = {pod.key: pod for pod in wanting.pods}
        for planned in plan.machines:
            if len(self.creates) < CREATED_MAX:
                self._make(view, planned, pods[planned.pods[0]])
            else:
                self.is_cut = True

    def _make(self, view: View, planned: NewMachine, opener: Pod) -> None:
        provisioner = view.provisioner(planned.provisioner)
        assert provisioner is not None, planned.provisioner
        name = new_machine.name_for(view, provisioner.name, opener, self._taken)
        self._taken.add(name)
        self._names[planned.name] = name
        self.creates.append(new_machine.create(view, provisioner, planned, name, self._sold))
        made, pods = self._made.get(provisioner.name, Made()), planned.pods
        self._made[provisioner.name] = Made(
            made.machines + 1,
            made.pods + len(pods),
            made.leaving + new_machine.count_leaving(view, pods),
        )

    def result(self) -> Result:
        """What came of the plan."""
        coming = [one.name for one in self._scene.places if not one.is_node]
        coming += [one.name for one in self._scene.started]
        refs = {one: MACHINES.ref(machine_of_site(one)) for one in coming}
        refs |= {one.name: NODES.ref(one.name) for one in self._scene.places if one.is_node}
        refs |= {planned: MACHINES.ref(name) for planned, name in self._names.items()}
        where = self._plan.placements.items()
        return Result(
            scene=self._scene,
            plan=self._plan,
            places={pod: refs[name] for pod, name in where if name in refs},
            made=self._made,
        )


def _nominated(places: dict[Key, Ref]) -> Iterator[Nominate]:
    by_place: dict[str, list[Key]] = {}
    for pod, ref in places.items():
        by_place.setdefault(str(ref), []).append(pod)
    if by_place:
        planned = {place: tuple(pods) for place, pods in by_place.items()}
        yield Nominate(places=planned, why="pods are planned onto them")
