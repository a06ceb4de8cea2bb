"""Our client on a real API server: credentials, pages, watches, restarts, and its refusals."""

import asyncio
import functools
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import controlplane
from tests.controlplane import ControlPlane, eventually
from unmoor.kube import config
from unmoor.kube.client import ClientSettings, KubeApi
from unmoor.lifecycle.effects import Publish
from unmoor.model.base import JSON, Object
from unmoor.model.crds import all_crds
from unmoor.model.kinds import (
    BUDGETS,
    CONFIG_MAPS,
    CSI_NODES,
    KINDS,
    MACHINES,
    NODES,
    PODS,
    Resource,
)
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.informer import Informer
from unmoor.runtime.ports import (
    ApiError,
    Bookmark,
    Broken,
    Change,
    DeleteOptions,
    PortError,
    Query,
    Unreachable,
)
from unmoor.runtime.recorder import EventRecorder

pytestmark = pytest.mark.e2e

PATIENCE_S = 20.0


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(directory=tmp_path_factory.mktemp("plane"), components=[]) as started:
        started.create(*all_crds())
        for crd in all_crds():  # an established kind is served a moment later
            plural = crd["metadata"]["name"]
            served = functools.partial(is_served, started, plural)
            eventually(f"served {plural}", served)
        yield started


def is_served(plane: ControlPlane, plural: str) -> bool:
    return plane.kubectl("get", plural, check=False).returncode == 0


def client_of(plane: ControlPlane, context: str, **settings: Any) -> KubeApi:
    return KubeApi(
        config.load(path=str(plane.kubeconfig), context=context),
        clock=SystemClock(),
        random=random.Random(1),
        settings=ClientSettings(**settings),
    )


@pytest.fixture
async def api(plane: ControlPlane) -> AsyncIterator[KubeApi]:
    async with client_of(plane, controlplane.TOKEN) as client:
        yield client


def config_map(name: str, **data: str) -> JSON:
    return {"metadata": {"name": name, "labels": {"made-for": "paging"}}, "data": data}


def pod(name: str) -> JSON:
    return {
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "none"}], "nodeName": "nowhere"},
    }


# ------------------------------------------------------------------------------------ credentials


@pytest.mark.parametrize("context", [controlplane.TOKEN, controlplane.CERTIFICATE])
async def test_both_kinds_of_credentials_open_the_door(plane: ControlPlane, context: str) -> None:
    async with client_of(plane, context) as client:
        page = await client.list(KINDS["Namespace"])

    assert "kube-system" in {namespace.name for namespace in page.items}


async def test_who_may_not_is_told_so(plane: ControlPlane) -> None:
    async with client_of(plane, controlplane.UNPRIVILEGED) as client:
        with pytest.raises(ApiError) as refused:
            await client.list(NODES)

    assert (refused.value.code, refused.value.reason) == (403, "Forbidden")
    assert 'User "nobody" cannot list resource "nodes"' in refused.value.message


async def test_a_service_account_whose_token_rotates(plane: ControlPlane, tmp_path: Path) -> None:
    host, _, port = plane.url.removeprefix("https://").rpartition(":")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    (tmp_path / "ca.crt").write_bytes(plane.ca_file.read_bytes())
    (tmp_path / "token").write_text("expired")
    plane.kubectl("create", "serviceaccount", "unmoor")
    found = config.load(environ=environ, service_account=tmp_path)
    async with KubeApi(found, clock=SystemClock(), random=random.Random(1)) as client:
        with pytest.raises(ApiError, match="401 Unauthorized"):
            await client.list(PODS)

        (tmp_path / "token").write_text(plane.kubectl("create", "token", "unmoor").stdout)

        with pytest.raises(ApiError, match=r"403 .*system:serviceaccount:default:unmoor"):
            await client.list(PODS)


# ---------------------------------------------------------------------------------------- reading


async def test_a_list_comes_in_pages_of_one_version(api: KubeApi) -> None:
    names = [f"page-{number:02}" for number in range(25)]
    for name in names:
        await api.create(CONFIG_MAPS.ref(name, "default"), config_map(name, word=name))
    query = Query(namespace="default", labels="made-for=paging")

    first = await api.list(CONFIG_MAPS, query, limit=10)
    await api.delete(CONFIG_MAPS.ref("page-24", "default"))
    second = await api.list(CONFIG_MAPS, query, limit=10, after=first.next)
    third = await api.list(CONFIG_MAPS, query, limit=10, after=second.next)

    items = [*first.items, *second.items, *third.items]
    assert [item.name for item in items] == names
    assert [item.data["word"] for item in items] == names
    assert third.next == ""
    assert first.resource_version == second.resource_version == third.resource_version


