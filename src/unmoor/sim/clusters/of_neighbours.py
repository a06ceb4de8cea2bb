"""What can a pod want of other pods? Spreading, nearness, distance; variants in turns.

``matchLabelKeys`` stand as they were written: a server from 1.34 on puts what they come to into the
selector when the pod is created, and means the same.

Must not: look at nodes.
"""

from __future__ import annotations

from unmoor.model import names
from unmoor.model.base import JSON
from unmoor.sim.clusters.apps import APP, TEAM, TENANT, TENANTS, TIER, App, Constrain, Scene, append
from unmoor.sim.clusters.bodies import expression, selector
from unmoor.sim.clusters.mix import Kind
from unmoor.sim.clusters.of_nodes import PREFERRED, REQUIRED

NEAR = "podAffinity"
FAR = "podAntiAffinity"
HASH = "pod-template-hash"


def _spread(app: App, key: str, when: str = "DoNotSchedule", **more: object) -> None:
    """A server refuses two constraints of the same key and manner, so one gets all."""
    constraints = app.spec.setdefault("topologySpreadConstraints", [])
    for one in constraints:
        if (one["topologyKey"], one["whenUnsatisfiable"]) == (key, when):
            one.update(more)
            return
    body = {
        "topologyKey": key,
        "maxSkew": 1,
        "whenUnsatisfiable": when,
        "labelSelector": selector({APP: app.name}),
    }
    constraints.append({**body, **more})


def zone_spread(app: App, turn: int, scene: Scene) -> None:
    """Over zones; every fourth may be two apart."""
    del scene
    _spread(app, names.ZONE, maxSkew=2 if turn % 4 == 3 else 1)  # noqa: PLR2004


def zone_spread_preference(app: App, turn: int, scene: Scene) -> None:
    """Over zones or hosts, if possible."""
    del scene
    _spread(app, (names.ZONE, names.HOSTNAME)[turn % 2], "ScheduleAnyway")


def host_spread(app: App, turn: int, scene: Scene) -> None:
    """Over hosts; every fourth counts the pods of its whole tier."""
    del scene
    _spread(app, names.HOSTNAME, maxSkew=1 + turn % 2)
    if turn % 4 == 3:  # noqa: PLR2004
        _spread(app, names.HOSTNAME, labelSelector=selector({TIER: app.labels[TIER]}))


def min_domains(app: App, turn: int, scene: Scene) -> None:
    """Over as many zones as there are, or over one more than there are."""
    least = len(scene.zones) + turn % 2
    _spread(app, names.ZONE, minDomains=least)


def spread_label_keys(app: App, turn: int, scene: Scene) -> None:
    """Each revision for itself."""
    del scene
    _spread(app, (names.ZONE, names.HOSTNAME)[turn % 2], matchLabelKeys=[HASH])


