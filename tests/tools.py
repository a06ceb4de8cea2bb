"""Outside programs a test needs: loud on a laptop, a failure on the build machine.

A test that quietly skips itself proves nothing, so there are two answers only. Where CI=true a
missing tool fails the test; anywhere else the test is skipped, and `tests/conftest.py` lists each
missing tool at the end of the run.
"""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

missing: dict[str, str] = {}
"""What was asked for and not found in this process: the tool, and how to get it."""


def on_build_machine() -> bool:
    return os.environ.get("CI") == "true"


def refuse(what: str, remedy: str) -> NoReturn:
    """End the running test for want of `what`: skipped on a laptop, failed where CI=true."""
    __tracebackhide__ = True
    missing[what] = remedy
    if on_build_machine():
        pytest.fail(f"{what} is missing, and CI=true forbids to skip: {remedy}", pytrace=False)
    pytest.skip(f"{what} is missing: {remedy}")


def require(tool: str, remedy: str = "install it, or put it on PATH") -> Path:
    """Path of an executable: a name on PATH, or a path to something we build ourselves."""
    __tracebackhide__ = True
    found = shutil.which(tool)
    if found is None:
        refuse(tool, remedy)
    return Path(found)
