"""``unmoor drain`` as a person runs it: a process against a server on the loopback interface."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.app import loopback
from tests.app.loopback import UNMOOR, Cluster
from tests.kube.listener import Listener, pump
from unmoor.model.base import Ref

PATIENCE_S = 30.0


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with loopback.cluster(tmp_path) as built:
        await built.node("a")
        yield built


async def start(cluster: Cluster, *args: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        UNMOOR,
        "drain",
        "--kubeconfig",
        cluster.kubeconfig,
        *args,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def drain(cluster: Cluster, *args: str) -> tuple[int, list[str], str]:
    """Exit code, lines of stdout without their times, and stderr."""
    return await ended(await start(cluster, *args))


async def ended(process: asyncio.subprocess.Process) -> tuple[int, list[str], str]:
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode is not None
    return process.returncode, [_untimed(line) for line in out.decode().splitlines()], err.decode()


def _untimed(line: str) -> str:
    return line.partition(" ")[2] if line[2:3] == ":" else line


async def ready(cluster: Cluster, count: int, node: str = "a") -> None:
    def settled() -> bool:
        if len(cluster.running_on(node)) != count:
            return False
        budgets = list(cluster.server.store.tables["PodDisruptionBudget"].objects.values())
        return all(b.get("status", {}).get("currentHealthy") == count for b in budgets)

    await cluster.until(f"{count} pods run and are counted", settled)


def cordoned(cluster: Cluster, node: str) -> bool:
    return bool(cluster.server.get(Ref("Node", node))["spec"].get("unschedulable"))


async def test_a_node_is_emptied_under_its_budget_and_stays_cordoned(cluster: Cluster) -> None:
    await cluster.deployment("web", 2, available=1)
    await ready(cluster, 2)
    await cluster.node("b")

    code, lines, err = await drain(cluster, "node/a")

    assert (code, err) == (0, "")
    assert lines[0] == "node/a cordoned"
    assert sum(line.endswith(" gone") for line in lines) == 2
    assert lines[-1].startswith("node/a drained: 2 pods in ")
    assert cluster.running_on("a") == []
    assert cordoned(cluster, "a")
    assert not cordoned(cluster, "b")


async def test_a_held_node_is_exit_code_1_names_the_budget_and_leaves_the_rest_alone(
    cluster: Cluster,
) -> None:
    await cluster.deployment("web", 2, available=2)
    await ready(cluster, 2)
    await cluster.node("b")

    code, lines, err = await drain(cluster, "a", "b", "--timeout", "6s", "-o", "json")

    told = [json.loads(line) for line in lines]
    assert code == 1
    first, *pods, how, rest = err.splitlines()
    assert first == "unmoor: node/a is not drained and stays cordoned"
    assert len(pods) == 2
    assert all("is held by disruption budget default/web: 0 disruptions" in pod for pod in pods)
    assert how == "  `unmoor drain a` goes on, `kubectl uncordon a` gives it back"
    assert rest == "  not begun: b"
    assert {"node": "a", "state": "cordoned"}.items() <= told[0].items()
    assert {change["state"] for change in told[:-1]} == {"cordoned", "waiting", "held"}
    assert told[-1]["drained"] == []
    assert told[-1]["not_begun"] == ["b"]
    assert len(told[-1]["nodes"][0]["left"]) == 2
    assert len(cluster.running_on("a")) == 2
    assert not cordoned(cluster, "b")


async def test_interrupted_it_says_what_it_leaves_and_how_to_go_on(cluster: Cluster) -> None:
    await cluster.deployment("web", 2, available=2)
    await ready(cluster, 2)
    process = await start(cluster, "a")
    await cluster.until("the cordon", lambda: cordoned(cluster, "a"))
    assert process.stdout is not None
    seen = await asyncio.wait_for(process.stdout.readuntil(b" held"), PATIENCE_S)

    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)  # as `timeout` does it, to the process and its group
    code, _, err = await ended(process)

    assert b"node/a cordoned" in seen
    assert code == 1
    assert err == (
        "unmoor: interrupted: node/a stays cordoned with 2 pods to go\n"
        "  `unmoor drain a` goes on, `kubectl uncordon a` gives it back\n"
    )
    assert cordoned(cluster, "a")


async def test_interrupted_its_json_has_its_last_object_too(cluster: Cluster) -> None:
    await cluster.deployment("web", 2, available=2)
    await ready(cluster, 2)
    await cluster.node("b")
    process = await start(cluster, "a", "b", "-o", "json")
    assert process.stdout is not None
    await asyncio.wait_for(process.stdout.readuntil(b'"held"'), PATIENCE_S)

    process.send_signal(signal.SIGINT)
    code, lines, err = await ended(process)

    last = json.loads(lines[-1])
    assert code == 1
    assert (last["interrupted"], last["drained"], last["not_begun"]) == (True, [], ["b"])
    (node,) = last["nodes"]
    assert (node["node"], node["is_drained"], node["is_cordoned"]) == ("a", False, True)
    assert len(node["left"]) == 2
    assert err.splitlines()[-1] == "  not begun: b"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("0", "0 leaves no time: leave --timeout out to wait for ever"),
        ("5", "5 s are too few: no node is drained before its cordon is 5 s old"),
        ("300ms", "0.3 s are too few"),
    ],
)
async def test_a_timeout_that_no_drain_can_keep_is_refused(
    cluster: Cluster, given: str, why: str
) -> None:
    code, _, err = await drain(cluster, "a", "--timeout", given)

    assert code == 2
    assert why in err
    assert not cordoned(cluster, "a")


async def test_whoever_has_not_seen_the_pods_claims_nothing(cluster: Cluster) -> None:
    cluster.hung.add("Pod")

    code, lines, err = await drain(cluster, "a", "--timeout", "5100ms", "-o", "json")

    (node,) = json.loads(lines[-1])["nodes"]
    assert code == 1
    assert (node["is_cordoned"], node["left"]) == (None, None)
    assert err.startswith("unmoor: node/a is not drained and was not changed\n")
    assert err.endswith("  `unmoor drain a` tries again\n")
    assert not cordoned(cluster, "a")


class Relay(Listener):
    """A way to a server that can be closed."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._target = port

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, onward = await asyncio.open_connection("127.0.0.1", self._target)
        self.writers.add(onward)
        await asyncio.gather(pump(reader, onward), pump(there, writer))


