"""Two processes that run tests do not give out the same ports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import ports

OTHER = """
import os
os.getpid = lambda: {pid}  # begins where we have begun
from tests import ports
print(*(ports.free() for _ in range(200)))
"""


def test_each_process_has_ports_of_its_own() -> None:
    ours = {ports.free() for _ in range(100)}
    pid = (min(ours) - ports.FIRST) // ports.IN_A_BLOCK

    done = subprocess.run(
        [sys.executable, "-c", OTHER.format(pid=pid)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    theirs = {int(one) for one in done.stdout.split()}
    assert len(theirs) == 200
    assert not ours & theirs
