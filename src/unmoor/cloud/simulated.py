"""A cloud whose machines are API objects: ``instances.sim.unmoor.dev``.

It creates, marks and reads Instances; the actors of the simulator, in this process or another, play
them. So one cloud serves the in-memory cluster and a real control plane alike. What a real cloud
does to its users (lost answers, rate limits, lists that lag) is put around it by the simulator.

An instance is named after its attempt token, so that asking again finds what is there. Stock-outs
are data: the ConfigMap ``kube-system/unmoor-sim-cloud`` lists, under ``unavailable``, one offering
a line (``m5.* us-east-1a spot``); it is read at each launch.

Must not: play the machines, draw lots, or know any clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from unmoor.cloud import choice, simulated_account
from unmoor.cloud.catalogue import ec2_types
from unmoor.engine.pricing import Choice
from unmoor.model.base import JSON, Ref
from unmoor.model.cluster import (
    SIMULATED_SCHEME,
    SIMULATED_SHELF,
    UNAVAILABLE,
    Instance,
    InstanceSpec,
)
from unmoor.model.instance import CloudInstance, InstanceState, InstanceType, LaunchRequest
from unmoor.model.kinds import INSTANCES
from unmoor.model.requirement import RequirementError, Requirements
from unmoor.model.selection import Selection, Wish
from unmoor.runtime.ports import Api, ApiError, CloudError, Query, Unreachable

T = TypeVar("T")

CLUSTER_LABEL = "sim.unmoor.dev/cluster"
"""On an Instance: a digest of the cluster's name, which may be no label value."""
ID_CHARS = 17
"""Hexadecimal digits in an instance's name, as on EC2."""
PAGE_SIZE = 500

_STATES = {
    "": InstanceState.PENDING,
    "Pending": InstanceState.PENDING,
    "Running": InstanceState.RUNNING,
    "ShuttingDown": InstanceState.SHUTTING_DOWN,
    "Terminated": InstanceState.TERMINATED,
}


