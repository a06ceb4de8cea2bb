"""What a simulated cluster does not have: every refusal says what and why, and names no object."""

from __future__ import annotations

import pytest

from tests.sim.http.client import TABLE, Client

IN_DEFAULT = "/api/v1/namespaces/default"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (f"{IN_DEFAULT}/endpoints", "there are no endpoints in a simulated cluster"),
        (f"{IN_DEFAULT}/endpoints/a", "there are no endpoints in a simulated cluster"),
        ("/apis/batch/v1/namespaces/default/cronjobs", "there are no cronjobs"),
        ("/apis/metrics.k8s.io/v1beta1/nodes", "nothing is measured"),
        ("/apis/autoscaling/v2/namespaces/a/horizontalpodautoscalers", "kubectl scale works"),
    ],
)
async def test_kinds_that_a_real_cluster_has(client: Client, path: str, said: str) -> None:
    for method in ("GET", "POST"):
        answer = await client.send(method, path, {} if method == "POST" else None)

        assert (answer.code, answer.reason) == (404, "NotFound")
        assert said in answer.message
        assert not answer.body.get("details")


@pytest.mark.parametrize(
    "path",
    [f"{IN_DEFAULT}/nothings", "/api/v1/namespaces/endpoints/nothings", "/apis/a.example/v1/b"],
)
async def test_what_no_cluster_has_is_refused_as_everywhere(client: Client, path: str) -> None:
    answer = await client.get(path)

    assert (answer.code, answer.message) == (
        404,
        "the server could not find the requested resource",
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (f"{IN_DEFAULT}/serviceaccounts/default/token", "there are no tokens"),
        (f"{IN_DEFAULT}/services/web/proxy", "nothing can be proxied"),
    ],
)
async def test_doors_of_what_is_only_stored(client: Client, path: str, said: str) -> None:
    answer = await client.send("POST", path, {})

    assert (answer.code, answer.reason) == (405, "MethodNotAllowed")
    assert said in answer.message


async def test_a_scale_has_columns_of_its_own(client: Client) -> None:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    path = "/apis/apps/v1/namespaces/default/deployments"
    await client.create(path, "Deployment", "web", spec=spec)
    table = (await client.get(f"{path}/web/scale", TABLE)).body
    plain = (await client.get(f"{path}/web/scale")).body

    names = [one["name"] for one in table["columnDefinitions"]]
    assert names == ["Name", "Desired", "Available", "Age"]
    assert table["rows"][0]["cells"][:3] == ["web", 2, 0]
    assert plain["kind"] == "Scale"
