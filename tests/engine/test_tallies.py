"""Counts that nobody needs take no memory: there is one tally for nearly every workload."""

from __future__ import annotations

import numpy as np

from unmoor.engine.bulk.crowd import Person
from unmoor.engine.bulk.numbering import Domains
from unmoor.engine.bulk.tallies import Tally
from unmoor.model import names


def _once(person: Person) -> int:
    del person
    return 1


def tally_over(count: int) -> Tally:
    """A tally of zones ``z0`` to ``z<count>``, of whom nobody asks where anything lies."""
    domains = Domains(names.ZONE)
    for number in range(count):
        domains.of(f"z{number}")
    return Tally(0, domains, _once, None)


def test_nobody_who_may_be_in_several_domains_takes_no_memory() -> None:
    tally = tally_over(1000)
    tally.add(7, 2)
    tally.replace(((), 0), ((7,), 3))

    assert tally.possible.strides == tally.sites.strides == (0,)
    assert (tally.most_in(7), tally.most_in(8), tally.total) == (5, 0, 5)


def test_who_may_be_in_several_domains_is_counted_in_each_and_in_those_that_come() -> None:
    tally = tally_over(3)
    tally.domains.of("later")
    for number in range(200):
        tally.domains.of(f"more-{number}")

    tally.replace(((), 0), ((0, 3), 2))
    tally.grow()

    assert [tally.most_in(domain) for domain in range(5)] == [2, 0, 0, 2, 0]
    assert tally.most(np.arange(4)).tolist() == [2, 0, 0, 2]
    assert tally.certain.sum() == 0
    tally.replace(((0, 3), 2), ((3,), 2))
    assert [tally.most_in(domain) for domain in range(5)] == [0, 0, 0, 2, 0]
    assert tally.certain.sum() == 2
