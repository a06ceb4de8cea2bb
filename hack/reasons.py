"""What is said with each reason: read off the code of the packages that decide.

A verdict's sentence stands beside its reason, so the sentences can be collected without running
anything. ``hack/docs.py`` writes the page.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from unmoor.policy.verdict import Reason

SRC = Path(__file__).resolve().parents[1] / "src/unmoor"
DECIDING = ("policy", "lifecycle")


class Row(NamedTuple):
    """One reason: its value, its sentences, and the modules that give it."""

    reason: str
    words: tuple[str, ...]
    modules: tuple[str, ...]


def sections() -> Iterator[tuple[str, list[Row]]]:
    """The members of the enumeration under the comments that head them."""
    text = (SRC / "policy/verdict.py").read_text()
    title, rows = "", list[Row]()
    for line in text.partition("class Reason(StrEnum):")[2].partition("\nclass ")[0].splitlines():
        member = re.fullmatch(r"    ([A-Z_]+) = .+", line)
        heading = re.fullmatch(r"    # (.+?)(?: \([^)]*\))?\.?", line)
        meaning = re.fullmatch(r'    """(.)(.*)\."""', line)
        if member:
            rows.append(row_of(member[1]))
        elif meaning and rows:
            # The words stand nowhere in one piece, so their meaning stands below the reason.
            rows[-1] = rows[-1]._replace(words=(meaning[1].lower() + meaning[2],))
        elif heading:
            if rows:
                yield title, rows
            title, rows = heading[1], []
    yield title, rows


def row_of(name: str) -> Row:
    here = sayings().get(name, [])
    words = [words for _, words in here if words]
    modules = sorted({module for module, _ in here})
    return Row(Reason[name].value, tuple(dict.fromkeys(words)), tuple(modules))


@functools.cache
def sayings() -> dict[str, list[tuple[str, str]]]:
    """Every use of a reason in the packages that decide: the module, and the words beside it."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path, function in functions():
        for name, words in said_in(function):
            found.setdefault(name, []).append((path.relative_to(SRC).as_posix(), words))
    return found


@functools.cache
def functions() -> tuple[tuple[Path, ast.FunctionDef], ...]:
    paths = sorted(path for package in DECIDING for path in (SRC / package).rglob("*.py"))
    bodies = [(path, ast.parse(path.read_text()).body) for path in paths]
    return tuple(
        (p, node) for p, body in bodies for node in body if isinstance(node, ast.FunctionDef)
    )


def said_in(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """(reason, words) wherever a reason is an argument: the words are an argument beside it."""
    known: dict[str, str] = {}
    last = ""
    yield from reasons_among(function.args.defaults, [], known)
    for node in sorted(ast.walk(function), key=lambda node: getattr(node, "lineno", 0)):
        match node:
            case ast.Assign(value=ast.Attribute(value=ast.Name(id="Reason"), attr=last)):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                known[name] = words_of(value, known)
                if last and name == "message":
                    yield last, known[name]
            case ast.Call(args=args, keywords=keywords):
                given = {keyword.arg: keyword.value for keyword in keywords}
                beside = [given["message"]] if "message" in given else args
                yield from reasons_among([*args, *given.values()], beside, known)
            case ast.Tuple(elts=parts):
                yield from reasons_among(parts, parts, known)
            case _:
                pass


def reasons_among(
    parts: list[ast.expr], beside: list[ast.expr], known: dict[str, str]
) -> Iterator[tuple[str, str]]:
    words = next((words for part in beside if (words := words_of(part, known))), "")
    for part in parts:
        for node in (part.body, part.orelse) if isinstance(part, ast.IfExp) else (part,):
            match node:
                case ast.Attribute(value=ast.Name(id="Reason"), attr=name):
                    yield name, words
                case _:
                    pass


def words_of(message: ast.expr, known: dict[str, str]) -> str:
    """A sentence as a person reads it; "" for what is none, or is made elsewhere."""
    match message:
        case ast.Constant(value=str() as text) if " " in text:
            return text
        case ast.JoinedStr(values=values):
            return "".join(part_of(value) for value in values)
        case ast.Name(id=name):
            return known.get(name, "")
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return " · ".join(sentences_of(name))
        case _:
            return ""


def sentences_of(name: str) -> Iterator[str]:
    """What a function of this name returns as text."""
    for _, function in functions():
        if function.name == name:
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and isinstance(node.value, ast.JoinedStr):
                    yield words_of(node.value, {})


def part_of(value: ast.expr) -> str:
    match value:
        case ast.Constant(value=text):
            return str(text)
        case ast.FormattedValue(value=ast.Attribute(attr=name) | ast.Name(id=name)):
            return f"{{{name}}}"
        case ast.FormattedValue(
            value=ast.Call(func=ast.Name(id="counted"), args=[_, ast.Constant(value=str() as what)])
        ):
            return f"{{number}} {what}s"
        case ast.FormattedValue(value=ast.Call(func=ast.Name(id=name))) if (
            name[0] == "_" or name == "named"
        ):
            return f"{{{name.strip('_')}}}"
        case _:
            return "{…}"
