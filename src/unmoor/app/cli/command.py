"""What every command has: an example in its help, ``-o text|json``, errors in one line.

Exit codes are the same everywhere: 0 when it held, 1 when it did not, 2 for a wrong call. An error
that was to be expected (a wrong file, a server that does not answer) names the thing, the value and
the remedy on stderr; a traceback is a bug of ours.

Must not: import an adapter before a command runs.
"""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any, TypeVar

import click

EXIT_CODES = "Exit codes: 0 it held; 1 it did not hold or failed; 2 the call itself was wrong."

UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What a full or broken disk answers when the output goes there."""

F = TypeVar("F", bound=Callable[..., Any])


class Failure(click.ClickException):
    """The command did not do what it was asked for: one line on stderr, exit code 1.

    ``more``: where there is a list to give, a line for each.
    """

    def __init__(self, message: str, more: Sequence[str] = ()) -> None:
        """``message`` stands alone."""
        super().__init__(message)
        self.more = more

    def show(self, file: Any = None) -> None:
        """Say it as every other program does: who, then what."""
        for begin, said in (("unmoor: ", self.message), *(("  ", line) for line in self.more)):
            line = " ".join(said.splitlines())  # a server may say it in many
            click.echo(f"{begin}{line}", file=file or sys.stderr)


class Command(click.Command):
    """A command whose help ends with examples and the exit codes."""

    def __init__(self, *args: Any, examples: tuple[str, ...], **kwargs: Any) -> None:
        """``examples``: command lines, without a prompt."""
        super().__init__(*args, **kwargs)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the examples as they are to be typed."""
        del ctx
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")
        formatter.write_paragraph()
        formatter.write_text(EXIT_CODES)


def output_option(function: F) -> F:
    """Add ``-o text|json`` as the parameter ``output``."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="How to print the result.",
    )(function)


def price_options(function: F) -> F:
    """Add ``--prices`` and ``--keep-rest``: what the machines of a simulated cloud cost."""
    function = click.option(
        "--keep-rest",
        is_flag=True,
        help="With a file of prices: what it does not name has the catalogue's price.",
    )(function)
    return click.option(
        "--prices",
        default="",
        metavar="FILE|PERCENT",
        help="What machines cost, in place of the catalogue's prices: those by a percentage dearer "
        'or cheaper, as in +10%, or a file. A file in JSON holds {type: {zone or "*": {capacity '
        "type: USD per hour}}}; in CSV, the columns type, zone, capacity type and USD per hour. "
        "What it does not name has no known price: it is launched last, and in no sum.",
    )(function)


def cluster_options(function: F) -> F:
    """Add ``--kubeconfig`` and ``--context``: which cluster is meant."""
    function = click.option(
        "--context", default="", metavar="NAME", help="A context of it; the current one by default."
    )(function)
    return click.option(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="The kubeconfig; by default $KUBECONFIG, then this pod's own, then ~/.kube/config.",
    )(function)


def print_json(value: object) -> None:
    """Print one JSON document on one line, keys in a stable order."""
    click.echo(json.dumps(value, sort_keys=True))


def print_yaml(documents: Iterable[object]) -> None:
    """Print YAML documents, without anchors: a reader should not have to look things up."""
    import yaml  # noqa: PLC0415 - the overview does not need it

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Plain(base):  # type: ignore[misc]  # which of the two it is depends on the machine
        def ignore_aliases(self, data: object) -> bool:
            del data
            return True

    text = yaml.dump_all(documents, Dumper=Plain, sort_keys=False, explicit_start=True)
    click.echo(text, nl=False)


class Duration(click.ParamType[float]):
    """A duration in Go's notation, or a whole number of seconds; the value is in seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read one; a negative one is refused."""
        from unmoor.model import duration  # noqa: PLC0415 - the overview does not need it

        if isinstance(value, int | float):
            return float(value)
        try:
            is_plain = value.isascii() and value.isdecimal()
            seconds = duration.parse(f"{value}s" if is_plain else value)
        except duration.DurationError as error:
            self.fail(f"{error}; a whole number alone is seconds", param, ctx)
        if seconds < 0:
            self.fail(f"{value!r} is negative: use zero or more", param, ctx)
        return seconds


DURATION = Duration()


class FiniteRange(click.FloatRange):
    """A number within limits, and one that can be counted with."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read one; ``nan`` and ``inf``, which float() takes, are refused."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value!r} is no finite number", param, ctx)
        return number


@contextmanager
def failures_in_one_line() -> Iterator[None]:
    """Turn what was to be expected into a :class:`Failure`."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except ExceptionGroup as group:
        leaves = list(_leaves(group))
        if all(isinstance(leaf, BrokenPipeError) for leaf in leaves):
            raise leaves[0] from None  # click ends quietly: whoever read us has enough
        if not all(_is_expected(leaf) for leaf in leaves):
            raise
        raise _failure(leaves[0]) from None
    except Exception as error:
        if not _is_expected(error):
            raise
        raise _failure(error) from None


def _failure(error: Exception) -> Failure:
    if isinstance(error, OSError):
        return Failure(f"the output cannot be written: {error.strerror}")
    return Failure(str(error))


def _leaves(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _is_expected(error: Exception) -> bool:
    if isinstance(error, OSError) and error.errno in UNWRITABLE:
        return True
    # Only a module that is loaded can have raised; to import them here would slow `--help` down.
    names = (
        ("unmoor.kube.access", "ConfigError"),
        ("unmoor.kube.auth", "AuthError"),
        ("unmoor.runtime.ports", "PortError"),
    )
    kinds = tuple(
        getattr(sys.modules[module], name) for module, name in names if module in sys.modules
    )
    return isinstance(error, (*kinds, click.ClickException))
