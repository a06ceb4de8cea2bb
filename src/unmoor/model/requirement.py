"""Which values a label may have: the algebra behind provisioner, machine and pod requirements.

A requirement is a set of label values, given by what is in it or by what is not, with optional
integer bounds; and, apart from that, whether the label may be absent. Keeping absence as a fact of
its own makes the algebra exact: "exists" and "not in [a]" together still ask for the label, and
"in [a]" and "in [b]" together allow nothing, not even a missing label (spec 9.6, R11).

Everything is sorted by key and value, so the same requirements always print the same.

Must not: know nodes or pods, or ask whether a key is allowed (``validation``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache

import msgspec

from unmoor.model import names
from unmoor.model.base import Struct
from unmoor.model.wording import joined

IN = "In"
NOT_IN = "NotIn"
EXISTS = "Exists"
DOES_NOT_EXIST = "DoesNotExist"
GREATER = "Gt"
LESS = "Lt"
GREATER_OR_EQUAL = "Gte"
LESS_OR_EQUAL = "Lte"
OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GREATER, LESS)
"""The operators of ``karpenter.sh/v1alpha5`` and of the Kubernetes API."""
OPERATORS_V1 = (*OPERATORS, GREATER_OR_EQUAL, LESS_OR_EQUAL)
"""Those of ``karpenter.sh/v1`` (spec 1.7)."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,63}")
_INTEGERS = range(-(2**63), 2**63)


class RequirementError(ValueError):
    """A requirement that means nothing; the message names key, operator and values."""


class NodeSelectorRequirement(Struct):
    """One requirement as the API writes it (API reference: core/v1 NodeSelectorRequirement).

    Any text decodes; :meth:`Requirement.of` and the validation judge it.
    """

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        """``key operator [values]``, without what is empty."""
        values_matter = bool(self.values) or self.operator in {IN, NOT_IN}
        values = f" [{joined(sorted(self.values))}]" if values_matter else ""
        return f"{self.key} {self.operator}{values}"