async def test_a_server_that_goes_away_is_told_once_in_words(cluster: Cluster) -> None:
    await cluster.deployment("web", 2, available=2)
    await ready(cluster, 2)
    config = json.loads(cluster.kubeconfig.read_text())
    way = config["clusters"][0]["cluster"]
    async with Relay(int(way["server"].rpartition(":")[2])) as relay:
        way["server"] = f"https://127.0.0.1:{relay.port}"
        cluster.kubeconfig.write_text(json.dumps(config))
        process = await start(cluster, "a")
        assert process.stdout is not None
        seen = await asyncio.wait_for(process.stdout.readuntil(b" held"), PATIENCE_S)
    seen += await asyncio.wait_for(process.stdout.readuntil(b" tried again"), PATIENCE_S)

    process.send_signal(signal.SIGINT)
    code, lines, err = await ended(process)

    said = seen.decode() + "\n".join(lines)
    assert code == 1
    assert said.count("node/a: the cluster cannot be reached: ") == 1
    assert " until it can. Ctrl-C ends that and leaves the node as it is" in said
    assert "cannot be followed" not in said
    assert "Error" not in said
    assert "stays cordoned with 2 pods to go" in err


async def test_a_rehearsal_writes_nothing_and_asks_the_server(cluster: Cluster) -> None:
    await cluster.deployment("web", 2, available=1)
    await ready(cluster, 2)
    before = cluster.server.version

    code, lines, _ = await drain(cluster, "a", "--dry-run")

    assert code == 0
    assert lines[0] == "node/a would be cordoned"
    assert [line.split()[0] for line in lines[1:3]] == ["evicted", "evicted"]
    assert lines[3] == (
        "  note: budget default/web lets 1 pod go at once, and this node has 2 under it"
    )
    assert lines[4] == "  nothing was written"
    assert len(cluster.running_on("a")) == 2
    assert cluster.server.version == before
    assert not cordoned(cluster, "a")


