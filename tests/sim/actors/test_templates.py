"""What becomes of a set's pods when it has another template: replaced, counted, brought back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.actors.cluster import TYPES_BY_NAME, Cluster, in_virtual_time, workload
from unmoor.model.base import JSON
from unmoor.model.kinds import (
    DAEMON_SETS,
    REVISIONS,
    STATEFUL_SETS,
    Resource,
    ref_of,
)
from unmoor.sim.actors.actor import Actor
from unmoor.sim.actors.daemonsets import DaemonSets
from unmoor.sim.actors.kubelet import READY, HollowKubelets
from unmoor.sim.actors.owners import reference
from unmoor.sim.actors.revisions import MARK
from unmoor.sim.actors.scheduler import Scheduler
from unmoor.sim.actors.statefulsets import StatefulSets

NOTE = "a.example/note"
SETS = [pytest.param(one, id=one.plural) for one in (STATEFUL_SETS, DAEMON_SETS)]


def cast(cluster: Cluster) -> tuple[Actor, ...]:
    stage = cluster.stage
    return (
        HollowKubelets(stage, TYPES_BY_NAME),
        Scheduler(stage),
        StatefulSets(stage),
        DaemonSets(stage),
    )


def spec_of(kind: Resource[Any], **spec: Any) -> JSON:
    """Two pods: one on each node, or just two."""
    if kind is STATEFUL_SETS:
        return {**workload("db", 2), "serviceName": "db", **spec}
    return {**workload("db"), **spec}


async def begin(cluster: Cluster, kind: Resource[Any], **spec: Any) -> None:
    for name in ("a", "b"):
        await cluster.add_node(name)
    await cluster.create(kind, "db", spec_of(kind, **spec))
    await cluster.until(lambda: len(cluster.running("db")) == 2)
    await cluster.wait(1)


async def change(cluster: Cluster, kind: Resource[Any], note: str | None = "new") -> None:
    """Another template, or with None the first one again."""
    spec = {"template": {"metadata": {"annotations": {NOTE: note}}}}
    await cluster.patch(kind.ref("db", "default"), {"spec": spec})


async def numbers(cluster: Cluster) -> list[int]:
    return sorted(one.revision for one in await cluster.listed(REVISIONS))


def uids(cluster: Cluster) -> set[str]:
    return {pod.uid for pod in cluster.pods("db")}


# ---------------------------------------------------------------------- StatefulSets and DaemonSets


@pytest.mark.parametrize("kind", SETS)
@in_virtual_time
async def test_a_new_template_replaces_the_pods_one_by_one(kind: Resource[Any]) -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await begin(cluster, kind)
        old = uids(cluster)
        await change(cluster, kind)

        def is_done() -> bool:
            assert len(cluster.running("db")) >= 1
            return not old & uids(cluster) and len(cluster.running("db")) == 2

        await cluster.until(is_done)
        await cluster.wait(1)

        assert await numbers(cluster) == [1, 2]
        marks = {pod.metadata.labels[MARK] for pod in cluster.pods("db")}
        (newest,) = [one for one in await cluster.listed(REVISIONS) if one.revision == 2]
        assert marks == {newest.metadata.labels[MARK]}
        status = cluster.status(kind, "db")
        if kind is STATEFUL_SETS:
            assert status["currentRevision"] == status["updateRevision"] == newest.name
            assert status["currentReplicas"] == status["updatedReplicas"] == 2
        else:
            assert status["updatedNumberScheduled"] == 2


@pytest.mark.parametrize("kind", SETS)
@in_virtual_time
async def test_a_template_that_comes_back_is_the_newest_again(kind: Resource[Any]) -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await begin(cluster, kind)
        (first,) = await cluster.listed(REVISIONS)
        await change(cluster, kind)
        await cluster.wait(120)
        await change(cluster, kind, None)
        await cluster.wait(120)

        found = {one.name: one.revision for one in await cluster.listed(REVISIONS)}
        assert sorted(found.values()) == [2, 3]
        assert found[first.name] == 3
        assert {pod.metadata.labels[MARK] for pod in cluster.pods("db")} == {
            first.metadata.labels[MARK]
        }


@pytest.mark.parametrize("kind", SETS)
@in_virtual_time
async def test_on_delete_leaves_the_pods(kind: Resource[Any]) -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await begin(cluster, kind, updateStrategy={"type": "OnDelete"})
        old = uids(cluster)
        await change(cluster, kind)
        await cluster.wait(120)

        assert uids(cluster) == old
        status = cluster.status(kind, "db")
        field = "updatedReplicas" if kind is STATEFUL_SETS else "updatedNumberScheduled"
        assert status[field] == 0


@in_virtual_time
async def test_a_partition_keeps_the_first_pods() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
        await begin(cluster, STATEFUL_SETS, updateStrategy=strategy)
        old = {pod.name: pod.uid for pod in cluster.pods("db")}
        await change(cluster, STATEFUL_SETS)
        await cluster.wait(120)

        now = {pod.name: pod.uid for pod in cluster.pods("db")}
        assert now["db-0"] == old["db-0"]
        assert now["db-1"] != old["db-1"]
        status = cluster.status(STATEFUL_SETS, "db")
        assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 1)
        assert status["currentRevision"] != status["updateRevision"]


@in_virtual_time
async def test_daemons_that_are_not_ready_do_not_hold_up_others() -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        for name in ("a", "b"):
            await cluster.add_node(name)
        await cluster.create(DAEMON_SETS, "db", workload("db", annotations={READY: "false"}))
        await cluster.until(lambda: len(cluster.pods("db")) == 2)
        await cluster.wait(60)
        assert not cluster.running("db")
        mended = {"template": {"metadata": {"annotations": {READY: None}}}}
        await cluster.patch(DAEMON_SETS.ref("db", "default"), {"spec": mended})
        await cluster.until(lambda: len(cluster.running("db")) == 2)


@pytest.mark.parametrize("kind", SETS)
@in_virtual_time
async def test_pods_of_a_cluster_that_was_loaded_without_revisions_stay(
    kind: Resource[Any],
) -> None:
    cluster = Cluster()
    async with cluster.playing(*cast(cluster)):
        await begin(cluster, kind)
        for pod in cluster.pods("db"):
            labels = {MARK: "made-elsewhere"}
            await cluster.patch(ref_of(pod), {"metadata": {"labels": labels}})
        old = uids(cluster)
        await cluster.wait(120)
        assert uids(cluster) == old

        await change(cluster, kind)
        await cluster.until(lambda: not old & uids(cluster))


@in_virtual_time
async def test_a_revision_that_another_controller_has_made_is_known_by_its_template() -> None:
    cluster = Cluster()
    await cluster.create(STATEFUL_SETS, "db", spec_of(STATEFUL_SETS))
    (owner,) = await cluster.listed(STATEFUL_SETS)
    stored: Any = cluster.find(STATEFUL_SETS.ref("db", "default"))
    template = {**stored["spec"]["template"], "$patch": "replace"}
    meta = {
        "name": "db-b769d9974",
        "namespace": "default",
        "ownerReferences": [reference(STATEFUL_SETS, owner)],
    }
    body = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": meta,
        "data": {"spec": {"template": template}},
        "revision": 4,
    }
    await cluster.api.create(REVISIONS.ref("db-b769d9974", "default"), body)
    async with cluster.playing(*cast(cluster)):
        await cluster.add_node("a")
        await cluster.until(lambda: len(cluster.running("db")) == 2)

        assert await numbers(cluster) == [4]
        assert {pod.metadata.labels[MARK] for pod in cluster.pods("db")} == {"db-b769d9974"}
