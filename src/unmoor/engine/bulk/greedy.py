"""Where do these pods go? The oracle's answer, found for whole clusters.

The same queue, the same order of places, the same narrowing of machines. What is saved is asking
the same thing twice: equal pods ask as one class, nodes are refused in bulk, and a class that found
no place is not tried again until a machine was opened or a count that matters has changed.

Must not: know a rule that the oracle does not know.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Hashable, Iterable, Iterator

import numpy as np

from unmoor.engine import judge, oracle
from unmoor.engine.bulk import improve
from unmoor.engine.bulk.answers import answer
from unmoor.engine.bulk.counting import Counting
from unmoor.engine.bulk.crowd import Ask, Crowd, columns_of
from unmoor.engine.bulk.finding import NONE, Finder
from unmoor.engine.bulk.fitting import Fitting
from unmoor.engine.bulk.fleet import Fleet, Machine
from unmoor.engine.bulk.ground import Ground
from unmoor.engine.bulk.layout import Layout
from unmoor.engine.bulk.numbering import Verdicts
from unmoor.engine.bulk.prices import Prices
from unmoor.engine.bulk.shapes import Amounts, Flags, Market, Shape, Shapes, amounts
from unmoor.engine.company import watched_by
from unmoor.engine.plan import Plan, name_of
from unmoor.engine.refusal import Refusal
from unmoor.engine.scene import Scene, Started, Template
from unmoor.engine.selection import Term
from unmoor.engine.sites import Standing, Tenants
from unmoor.engine.turns import in_turn
from unmoor.engine.volumes import claims_of
from unmoor.engine.wish import levels_of
from unmoor.model import names, resources
from unmoor.model.base import Key
from unmoor.model.pod import Pod

Potential = tuple[tuple[str, tuple[int, ...]], ...]
"""Where machines may yet be opened: labels, and domains of each, sorted."""


def solve(
    scene: Scene, pods: Iterable[Pod], *, is_improved: bool = False, market: Market | None = None
) -> Plan:
    """Place ``pods`` as the oracle does. Never raises for what a pod says.

    ``is_improved``: let the machines become cheaper where that is in nobody's way (``improve``).
    """
    asked = list(pods)
    greedy = Greedy(scene, asked, market)
    greedy.begin(asked)
    greedy.run()
    prices = Prices(greedy.types)
    if is_improved:
        greedy.placements = improve.improved(greedy.fleet, prices, greedy.placements)
    return answer(greedy, prices)


class Greedy:
    """One simulation."""

    def __init__(self, scene: Scene, pods: list[Pod], market: Market | None = None) -> None:
        """Turn the scene into rows. ``pods``: whom it may be asked about, those on nodes aside."""
        self.scene = scene
        self.tenants = Tenants()
        standing = [Standing(place, scene.view, self.tenants) for place in scene.places]
        self.columns = columns_of(scene, pods, self.tenants.requests)
        self.has_soft_taints = scene.has_soft_taints
        self.crowd = Crowd(
            scene.view,
            self.columns,
            self.tenants.requests,
            has_soft_taints=self.has_soft_taints,
        )
        self.ground = Ground(standing, self.columns, self.crowd)
        bases: list[Template | Started] = [*scene.templates, *scene.started]
        self.types = (market or Market()).types(bases, self.columns)
        self.shapes = Shapes(self.types)
        self.fleet = Fleet(self.types, len(self.columns))
        self.counting = Counting(self.ground, self.shapes, self.fleet)
        self.fitting = Fitting(self.shapes, self.counting)
        self.finder = Finder(self.ground, self.counting)
        self.templates = [one for one in scene.templates if one.machines_max != 0]
        self.flags = {id(base): self.types.flags(base.types) for base in bases}
        self.daemons = {id(base): amounts([base.daemons], self.columns)[0] for base in bases}
        self._layouts: dict[Hashable, tuple[int, Layout]] = {}
        self._potentials: dict[int, Potential] = {}
        self._suited: dict[int, Verdicts] = {}
        self._capacity: dict[str, Amounts] = {}
        self._own: dict[int, tuple[Refusal, ...]] = {}
        self._spread_among: dict[int, tuple[tuple[Hashable, Term], ...]] = {}
        for one in scene.started:
            self.fleet.open(self._next(one, one.name))

    def begin(self, pods: Iterable[Pod], gone: Collection[str] = ()) -> None:
        """Begin a simulation. ``gone``: started machines that are not there."""
        self.fleet.take_away(gone)
        self.refused: dict[Key, tuple[Refusal, ...]] = {}
        asked = self._sorted(pods)
        self.queue = deque((pod, 0) for pod, _ in asked)
        self.watched = self._watched(ask for _, ask in asked)
        self.counting.begin(self.watched)
        self.remaining = {one.provisioner: dict(one.remaining) for one in self.templates}
        self._made: Counter[str] = Counter()
        self._labelled = 0
        self.placements: dict[Key, str] = {}
        self.given_up: dict[Key, tuple[str, ...]] = {}
        self._now: dict[int, tuple[int, Layout]] = {}
        self._wide: dict[int, tuple[Layout, Layout]] = {}

    def undo(self) -> None:
        """Be as before the simulation began: nobody is placed."""
        self.counting.undo()
        self.fleet.undo()
        self.ground.undo()

    def run(self) -> None:
        """Run the queue down; who is left in it has no place."""
        if self.scene.promised:
            self._keep_promises()
        queue = self.queue
        failed = 0
        stuck: dict[int, tuple[int, int, int]] = {}
        while queue and failed < len(queue):
            pod, level = queue.popleft()
            ask = self._ask(pod, level)
            known = stuck.get(ask.number)
            is_stuck = known is not None and known == self._stamp(ask)
            if not is_stuck and self._place(ask, pod):
                failed = 0
                continue
            stuck[ask.number] = self._stamp(ask)
            if level < levels_of(pod, has_soft_taints=self.has_soft_taints):
                queue.append((pod, level + 1))
                failed = 0
            else:
                queue.append((pod, level))
                failed += 1

    def _keep_promises(self) -> None:
        """Put where they were promised to go all who may; one may make way for another."""
        promised = self.scene.promised
        rows = _first_rows(site.name for site in self.ground.standing)
        started = _first_rows(machine.name for machine in self.fleet.all)
        pods = {pod.key: pod for pod, _ in self.queue}
        waiting = [pods[key] for key in in_turn(pods, promised)]
        for _ in range(oracle.ROUNDS_KEPT_MAX):
            places = ((pod, promised[pod.key]) for pod in waiting)
            waiting = [
                pod
                for pod, name in places
                if not self._is_kept(pod, rows.get(name), started.get(name))
            ]
        self.queue = deque(one for one in self.queue if one[0].key not in self.placements)

    def _is_kept(self, pod: Pod, row: int | None, started: int | None) -> bool:
        """Put it there at the least cost to what it prefers. A row comes before a machine."""
        if row is None and started is None:
            return False
        for level in range(levels_of(pod, has_soft_taints=self.has_soft_taints) + 1):
            ask = self._ask(pod, level)
            if ask.is_too_large or self._is_taken(ask):
                continue
            layout = self.layout(ask)
            if row is not None:
                if self.finder.takes(row, ask, layout):
                    return self._stand(row, ask, pod)
            elif started is not None and self._fill(started, ask, pod, self._watching(ask, layout)):
                return True
        return False

    def _sorted(self, pods: Iterable[Pod]) -> list[tuple[Pod, Ask]]:
        """Those that may run at all, the largest first."""
        found = []
        for pod in pods:
            ask = self._ask(pod, 0)
            own = self._own.get(ask.number)
            if own is None:
                own = self._own[ask.number] = judge.own_refusals(ask.wish)
            if own:
                self.refused[pod.key] = own
            else:
                found.append((oracle.order_of(pod, ask.wish), pod, ask))
        return [(pod, ask) for _, pod, ask in sorted(found, key=lambda one: one[0])]

    def _watched(self, asks: Iterable[Ask]) -> tuple[Term, ...]:
        """As ``company.watched_by``, each role being asked once."""
        found: dict[Hashable, Term] = {}
        for ask in asks:
            terms = self._spread_among.get(ask.role)
            if terms is None:
                terms = tuple((one.content, one) for one in watched_by((ask.wish,)))
                self._spread_among[ask.role] = terms
            for content, term in terms:
                found.setdefault(content, term)
        return tuple(found.values())

    def _ask(self, pod: Pod, level: int) -> Ask:
        return self.crowd.ask(pod, level)

    def _stamp(self, ask: Ask) -> tuple[int, int, int]:
        """While this stays, a class that found no place finds none."""
        return (len(self.fleet) + self._labelled, self.counting.holders, self.layout(ask).version)

    def layout(self, ask: Ask) -> Layout:
        """Return what others have to say to a class, kept up to date from now on."""
        known = self._now.get(ask.number)
        if known is None or known[0] != self.counting.holders:
            self.counting.meet(ask.person)
            holders = self.counting.holders
            potential = self._potentials.get(ask.number)
            if potential is None:
                potential = self._potentials[ask.number] = self._potential(ask)
            role = (ask.role, potential)
            kept = self._layouts.get(role)
            if kept is None or kept[0] != holders:
                layout = self.counting.layout(ask, dict(potential))
                kept = self._layouts[role] = (holders, layout)
            self.counting.follow(kept[1])
            known = self._now[ask.number] = (holders, kept[1])
        return known[1]

    def _watching(self, ask: Ask, layout: Layout) -> Layout:
        """What machines to come are asked with: they are narrowed down for who is watched."""
        known = self._wide.get(id(layout))
        if known is None or known[0] is not layout:
            watched = self.counting.watched(ask)
            wide = self.counting.with_watched(layout, watched) if watched else layout
            self.counting.follow(wide)
            known = self._wide[id(layout)] = (layout, wide)
        return known[1]

    def _potential(self, ask: Ask) -> Potential:
        """Where a machine for this class may yet be opened, by the keys that it is spread over."""
        keys = sorted({spread.key for spread in ask.wish.spreads})
        found: dict[str, set[int]] = {}
        for shape, flags in self.openings(ask) if keys else ():
            for key in keys:
                found.setdefault(key, set()).update(self.fitting.values(key, shape, flags))
        return tuple((key, tuple(sorted(numbers))) for key, numbers in sorted(found.items()))

    def openings(self, ask: Ask) -> Iterator[tuple[Shape, Flags]]:
        """Yield what a machine for this class may be opened as, whatever the limits leave."""
        for template in () if ask.is_too_large else self.templates:
            base = self.shapes.of(template.requirements)
            row = self.daemons[id(template)] + ask.row
            for way in ask.wish.musts if self.fitting.may_be_on(ask, template) else ():
                shape = self.shapes.with_way(base, self.shapes.way(way), way)
                if shape is not None:
                    flags = self.flags[id(template)] & shape.types & self.types.have_room(row)
                    if flags.any():
                        yield shape, flags

    def _place(self, ask: Ask, pod: Pod) -> bool:
        if ask.is_too_large or self._is_taken(ask):
            return False
        layout = self.layout(ask)
        if self._place_standing(ask, pod, layout):
            return True
        layout = self._watching(ask, layout)
        return self._place_opened(ask, pod, layout) or self._place_new(ask, pod, layout)

    def _is_taken(self, ask: Ask) -> bool:
        """A claim that is for one pod only may have one already, wherever that pod is."""
        if not ask.wish.needs:
            return False
        wanted = [need.claim for need in ask.wish.needs if need.is_exclusive]
        namespace = ask.wish.pod.namespace
        return any(
            self.ground.is_claimed(namespace, claim)
            or any(
                pod.namespace == namespace and claim in claims_of(pod)
                for machine in self.fleet.all
                for pod in machine.pods
            )
            for claim in wanted
        )

    def _place_standing(self, ask: Ask, pod: Pod, layout: Layout) -> bool:
        at = self.finder.first(ask, layout) if self.ground.count else NONE
        return at != NONE and self._stand(at, ask, pod)

    def _stand(self, at: int, ask: Ask, pod: Pod) -> bool:
        self.ground.put(at, ask)
        self.counting.put_standing(at, ask.person)
        return self._promised(ask, pod, self.ground.standing[at].name)

    def _place_opened(self, ask: Ask, pod: Pod, layout: Layout) -> bool:
        count = len(self.fleet)
        if not count:
            return False
        found = self.fleet.has_room(ask)
        if not self.fitting.suits_any(ask):
            found &= self.suit(ask)
        for domains in layout.domains:
            allowed = layout.allowed(domains)
            if domains.key == names.HOSTNAME:
                found &= allowed[self.fleet.hosts[:count]]
                continue
            or_nowhere = not layout.needs_domain(domains.key)
            found &= self.fleet.may_lie(domains, allowed, or_nowhere=or_nowhere)
        return any(self._fill(at, ask, pod, layout) for at in self.fleet.emptiest_first(found))

    def _fill(self, at: int, ask: Ask, pod: Pod, layout: Layout) -> bool:
        """Let the machine take the pod, if it can."""
        became = self.fitting.fit(ask, layout, self.fleet.all[at])
        if became is None:
            return False
        machine = self.fleet.own(at)
        self._put(at, machine, ask, pod, became)
        return self._promised(ask, pod, machine.name)

    def suit(self, ask: Ask) -> Flags:
        """Return which machines could become what the pod wants, shape by shape."""
        verdicts = self._suited.get(ask.kind)
        if verdicts is None:

            def suits(number: int) -> bool:
                shape = self.shapes.all[number]
                ways = self.fitting.ways(ask)
                return any(self.shapes.with_way(shape, at, way) is not None for at, way in ways)

            verdicts = self._suited[ask.kind] = Verdicts(suits)
        return verdicts.of(self.fleet.shapes[: len(self.fleet)])

    def _place_new(self, ask: Ask, pod: Pod, layout: Layout) -> bool:
        for template in self.templates:
            is_enough = self._made[template.provisioner] == template.machines_max
            if is_enough or not self.fitting.tolerates(ask, template):
                continue
            machine = self._next(template, name_of(self.fleet.new))
            became = self.fitting.fit(ask, layout, machine)
            if became is not None:
                at = self.fleet.open(machine)
                self._put(at, machine, ask, pod, became)
                self._spend(template, machine.flags)
                self._made[template.provisioner] += 1
                return self._promised(ask, pod, machine.name)
        return False

    def _next(self, base: Template | Started, name: str) -> Machine:
        flags = self.flags[id(base)].copy()
        if isinstance(base, Template):
            for resource, most in self.remaining[base.provisioner].items():
                flags &= self._capacity_of(resource) <= most
        shape = self.shapes.of(base.requirements)
        machine = Machine(name, base, shape, flags, self.daemons[id(base)])
        machine.host = self.counting.domains(names.HOSTNAME).of(name)
        return machine

    def _is_limited(self, base: Template | Started) -> bool:
        """What the first pod has left of the types is counted against the limits."""
        return bool(self.remaining.get(base.provisioner))

    def _capacity_of(self, resource: str) -> Amounts:
        found = self._capacity.get(resource)
        if found is None:
            listed = [one.capacity.get(resource, 0) for one in self.types.all]
            found = self._capacity[resource] = np.array(listed, dtype=np.int64)
        return found

    def _spend(self, template: Template, flags: Flags) -> None:
        limits = self.remaining[template.provisioner]
        for name in limits:
            largest = int(self._capacity_of(name)[flags].max())
            limits[name] = resources.subtract({name: limits[name]}, {name: largest})[name]

    def _put(
        self, at: int, machine: Machine, ask: Ask, pod: Pod, became: tuple[Shape, Flags]
    ) -> None:
        is_reshaped = became[0] is not machine.shape
        self._labelled += is_reshaped and became[0].has_more_labels(machine.shape)
        machine.shape, machine.flags = became
        if not machine.pods and self._is_limited(machine.base):
            machine.may_be = machine.flags
        machine.row = machine.row + ask.row
        machine.asks.append(ask)
        machine.pods.append(pod)
        machine.held += ask.wish.held
        narrowed = self.fleet.refresh(at)
        self.counting.put_on(machine, ask.person, narrowed, is_reshaped=is_reshaped)

    def _promised(self, ask: Ask, pod: Pod, where: str) -> bool:
        self.placements[pod.key] = where
        if ask.wish.given_up:
            self.given_up[pod.key] = ask.wish.given_up
        return True


def _first_rows(called: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for at, name in enumerate(called):
        found.setdefault(name, at)
    return found
