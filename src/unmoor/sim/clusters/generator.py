"""What does a cluster of a given mix look like? Every object of it, from a seed.

First how many nodes and workloads, then who is special in which way, then who runs where: the
cluster is filled, and scaled down until it is as full as the mix says. Then the objects are
written, those first that others refer to; but pods before what made them, or whoever acts on that
would be quicker and make pods of the same names.

Must not: depend on anything but the mix, the types and the data that come along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from unmoor.model import kinds
from unmoor.model.base import JSON
from unmoor.model.instance import InstanceType
from unmoor.model.resources import CPU, MEMORY
from unmoor.sim.clusters import (
    apps,
    bodies,
    daemons,
    filling,
    nodes,
    of_itself,
    of_neighbours,
    of_nodes,
    sizes,
    volumes,
)
from unmoor.sim.clusters.apps import App, Scene
from unmoor.sim.clusters.filling import Place
from unmoor.sim.clusters.mix import NODES_DEFAULT, Kind, Mix
from unmoor.sim.clusters.placing import Placer
from unmoor.sim.clusters.sizes import MIB, Size
from unmoor.sim.manifests import Manifest

HOW = {**of_nodes.HOW, **of_neighbours.HOW, **of_itself.HOW, **volumes.HOW}
"""How each kind of constraint changes an app. Kinds of nodes are in ``nodes``."""
FULL = 0.85
"""How full the cluster was before it was scaled down, if it was that large."""
BEFORE_MOST = 4.0
"""So many times as many pods it had at most."""
SUFFIX_CHARS = 5

Plain: TypeAlias = list[tuple[Size, int]]
"""Of each app: what a pod asks for, and how many there are."""


def generate(mix: Mix, types: Iterable[InstanceType]) -> tuple[Manifest, ...]:
    """Every object of the cluster, in an order in which they can be created.

    ``types``: what the cloud sells; some of them are drawn. Raises ValueError when none will do.
    """
    drawn = nodes.Nodes(mix, types)
    sites, made = _sized(mix, drawn)
    drawn.mark(sites)
    scene = Scene(
        mix=mix,
        apps=made,
        sites=sites,
        zones=drawn.zones,
        namespaces=apps.namespaces_of(mix, len(made)),
    )
    apps.constrain(scene, HOW)
    placer = Placer(made, sites, drawn.zones, mix.dice("places"))
    daemon_sets = daemons.drawn(mix)
    on = {
        ref.name: [
            room.site.name
            for room in placer.rooms
            if placer.take(room, daemons.spec_on(body, room.site.name))
        ]
        for ref, body in daemon_sets
    }
    places = filling.fill(mix, placer)
    objects = [*_cluster(scene), *nodes.provisioners(mix)]
    for site in sites:
        objects += nodes.objects_of(site, mix, drawn.pool)
    objects += nodes.in_flight(mix, len(sites), drawn)
    for ref, body in daemon_sets:
        objects += (daemons.pod_on(body, name) for name in on[ref.name])
        objects.append((ref, daemons.with_status(body, len(on[ref.name]))))
    budgets = mix.dice("budgets").randrange(10)
    for app, where in zip(made, places, strict=True):
        objects += _app(app, where, scene)
        if Kind.BUDGET in app.kinds:
            running = sum(bool(place.node) for place in where)
            objects.append(of_itself.budget_of(app, budgets, running))
            budgets += 1
    return tuple(objects)


# How many.


def _sized(mix: Mix, drawn: nodes.Nodes) -> tuple[list[nodes.Site], list[App]]:
    """As many nodes and apps as the mix says, or as go together."""
    drawing = sizes.Sizes(mix, sizes.largest(drawn.pool, mix.largest))
    count = mix.nodes or (0 if mix.pods else NODES_DEFAULT)
    sites = [drawn.draw() for _ in range(count)]
    plain = _plain(mix, drawing, _room(sites))
    if not count:
        while not sites or _share(plain, _room(sites)) > mix.utilisation:
            sites.append(drawn.draw())
    elif mix.pods and (factor := mix.utilisation / _share(plain, _room(sites))) < 1:
        plain = [(size.times(factor), pods) for size, pods in plain]
    namespaces = apps.namespaces_of(mix, len(plain))
    made = [
        apps.draw(mix, number, namespaces, size, pods) for number, (size, pods) in enumerate(plain)
    ]
    times = min(max(FULL / _share(plain, _room(sites)), 1.0), BEFORE_MOST)
    for app in made:
        app.before = int(app.pods * times)
    return sites, made


def _plain(mix: Mix, drawing: sizes.Sizes, room: Size) -> Plain:
    """Sizes and numbers of pods until there are as many as there shall be."""
    plain: Plain = []
    pods, cpu_milli, memory_mib = 0, 0, 0
    while True:
        used = (
            max(cpu_milli / room.cpu_milli, memory_mib / room.memory_mib) if room.cpu_milli else 0.0
        )
        if pods >= mix.pods if mix.pods else used >= mix.utilisation:
            return plain
        size, count = drawing.size(), drawing.replicas()
        count = min(count, mix.pods - pods) if mix.pods else count
        plain.append((size, count))
        pods += count
        cpu_milli += count * size.cpu_milli
        memory_mib += count * size.memory_mib


def _room(sites: list[nodes.Site]) -> Size:
    return Size(
        sum(site.allocatable[CPU] for site in sites),
        sum(site.allocatable[MEMORY] for site in sites) // MIB,
    )


def _share(plain: Plain, room: Size) -> float:
    """How full it is."""
    cpu_milli = sum(size.cpu_milli * pods for size, pods in plain)
    memory_mib = sum(size.memory_mib * pods for size, pods in plain)
    return max(cpu_milli / room.cpu_milli, memory_mib / room.memory_mib)


# Objects.


def _cluster(scene: Scene) -> Iterator[Manifest]:
    """What others refer to."""
    for name in scene.namespaces:
        yield bodies.made(kinds.NAMESPACES, name, labels=apps.namespace_labels(name))
    yield from of_itself.classes()
    yield from volumes.classes(scene.zones)


def _app(app: App, places: list[Place], scene: Scene) -> Iterator[Manifest]:
    """Its pods, their claims and volumes, and its owner."""
    made = _owner(app, sum(bool(place.node) for place in places)) if app.owner_kind else None
    owner = made[1] if made is not None else None
    zones = {site.name: site.zone for site in scene.sites} if app.volumes else {}
    dice = scene.mix.dice(f"pod names/{app.number}")
    for place in places:
        drawn = "".join(dice.choices(apps.HASH_ALPHABET, k=SUFFIX_CHARS))
        ref, pod = _pod(app, place, owner, drawn)
        if app.volumes:
            home = volumes.home_of(app, place.ordinal, scene.zones)
            yield from volumes.claims_of(app, pod, zones.get(place.node, ""), home)
        yield ref, pod
    if made is not None:
        yield made


def _pod(app: App, place: Place, owner: JSON | None, drawn: str) -> Manifest:
    spec, labels = app.spec, app.labels
    suffix = str(place.ordinal)
    base = app.name
    if owner is not None and owner["kind"] == "ReplicaSet":
        base, suffix = owner["metadata"]["name"], drawn
    name = f"{base}-{suffix}"
    if app.volumes:
        spec = {**spec, "volumes": volumes.volumes_of(app, name)}
    if owner is not None and owner["kind"] == "StatefulSet":
        labels = {**labels, "statefulset.kubernetes.io/pod-name": name}
    return bodies.pod(
        name,
        app.namespace,
        spec,
        node=place.node,
        labels=labels,
        annotations=app.annotations,
        ownerReferences=[bodies.owner(owner)] if owner is not None else [],
    )


def _owner(app: App, running: int) -> Manifest:
    resource = kinds.KINDS[app.owner_kind]
    is_ordered = resource is kinds.STATEFUL_SETS
    meta = {"labels": app.labels}
    if app.annotations:
        meta["annotations"] = app.annotations
    asked = (
        {apps.APP: app.name}
        if is_ordered
        else {key: app.labels[key] for key in (apps.APP, "pod-template-hash")}
    )
    spec: JSON = {
        "replicas": app.pods,
        "selector": bodies.selector(asked),
        "template": {"metadata": meta, "spec": _template_spec(app)},
    }
    name = app.name
    if is_ordered:
        spec |= {"serviceName": app.name, "podManagementPolicy": "Parallel"}
        spec["volumeClaimTemplates"] = volumes.templates_of(app)
    else:
        name = f"{app.name}-{app.hash}"
    ref, body = bodies.made(resource, name, spec, app.namespace, labels=app.labels)
    status = {
        "replicas": app.pods,
        "readyReplicas": running,
        "availableReplicas": running,
        "observedGeneration": 1,
    }
    # A server leaves out how many there are of what there is none of.
    return ref, {**body, "status": {key: one for key, one in status.items() if one}}


def _template_spec(app: App) -> JSON:
    """What admission gives a pod is not in its template."""
    return {
        key: value
        for key, value in app.spec.items()
        if key not in {"priority", "preemptionPolicy", "overhead"}
    }
