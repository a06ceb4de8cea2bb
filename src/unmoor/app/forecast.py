"""What would a drain of this node do, pod by pod? Nothing is written.

Each pod's standing and its budgets come from the same policy as the drain itself; then the server
is asked with a dry-run eviction, which it judges by budgets and rights as it would a real one. (To
reckon only by ourselves was rejected: admission webhooks and rights would be found out too late.)
A dry run does not use a budget up, so each answer is about this pod alone.

Must not: evict, cordon, or print.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from unmoor.app.cli.command import Failure
from unmoor.model.base import JSON
from unmoor.model.disruption_budget import PodDisruptionBudget
from unmoor.model.kinds import BUDGETS, NODES, PODS, Resource
from unmoor.model.moment import Moment
from unmoor.model.node import Node
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.model.wording import counted
from unmoor.policy import caveats, drain, pods
from unmoor.runtime.ports import Api, ApiError, Broken, Query

T = TypeVar("T")

TOO_MANY_REQUESTS = 429
CONCURRENT_MAX = 20
"""Dry-run evictions in flight at once."""
PAGE_SIZE = 500


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """One pod. ``what``: evicted, held, awaited or stays."""

    pod: str
    what: str
    why: str


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """One node."""

    node: str
    is_cordoned: bool
    pods: tuple[Forecast, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_clear(self) -> bool:
        """No pod would be held as things stand."""
        return all(one.what != "held" for one in self.pods)


async def look_ahead(api: Api, name: str, moment: Moment) -> Outlook:
    """Look at one node and ask the server. Raises Failure when there is no such node."""
    node = await find_node(api, name)
    on_node, broken = await _all(api, PODS, Query(fields=f"spec.nodeName={name}"))
    budgets, _ = await _all(api, BUDGETS, Query())
    view = View.of(node, *on_node, *budgets)
    permits = asyncio.Semaphore(CONCURRENT_MAX)

    async def one(pod: Pod) -> Forecast:
        async with permits:
            return await _forecast(api, view, pod, moment)

    forecasts = await asyncio.gather(*(one(pod) for pod in view.pods_on(name)))
    unreadable = [
        Forecast(
            pod=f"{found.ref.namespace}/{found.ref.name}",
            what="held",
            why=pods.about_unreadable(found.ref.key, found.problem),
        )
        for found in broken
    ]
    return Outlook(
        node=name,
        is_cordoned=node.is_cordoned,
        pods=(*forecasts, *unreadable),
        notes=_shared_budgets(view, view.pods_on(name), moment),
    )


async def find_node(api: Api, name: str) -> Node:
    """Read one node. Raises Failure when there is none."""
    ref = NODES.ref(name)
    try:
        body = await api.get(ref)
    except ApiError as error:
        if not error.is_absence_of(ref):
            raise
        raise Failure(f"node/{name}: no such node; `kubectl get nodes` lists them") from None
    return msgspec.convert(body, Node, strict=False)


async def _all(api: Api, resource: Resource[T], query: Query) -> tuple[list[T], list[Broken]]:
    found: list[T] = []
    broken: list[Broken] = []
    after = ""
    while True:
        page = await api.list(resource, query, limit=PAGE_SIZE, after=after)
        found += page.items
        broken += page.broken
        after = page.next
        if not after:
            return found, broken


async def _forecast(api: Api, view: View, pod: Pod, moment: Moment) -> Forecast:
    name = f"{pod.namespace}/{pod.name}"
    place = pods.standing_of(pod, moment, _patience(view))
    if not place.is_evicted:
        return Forecast(pod=name, what="awaited" if place.is_waited_for else "stays", why=place.why)
    budgets = drain.budgets_over(view, pod)
    problem = await _refusal(api, pod)
    if problem is None:
        return Forecast(pod=name, what="evicted", why=_manner(pod, budgets))
    if budgets and (len(budgets) > 1 or problem.code == TOO_MANY_REQUESTS):
        why = drain.about_budgets(pod, budgets)
    else:
        why = f"the server refuses: {problem.message}"
    return Forecast(pod=name, what="held", why="; ".join((why, *_known(pod))))


def _known(pod: Pod) -> list[str]:
    return [caveats.ABOUT_ONE[caveat] for caveat in caveats.caveats_of(pod)]


def _patience(view: View) -> pods.Patience:
    return pods.Patience(view.settings.cadence.stuck_terminating_s)


async def _refusal(api: Api, pod: Pod) -> ApiError | None:
    body: JSON = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": {"dryRun": ["All"], "preconditions": {"uid": pod.uid}},
    }
    ref = PODS.ref(pod.name, pod.namespace)
    try:
        await api.create(ref, body, subresource="eviction", dry_run=True)
    except ApiError as error:
        return None if error.is_absence_of(ref) else error
    return None


def _manner(pod: Pod, budgets: tuple[PodDisruptionBudget, ...]) -> str:
    parts = [f"grace {pod.grace_s} s"]
    if tier := drain.TIERS[drain.tier_of(pod)]:
        parts.append(f"after the others ({tier})")
    parts += _known(pod)
    parts += [f"budget {budget.namespace}/{budget.name}" for budget in budgets]
    return ", ".join(parts)


def _shared_budgets(view: View, on_node: Iterable[Pod], moment: Moment) -> tuple[str, ...]:
    """Budgets that let fewer pods go at once than this node has under them."""
    under: dict[tuple[str, str], int] = {}
    allowed: dict[tuple[str, str], int] = {}
    for pod in on_node:
        if not pods.standing_of(pod, moment, _patience(view)).is_evicted:
            continue
        for budget in drain.budgets_over(view, pod):
            under[budget.key] = under.get(budget.key, 0) + 1
            allowed[budget.key] = budget.status.disruptions_allowed
    return tuple(
        f"budget {namespace}/{name} lets {counted(allowed[namespace, name], 'pod')} go at once, "
        f"and this node has {count} under it"
        for (namespace, name), count in sorted(under.items())
        if count > allowed[namespace, name]
    )