def integer(text: str) -> int | None:
    """Return the 64-bit integer that a label value or a bound stands for, None when it is none."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INTEGERS else None


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """The values that the label ``key`` may have.

    With ``is_complement``, ``values`` are the excluded ones and everything else is allowed, within
    the bounds (both exclusive, integers). Otherwise ``values`` are the allowed ones. Use
    :meth:`of`, :func:`anything` and :meth:`intersection`: they keep the one normal form, in which
    equal sets are equal objects.
    """

    key: str
    is_complement: bool
    values: frozenset[str] = frozenset()
    greater_than: int | None = None
    less_than: int | None = None
    may_be_absent: bool = False

    @classmethod
    def of(cls, key: str, operator: str, values: Iterable[str] = ()) -> Requirement:
        """Build one from the API's terms; the key's older names become the stable one (spec 1.6).

        Raises RequirementError for an unknown operator, an In without values and a bound that is
        not exactly one integer.
        """
        key, given = names.normalised(key), frozenset(values)
        match operator:
            case "In" if given:
                return cls(key, is_complement=False, values=given)
            case "NotIn":
                return cls(key, is_complement=True, values=given, may_be_absent=True)
            case "Exists":
                return cls(key, is_complement=True)
            case "DoesNotExist":
                return cls(key, is_complement=False, may_be_absent=True)
            case "Gt" | "Lt" | "Gte" | "Lte":
                return _bounded(key, operator, given)
            case "In":
                raise RequirementError(f"{key} In []: name at least one value")
            case _:
                raise RequirementError(
                    f"{operator!r} on {key} is no operator: use one of {', '.join(OPERATORS_V1)}"
                )

    @property
    def operator(self) -> str:
        """The operator that describes it best; bounds are printed with it."""
        if self.is_complement:
            return NOT_IN if self.values else EXISTS
        return IN if self.values else DOES_NOT_EXIST

    @property
    def is_nothing(self) -> bool:
        """True when neither a value nor a missing label would do."""
        return not self.is_complement and not self.values and not self.may_be_absent

    @property
    def only_value(self) -> str | None:
        """The one value that is allowed, None when there are more or none."""
        if self.is_complement or len(self.values) != 1:
            return None
        return next(iter(self.values))

    def allows(self, value: str | None) -> bool:
        """True when a label with this value (None: no such label) satisfies the requirement."""
        if value is None:
            return self.may_be_absent
        if not self.is_complement:
            return value in self.values
        return value not in self.values and self._is_within(value)

    def _is_within(self, value: str) -> bool:
        """A value that is no integer never lies within a bound (spec 9.6)."""
        if self.greater_than is None and self.less_than is None:
            return True
        number = integer(value)
        if number is None:
            return False
        return (self.greater_than is None or number > self.greater_than) and (
            self.less_than is None or number < self.less_than
        )

    def intersection(self, other: Requirement) -> Requirement:
        """Return what both allow; the keys must be the same."""
        assert self.key == other.key, f"intersection of {self.key} and {other.key}"
        may_be_absent = self.may_be_absent and other.may_be_absent
        if not self.is_complement or not other.is_complement:
            allowed = self.values if not self.is_complement else other.values
            both = frozenset(v for v in allowed if self.allows(v) and other.allows(v))
            return Requirement(
                self.key, is_complement=False, values=both, may_be_absent=may_be_absent
            )
        greater_than = _tighter(max, self.greater_than, other.greater_than)
        less_than = _tighter(min, self.less_than, other.less_than)
        if greater_than is not None and less_than is not None and less_than - greater_than <= 1:
            return Requirement(self.key, is_complement=False, may_be_absent=may_be_absent)
        merged = Requirement(
            self.key,
            is_complement=True,
            greater_than=greater_than,
            less_than=less_than,
            may_be_absent=may_be_absent,
        )
        # Excluded values outside the bounds say nothing, and would make equal sets unequal.
        excluded = frozenset(v for v in self.values | other.values if merged.allows(v))
        return msgspec.structs.replace(merged, values=excluded)

    def has_intersection(self, other: Requirement) -> bool:
        """True when some value, or a missing label, satisfies both."""
        return not self.intersection(other).is_nothing

    def to_api(self) -> tuple[NodeSelectorRequirement, ...]:
        """Return the same in the API's terms: one requirement, or several that mean it together."""
        if not self.is_complement and self.values:
            return (self._api(IN, *sorted(self.values)),)
        parts = [] if self.is_complement else [self._api(DOES_NOT_EXIST)]
        if self.values:
            parts.append(self._api(NOT_IN, *sorted(self.values)))
        if self.greater_than is not None:
            parts.append(self._api(GREATER, str(self.greater_than)))
        if self.less_than is not None:
            parts.append(self._api(LESS, str(self.less_than)))
        has_bounds = self.greater_than is not None or self.less_than is not None
        if not self.may_be_absent and not has_bounds:
            parts.append(self._api(EXISTS))
        return tuple(parts)

    def _api(self, operator: str, *values: str) -> NodeSelectorRequirement:
        return NodeSelectorRequirement(key=self.key, operator=operator, values=values)

    def __str__(self) -> str:
        """As a person would write it: ``zone In [a, b]``, ``cpu > 3``."""
        if self.is_nothing:
            return f"{self.key} allows nothing"
        if self == anything(self.key):
            return f"{self.key} may be anything"
        parts = []
        if self.greater_than is not None:
            parts.append(f"> {self.greater_than}")
        if self.less_than is not None:
            parts.append(f"< {self.less_than}")
        if self.values:
            parts.append(f"{self.operator} [{joined(sorted(self.values))}]")
        return f"{self.key} {' and '.join(parts) or self.operator}"


def anything(key: str) -> Requirement:
    """Return the requirement that asks for nothing: any value, or none."""
    return Requirement(names.normalised(key), is_complement=True, may_be_absent=True)


def _bounded(key: str, operator: str, values: frozenset[str]) -> Requirement:
    bound = integer(next(iter(values))) if len(values) == 1 else None
    if bound is None:
        given = joined(sorted(values))
        raise RequirementError(f"{key} {operator} [{given}]: give exactly one integer")
    match operator:
        case "Gt":
            return Requirement(key, is_complement=True, greater_than=bound)
        case "Gte":
            return Requirement(key, is_complement=True, greater_than=bound - 1)
        case "Lt":
            return Requirement(key, is_complement=True, less_than=bound)
        case _:
            return Requirement(key, is_complement=True, less_than=bound + 1)


def _tighter(pick: Callable[[list[int]], int], one: int | None, other: int | None) -> int | None:
    bounds = [bound for bound in (one, other) if bound is not None]
    return pick(bounds) if bounds else None


GIVE_IT = "a provisioner whose spec.labels or spec.requirements have it would do"
"""For who asks for a label that no node to come has."""


class Conflict(msgspec.Struct, frozen=True):
    """Why two sides do not go together: the label, what is offered, what is wanted.

    ``offered`` is None when the offering side says nothing about the label; ``known`` are then the
    labels that it does know.
    """

    wanted: Requirement
    offered: Requirement | None = None
    known: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """The label that they disagree about."""
        return self.wanted.key

    @property
    def hint(self) -> str:
        """The known label that was probably meant, "" when none is close.

        Worked out only when somebody reads it: a search meets many conflicts and shows few.
        """
        return _meant(self.key, self.known)

    def __str__(self) -> str:
        """The conflict as a sentence."""
        if self.offered is None:
            meant = self.hint
            text = f"wanted {self.wanted}, but the label {self.key} has no known values"
            return f"{text} ({f'did you mean {meant}?' if meant else GIVE_IT})"
        return f"wanted {self.wanted}, but {self.offered}"


