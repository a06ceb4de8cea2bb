"""The rules of the house that no ready-made tool holds; each answers with what breaks it.

A rule is a function from one source to findings, so that a test can hand it a bad one.
"""

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from tests.tidy.tree import Function, Source

MODULE_LINES = 400
FUNCTION_LINES = 60
PARAMETERS = 6

NAMES_THAT_SAY_NOTHING = {"common", "helper", "helpers", "manager", "misc", "util", "utils"}
"""A package or module answers a question; none of these is the answer to one."""

MOCKS = {"mock", "pytest_mock", "unittest.mock"}

# Built from pieces, so that the rule does not find itself.
WORKPLACE = ("/wo" + "rk/", "../sha" + "red")
REGISTRIES = tuple(
    f"{name}.{top}"
    for name, top in (
        ("anaconda", "org"),
        ("crates", "io"),
        ("npmjs", "com"),
        ("npmjs", "org"),
        ("proxy.golang", "org"),
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("rubygems", "org"),
        ("sum.golang", "org"),
    )
)


class Measure(NamedTuple):
    """How big something is, under the key it has in exceptions.toml."""

    key: str
    size: int


def module_lines(source: Source) -> Iterator[Measure]:
    yield Measure(source.path, source.text.count("\n"))


def function_lines(source: Source) -> Iterator[Measure]:
    """Lines from `def` to the end; decorators (a table of cases) are not counted."""
    for key, function in source.functions:
        yield Measure(key, (function.end_lineno or function.lineno) - function.lineno + 1)


def parameters(source: Source) -> Iterator[Measure]:
    for key, function in source.functions:
        yield Measure(key, len(_parameters(function)))


def _parameters(function: Function) -> list[str]:
    spec = function.args
    named = [spec.vararg, spec.kwarg, *spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    return [arg.arg for arg in named if arg is not None and arg.arg not in {"self", "cls"}]


def sleeps(source: Source) -> Iterator[str]:
    """Functions that sleep for a fixed time: wait for the event, or run on virtual time."""
    if "sleep" not in source.text:
        return
    for key, function in source.functions:
        for node in ast.walk(function):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="sleep") | ast.Name(id="sleep"),
                    args=[ast.Constant(value=int() | float() as delay_s), *_],
                ) if delay_s:
                    yield key
                    break
                case _:
                    pass


def mocks(source: Source) -> Iterator[str]:
    """Imports of a mock library, and monkeypatch.setattr, which is the same by another name."""
    if "mock" not in source.text and "monkeypatch" not in source.text:
        return
    for node in ast.walk(source.module):
        match node:
            case ast.Import(names=names) if any(alias.name in MOCKS for alias in names):
                yield _at(source, node)
            case ast.ImportFrom(module=str(module), names=names) if module in MOCKS or any(
                f"{module}.{alias.name}" in MOCKS for alias in names
            ):
                yield _at(source, node)
            case ast.Attribute(value=ast.Name(id="monkeypatch"), attr="setattr" | "setitem"):
                yield _at(source, node)
            case ast.arg(arg="mocker"):
                yield _at(source, node)
            case _:
                pass


def _at(source: Source, node: ast.stmt | ast.expr | ast.arg) -> str:
    return f"{source.path}:{node.lineno}"


def empty_names(path: str) -> Iterator[str]:
    """Parts of a path that answer no question."""
    for part in PurePosixPath(path).parts:
        if part.partition(".")[0].lower() in NAMES_THAT_SAY_NOTHING:
            yield path


def mentions(path: str, text: str, words: tuple[str, ...]) -> Iterator[str]:
    """Lines that hold one of these words."""
    if any(word in text for word in words):
        for number, line in enumerate(text.splitlines(), start=1):
            if any(word in line for word in words):
                yield f"{path}:{number}: {line.strip()}"
