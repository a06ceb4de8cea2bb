"""Make src/unmoor/sim/data/histograms.json from two public data sets: ``histograms.py FOLDER``.

FOLDER holds ``openb_pods.csv`` (columns cpu_milli and memory_mib), ``openb_nodes.csv`` (the same
columns and gpu) and ``cluster-n100.json.gz`` (``kubectl get -A -o json`` of a whole cluster).
Only counts are taken over, none of the names.
"""

import csv
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from unmoor.model import resources

TARGET = Path(__file__).parent.parent / "src/unmoor/sim/data/histograms.json"
ABOUT = (
    "Made by hack/histograms.py. services, replicas: a cluster of 103 nodes and 118 applications. "
    "batch: the 8,152 pods of the openb trace (Alibaba, 2023). categories: its 1,523 nodes."
)
MIB = 2**20
BATCH_CPU_STEP_MILLI, BATCH_MEMORY_STEP_MIB = 500, 1024
BATCH_PODS_LEAST = 8
"""Rarer sizes of the trace are left out: together they are less than a fiftieth of it."""
CATEGORIES = ((3.0, "c"), (6.0, "m"))
"""GiB for each core up to which a node is for computing, or a general one; above: for memory."""


def main() -> None:
    if len(sys.argv) != 2:  # noqa: PLR2004
        sys.exit(f"usage: {sys.argv[0]} FOLDER")
    folder = Path(sys.argv[1])
    with gzip.open(folder / "cluster-n100.json.gz") as file:
        items = json.load(file)["items"]
    owned = Counter(
        owner["uid"]
        for pod in of_kind(items, "Pod")
        for owner in pod["metadata"].get("ownerReferences", ())
        if owner["kind"] == "ReplicaSet"
    )
    pods = rows(folder / "openb_pods.csv")
    batch = Counter((cpu_of(row), memory_of(row)) for row in pods)
    nodes = Counter(category_of(row) for row in rows(folder / "openb_nodes.csv"))
    tables: dict[str, list[Any]] = {
        "services": in_order(Counter(map(size_of, services(items)))),
        "batch": in_order({key: n for key, n in batch.items() if n >= BATCH_PODS_LEAST}),
        "replicas": sorted(Counter(owned.values()).items()),
        "categories": sorted(nodes.items()),
    }
    columns = {
        "services": "cpu_milli, memory_mib, pods",
        "batch": "cpu_milli, memory_mib, pods",
        "replicas": "replicas, applications",
        "categories": "category, nodes",
    }
    lines = [f"{json.dumps('about')}: {json.dumps(ABOUT)}", f'"columns": {json.dumps(columns)}']
    lines += [f"{json.dumps(name)}: {json.dumps(table)}" for name, table in tables.items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(", ".join(f"{len(table)} {name}" for name, table in tables.items()))


def of_kind(items: Iterable[Any], kind: str) -> list[Any]:
    return [one for one in items if one["kind"] == kind]


def services(items: Iterable[Any]) -> list[Any]:
    """Pods of applications; those of DaemonSets are not drawn from a histogram."""
    return [
        pod
        for pod in of_kind(items, "Pod")
        if any(one["kind"] == "ReplicaSet" for one in pod["metadata"].get("ownerReferences", ()))
    ]


def size_of(pod: Any) -> tuple[int, int]:
    asked = resources.total(
        resources.parse_resources(one["resources"]["requests"]) for one in pod["spec"]["containers"]
    )
    return asked[resources.CPU], asked[resources.MEMORY] // MIB


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def cpu_of(row: dict[str, str]) -> int:
    return rounded(row["cpu_milli"], BATCH_CPU_STEP_MILLI)


def memory_of(row: dict[str, str]) -> int:
    return rounded(row["memory_mib"], BATCH_MEMORY_STEP_MIB)


def rounded(amount: str, step: int) -> int:
    return max(round(int(amount) / step), 1) * step


def category_of(row: dict[str, str]) -> str:
    gib_per_core = int(row["memory_mib"]) / 1024 / (int(row["cpu_milli"]) / 1000)
    return next((name for most, name in CATEGORIES if gib_per_core <= most), "r")


def in_order(counted: dict[tuple[int, int], int]) -> list[Any]:
    return sorted((cpu, memory, count) for (cpu, memory), count in counted.items())


if __name__ == "__main__":
    main()