@lru_cache(1_000)
def _meant(key: str, known: frozenset[str]) -> str:
    """Hundreds of provisioners miss the same label of the same pods."""
    return names.nearest(key, sorted(known))


class Requirements(msgspec.Struct, frozen=True, gc=False):
    """Requirements on any number of labels, all of which must hold; at most one for each label.

    Build it with :meth:`all_of` and its friends, which intersect what concerns the same label.
    """

    by_key: dict[str, Requirement]
    """Sorted by key. Never changed after construction."""

    @classmethod
    def all_of(cls, requirements: Iterable[Requirement]) -> Requirements:
        """Return the conjunction of all."""
        merged: dict[str, Requirement] = {}
        for one in requirements:
            known = merged.get(one.key)
            merged[one.key] = one if known is None else known.intersection(one)
        return cls({key: merged[key] for key in sorted(merged)})

    @classmethod
    def from_api(cls, requirements: Iterable[NodeSelectorRequirement]) -> Requirements:
        """Read the API's form. Raises RequirementError for the first one that means nothing."""
        return cls.all_of(Requirement.of(one.key, one.operator, one.values) for one in requirements)

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Requirements:
        """Return "exactly these values"; labels that are not named stay open."""
        return cls.all_of(Requirement.of(key, IN, (value,)) for key, value in labels.items())

    def __iter__(self) -> Iterator[Requirement]:
        """Each requirement, sorted by key."""
        return iter(self.by_key.values())

    def __len__(self) -> int:
        """How many labels are constrained."""
        return len(self.by_key)

    def __contains__(self, key: str) -> bool:
        """True when the label (under any of its names) is constrained."""
        return names.normalised(key) in self.by_key

    def get(self, key: str) -> Requirement:
        """Return the requirement on a label, :func:`anything` when there is none."""
        return self.by_key.get(names.normalised(key)) or anything(key)

    def intersection(self, other: Requirements) -> Requirements:
        """Return what both sides allow."""
        return Requirements.all_of((*self, *other))

    def first_conflict(self, wanted: Requirements) -> Conflict | None:
        """Return the first label, by name, on which nothing suits both; None when all agree.

        A label that only one side names is no conflict.
        """
        for one in wanted:
            offered = self.by_key.get(one.key)
            if offered is not None and not offered.has_intersection(one):
                return Conflict(wanted=one, offered=offered)
        return None

    def has_intersection(self, other: Requirements) -> bool:
        """True when every label that both sides name leaves something."""
        return self.first_conflict(other) is None

    def first_incompatibility(
        self, wanted: Requirements, *, undefined: AbstractSet[str] = frozenset()
    ) -> Conflict | None:
        """Return why what we offer does not suit ``wanted``, None when it does.

        A label that we do not name is one that the node will not have, so ``wanted`` must be
        content with its absence; except for labels in ``undefined`` (the well-known ones, for a
        node that does not exist yet), which still may get any value (spec 9.6).
        """
        for one in wanted:
            if one.key not in self.by_key and one.key not in undefined and not one.may_be_absent:
                return Conflict(wanted=one, known=frozenset({*self.by_key, *undefined}))
        return self.first_conflict(wanted)

    def compatible(
        self, wanted: Requirements, *, undefined: AbstractSet[str] = frozenset()
    ) -> bool:
        """True when what we offer suits ``wanted`` (see :meth:`first_incompatibility`)."""
        return self.first_incompatibility(wanted, undefined=undefined) is None

    def first_unsatisfied(self, labels: Mapping[str, str]) -> Requirement | None:
        """Return the first requirement, by name, that a thing with these labels breaks.

        A missing label satisfies only NotIn and DoesNotExist (R11).
        """
        stable = {names.normalised(key): value for key, value in labels.items()}
        stable.update((key, value) for key, value in labels.items() if key in self.by_key)
        return next((one for one in self if not one.allows(stable.get(one.key))), None)

    def allows(self, labels: Mapping[str, str]) -> bool:
        """True when a thing with these labels satisfies every requirement."""
        return self.first_unsatisfied(labels) is None

    def labels(self) -> dict[str, str]:
        """Return the labels whose value is certain, because only one is allowed."""
        certain = {one.key: one.only_value for one in self}
        return {key: value for key, value in certain.items() if value is not None}

    def to_api(self) -> tuple[NodeSelectorRequirement, ...]:
        """Return the same in the API's terms, sorted by key."""
        return tuple(part for one in self for part in one.to_api())

    def __str__(self) -> str:
        """Each requirement as a person would write it, sorted by key."""
        return joined(str(one) for one in self)