def spread_policies(app: App, turn: int, scene: Scene) -> None:
    """Every pair of policies about which nodes count."""
    del scene
    values = ("Honor", "Ignore")
    _spread(
        app,
        names.ZONE,
        nodeAffinityPolicy=values[turn % 2],
        nodeTaintsPolicy=values[turn // 2 % 2],
    )


def _require(app: App, side: str, term: JSON) -> None:
    append(app.spec, ("affinity", side, REQUIRED), term)


def _prefer(app: App, side: str, weight: int, term: JSON) -> None:
    append(app.spec, ("affinity", side, PREFERRED), {"weight": weight, "podAffinityTerm": term})


def _term(key: str, labels: dict[str, str] | None = None, *more: JSON) -> JSON:
    return {"topologyKey": key, "labelSelector": selector(labels, *more)}


def _about(app: App, other: App, key: str) -> JSON:
    """A term about another app; about one of another namespace, too."""
    term = _term(key, {APP: other.name})
    is_near = other.namespace == app.namespace
    return term if is_near else {**term, "namespaces": [other.namespace]}


def affinity(app: App, turn: int, scene: Scene) -> None:
    """All of an app in one zone; on one host, if it may want what cannot be."""
    is_hard = scene.mix.is_contrary and turn % 4 == 3  # noqa: PLR2004
    key = names.HOSTNAME if is_hard else names.ZONE
    _require(app, NEAR, _term(key, {APP: app.name}))


def affinity_other(app: App, turn: int, scene: Scene) -> None:
    """In the zone of another app; on a host of it, if it may want what cannot be."""
    other = scene.other(app, turn)
    key = names.HOSTNAME if scene.mix.is_contrary and turn % 2 else names.ZONE
    _require(app, NEAR, _about(app, other, key))


def affinity_preference(app: App, turn: int, scene: Scene) -> None:
    """Where another app is, if possible."""
    other = scene.other(app, turn)
    _prefer(app, NEAR, 50, _about(app, other, names.ZONE))


def anti_affinity(app: App, turn: int, scene: Scene) -> None:
    """One on each host; every third says so by an expression."""
    del scene
    term = _term(names.HOSTNAME, {APP: app.name})
    if turn % 3 == 2:  # noqa: PLR2004
        term = _term(names.HOSTNAME, None, expression(APP, "In", app.name))
    _require(app, FAR, term)


def anti_affinity_zone(app: App, turn: int, scene: Scene) -> None:
    """One in each zone."""
    del turn, scene
    _require(app, FAR, _term(names.ZONE, {APP: app.name}))


def anti_affinity_other(app: App, turn: int, scene: Scene) -> None:
    """Not on a host, or in a zone, of another app, which itself does not mind."""
    other = scene.other(app, turn)
    _require(app, FAR, _about(app, other, (names.HOSTNAME, names.ZONE)[turn % 2]))


def anti_affinity_preference(app: App, turn: int, scene: Scene) -> None:
    """One on each host, if possible; every other one wants its own zone, too."""
    del scene
    _prefer(app, FAR, 100, _term(names.HOSTNAME, {APP: app.name}))
    if turn % 2:
        _prefer(app, FAR, 10, _term(names.ZONE, {APP: app.name}))


def term_namespaces(app: App, turn: int, scene: Scene) -> None:
    """About an app of another namespace, or about a tier in two of them."""
    if turn % 2:
        other = scene.other(app, turn, is_near=False)
        term = {**_term(names.ZONE, {APP: other.name}), "namespaces": [other.namespace]}
        _require(app, NEAR, term)
        return
    first = scene.namespaces[turn // 2 % len(scene.namespaces)]
    where = sorted({first, app.namespace})
    _require(app, FAR, {**_term(names.HOSTNAME, {TIER: "db"}), "namespaces": where})


def term_namespace_selector(app: App, turn: int, scene: Scene) -> None:
    """About the namespaces of a team; every third about all of them."""
    del scene
    teams = selector({} if turn % 3 == 2 else {TEAM: ("north", "south")[turn % 2]})  # noqa: PLR2004
    near = {**_term(names.ZONE, {TIER: app.labels[TIER]}), "namespaceSelector": teams}
    if turn % 2:
        _require(app, NEAR, near)
    else:
        cache = {**_term(names.HOSTNAME, {TIER: "cache"}), "namespaceSelector": teams}
        _require(app, FAR, cache)


def term_label_keys(app: App, turn: int, scene: Scene) -> None:
    """About one's own revision."""
    del scene
    side, key = ((FAR, names.HOSTNAME), (NEAR, names.ZONE))[turn % 2]
    _require(app, side, {**_term(key, {APP: app.name}), "matchLabelKeys": [HASH]})


def term_mismatch_keys(app: App, turn: int, scene: Scene) -> None:
    """Not with other tenants: on a host, or in a zone."""
    del scene
    app.labels.setdefault(TENANT, TENANTS[turn // 2 % len(TENANTS)])
    term = _term((names.HOSTNAME, names.ZONE)[turn % 2], None, expression(TENANT, "Exists"))
    _require(app, FAR, {**term, "mismatchLabelKeys": [TENANT]})


HOW: dict[Kind, Constrain] = {
    Kind.ZONE_SPREAD: zone_spread,
    Kind.ZONE_SPREAD_PREFERENCE: zone_spread_preference,
    Kind.HOST_SPREAD: host_spread,
    Kind.SPREAD_MIN_DOMAINS: min_domains,
    Kind.SPREAD_LABEL_KEYS: spread_label_keys,
    Kind.SPREAD_POLICIES: spread_policies,
    Kind.AFFINITY: affinity,
    Kind.AFFINITY_OTHER: affinity_other,
    Kind.AFFINITY_PREFERENCE: affinity_preference,
    Kind.ANTI_AFFINITY: anti_affinity,
    Kind.ANTI_AFFINITY_ZONE: anti_affinity_zone,
    Kind.ANTI_AFFINITY_OTHER: anti_affinity_other,
    Kind.ANTI_AFFINITY_PREFERENCE: anti_affinity_preference,
    Kind.TERM_NAMESPACES: term_namespaces,
    Kind.TERM_NAMESPACE_SELECTOR: term_namespace_selector,
    Kind.TERM_LABEL_KEYS: term_label_keys,
    Kind.TERM_MISMATCH_KEYS: term_mismatch_keys,
}
