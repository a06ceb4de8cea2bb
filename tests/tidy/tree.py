"""What the tidy rules read: the files of the repository, each parsed once.

The tree is walked instead of asked of git, so that the rules hold in an unpacked archive and for a
file not yet added.
"""

import ast
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHOWN = {".ci", ".github"}
BUILT = {"__pycache__", "build", "dist", "node_modules"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file."""

    path: str
    text: str

    @functools.cached_property
    def module(self) -> ast.Module:
        return ast.parse(self.text)

    @functools.cached_property
    def functions(self) -> tuple[tuple[str, Function], ...]:
        """Every function with its key in exceptions.toml, `src/x.py::Class.method`."""
        return tuple(_functions(self.module, f"{self.path}::"))


def _functions(parent: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    """No expression holds one, and most of a tree is expressions."""
    for child in ast.iter_child_nodes(parent):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name, child
                yield from _functions(child, f"{prefix}{name}.")
            case ast.ClassDef(name=name):
                yield from _functions(child, f"{prefix}{name}.")
            case ast.stmt() | ast.excepthandler() | ast.match_case():
                yield from _functions(child, prefix)
            case _:
                pass


@functools.cache
def files() -> tuple[Path, ...]:
    """Every file of the repository that a person wrote or locked."""
    found = []
    for directory, names, leaves in os.walk(ROOT):
        names[:] = sorted(name for name in names if _is_ours(name))
        found += [Path(directory, leaf) for leaf in sorted(leaves)]
    return tuple(path for path in found if path.is_file() and not path.is_symlink())


def _is_ours(directory: str) -> bool:
    return directory not in BUILT and (directory in SHOWN or not directory.startswith("."))


@functools.cache
def sources() -> tuple[Source, ...]:
    """Every Python file."""
    return tuple(
        Source(relative(path), path.read_text()) for path in files() if path.suffix == ".py"
    )


@functools.cache
def texts() -> tuple[tuple[str, str], ...]:
    """Every file that is text, with its content."""
    found = []
    for path in files():
        try:
            found.append((relative(path), path.read_text()))
        except UnicodeDecodeError:
            continue
    return tuple(found)


def relative(path: Path) -> str:
    """Path as it is written in exceptions.toml."""
    return path.relative_to(ROOT).as_posix()