class SimulatedCloud:
    """The cloud port over the Kubernetes API."""

    scheme = SIMULATED_SCHEME

    def __init__(self, api: Api, types: tuple[InstanceType, ...] = ()) -> None:
        """Sell ``types``, the catalogue by default."""
        self._api = api
        self._given = types

    @cached_property
    def _types(self) -> dict[str, InstanceType]:
        """By name."""
        return {one.name: one for one in self._given or ec2_types()}

    async def create(self, request: LaunchRequest) -> CloudInstance:
        """Create the Instance of this token, or return the one that is there."""
        name = instance_name(request.token)
        known = await self._launched_before(name)
        if known is not None:
            return self._translate(known)
        settings = await _translated(self._settings)
        chosen = self._choose(request, settings)
        body = _body(name, request, chosen, self._attached(request, chosen, settings))
        answer = await _translated(lambda: self._create_or_find(name, body))
        return self._translate(answer)

    async def get(self, provider_id: str) -> CloudInstance:
        """Read one instance."""
        name = _name_in(provider_id)
        found = await _translated(lambda: self._find(name))
        if found is None:
            raise CloudError("not-found", f"no instance {provider_id}")
        instance = self._translate(found)
        if instance.provider_id != provider_id:
            raise CloudError("not-found", f"no instance {provider_id}; it is in {instance.zone}")
        return instance

    async def list(self, cluster: str) -> tuple[CloudInstance, ...]:
        """The instances of one cluster, by name."""
        query = Query(labels=f"{CLUSTER_LABEL}={_digest(cluster)}")
        found = await _translated(lambda: self._list(query, cluster))
        return tuple(sorted(found, key=lambda one: one.provider_id.rpartition("/")[2]))

    async def terminate(self, provider_id: str) -> None:
        """Mark the instance; whoever plays it lets it go."""
        instance = await self.get(provider_id)
        if instance.state is InstanceState.TERMINATED:
            raise CloudError("not-found", f"{provider_id} is terminated")
        await self._patch(provider_id, {"spec": {"terminate": True}})

    async def instance_types(self) -> tuple[InstanceType, ...]:
        """Everything on sale. Like a real cloud, it does not tell what is out of stock."""
        return tuple(self._types.values())

    async def discover(self, wish: Wish) -> Selection:
        """What is listed in the account, by ``simulated_account``."""
        return self._selected(wish, await _translated(self._settings))

    def _selected(self, wish: Wish, settings: dict[str, str]) -> Selection:
        zones = {one.zone for kind in self._types.values() for one in kind.offerings}
        return simulated_account.selected(settings, wish, sorted(zones))

    def _attached(
        self, request: LaunchRequest, chosen: Choice, settings: dict[str, str]
    ) -> dict[str, Any]:
        """Image, subnet and security groups, as the node template selects them now."""
        wish = request.template
        if wish is None:
            return {}
        found = self._selected(wish, settings)
        labels = {**request.labels, **chosen.type.labels}
        images = [
            one.id for one in found.images if Requirements.from_api(one.requirements).allows(labels)
        ]
        if not images and not wish.is_launch_template:
            remedy = "select one by amiSelector, or choose another amiFamily"
            raise CloudError(
                "invalid", f"there is no {wish.family} image for {chosen.type.name}: {remedy}"
            )
        zone = chosen.offering.zone
        subnets = [one.id for one in found.subnets if one.zone in {"", zone}]
        return {
            "image": images[0] if images else "",
            "subnet": subnets[0] if subnets else "",
            "securityGroups": [one.id for one in found.security_groups],
        }

    async def _launched_before(self, name: str) -> Instance | None:
        """As long as this cannot be told, nobody knows what came of the token."""
        try:
            return await _translated(lambda: self._find(name))
        except CloudError as error:
            if error.kind == "rate-limited":
                raise
            raise Unreachable(f"whether {name} was launched cannot be told: {error}") from error

    def _choose(self, request: LaunchRequest, settings: dict[str, str]) -> Choice:
        stock_outs = choice.parse_stock_outs(settings.get(UNAVAILABLE, ""))
        try:
            chosen = choice.choose(self._types.values(), request, stock_outs)
        except RequirementError as error:
            raise CloudError("invalid", str(error)) from error
        match chosen:
            case choice.NoneSuits():
                raise CloudError("invalid", chosen.message)
            case choice.SoldOut():
                raise CloudError("insufficient-capacity", chosen.message, sold_out=chosen.offerings)
            case Choice():
                return chosen

    async def _settings(self) -> dict[str, str]:
        try:
            body = await self._api.get(SIMULATED_SHELF)
        except ApiError as error:
            if error.is_absence_of(SIMULATED_SHELF):
                return {}
            raise
        data: dict[str, str] = body.get("data") or {}
        return data

    async def _find(self, name: str) -> Instance | None:
        ref = INSTANCES.ref(name)
        try:
            return _decoded(await self._api.get(ref))
        except ApiError as error:
            if error.is_absence_of(ref):
                return None
            raise

    async def _create_or_find(self, name: str, body: JSON) -> Instance:
        ref = INSTANCES.ref(name)
        try:
            return _decoded(await self._api.create(ref, body))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        try:
            return _decoded(await self._api.get(ref))
        except ApiError as error:
            raise Unreachable(f"{name} is there, and cannot be read: {error}") from error

    async def _list(self, query: Query, cluster: str) -> tuple[CloudInstance, ...]:
        """Each page is read when it comes: all at once would hold the loop up."""
        found: tuple[CloudInstance, ...] = ()
        after = ""
        while True:
            page = await self._api.list(INSTANCES.raw(), query, limit=PAGE_SIZE, after=after)
            instances = map(_decoded, page.items)
            mine = (one for one in instances if one.spec.cluster == cluster)
            found += tuple(map(self._translate, mine))
            after = page.next
            if not after:
                return found

    async def _patch(self, provider_id: str, body: JSON) -> None:
        ref: Ref = INSTANCES.ref(_name_in(provider_id))

        async def patch() -> None:
            try:
                await self._api.patch(ref, body)
            except ApiError as error:
                if error.is_absence_of(ref):
                    raise CloudError("not-found", f"no instance {provider_id}") from error
                raise

        await _translated(patch)

    def _translate(self, instance: Instance) -> CloudInstance:
        spec = instance.spec
        kind = self._types.get(spec.instance_type)
        labels = dict(spec.labels)
        if kind is not None:
            labels = choice.labels_of(
                kind, zone=spec.zone, capacity_type=spec.capacity_type, extra=labels
            )
        return CloudInstance(
            provider_id=instance.provider_id,
            state=_state(instance),
            instance_type=spec.instance_type,
            zone=spec.zone,
            capacity_type=spec.capacity_type,
            cluster=spec.cluster,
            token=spec.token,
            machine=spec.machine,
            image=spec.image,
            subnet=spec.subnet,
            security_groups=spec.security_groups,
            launched_at=instance.metadata.creation_timestamp,
            labels=labels,
            capacity=dict(kind.capacity) if kind else {},
            allocatable=dict(kind.allocatable) if kind else {},
            price_usd_per_h=_price(kind, spec) if kind else None,
            price_book=kind.book_of(spec.capacity_type) if kind else "",
        )


