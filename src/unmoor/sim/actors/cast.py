"""Who plays in a cluster that has nobody else, in the order of their entrance.

This is the one list: a new actor is a module and a line here. The garbage collector is not on it,
since it keeps a graph instead of looking at one object at a time; whoever makes a world runs it.

Must not: make machines and kubelets. How long theirs take differs from world to world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from unmoor.model.kinds import Resource
from unmoor.sim.actors.actor import Actor, Stage
from unmoor.sim.actors.budgets import Budgets
from unmoor.sim.actors.daemonsets import DaemonSets
from unmoor.sim.actors.deployments import Deployments, ReplicaSets
from unmoor.sim.actors.jobs import Jobs
from unmoor.sim.actors.kubelet import HollowKubelets
from unmoor.sim.actors.machines import Machines
from unmoor.sim.actors.namespaces import Namespaces
from unmoor.sim.actors.nodelife import NodeLife
from unmoor.sim.actors.scheduler import Scheduler
from unmoor.sim.actors.statefulsets import StatefulSets
from unmoor.sim.actors.volumes import Volumes


def everybody(
    machines: Machines, kubelets: HollowKubelets, resources: Callable[[], Iterable[Resource[Any]]]
) -> tuple[Actor, ...]:
    """Return the whole cast; ``resources`` says which kinds the server serves."""
    return (machines, kubelets, *controllers(machines.stage, resources))


def controllers(
    stage: Stage, resources: Callable[[], Iterable[Resource[Any]]]
) -> tuple[Actor, ...]:
    """Return what a control plane has beside its API server."""
    return (
        NodeLife(stage),
        Scheduler(stage),
        Deployments(stage),
        ReplicaSets(stage),
        StatefulSets(stage),
        DaemonSets(stage),
        Jobs(stage),
        Budgets(stage),
        Namespaces(stage, resources),
        Volumes(stage),
    )