async def test_pods_that_others_refuse_to_evict_are_named_before_the_first_goes(
    cluster: Cluster,
) -> None:
    meta = {
        "name": "lonely",
        "namespace": "default",
        "annotations": {"karpenter.sh/do-not-evict": "true"},
    }
    spec = {
        "containers": [{"name": "c", "image": "c"}],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    }
    lonely = Ref("Pod", "lonely", namespace="default")
    await cluster.api.create(lonely, {"metadata": meta, "spec": spec})
    await cluster.until("the pod runs", lambda: cluster.running_on("a") == ["lonely"])

    _, rehearsed, _ = await drain(cluster, "a", "--dry-run")
    code, lines, _ = await drain(cluster, "a", "-o", "json")

    assert rehearsed[1].split(maxsplit=2)[2] == (
        "grace 30 s, nobody makes another one, its emptyDir data are lost, "
        "it is annotated karpenter.sh/do-not-evict, which a drain by hand does not heed"
    )
    told = [json.loads(line) for line in lines]
    assert code == 0
    assert (told[0]["state"], told[1]["state"]) == ("note", "cordoned")
    assert told[0]["message"] == (
        "evicted all the same: 1 that nobody makes again (default/lonely); "
        "1 whose emptyDir data are lost (default/lonely); "
        "1 annotated karpenter.sh/do-not-evict (default/lonely)"
    )
    those = ["default/lonely"]
    assert told[-1]["nodes"][0]["caveats"] == {
        "bare": those,
        "do-not-evict": those,
        "emptyDir": those,
    }


async def test_a_rehearsal_is_exit_code_1_when_a_pod_would_be_held(cluster: Cluster) -> None:
    scratch = [{"name": "scratch", "emptyDir": {}}]
    await cluster.deployment("web", 1, available=1, volumes=scratch)
    await ready(cluster, 1)

    code, lines, err = await drain(cluster, "a", "--dry-run", "-o", "json")

    (pod,) = json.loads(lines[0])["pods"]
    assert code == 1
    assert pod["what"] == "held"
    assert pod["why"].endswith("; its emptyDir data are lost")
    assert err == "unmoor: pods would be held on a; nothing was written\n"


async def test_a_reader_that_has_enough_is_no_error_of_ours(cluster: Cluster) -> None:
    await cluster.deployment("web", 2, available=2)
    await ready(cluster, 2)
    process = await start(cluster, "a", "--timeout", "6s")
    assert process.stdout is not None
    await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)

    process.stdout._transport.close()  # type: ignore[attr-defined]
    assert process.stderr is not None
    err = await asyncio.wait_for(process.stderr.read(), PATIENCE_S)

    assert await process.wait() == 1
    assert b"Traceback" not in err


async def test_no_such_node_and_nothing_is_touched(cluster: Cluster) -> None:
    code, _, err = await drain(cluster, "a", "nope")

    assert code == 1
    assert err == "unmoor: node/nope: no such node; `kubectl get nodes` lists them\n"
    assert not cordoned(cluster, "a")


async def test_a_cordon_that_is_forbidden_ends_it_at_once(cluster: Cluster) -> None:
    cluster.refused.add(("patch", "Node"))

    code, _, err = await drain(cluster, "a")

    assert code == 1
    assert err == "unmoor: node/a cannot be cordoned: you may not patch nodes\n"