def _price(kind: InstanceType, spec: InstanceSpec) -> float | None:
    sold = (
        one.price_usd_per_h
        for one in kind.offerings
        if (one.zone, one.capacity_type) == (spec.zone, spec.capacity_type)
    )
    return next(sold, None)


def instance_name(token: str) -> str:
    """Return the name of the instance that an attempt token stands for."""
    return f"i-{_digest(token)}"


def cluster_labels(cluster: str) -> dict[str, str]:
    """The labels of an Instance by which its cluster finds it."""
    return {CLUSTER_LABEL: _digest(cluster)}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:ID_CHARS]


def _name_in(provider_id: str) -> str:
    scheme, _, rest = provider_id.partition(":///")
    zone, _, name = rest.partition("/")
    if scheme != SIMULATED_SCHEME or not zone or not name or "/" in name:
        raise CloudError("invalid", f"{provider_id!r} is no {SIMULATED_SCHEME}:///zone/name")
    return name


def _state(instance: Instance) -> InstanceState:
    state = _STATES.get(instance.status.phase, InstanceState.PENDING)
    has_to_go = instance.spec.is_terminating or instance.is_deleting
    return InstanceState.SHUTTING_DOWN if has_to_go and not state.is_going else state


def _body(name: str, request: LaunchRequest, chosen: Choice, attached: dict[str, Any]) -> JSON:
    spec: dict[str, Any] = {
        "cluster": request.cluster,
        "token": request.token,
        "machine": request.machine,
        "instanceType": chosen.type.name,
        "zone": chosen.offering.zone,
        "capacityType": chosen.offering.capacity_type,
        "labels": dict(request.labels),
        "tags": dict(request.tags),
        **attached,
    }
    return {
        "apiVersion": INSTANCES.api_version,
        "kind": INSTANCES.kind,
        "metadata": {"name": name, "labels": cluster_labels(request.cluster)},
        "spec": spec,
    }


def _decoded(body: JSON) -> Instance:
    return msgspec.convert(body, Instance, strict=False)


async def _translated(call: Callable[[], Awaitable[T]]) -> T:
    """Translate what the API says into what a cloud says.

    After a server error nobody knows whether the request was carried out.
    """
    try:
        return await call()
    except ApiError as error:
        match error.code:
            case 429:
                raise CloudError(
                    "rate-limited", error.message, retry_after_s=error.retry_after_s
                ) from error
            case 400 | 422:
                raise CloudError("invalid", error.message) from error
            case code if code >= 500:  # noqa: PLR2004
                raise Unreachable(str(error)) from error
            case _:
                raise CloudError("failed", str(error)) from error
