"""The picture in docs/engine.md: the worked example's plan as bars, drawn as SVG.

It is drawn from what the engine answers. The same answer is the same picture to the byte.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tests.engine.worked_example import NODE, PODS, SCENE, THERE, TYPES
from unmoor.engine import solving
from unmoor.engine.plan import Plan
from unmoor.engine.requests import requests_of
from unmoor.model import names
from unmoor.model.money import usd_per_h

WIDE, LEFT, TOP, ROW, BAR = 760, 150, 46, 74, 34
CPU_WIDE = 130
"""Pixels for one cpu."""
THIN = 3
"""Who asks for no cpu is a line."""
STYLE = """
text { font: 13px sans-serif; fill: #24292f }
.small { font-size: 12px; fill: #57606a }
.there { fill: #d0d7de; stroke: #57606a }
.placed { fill: #b6e3ff; stroke: #0969da }
.refused { fill: #ffd7d5; stroke: #cf222e }
.node { fill: #ffffff; stroke: #57606a }
.machine { fill: #ffffff; stroke: #0969da; stroke-dasharray: 5 4 }
.paper { fill: #ffffff }
"""


class Block(NamedTuple):
    """A pod: as wide as the cpu it asks for."""

    name: str
    cpu: float
    style: str


class Bar(NamedTuple):
    """A node or a machine: how wide it is, and what is on it from left to right."""

    name: str
    style: str
    cpu: float
    pods: list[Block]
    below: str


def worked() -> str:
    """Ask the engine, and draw what it says."""
    bars = list(_bars(solving.solve(SCENE, PODS)))
    height = TOP + ROW * len(bars)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {height}">',
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{WIDE}" height="{height}"/>',
            *(_text(LEFT + cpu * CPU_WIDE, 34, f"{cpu} cpu", "small") for cpu in range(5)),
            *(line for row, bar in enumerate(bars) for line in _drawn(TOP + row * ROW, bar)),
            "</svg>",
            "",
        )
    )


def _bars(plan: Plan) -> Iterator[Bar]:
    asked = {pod.key: _cpu(requests_of(pod)) for pod in (THERE, *PODS)}
    names_of = {pod.key: pod.metadata.name for pod in (THERE, *PODS)}

    def placed(where: str) -> list[Block]:
        keys = [key for key, at in plan.placements.items() if at == where]
        return [Block(names_of[key], asked[key], "placed") for key in keys]

    there = Block(names_of[THERE.key], asked[THERE.key], "there")
    yield Bar(
        NODE.name, "node", _cpu(NODE.allocatable), [there, *placed(NODE.name)], "a node of zone 1"
    )
    types = {one.name: one for one in TYPES}
    for machine in plan.machines:
        zone = (machine.requirements.get(names.ZONE).only_value or "").removeprefix("test-")
        cheapest = types[machine.instance_types[0]]
        room = _cpu(cheapest.allocatable)
        below = (
            f"to be bought for {zone.replace('-', ' ')}: {cheapest.name}, "
            f"{room:g} of {_cpu(cheapest.capacity):g} cpu for pods, "
            f"{usd_per_h(machine.price_usd_per_h)}"
        )
        yield Bar(machine.name, "machine", room, placed(machine.name), below)
    for key, (refusal, *_) in plan.refused.items():
        block = Block(names_of[key], asked[key], "refused")
        yield Bar("nowhere", "", 0, [block], str(refusal))


def _cpu(amounts: Mapping[str, int]) -> float:
    return amounts.get("cpu", 0) / 1000


def _drawn(top: int, bar: Bar) -> Iterator[str]:
    yield _text(14, top + 22, bar.name)
    if bar.style:
        yield _box(LEFT, top, bar.cpu, bar.style)
    x = float(LEFT)
    for block in bar.pods:
        yield _box(x, top, block.cpu, block.style)
        yield _text(x + 8, top + 22, block.name)
        x += block.cpu * CPU_WIDE
    yield _text(LEFT, top + BAR + 17, bar.below, "small")


def _box(x: float, top: int, cpu: float, style: str) -> str:
    wide = max(cpu * CPU_WIDE, THIN)
    return f'<rect class="{style}" x="{x:g}" y="{top}" width="{wide:g}" height="{BAR}"/>'


def _text(x: float, y: float, text: str, style: str = "") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text{kind} x="{x:g}" y="{y:g}">{html.escape(text)}</text>'
