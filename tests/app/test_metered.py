"""What the cloud refuses is counted by kind, and passed on as it is (T380)."""

from __future__ import annotations

from typing import Any

import pytest

from unmoor.app.metered import MeteredCloud
from unmoor.app.metrics import Metrics
from unmoor.runtime.clock import SystemClock
from unmoor.runtime.ports import CloudError, Unreachable


class Refusing:
    """A cloud that answers every look at an instance with one error, or with the instance's id."""

    scheme = "test"

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    async def get(self, provider_id: str) -> Any:
        if self.error is not None:
            raise self.error
        return provider_id


@pytest.mark.parametrize(
    ("error", "label"),
    [
        pytest.param(CloudError("not-found", "gone"), "not-found", id="T380"),  # T380
        pytest.param(CloudError("insufficient-capacity", "none"), "insufficient-capacity"),
        pytest.param(CloudError("failed", "who knows"), "failed"),
        pytest.param(Unreachable("no answer"), "unreachable"),
    ],
)
async def test_an_error_is_counted_by_its_kind(error: Exception, label: str) -> None:
    metrics = Metrics(SystemClock())
    cloud: Any = Refusing(error)

    with pytest.raises(type(error)) as caught:
        await MeteredCloud(cloud, metrics, SystemClock()).get("test:///a")

    assert caught.value is error
    lines = [line for line in metrics.render().decode().splitlines() if "errors_total{" in line]
    (told,) = [line for line in lines if 'method="Get"' in line]
    assert f'error="{label}"' in told
    assert told.endswith(" 1.0")


async def test_an_answer_is_timed_and_no_error() -> None:
    metrics = Metrics(SystemClock())
    cloud: Any = Refusing(None)

    found: Any = await MeteredCloud(cloud, metrics, SystemClock()).get("test:///a")

    text = metrics.render().decode()
    assert found == "test:///a"
    assert 'cloudprovider_duration_seconds_count{controller="unmoor",method="Get"' in text
    assert 'method="Get",provider="test",error' not in text