async def test_a_page_that_is_no_longer_known_is_expired(api: KubeApi) -> None:
    with pytest.raises(ApiError) as refused:
        await api.list(CONFIG_MAPS, limit=1, after="nonsense")

    assert refused.value.code in {400, 410}


async def test_a_csi_node_without_drivers_is_read(api: KubeApi) -> None:
    ref = CSI_NODES.ref("empty")
    await api.create(ref, {"metadata": {"name": "empty"}, "spec": {"drivers": []}})

    page = await api.list(CSI_NODES)

    assert page.broken == ()
    assert [item.spec.drivers for item in page.items if item.name == "empty"] == [()]


async def test_an_unknown_kind_is_not_found(api: KubeApi) -> None:
    ghosts = Resource("Ghost", "ghosts", "nowhere.unmoor.dev", "v1", False, Object)

    with pytest.raises(ApiError) as refused:
        await api.list(ghosts)

    assert (refused.value.code, refused.value.reason) == (404, "NotFound")


async def test_our_own_kinds(api: KubeApi) -> None:
    ref = MACHINES.ref("m-1")
    version = (await api.list(MACHINES)).resource_version
    await api.create(
        ref,
        {"apiVersion": MACHINES.api_version, "kind": "Machine", "metadata": {"name": "m-1"}},
    )
    await api.patch(ref, {"status": {"providerID": "sim:///z/i-1"}}, subresource="status")

    events = api.watch(MACHINES, since=version)
    added, modified = await anext(events), await anext(events)
    await events.aclose()

    assert isinstance(added, Change)
    assert isinstance(modified, Change)
    assert (added.type, modified.type) == ("ADDED", "MODIFIED")
    assert modified.object.status.provider_id == "sim:///z/i-1"


# -------------------------------------------------------------------------------------- watching


async def test_a_watch_ends_by_itself_after_its_time(plane: ControlPlane) -> None:
    async with client_of(plane, controlplane.TOKEN, watch_s=1.0) as client:
        version = (await client.list(NODES)).resource_version

        events = [event async for event in client.watch(NODES, since=version)]

    assert all(isinstance(event, Bookmark) for event in events)


