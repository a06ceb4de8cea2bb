"""``unmoor swarm``: lines in the order of the seeds, the same on any run; how to replay a failure.

What a world is, and that bugs are found, is tried in ``tests/sim``.
"""

import json
import os
import subprocess

import pytest

from tests.app.loopback import UNMOOR
from unmoor.app.cli import swarm as command
from unmoor.sim.swarm import SeedResult

SHORT = ("--hours", "0.05")


def swarm(*args: str, hash_seed: str = "1") -> list[str]:
    done = subprocess.run(
        [UNMOOR, "swarm", *args],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.slow
def test_two_runs_are_equal_whatever_the_hash_seed_and_the_number_of_processes() -> None:
    one = swarm("--seeds", "1-3", *SHORT, "-j", "1")
    other = swarm("--seeds", "1-3", *SHORT, "-j", "2", hash_seed="2")

    assert one == other
    assert [line.split()[0] for line in one[:-1]] == ["seed=1", "seed=2", "seed=3"]
    assert one[-1].startswith("3 seeds, 0 failed, trace ")


def test_a_broken_rule_tells_its_story_and_how_to_replay_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command.tell(
        SeedResult(48, ok=False, summary="seed=48 broke", trace_hash="x", story="a\nb"), 2.5
    )

    assert capsys.readouterr().out.splitlines() == [
        "seed=48 broke",
        "a",
        "b",
        "replay: unmoor swarm --seeds 48 --hours 2.5",
    ]


def test_json_ends_with_the_combined_hash() -> None:
    told = [json.loads(line) for line in swarm("--seeds", "4", *SHORT, "-o", "json")]

    assert [one.get("seed") for one in told] == [4, None]
    assert told[0]["ok"] is True
    assert told[1]["failed"] == []
    assert len(told[1]["trace_hash"]) == 64


def test_with_coverage_it_fails_for_what_no_world_has_met() -> None:
    done = subprocess.run(
        [UNMOOR, "swarm", "--seeds", "4", *SHORT, "--coverage"],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert done.returncode == 1
    assert "faults: api lost_request" in done.stdout
    assert "no world has met " in done.stderr
    assert "play more seeds" in done.stderr
