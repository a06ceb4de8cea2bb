"""A cluster in which something stays wrong, and nobody mends it: the log says so once.

The whole process runs, at the log level of production, for an hour of virtual time.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import Any

import pytest

from tests.scenarios import objects
from tests.scenarios.virtual import NAMESPACE, QUICK
from tests.sim import sabotage
from unmoor.app import logs
from unmoor.app.logs import LogObserver
from unmoor.model import names
from unmoor.model.base import JSON, Ref
from unmoor.runtime.controller import Options
from unmoor.sim.virtual import run
from unmoor.sim.world import Process, World

HOUR_S = 3600.0
LINES_MOST = 1

WRONG: dict[str, tuple[Ref, JSON]] = {
    "linked-nonsense": objects.machine(
        "bad", provisioner="red", annotations={names.LINKED: "nonsense"}
    ),
    "linked-foreign": objects.machine(
        "bad", provisioner="red", annotations={names.LINKED: "aws:///us-east-1a/i-1"}
    ),
    "nothing-suits": objects.machine(
        "bad",
        provisioner="red",
        requirements=[{"key": names.INSTANCE_TYPE, "operator": "In", "values": ["no.such"]}],
    ),
    "bad-request": objects.machine(
        "bad", provisioner="red", resources={"requests": {"cpu": "lots"}}
    ),
    "bad-provisioner": objects.provisioner("bad", ttlSecondsAfterEmpty=-1),
}


@pytest.fixture
def stream() -> io.StringIO:
    written = io.StringIO()
    logs.configure(level="info", form="json", stream=written)
    return written


async def _hour(*wrong: tuple[Ref, JSON]) -> None:
    world = World(0, cloud=sabotage.cloud_of, types=sabotage.TYPES_BY_NAME, delays=QUICK)
    written = LogObserver(world.clock)
    process = Process(world, Options(namespace=NAMESPACE, lease=None), observers=(written,))
    for ref, _ in wrong:
        world.server.store.tables[ref.kind].schema = None  # an older definition may let it in
    async with world:
        given = (objects.namespace(NAMESPACE), objects.settings(NAMESPACE))
        for ref, body in (*given, objects.provisioner("red"), *wrong):
            await world.api.create(ref, body)
        await process.start()
        await world.clock.sleep(HOUR_S)
        await process.stop()


def lines_of(stream: io.StringIO) -> Counter[str]:
    """How often each thing was written, whenever that was."""
    found: list[dict[str, Any]] = [json.loads(line) for line in stream.getvalue().splitlines()]
    return Counter(
        json.dumps({key: value for key, value in line.items() if key != "time"}, sort_keys=True)
        for line in found
    )


@pytest.mark.parametrize("name", WRONG)
def test_what_stays_wrong_is_said_once(name: str, stream: io.StringIO) -> None:
    run(_hour(WRONG[name]))
    counts = lines_of(stream)
    about = [line for line in counts if '"bad"' in line or "nonsense" in line or "i-1" in line]

    assert about, "nobody was told"
    assert {line: n for line, n in counts.items() if n > LINES_MOST} == {}
    assert len(about) <= 6, about
