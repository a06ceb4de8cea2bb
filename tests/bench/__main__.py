"""Measure, say how it went, and keep it for the page (``make bench``, ``make performance``).

    python -m tests.bench              everything, thirteen minutes of processor time
    python -m tests.bench sync watch   some of it

A missed goal is said and fails nothing: a number depends on the machine and on who else uses it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.bench.consolidation import BENCHMARKS
from tests.bench.measuring import ROOT, Figure, Size

KEPT = ROOT / ".benchmarks" / "measured.json"
"""What was measured last, by benchmark."""


def machine() -> dict[str, str]:
    """On what, and with what."""
    known = Path("/proc/cpuinfo").read_text().partition("model name")[2].partition("\n")[0]
    model = known.partition(":")[2].strip()
    memory_kb = int(Path("/proc/meminfo").read_text().split()[1])
    return {
        "processor": f"{os.cpu_count()} x {model}",
        "memory": f"{memory_kb / 2**20:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    } | {name: metadata.version(name) for name in ("unmoor", "aiohttp", "msgspec")}


def shown(figure: Figure) -> tuple[str, str, str]:
    """The number, its goal, and whether it is met."""
    if figure.goal is None:
        return number(figure.value, figure.unit), "", ""
    bound = "at most" if figure.is_most else "at least"
    goal = f"{bound} {number(figure.goal, figure.unit)}"
    return number(figure.value, figure.unit), goal, "met" if figure.is_met else "MISSED"


def number(value: float, unit: str) -> str:
    """Three digits that count, and the unit."""
    text = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return f"{text} {unit}".replace(" /", "/").strip()


def keep(name: str, record: dict[str, Any]) -> None:
    """Keep what was measured beside what was measured of the others."""
    KEPT.parent.mkdir(exist_ok=True)
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    KEPT.write_text(json.dumps(known | {name: record}, indent=1) + "\n")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description="Measure.")
    names = [benchmark.name for benchmark in BENCHMARKS]
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar="|".join(names))
    for field, value in Size()._asdict().items():
        parser.add_argument(f"--{field.replace('_', '-')}", type=type(value), default=value)
    given = vars(parser.parse_args())
    wanted = given.pop("names") or names
    size = Size(**given)
    for benchmark in BENCHMARKS:
        if benchmark.name not in wanted:
            continue
        print(f"\n{benchmark.title} ({benchmark.name})", flush=True)
        load = os.getloadavg()[0]
        raw = benchmark.run(size)
        figures = list(benchmark.read(raw))
        for figure in figures:
            value, goal, verdict = shown(figure)
            print(f"  {figure.name:48} {value:>14}  {goal:18} {verdict}", flush=True)
        record = {
            "when": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            "load": load,
            "machine": machine(),
            "size": size._asdict(),
            "figures": [figure._asdict() for figure in figures],
            "raw": raw,
        }
        if size == Size():
            keep(benchmark.name, record)


if __name__ == "__main__":
    main()
