"""Which labels are selected: label selectors as structs and as text, and field selectors.

A selector is decoded leniently, because one object with a bad operator must not hide the rest of
the cluster. It is judged when it is evaluated: :class:`SelectorError` names what is wrong, and the
caller turns it into a verdict about the object that carries the selector.

Must not: know what is selected; node selectors have rules of their own (``node_selector``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from unmoor.model.base import Struct

IN = "In"
NOT_IN = "NotIn"
EXISTS = "Exists"
DOES_NOT_EXIST = "DoesNotExist"
OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)

_TOKEN = re.compile(r"\s*(?:(?P<word>[A-Za-z0-9._/-]+)|(?P<mark>==|!=|[=!(),]))\s*")
_FIELD = re.compile(r"(?P<path>(?:[^\\=!,]|\\.)+?)(?P<mark>==|!=|=)(?P<value>(?:[^\\=,]|\\.)*)")
_FIELD_SEPARATOR = re.compile(r"((?:[^\\,]|\\.)*)(?:,|$)")
_ESCAPED = re.compile(r"\\(.)")


class SelectorError(ValueError):
    """A selector that cannot be evaluated or read; the message names the part that is wrong."""


class LabelSelectorRequirement(Struct):
    """One expression (API reference: metav1.LabelSelectorRequirement)."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The expression as kubectl writes it."""
        listed = ",".join(sorted(self.values))
        match self.operator:
            case "In":
                return f"{self.key} in ({listed})"
            case "NotIn" if len(self.values) == 1:
                return f"{self.key}!={listed}"
            case "NotIn":
                return f"{self.key} notin ({listed})"
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
            case _:
                return f"{self.key} {self.operator} ({listed})"


class LabelSelector(Struct):
    """All labels and all expressions must agree (API reference: metav1.LabelSelector).

    An empty selector selects everything; *no* selector (None) selects nothing.
    """

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True when nothing is asked for, so that everything matches."""
        return not self.match_labels and not self.match_expressions

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True when every part agrees with ``labels``. Raises SelectorError for a bad part."""
        # Plain loops: each look at a drain asks this for each pod and budget.
        agrees = True
        for expression in self.match_expressions:
            # Every one is looked at, so that the labels at hand cannot hide a bad one.
            agrees = _agrees(expression, labels) and agrees
        for key, value in self.match_labels.items():
            if labels.get(key) != value:
                return False
        return agrees


def matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """True when ``selector`` selects something with these labels; None selects nothing.

    Raises SelectorError when the selector itself is wrong.
    """
    return selector is not None and selector.matches(labels)


def problem(selector: LabelSelector | None) -> str:
    """Say what makes the selector impossible to evaluate, "" when it is in order."""
    if selector is None:
        return ""
    try:
        selector.matches({})
    except SelectorError as error:
        return str(error)
    return ""


