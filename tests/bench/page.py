"""Write docs/performance.md from what ``make bench`` has kept.

python -m tests.bench.page
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from tests.bench.__main__ import KEPT, shown
from tests.bench.engine import BENCHMARKS
from tests.bench.measuring import ROOT, Figure

PAGE = ROOT / "docs/performance.md"
PARTS_SHOWN = 10
HEAD = """\
<!-- Written by `make performance` from what `make bench` measured. Do not edit. -->

# Performance

unmoor is designed for 5,000 nodes and 150,000 pods. This page says what that costs, with goals, as
measured on one machine. `make bench` measures again (four minutes, 2 GB of memory), `make bench
BENCH="sync watch"` some of it, and `make performance` writes this page from what was measured last.

The cluster is made up, of pods of about 6 kB with managed fields, start times spread over a month,
in 18,000 workloads. Its server is a process of its own that sends bytes made before, so that it is
the client that is measured; both share the machine. Processor time is that of the client alone: on
a machine with other work it is the figure to look at. A pause is what something that is due every
two milliseconds is late by.
"""


def lines(kept: dict[str, Any]) -> Iterator[str]:
    """The page after its head."""
    for benchmark in BENCHMARKS:
        record = kept.get(benchmark.name)
        if record is None:
            continue
        yield f"\n## {benchmark.title}\n"
        yield f"{benchmark.words}\n"
        yield "| what | measured | goal | |"
        yield "| --- | ---: | --- | --- |"
        for one in record["figures"]:
            figure = Figure(**one)
            yield f"| {' | '.join((figure.name, *shown(figure)))} |"
        yield from memory(record["raw"])
        yield f"\n{where(record)}"


def memory(raw: dict[str, Any]) -> Iterator[str]:
    """Which parts of the pods take the memory."""
    weights = {name[7:]: mb for name, mb in raw.items() if name.startswith("weight ")}
    if weights:
        largest = list(weights.items())[:PARTS_SHOWN]
        listed = ", ".join(f"{name} {mb:.0f} MB" for name, mb in largest)
        total = sum(weights.values())
        yield f"\nWhat takes the memory of the pods, {total:.0f} MB in all: {listed}."


def where(record: dict[str, Any]) -> str:
    """On what machine, when, with what."""
    machine = record["machine"]
    hardware = f"{machine['processor']}, {machine['memory']}, {machine['system']}"
    software = f"{machine['python']}, aiohttp {machine['aiohttp']}, msgspec {machine['msgspec']}"
    load = f"load average {record['load']:.1f} at the start"
    return f"{record['when']}; {hardware}; {software}, unmoor {machine['unmoor']}; {load}."


def main() -> int:
    """Write it, or say what is missing."""
    if not KEPT.exists():
        print("performance: nothing was measured yet, run `make bench`", file=sys.stderr)
        return 1
    text = HEAD + "\n".join(lines(json.loads(KEPT.read_text()))) + "\n"
    PAGE.write_text(text)
    print(f"performance: wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
