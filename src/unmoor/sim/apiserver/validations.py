"""Rules in CEL: what ``x-kubernetes-validations`` of a schema says about one value.

A rule is parsed once and asked at each write. The library behind it knows the language and no
types, so what a real server finds out about a rule from the schema (a field that is not there, a
sum of text and number, what it may cost) is found here when the rule is asked, or not at all. What
it cannot run is refused with its definition: functions of Kubernetes beyond those for quantities,
``optionalOldSelf``, optional fields (``.?``) and escaped names (``__namespace__``). The size of a
text is counted in bytes.

Must not: walk through objects; ``schema`` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from unmoor.model import quantity
from unmoor.model.base import JSON
from unmoor.sim.apiserver import status
from unmoor.sim.apiserver.status import Cause

WORD = "x-kubernetes-validations"
NEW: Any = object()
"""In place of an older value where there is none to compare with."""
NOT_ASKED = Cause(
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
    "<nil>",
)
BLOCKING = frozenset(
    (
        "FieldValueRequired",
        "FieldValueNotSupported",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    )
)
"""After one of these no rule is asked: what it looks at may not be there."""
REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
PROGRAMS_LIMIT = 4096
"""Rules that are kept parsed."""

_TYPES = frozenset(
    ("bool", "bytes", "double", "duration", "int", "list", "map", "null_type", "string")
) | {"timestamp", "type", "uint"}
_BOUND = re.compile(r"\.(?:all|exists|exists_one|map|filter)\(\s*([A-Za-z_]\w*)\s*,")
_ESCAPED = re.compile(r"\b__[a-z]+__\b")
_QUANTITY_RULE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


class RuleError(ValueError):
    """A rule that cannot be asked; the message says why, as the server does."""


# ------------------------------------------------------------------------------- the language


def _quantity(text: str) -> str:
    """A quantity is its text here: the library hands on nothing but what JSON knows."""
    if not quantity.is_quantity(text):
        raise ValueError(_QUANTITY_RULE)
    return text


def _compared(one: str, other: str) -> int:
    left, right = quantity.parse(one), quantity.parse(other)
    return (left > right) - (left < right)


_OURS: dict[str, Callable[..., Any]] = {
    "quantity": _quantity,
    "isQuantity": quantity.is_quantity,
    "compareTo": _compared,
    "isGreaterThan": lambda one, other: _compared(one, other) > 0,
    "isLessThan": lambda one, other: _compared(one, other) < 0,
}
_THEIRS = frozenset(
    ("bool", "bytes", "contains", "double", "duration", "dyn", "endsWith", "getDate")
) | {
    *("getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours"),
    *("getMilliseconds", "getMinutes", "getMonth", "getSeconds", "int", "matches", "size"),
    *("startsWith", "string", "timestamp", "type", "uint"),
}


class Program(msgspec.Struct, frozen=True):
    """An expression, parsed: with the functions of ours that it calls."""

    run: Callable[[JSON], Any]
    functions: dict[str, Callable[..., Any]]
    sees_old: bool

    def __call__(self, value: Any, old: Any) -> Any:
        """What it comes to. Raises RuleError when it comes to nothing."""
        known: JSON = {"self": value, **self.functions}
        if self.sees_old:
            known["oldSelf"] = old
        try:
            return self.run(known)
        except Exception as error:  # whatever goes wrong in a rule is its answer
            raise RuleError(_said(error)) from error


@lru_cache(maxsize=PROGRAMS_LIMIT)
def program(expression: str) -> Program:
    """Parse an expression. Raises RuleError for what cannot be parsed, or not be run here."""
    import cel  # noqa: PLC0415 - 0.15 s, and most servers never meet a rule

    found = _ESCAPED.search(expression)
    if found is not None:
        raise RuleError(f"ERROR: this server cannot read the escaped name {found[0]}")
    try:
        parsed = cel.compile(expression)
    except ValueError as error:
        raise RuleError(_syntax(str(error))) from error
    used = parsed.references()
    bound = {*_TYPES, *_BOUND.findall(expression), "self", "oldSelf"}
    functions = [name for name in used["functions"] if name[0].isalpha()]
    unknown = [name for name in used["variables"] if name not in bound]
    unknown += [name for name in functions if name not in _OURS and name not in _THEIRS]
    if unknown:
        text = f"ERROR: undeclared reference to '{unknown[0]}'"
        raise RuleError(f"{text} (this server knows CEL itself, and Kubernetes' quantities)")
    ours = {name: _OURS[name] for name in functions if name in _OURS}
    return Program(parsed.execute, ours, "oldSelf" in used["variables"])


def _syntax(text: str) -> str:
    """The part of the library's message that the real server says as well."""
    _, found, rest = text.partition("ERROR: ")
    return f"{found}{rest}" if found else f"ERROR: {text}"


