"""What holds for every test: markers by directory, and a last word about what did not run."""

import gc
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

from tests import tools

# Of what is imported and collected nothing is garbage, and little of what a test makes while it
# runs: looking for it at the usual times takes a third of the processor's.
gc.set_threshold(50_000, 20, 20)

HERE = Path(__file__).parent
MISSING = "unmoor_missing_tools"

# Same examples every time: a gate that fails now and then teaches people to press the button again.
# To look for new ones: `make thorough`, or pytest --hypothesis-profile=default.
THOROUGH = "thorough"
settings.register_profile("gate", derandomize=True, deadline=None)
settings.register_profile(THOROUGH, max_examples=4000, deadline=None, print_blob=True)
settings.load_profile("gate")

pytest.register_assert_rewrite("tests.builders")


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever lies in a directory e2e or bench is marked so, by its author or not."""
    for item in items:
        for place in {"e2e", "bench"}.intersection(item.path.parent.relative_to(HERE).parts):
            item.add_marker(place)


def pytest_collection_finish() -> None:
    """All that is imported and collected stays, and is not looked through again."""
    gc.freeze()


def pytest_runtest_teardown() -> None:
    """A command that a test has called in its own process sets the log up for its process."""
    structlog.reset_defaults()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker process hands what it missed to the process that prints."""
    output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[MISSING] = dict(tools.missing)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """The other end of pytest_sessionfinish, in the process that prints."""
    output: dict[str, dict[str, str]] = getattr(node, "workeroutput", {})
    tools.missing.update(output.get(MISSING, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A skipped test that nobody notices is a hole."""
    if not tools.missing:
        return
    terminalreporter.section("NOT TESTED: tools are missing", sep="!", yellow=True, bold=True)
    for tool, remedy in sorted(tools.missing.items()):
        terminalreporter.line(f"{tool}: {remedy}")
