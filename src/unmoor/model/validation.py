"""What is wrong with what a person wrote, said so that they can mend it.

Objects decode leniently, so that one bad object cannot hide the others; then each is judged by the
``validate`` of its own module, which collects *every* error. A controller leaves an invalid object
alone and reports its errors. Here are the error, the collector, and the checks that several kinds
share (spec 1.1, 1.4).

Must not: know a whole kind, or repair anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from unmoor.model import duration, names, quantity, resources, taint
from unmoor.model.requirement import OPERATORS, NodeSelectorRequirement
from unmoor.model.taint import Taint

AT_LEAST_ONE_VALUE = frozenset({"In"})
ONE_INTEGER = frozenset({"Gt", "Lt", "Gte", "Lte"})
BOUND = "0*[0-9]{1,18}"
"""An integer that is not negative and that 64 bits hold, whatever is one more."""
BOUND_NAMED = "one integer that is not negative and has 18 digits or fewer"
LABELS_MOST = 100
TAINTS_MOST = 100
"""In each of taints and startupTaints."""
REQUIREMENTS_MOST = 100
"""The API server wants these bounds: it runs rules over each entry."""
SHOWN_CHARS_MAX = 200
"""So much of a text that somebody wrote is repeated to them; an API object may hold a megabyte."""


class FieldError(msgspec.Struct, frozen=True, order=True):
    """One thing that is wrong: where, what stands there, why it cannot be, what to do instead.

    ``object`` is named as in ``provisioner/default``, ``field`` is the path as the API spells it.
    """

    object: str
    field: str
    value: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        """``provisioner/default: spec.weight is '200': it is above 100; use 1 to 100``."""
        stands = f" is {self.value!r}" if self.value else ""
        return f"{self.object}: {self.field}{stands}: {self.problem}; {self.remedy}"


def cut(text: str, most: int = SHOWN_CHARS_MAX) -> str:
    """The beginning of a text longer than ``most`` characters, and how long it is."""
    if len(text) <= most:
        return text
    return f"{text[:most]}... ({len(text)} characters)"


class Findings:
    """Collects the errors of one object, in the order in which the rules are read."""

    def __init__(self, subject: str) -> None:
        """``subject``: the object as a person would name it."""
        self._subject = subject
        self._errors: list[FieldError] = []

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """Everything found so far."""
        return tuple(self._errors)

    def add(self, field: str, value: object, problem: str, remedy: str) -> None:
        """Note one error. ``value`` is shown as it stands there; "" when nothing does."""
        self._errors.append(
            FieldError(self._subject, cut(field), cut(str(value)), cut(problem), remedy)
        )

    def qualified_name(self, field: str, key: str) -> bool:
        """Check a label, annotation or taint key; True when it is in order."""
        problem = names.qualified_name_problem(key) if key else "it is empty"
        if problem:
            self.add(field, key, f"the key {key!r} is not valid: {problem}", "rename the key")
        return not problem

    def label_value(self, field: str, value: str) -> None:
        """Check a value that becomes the value of a label or a taint."""
        problem = names.label_value_problem(value)
        if problem:
            self.add(field, value, problem, "change the value")

    def at_least(self, field: str, value: int | None, least: int, remedy: str) -> None:
        """Check a number that may be unset."""
        if value is not None and value < least:
            self.add(field, value, f"it is below {least}", remedy)

    def at_most(self, field: str, count: int, most: int) -> None:
        """Check how many entries a list or a map has."""
        if count > most:
            self.add(field, f"{count} entries", f"it has more than {most}", "remove some")

    def between(self, field: str, value: int | None, least: int, most: int) -> None:
        """Check a number that may be unset, limits included."""
        if value is not None and not least <= value <= most:
            side = f"below {least}" if value < least else f"above {most}"
            self.add(field, value, f"it is {side}", f"use {least} to {most}")

    def one_of(self, field: str, value: str | None, allowed: Iterable[str]) -> None:
        """Check a choice that may be unset."""
        choices = tuple(allowed)
        if value is not None and value not in choices:
            meant = names.nearest(value, choices)
            hint = f" (did you mean {meant}?)" if meant else ""
            remedy = f"use one of {', '.join(choices)}{hint}"
            self.add(field, value, "it is not a known choice", remedy)

    def duration(self, field: str, text: str) -> None:
        """Check a duration, which must not be negative."""
        try:
            duration.parse(text)
        except duration.DurationError:
            self.add(field, text, "it is not a duration", "write it as in 1h30m or 300ms")
            return
        if text.startswith("-"):
            self.add(field, text, "it is negative", "use zero or more")

    def amounts(self, field: str, quantities: resources.Quantities) -> None:
        """Check quantities by resource name, none of which may be negative."""
        for name, value in quantities.items():
            self.amount(f"{field}.{name}", name, value)

    def amount(self, field: str, name: str, value: str | float) -> None:
        """Check one quantity of a resource: readable, not negative, and one we can count with."""
        try:
            amount = resources.parse_amount(name, value)
        except quantity.QuantityError as error:
            self.add(field, value, "it is not a quantity", error.hint)
            return
        if amount < 0:
            self.add(field, value, "it is negative", "use zero or more")
        elif amount >= resources.AMOUNT_LIMIT:
            self.add(field, value, "it is more than can be counted", "use a smaller quantity")

    def labels(self, field: str, labels: Mapping[str, str]) -> None:
        """Check labels that a person wants on every node (spec 1.1)."""
        self.at_most(field, len(labels), LABELS_MOST)
        for key, value in labels.items():
            where = f"{field}[{key}]"
            if key == names.PROVISIONER_NAME:
                self.add(where, value, "this label is set by the system", "remove it")
                continue
            if self.qualified_name(where, key):
                self._restricted(where, key, value)
            self.label_value(where, value)

    def _restricted(self, field: str, key: str, value: str) -> None:
        problem = names.restricted_label_problem(key)
        if problem:
            remedy = "use a label of your own domain, or node-restriction.kubernetes.io"
            self.add(field, value, f"the label {key} {problem}", remedy)

    def taints(self, fields: Mapping[str, tuple[Taint, ...]]) -> None:
        """Check taints by the field they stand in; across all of them none may appear twice."""
        seen: dict[tuple[str, str], str] = {}
        for field, taints in fields.items():
            self.at_most(field, len(taints), TAINTS_MOST)
            for index, one in enumerate(taints):
                where = f"{field}[{index}]"
                self.qualified_name(f"{where}.key", one.key)
                self.label_value(f"{where}.value", one.value)
                if one.effect:
                    self.one_of(f"{where}.effect", one.effect, taint.EFFECTS)
                first = seen.setdefault(one.identity, where)
                if first != where:
                    problem = f"the same key and effect stand in {first}"
                    self.add(where, one.identity_text, problem, "remove one of them")

    def requirements(
        self,
        field: str,
        requirements: Sequence[NodeSelectorRequirement],
        *,
        operators: tuple[str, ...] = OPERATORS,
    ) -> None:
        """Check requirements on node labels that a person wrote (spec 1.1)."""
        self.at_most(field, len(requirements), REQUIREMENTS_MOST)
        for index, one in enumerate(requirements):
            where = f"{field}[{index}]"
            key = names.normalised(one.key)
            if key == names.PROVISIONER_NAME:
                self.add(f"{where}.key", key, "this label is set by the system", "remove it")
            elif self.qualified_name(f"{where}.key", key):
                self._restricted(f"{where}.key", key, key)
            self.one_of(f"{where}.operator", one.operator, operators)
            for value in one.values:
                self.label_value(f"{where}.values", value)
            self._arity(f"{where}.values", one)

    def _arity(self, field: str, one: NodeSelectorRequirement) -> None:
        given = ", ".join(one.values)
        if one.operator in AT_LEAST_ONE_VALUE and not one.values:
            self.add(field, given, f"{one.operator} has no values", "name at least one")
        is_bound = len(one.values) == 1 and re.fullmatch(BOUND, one.values[0]) is not None
        if one.operator in ONE_INTEGER and not is_bound:
            problem = f"{one.operator} compares with {BOUND_NAMED}"
            self.add(field, given, problem, "give exactly one, as in [8]")
