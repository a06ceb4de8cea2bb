"""Write what code can write better than a person: docs/cases.md, docs/reference, the pictures.

A page is a function of its source, and of nothing else. Each names its source in its first line.

    python hack/docs.py            write what is stale
    python hack/docs.py --check    list what is stale and how it differs, and exit 1
"""

import argparse
import ast
import difflib
import importlib
import inspect
import itertools
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import click

from unmoor.app.metric_table import TABLES
from unmoor.lifecycle import effects
from unmoor.lifecycle.effects import Effect
from unmoor.model import crd_rules, crds
from unmoor.model.base import JSON
from unmoor.model.kinds import KINDS
from unmoor.model.settings import AT_START, NOT_YET, SETTINGS, Setting
from unmoor.runtime.controller import WATCHED
from unmoor.sim.stored import STORED

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]  # as a script we are not the package that the tests import

from hack import drawn_plan, drift, kinds, picture, reasons  # noqa: E402

SRC = ROOT / "src/unmoor"
DIFF_LINES_SHOWN = 12
HELP_CHARS = 90


class Page(NamedTuple):
    """Where a page lies, and its text as it should be."""

    path: str
    text: Callable[[], str]


def made(path: str, title: str, source: str, lines: Callable[[], Iterable[str]]) -> Page:
    """A page that is made from one source: the docstring of its function, then what that yields."""

    def text() -> str:
        note = f"<!-- Generated from {source}. Do not edit: `make docs`. -->"
        link = f"[`{source}`]({'../' * path.count('/')}{source})"
        intro = inspect.cleandoc(lines.__doc__ or "")
        head = (note, "", f"# {title}", "", intro, "", f"Made from {link}.")
        return "\n".join((*head, *lines())).rstrip() + "\n"

    return Page(path, text)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield ""
    for cells in (head, tuple("---" for _ in head), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def plain(text: str | None) -> str:
    """A docstring as Markdown on one line."""
    joined = " ".join((text or "").split())
    joined = re.sub(r":\w+:``?~?([^`]+)``?", r"`\1`", joined)
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", joined).replace("``", "`")


def code(text: str) -> str:
    return f"`{text}`" if text else ""


GROUPS = (
    ("", "The general ones"),
    ("unmoor.", "Ours"),
    ("aws.", "AWS"),
    ("cadence.", "How often and how long"),
)


def settings_lines() -> Iterator[str]:
    """Keys of the ConfigMap `karpenter-global-settings`. A bad value leaves the last good one in
    force and is reported. A key that is removed returns to its default. Durations are written
    as in `1h30m` or `300ms`.

    The last column says when a value is looked at. *Live*: all the time, a change needs no
    restart. *At start*: when the process starts. *Not yet*: it is checked, and nothing in this
    version asks for it.
    """
    for prefix, title in GROUPS:
        yield ""
        yield f"## {title}"
        rows = [setting for setting in SETTINGS if group_of(setting.key) == prefix]
        yield from table(
            ("key", "default", "unit", "what it is", "looked at"),
            (
                (
                    code(s.key),
                    code(s.default_text()),
                    unit_of(s),
                    plain(s.description),
                    looked_at(s.key),
                )
                for s in rows
            ),
        )


def looked_at(key: str) -> str:
    if key in NOT_YET:
        return "not yet"
    return "at start" if key in AT_START else "live"


def group_of(key: str) -> str:
    return next((prefix for prefix, _ in GROUPS if prefix and key.startswith(prefix)), "")


def unit_of(setting: Setting) -> str:
    value = setting.default_text()
    if setting.attribute.endswith("_s"):
        return "duration"
    match value:
        case "true" | "false":
            return "true, false"
        case "{}":
            return "JSON object"
        case _ if value.isdecimal():
            return "count"
        case _ if setting.attribute.endswith("_percent"):
            return "share of 1"
        case _ if setting.attribute.endswith("_enabled"):
            return "true, false, or unset"
        case _:
            return "text"


def reasons_lines() -> Iterator[str]:
    """Why something is refused, waited for or done. The list is closed. Every verdict has one;
    events, metrics, log lines and reports are renderings of verdicts. In the words, `{x}`
    stands for a value.
    """
    for title, rows in reasons.sections():
        yield ""
        yield f"## {title}"
        yield from table(
            ("reason", "what is said, or what it means", "given by"),
            (
                (code(reason), plain(" · ".join(words)), ", ".join(map(code, modules)))
                for reason, words, modules in rows
            ),
        )


def effects_lines() -> Iterator[str]:
    """Everything that unmoor may do to the world. A step returns effects; the interpreter
    executes them. Effects of one step have no order, and any of them may fail.
    """
    body = ast.parse((SRC / "lifecycle/effects.py").read_text()).body
    named = [vars(effects)[node.name] for node in body if isinstance(node, ast.ClassDef)]
    kinds = [kind for kind in named if issubclass(kind, Effect) and kind is not Effect]
    yield from table(
        ("effect", "what it does", "fields"),
        ((code(kind.__name__), plain(kind.__doc__), fields_of(kind)) for kind in kinds),
    )
    yield ""
    yield f"Every effect also has: {', '.join(map(code, Effect.__struct_fields__))}."
    yield plain(Effect.__doc__)
    yield ""
    yield "## Named patches"
    yield ""
    yield "What a step uses instead of writing a `Patch` by hand."
    yield from table(("function", "what it does"), constructors(body))


def fields_of(kind: type[Effect]) -> str:
    own = (field for field in kind.__struct_fields__ if field not in Effect.__struct_fields__)
    return ", ".join(map(code, own))


def constructors(body: list[ast.stmt]) -> Iterator[tuple[str, ...]]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name, returns=ast.Name(id="Patch")) if name[0] != "_":
                words = vars(effects)[name].__doc__ or ""
                yield code(name), plain(words.split("\n\n", maxsplit=1)[0])
            case _:
                pass


def kinds_lines() -> Iterator[str]:
    """Every kind of object that unmoor or its simulator reads or writes. *Followed* kinds are
    listed and watched by the controller; the others are read when needed, or only by the
    simulator. A simulated cluster (`unmoor sim up`, `unmoor demo`) serves them all, and somebody
    in it reads or writes them.
    """
    watched = {resource.kind for resource in WATCHED}
    yield from table(
        ("kind", "API", "plural", "scope", "followed", "struct"),
        (
            (
                code(kind),
                code(resource.api_version),
                code(resource.plural),
                "namespace" if resource.is_namespaced else "cluster",
                "yes" if kind in watched else "",
                code(f"{resource.type.__module__.removeprefix('unmoor.')}.{kind}"),
            )
            for kind, resource in KINDS.items()
        ),
    )
    yield from ("", "## Volumes", kinds.VOLUMES_SAID.rstrip())
    yield from ("", "## Only stored", kinds.ONLY_STORED.rstrip())
    yield from table(
        ("kind", "API", "plural", "scope"),
        (
            (
                code(kind),
                code(resource.api_version),
                code(resource.plural),
                "namespace" if resource.is_namespaced else "cluster",
            )
            for kind, resource in STORED.items()
        ),
    )
    yield from ("", "## Not served", kinds.NOT_SERVED)


def rules_lines() -> Iterator[str]:
    """What the API server refuses in objects of our kinds, beside wrong types, bounds, patterns and
    choices; those are in the definitions (`unmoor crds`). Each rule has its twin in the `validate`
    of its kind. An older object may break a rule: what is wrong may stay as it is while the rest is
    changed, and unmoor reports it and leaves its nodes alone.
    """
    for definition in crds.all_crds():
        kind = definition["spec"]["names"]["kind"]
        (version,) = definition["spec"]["versions"]
        rows = list(rules_below(version["schema"]["openAPIV3Schema"], ""))
        if rows:
            yield from ("", f"## {kind}")
            yield from table(("field", "what is wrong, and the remedy"), rows)
    yield from ("", "## Judged by unmoor alone")
    yield from table(("kind", "what", "why no rule says it"), crd_rules.LEFT_TO_CODE)


def rules_below(schema: JSON, path: str) -> Iterator[tuple[str, str]]:
    """The field and the message of each rule in CEL, outermost first."""
    for rule in schema.get("x-kubernetes-validations", ()):
        yield code((path + rule.get("fieldPath", "")).removeprefix(".")), rule["message"]
    for name, inner in schema.get("properties", {}).items():
        yield from rules_below(inner, f"{path}.{name}")
    for word, suffix in (("items", "[]"), ("additionalProperties", "[]")):
        if word in schema:
            yield from rules_below(schema[word], path + suffix)


def metrics_lines() -> Iterator[str]:
    """What `/metrics` serves. Names under `karpenter_` and their labels are Karpenter's, so its
    dashboards work. They are listed whether or not this version ever counts them.
    """
    for prefix, rows in TABLES.items():
        yield ""
        yield f"## {prefix}"
        yield from table(
            ("metric", "type", "labels", "what it counts"),
            (
                (
                    code(f"{prefix}_{row.name}"),
                    row.kind.value,
                    ", ".join(map(code, row.labels)),
                    plain(row.help),
                )
                for row in rows
            ),
        )


LISTED = (
    ("sentences", "sentence", "What the pages say", ("line", "what it says")),
    ("reports", "failure", "What fails", ("spec", "what fails", "what becomes of it")),
    ("reports", "report", "Bug reports", ("#", "report", "what is right")),
)


def cases_lines() -> Iterator[str]:
    """Test cases of Karpenter v0.30 (T) and of today's (V) for what is built so far, in our words:
    a test here, or left out with a code and a reason. R-numbers are [rulings](rulings.md).
    """
    cases = tomllib.loads((ROOT / "tests/cases.toml").read_text())["case"]
    status = [one["status"].partition(" ")[0].partition(":") for one in cases]
    left_out = [name for kind, _, name in status if kind == "excluded"]
    run = len(cases) - len(left_out)
    yield from ("", f"**{run} of {len(cases)} run: {100 * run / max(len(cases), 1):.0f} %.**")
    yield from (f"- {count} {code(name)}" for name, count in sorted(Counter(left_out).items()))
    yield from table(
        ("case", "what it says", "here"),
        ((one["id"], plain(one["summary"]), where(one["status"])) for one in cases),
    )
    for file, kind, title, head in LISTED:
        listed = tomllib.loads((ROOT / f"tests/{file}.toml").read_text())[kind]
        yield from ("", f"## {title}")
        rows = [tuple(one.values()) for one in listed]
        yield from table((*head, "here"), ((*map(plain, row[:-1]), where(row[-1])) for row in rows))


def where(status: str) -> str:
    if not status.startswith("test:"):
        name, _, why = status.removeprefix("excluded:").partition(" ")
        return f"left out, {code(name)}" + (f": {plain(why)}" if why else "")
    path, _, test = status.removeprefix("test:").partition("::")
    return f"[`{test}`](../{path})"


def cli_lines() -> Iterator[str]:
    """What `--help` prints."""
    main: click.Command = importlib.import_module("unmoor.app.cli").main
    yield from help_of(main, None, "unmoor")


def help_of(command: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
    context = command.make_context(
        name,
        [],
        parent,
        resilient_parsing=True,
        terminal_width=HELP_CHARS,
        max_content_width=HELP_CHARS,
    )
    yield ""
    yield f"## {context.command_path}"
    yield ""
    yield "```text"
    yield from (line.rstrip() for line in command.get_help(context).splitlines())
    yield "```"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None:
                yield from help_of(found, context, below)


PAGES = (
    Page("docs/demo.svg", picture.demo),
    Page("docs/engine.svg", drawn_plan.worked),
    made("docs/cases.md", "Upstream test cases", "tests/cases.toml", cases_lines),
    *(
        made(f"docs/reference/{name}", title, f"src/unmoor/{source}", lines)
        for name, title, source, lines in (
            ("cli.md", "Command line", "app/cli/__init__.py", cli_lines),
            ("effects.md", "Effects", "lifecycle/effects.py", effects_lines),
            ("kinds.md", "Kinds", "model/kinds.py", kinds_lines),
            ("metrics.md", "Metrics", "app/metric_table.py", metrics_lines),
            ("drift.md", "What drifts", "model/drift_fields.py", lambda: drift.lines(table)),
            ("reasons.md", "Reasons", "policy/verdict.py", reasons_lines),
            ("rules.md", "Rules", "model/crd_rules.py", rules_lines),
            ("settings.md", "Settings", "model/settings.py", settings_lines),
        )
    ),
)


def stale(pages: Iterable[Page] = PAGES) -> Iterator[tuple[Page, str, str]]:
    """Pages that are not what they should be: with what is there, and what should be."""
    for page in pages:
        path = ROOT / page.path
        now = path.read_text() if path.exists() else ""
        text = page.text()
        if now != text:
            yield page, now, text


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the generated pages.")
    parser.add_argument("--check", action="store_true", help="only tell what is stale")
    is_check = parser.parse_args().check
    count = 0
    for page, now, text in stale():
        count += 1
        if is_check:
            print(f"docs: {page.path} is stale, run `make docs`", file=sys.stderr)
            lines = difflib.unified_diff(now.splitlines(), text.splitlines(), lineterm="", n=0)
            print("\n".join(itertools.islice(lines, DIFF_LINES_SHOWN)), file=sys.stderr)
        else:
            (ROOT / page.path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / page.path).write_text(text)
            print(f"docs: wrote {page.path}")
    return 1 if is_check and count else 0


if __name__ == "__main__":
    sys.exit(main())