def _agrees(expression: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    key, values = expression.key, expression.values
    if expression.operator in (IN, NOT_IN):
        if not values:
            raise SelectorError(
                f"operator {expression.operator} on {key!r} has no values: name at least one"
            )
        is_in = key in labels and labels[key] in values
        return is_in if expression.operator == IN else not is_in
    if expression.operator in (EXISTS, DOES_NOT_EXIST):
        if values:
            raise SelectorError(
                f"operator {expression.operator} on {key!r} has values: remove them"
            )
        return (key in labels) == (expression.operator == EXISTS)
    raise SelectorError(
        f"{expression.operator!r} on {key!r} is no operator: use one of {', '.join(OPERATORS)}"
    )


def parse(text: str) -> LabelSelector:
    """Read ``a=b,c!=d,e in (x,y),f notin (z),!g,h``; "" selects everything.

    Raises SelectorError naming the text and the place.
    """
    tokens = _tokens(text)
    labels: dict[str, str] = {}
    expressions: list[LabelSelectorRequirement] = []
    while tokens[-1]:
        expression = _expression(tokens, text)
        # a=b,a=c is legal and selects nothing: the second one has no room in match_labels.
        if expression.operator == "=" and expression.key not in labels:
            labels[expression.key] = expression.values[0]
        else:
            operator = IN if expression.operator == "=" else expression.operator
            expressions.append(
                LabelSelectorRequirement(
                    key=expression.key, operator=operator, values=expression.values
                )
            )
        if tokens[-1]:
            _expect(tokens, ",", text)
            if not tokens[-1]:
                raise SelectorError(f"{text!r} is no label selector: it ends with ','")
    return LabelSelector(match_labels=labels, match_expressions=tuple(expressions))


def _tokens(text: str) -> list[str]:
    """Split into words and marks, last first, so that pop() takes the next; "" is the end."""
    tokens, position = [], 0
    while position < len(text.rstrip()):
        found = _TOKEN.match(text, position)
        if found is None:
            raise SelectorError(f"{text!r} is no label selector: what is {text[position:]!r}?")
        tokens.append(found.group("word") or found.group("mark"))
        position = found.end()
    return ["", *reversed(tokens)]


def _is_word(token: str) -> bool:
    return bool(token) and (token[0].isalnum() or token[0] in "._/-")


def _expect(tokens: list[str], wanted: str, text: str) -> None:
    token = tokens[-1]
    if token != wanted:
        found = repr(token) if token else "the end"
        raise SelectorError(f"{text!r} is no label selector: expected {wanted!r}, found {found}")
    tokens.pop()


def _word(tokens: list[str], text: str) -> str:
    if not _is_word(tokens[-1]):
        found = repr(tokens[-1]) if tokens[-1] else "the end"
        raise SelectorError(f"{text!r} is no label selector: expected a key, found {found}")
    return tokens.pop()


def _value(tokens: list[str]) -> str:
    """An empty value is legal, as in ``a=`` and ``a in (,b)``."""
    return tokens.pop() if _is_word(tokens[-1]) else ""


def _expression(tokens: list[str], text: str) -> LabelSelectorRequirement:
    if tokens[-1] == "!":
        tokens.pop()
        return LabelSelectorRequirement(key=_word(tokens, text), operator=DOES_NOT_EXIST)
    key = _word(tokens, text)
    match tokens[-1]:
        case "=" | "==":
            tokens.pop()
            return LabelSelectorRequirement(key=key, operator="=", values=(_value(tokens),))
        case "!=":
            tokens.pop()
            return LabelSelectorRequirement(key=key, operator=NOT_IN, values=(_value(tokens),))
        case "in" | "notin":
            operator = IN if tokens.pop() == "in" else NOT_IN
            values = _values(tokens, text)
            return LabelSelectorRequirement(key=key, operator=operator, values=values)
        case _:
            return LabelSelectorRequirement(key=key, operator=EXISTS)


def _values(tokens: list[str], text: str) -> tuple[str, ...]:
    _expect(tokens, "(", text)
    values = [_value(tokens)]
    while tokens[-1] == ",":
        tokens.pop()
        values.append(_value(tokens))
    _expect(tokens, ")", text)
    return tuple(values)


class FieldRequirement(Struct):
    """One part of a field selector: ``path`` has, or has not, exactly ``value``."""

    path: str
    value: str
    is_equal: bool = True

    def __str__(self) -> str:
        """The part as kubectl writes it."""
        value = re.sub(r"([\\,=])", r"\\\1", self.value)
        return f"{self.path}{'=' if self.is_equal else '!='}{value}"


def parse_fields(text: str) -> tuple[FieldRequirement, ...]:
    r"""Read ``metadata.name=x,spec.nodeName!=y``; "" asks for nothing.

    In values, ``\,`` ``\=`` and ``\\`` stand for the bare characters. Raises SelectorError naming
    the part that is wrong. Which paths exist is the server's to say.
    """
    requirements = []
    for part in _FIELD_SEPARATOR.findall(text):
        if not part.strip():
            continue
        found = _FIELD.fullmatch(part.strip())
        if found is None:
            raise SelectorError(f"{part!r} is no field selector: write path=value or path!=value")
        requirements.append(
            FieldRequirement(
                path=found.group("path").strip(),
                value=_ESCAPED.sub(r"\1", found.group("value")),
                is_equal=found.group("mark") != "!=",
            )
        )
    return tuple(requirements)
