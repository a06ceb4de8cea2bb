"""The picture in the README: a run of the demo as a terminal shows it, drawn as SVG.

The same run is the same picture to the byte. It refers to nothing outside itself.
"""

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

UNMOOR = Path(sys.executable).with_name("unmoor")
BEGINS = "A node is deleted"
"""What comes before it is the cluster coming up."""
LIMIT_S = 60
COLUMNS = 96
BYTES_MAX = 72_000
STAMP = re.compile(r" *\d+:\d\d\.\d  \w+ +")
"""The beginning of a line of the story; what does not fit is indented below it."""
OUTSIDE = re.compile(r"\s*@font-face \{.*?\}|\s*<!--.*?-->", re.DOTALL)


def demo() -> str:
    """Run the demo and draw it."""
    run = subprocess.run(
        [UNMOOR, "demo", "--pace", "0"],
        env={
            **os.environ,
            "FORCE_COLOR": "1",
            "COLORTERM": "truecolor",
            "TERM": "xterm",
            "COLUMNS": "200",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
    )
    story = Text.from_ansi(run.stdout)
    console = Console(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
    )
    console.print()
    for line in story[story.plain.index(BEGINS) :].split("\n"):
        for part in _wrapped(console, line):
            console.print(part, no_wrap=True)
    drawn = OUTSIDE.sub("", console.export_svg(title="unmoor demo", unique_id="demo"))
    assert len(drawn) <= BYTES_MAX, f"the picture has {len(drawn)} bytes: show less"
    return drawn


def _wrapped(console: Console, line: Text) -> Iterator[Text]:
    stamp = STAMP.match(line.plain)
    indent = stamp.end() if stamp else 0
    parts = line[indent:].wrap(console, COLUMNS - indent) if len(line) > indent else [Text()]
    for number, part in enumerate(parts):
        yield Text.assemble(line[:indent] if number == 0 else " " * indent, part)
