"""Same seed, same story: run the swarm under two hash seeds and compare what it prints.

A set or a dict of strings whose order reaches a decision shows up here and nowhere else. Of
each seed a digest of every write is compared: when, who, what. The first line that differs is the
report.

    python hack/swarm_twice.py --seeds 1-12
"""

import argparse
import os
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

HASH_SEEDS = ("1", "2")
LIMIT_S = 600
UNMOOR = Path(sys.executable).with_name("unmoor")


def start(seeds: str, hash_seed: str) -> subprocess.Popen[str]:
    """Start one swarm; the two run side by side, on the two cores a machine of ours has."""
    return subprocess.Popen(
        [str(UNMOOR), "swarm", "--seeds", seeds, "--jobs", "1", "--output", "json"],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "NO_COLOR": "1", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare one swarm under two hash seeds.")
    parser.add_argument("--seeds", default="1-12", help="range of seeds, as in `unmoor swarm`")
    seeds = parser.parse_args().seeds

    runs = [start(seeds, hash_seed) for hash_seed in HASH_SEEDS]
    try:
        stories = [run.communicate(timeout=LIMIT_S)[0].splitlines() for run in runs]
    finally:
        for run in runs:
            run.kill()

    for run, hash_seed, story in zip(runs, HASH_SEEDS, stories, strict=True):
        if run.returncode != 0 or not story:
            print("\n".join(story))
            print(
                f"swarm-twice: PYTHONHASHSEED={hash_seed}: exit {run.returncode}", file=sys.stderr
            )
            return 1
    for number, (one, other) in enumerate(zip_longest(*stories), start=1):
        if one != other:
            print(
                f"swarm-twice: seeds {seeds}, line {number} depends on the hash seed",
                file=sys.stderr,
            )
            for hash_seed, line in zip(HASH_SEEDS, (one, other), strict=True):
                print(f"  PYTHONHASHSEED={hash_seed}: {line}", file=sys.stderr)
            return 1
    print(f"swarm-twice: seeds {seeds} tell the same story twice: {stories[0][-1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
