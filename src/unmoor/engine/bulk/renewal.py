"""A scene that has changed a little: which rows have other pods now, and how they are made anew.

Must not: guess. Where anything but the pods has changed, all rows are to be made anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from unmoor.engine import judge
from unmoor.engine.bulk.crowd import Person, columns_of
from unmoor.engine.bulk.greedy import Greedy
from unmoor.engine.scene import Place, Scene, differing, looks_alike
from unmoor.engine.sites import Standing
from unmoor.model.pod import Pod


def rows_with_other_pods(then: Scene, now: Scene) -> list[int] | None:
    """Return which places have other pods than before; None when anything else has changed."""
    if (
        len(then.places) != len(now.places)
        or then.started != now.started
        or then.templates != now.templates
        or not looks_alike(now.view, then.view)
    ):
        return None
    pairs = enumerate(zip(then.places, now.places, strict=True))
    rows = [at for at, (before, place) in pairs if before is not place]
    is_same = all(_is_same_node(then.places[at], now.places[at]) for at in rows)
    return rows if is_same else None


def _is_same_node(then: Place, now: Place) -> bool:
    """True when a node is as it was to those who look for a place, what is on it aside."""
    return (
        then.name == now.name
        and then.labels == now.labels
        and then.order == now.order
        and judge.shown_by(then) == judge.shown_by(now)
    )


class News(NamedTuple):
    """Who is on a place that was not there before, and who was and is no more."""

    at: int
    come: list[Pod]
    gone: list[Pod]


def news_of(then: Scene, now: Scene, rows: Iterable[int]) -> list[News]:
    """Return what has changed in these rows."""
    found = []
    for at in rows:
        # A pod that has not changed is the same object in both.
        before, after = differing(then.places[at].pods, now.places[at].pods)
        old, new = {id(pod) for pod in before}, {id(pod) for pod in after}
        come = [pod for pod in after if id(pod) not in old]
        found.append(News(at, come, [pod for pod in before if id(pod) not in new]))
    return found


def covers(compiled: Greedy, pods: Iterable[Pod]) -> bool:
    """True when there is a column for all that these ask for."""
    return set(columns_of(compiled.scene, pods, compiled.tenants.requests)) <= set(compiled.columns)


def renew(compiled: Greedy, scene: Scene, news: Iterable[News]) -> set[int]:
    """Let ``compiled`` be of ``scene`` from now on; no simulation may be running.

    ``news``: of the places that have other pods now. All else is as it was, and there are columns
    for all that these pods ask for. Return the numbers of the tallies that count others now.
    """
    compiled.scene = scene
    crowd, ground, counting = compiled.crowd, compiled.ground, compiled.counting
    crowd.look(scene.view)
    changed: dict[int, tuple[Person, dict[int, int]]] = {}
    others: set[int] = set()
    sites: dict[int, Standing] = {}
    have_other_volumes = False
    for at, come, gone in news:
        for pods, sign in ((gone, -1), (come, 1)):
            for person in map(crowd.person, pods):
                _, where = changed.setdefault(person.number, (person, {}))
                where[at] = where.get(at, 0) + sign
        place, before = scene.places[at], ground.standing[at]
        has_other_volumes = any(pod.spec.volumes for pod in (*come, *gone))
        have_other_volumes |= has_other_volumes
        site = None
        if not has_other_volumes and place.volume_room == before.place.volume_room:
            site = before.followed(place, come, gone, compiled.tenants)
        sites[at] = site or Standing(place, scene.view, compiled.tenants)
    ground.renew(sites, have_other_volumes=have_other_volumes)
    for person, where in changed.values():
        moved = {at: more for at, more in where.items() if more}
        if moved:
            counting.meet(person)
            others |= set(counting.renew(person, moved))
            ground.list_anew(person, moved)
    compiled.finder.forget()
    return others