class Names:
    """A sink that knows names and nothing else."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.changed = asyncio.Event()

    def begin(self, _resource: Resource[Any]) -> None:
        pass

    def replacing(
        self,
        resource: Resource[Any],  # noqa: ARG002
        objects: Sequence[Any],
        version: str,  # noqa: ARG002
        broken: Sequence[Broken] = (),
    ) -> Iterator[None]:
        assert not broken
        self.known = {obj.name for obj in objects}
        self.changed.set()
        yield from ()

    def put(self, _resource: Resource[Any], obj: Any) -> None:
        self.known.add(obj.name)
        self.changed.set()

    def drop(self, _resource: Resource[Any], obj: Any) -> None:
        self.known.discard(obj.name)
        self.changed.set()

    def mark_broken(self, _resource: Resource[Any], broken: Broken) -> None:
        raise AssertionError(broken)

    async def until(self, name: str, *, is_known: bool) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while (name in self.known) != is_known:
                self.changed.clear()
                await self.changed.wait()


async def test_nothing_is_missed_over_a_restart_of_the_server(
    plane: ControlPlane, api: KubeApi
) -> None:
    """The new server has forgotten the old versions: 410, and the informer lists again."""
    names, problems = Names(), list[str]()
    informer = Informer(
        api, names, SystemClock(), jitter=lambda: 0.0, report=lambda _, said: problems.append(said)
    )
    following = asyncio.create_task(
        informer.run([CONFIG_MAPS], {"ConfigMap": Query(namespace="default")})
    )
    await informer.wait_synced()
    await api.create(CONFIG_MAPS.ref("before", "default"), config_map("before"))
    await names.until("before", is_known=True)

    await asyncio.to_thread(plane.restart_apiserver)
    await api.create(CONFIG_MAPS.ref("after", "default"), config_map("after"))
    await api.delete(CONFIG_MAPS.ref("before", "default"))

    await names.until("after", is_known=True)
    await names.until("before", is_known=False)
    following.cancel()
    assert await asyncio.gather(following, return_exceptions=True)
    assert problems


async def test_a_server_that_is_gone_is_unreachable(plane: ControlPlane, api: KubeApi) -> None:
    await api.get(KINDS["Namespace"].ref("default"))
    await asyncio.to_thread(plane.stop_component, "kube-apiserver")
    try:
        with pytest.raises(Unreachable):
            await api.get(KINDS["Namespace"].ref("default"))
    finally:
        await asyncio.to_thread(plane.start_component, "kube-apiserver")

    assert (await api.get(KINDS["Namespace"].ref("default")))["metadata"]["name"] == "default"


# -------------------------------------------------------------------------------------- refusals


async def test_an_eviction_that_the_budget_forbids(api: KubeApi) -> None:
    ref = PODS.ref("guarded", "default")
    made = await api.create(ref, pod("guarded"))
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await api.patch(ref, {"status": ready}, how="strategic", subresource="status")
    budget = BUDGETS.ref("guard", "default")
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}
    await api.create(budget, {"metadata": {"name": "guard"}, "spec": spec})
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": 0,
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
    }
    await api.patch(budget, {"status": status}, subresource="status")
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "guarded", "namespace": "default"},
        "deleteOptions": {"preconditions": {"uid": made["metadata"]["uid"]}},
    }

    with pytest.raises(ApiError) as refused:
        await api.create(ref, eviction, subresource="eviction")
    assert (refused.value.code, refused.value.reason) == (429, "TooManyRequests")
    assert "disruption budget" in refused.value.message
    assert refused.value.status["details"]["causes"][0]["reason"] == "DisruptionBudget"

    await api.patch(budget, {"status": {"disruptionsAllowed": 1}}, subresource="status")
    answer = await api.create(ref, eviction, subresource="eviction", dry_run=True)
    assert answer["status"] == "Success"
    eviction["deleteOptions"] = {"preconditions": {"uid": "somebody-else"}}
    with pytest.raises(ApiError, match="409 Conflict"):
        await api.create(ref, eviction, subresource="eviction")


async def test_conflicts_come_in_two_kinds(api: KubeApi) -> None:
    ref = CONFIG_MAPS.ref("contended", "default")
    made = await api.create(ref, config_map("contended"))
    stale = made["metadata"]["resourceVersion"]
    await api.patch(ref, {"data": {"word": "new"}})

    async def refused(request: Any) -> tuple[int, str]:
        with pytest.raises(PortError) as failed:
            await request
        assert isinstance(failed.value, ApiError)
        return failed.value.code, failed.value.reason

    assert await refused(api.create(ref, config_map("contended"))) == (409, "AlreadyExists")
    moved = {"metadata": {"resourceVersion": stale}, "data": {"word": "newer"}}
    assert await refused(api.patch(ref, moved)) == (409, "Conflict")
    for options in (DeleteOptions(uid="somebody-else"), DeleteOptions(resource_version=stale)):
        assert await refused(api.delete(ref, options)) == (409, "Conflict")
    assert (await api.get(ref))["data"] == {"word": "new"}


async def test_an_applied_object_has_us_as_its_manager(api: KubeApi) -> None:
    ref = CONFIG_MAPS.ref("applied", "default")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}}

    made = await api.patch(ref, {**body, "data": {"word": "one"}}, how="apply")

    assert [field["manager"] for field in made["metadata"]["managedFields"]] == ["unmoor"]


# ---------------------------------------------------------------------------------------- events


async def test_events_are_what_kubectl_describe_shows(plane: ControlPlane, api: KubeApi) -> None:
    node = await api.create(NODES.ref("talked-about"), {"metadata": {"name": "talked-about"}})
    ref = NODES.ref("talked-about", uid=node["metadata"]["uid"])
    recorder = EventRecorder(api, SystemClock(), component="karpenter")
    now = datetime.now(UTC)  # noqa: TID251 - kubectl tells the age by the machine's clock
    event = Publish(regarding=ref, reason="Unconsolidatable", message="pdb default/x prevents it")
    for minutes in (30, 15, 0):
        recorder.publish(event, now - timedelta(minutes=minutes))
        await recorder.flush()

    told = (await asyncio.to_thread(plane.kubectl, "describe", "node", "talked-about")).stdout
    line = next(line for line in told.splitlines() if "Unconsolidatable" in line)
    words = line.split()
    assert words[:2] == ["Normal", "Unconsolidatable"]
    assert "(x3 over 30m)" in line
    assert "karpenter" in words
    assert line.endswith("pdb default/x prevents it")
    assert (recorder.sent, dict(recorder.dropped)) == (3, {})