def _said(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"no such key: {error.args[0]}"
    _, found, rest = str(error).partition("ValueError: ")
    return rest.partition(". Check ")[0] if found else str(error)


# ---------------------------------------------------------------------------------------- a rule


class Rule:
    """One rule of a schema, ready to be asked."""

    __slots__ = ("_is_true", "_message", "_said", "is_transition", "path", "reason")

    def __init__(self, rule: JSON) -> None:
        """Take it as the schema has it. Raises RuleError."""
        self._is_true = program(rule["rule"])
        self._said = program(rule["messageExpression"]) if rule.get("messageExpression") else None
        self._message: str = rule.get("message") or f"failed rule: {rule['rule']}"
        self.reason: str = rule.get("reason") or "FieldValueInvalid"
        self.path: str = rule.get("fieldPath") or ""
        self.is_transition = self._is_true.sees_old

    def causes(self, value: Any, old: Any, where: str, kind: str) -> Iterator[Cause]:
        """What it has against the value; ``kind`` is what the schema calls its type."""
        try:
            holds = self._is_true(value, old)
        except RuleError as error:
            text = f'Invalid value: "{kind}": {error} evaluating rule: {self._message}'
            yield Cause("FieldValueInvalid", text, where)
            return
        if holds is not True:
            yield Cause(self.reason, self._text(value, old), where + self.path)

    def _text(self, value: Any, old: Any) -> str:
        shown = "" if isinstance(value, (dict, list)) else f" {status.shown(value)}"
        message = self._worded(value, old)
        match self.reason:
            case "FieldValueForbidden":
                return f"Forbidden: {message}"
            case "FieldValueRequired":
                return f"Required value: {message}"
            case "FieldValueDuplicate":
                return f"Duplicate value:{shown}"
            case _:
                return f"Invalid value:{shown and shown + ':'} {message}"

    def _worded(self, value: Any, old: Any) -> str:
        """The message; its expression falls back to the plain one."""
        if self._said is None:
            return self._message
        try:
            text = self._said(value, old)
        except RuleError:
            return self._message
        is_usable = isinstance(text, str) and text.strip() and "\n" not in text
        return text if is_usable else self._message


def rules_of(schema: JSON) -> tuple[Rule, ...]:
    """The rules of one place. Raises RuleError; a definition that was accepted never does."""
    return tuple(Rule(rule) for rule in schema.get(WORD) or ())


# ------------------------------------------------------------------------- rules of a definition


def definition_causes(schema: JSON, where: str, uncorrelated: str) -> Iterator[Cause]:
    """What is wrong with the rules of one place of a schema.

    ``uncorrelated`` is the list around it whose entries have no identity, "" without one.
    """
    for index, rule in enumerate(schema.get(WORD) or ()):
        here = f"{where}.{WORD}[{index}]"
        if not (rule.get("rule") or "").strip():
            yield status.required(f"{here}.rule", "rule is not specified")
            continue
        yield from _expression_causes(rule, here, uncorrelated)
        if rule.get("reason") and rule["reason"] not in REASONS:
            yield status.unsupported(f"{here}.reason", rule["reason"], REASONS)
        if "\n" in (rule.get("message") or ""):
            text = "must not contain line breaks"
            yield status.bad_value(f"{here}.message", rule["message"], text)
        if rule.get("fieldPath") and not _is_path(schema, rule["fieldPath"]):
            yield status.bad_value(f"{here}.fieldPath", rule["fieldPath"], "must be a valid path")
        if rule.get("optionalOldSelf"):
            text = "this server cannot ask a rule that wants oldSelf to be optional"
            yield status.forbidden_field(f"{here}.optionalOldSelf", text)


def _expression_causes(rule: JSON, here: str, uncorrelated: str) -> Iterator[Cause]:
    try:
        sees_old = program(rule["rule"]).sees_old
    except RuleError as error:
        text = f"Invalid value: {_as_go_has_it(rule)}: compilation failed: {error}"
        yield Cause("FieldValueInvalid", text, f"{here}.rule")
    else:
        if sees_old and uncorrelated:
            text = (
                "oldSelf cannot be used on the uncorrelatable portion of the schema within "
                f"{uncorrelated}"
            )
            yield status.bad_value(f"{here}.rule", rule["rule"], text)
    try:
        program(rule.get("messageExpression") or "''")
    except RuleError as error:
        said = f"messageExpression compilation failed: {error}"
        text = f"Invalid value: {_as_go_has_it(rule)}: {said}"
        yield Cause("FieldValueInvalid", text, f"{here}.messageExpression")


def _as_go_has_it(rule: JSON) -> str:
    fields = {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    text = msgspec.json.encode(fields).decode()
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def _is_path(schema: JSON, path: str) -> bool:
    """True for dots and names of properties that the schema has."""
    first, *names = path.split(".")
    at: Any = schema
    for name in names:
        at = (at.get("properties") or {}).get(name)
        if at is None:
            return False
    return not first and bool(names)
