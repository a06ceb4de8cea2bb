"""Where do these pods go? The reference: plain, and slow where it has to be.

Whom an earlier plan has promised a place goes there, as far as that still takes them. Then the
largest pods first; each to the first standing node that takes it, else to the opened machine with
the fewest pods, else to a new machine of the heaviest provisioner that can have it (spec 9.3, 9.4).
A pod that finds no place gives up one preference and goes to the end of the queue. When a whole
round has neither placed a pod nor given anything up, what is left is refused.

The fast engine's greedy answer equals this one, and whatever it improves is judged by the same
functions.

Must not: be clever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain

import msgspec

from unmoor.engine import blame, judge
from unmoor.engine import company as companies
from unmoor.engine.company import Company, Potential, Site
from unmoor.engine.defaulted import by_default, no_type, with_all_types
from unmoor.engine.held import collisions
from unmoor.engine.limits import Left
from unmoor.engine.plan import NewMachine, Plan, name_of
from unmoor.engine.pricing import cheapest_first
from unmoor.engine.refusal import (
    STOCK,
    Constraint,
    Refusal,
    Refusals,
    at_place,
    distance,
    distance_of_offer,
    excess,
)
from unmoor.engine.scene import Scene, Template
from unmoor.engine.selection import Term
from unmoor.engine.sites import Opened, Standing, types_left, values_of
from unmoor.engine.turns import in_turn
from unmoor.engine.wish import Wish, levels_of, wish_of
from unmoor.model import names, resources
from unmoor.model.base import Key
from unmoor.model.instance import InstanceType
from unmoor.model.pod import Pod
from unmoor.model.requirement import IN, Requirement, Requirements
from unmoor.model.resources import CPU, MEMORY, Resources

_NEVER = datetime.max.replace(tzinfo=UTC)
ROUNDS_KEPT_MAX = 3
"""So many times promised places are tried: the first of two pods may be let in by the second."""


class Fit(msgspec.Struct, frozen=True):
    """What a machine is narrowed down to when it takes a pod."""

    requirements: Requirements
    types: tuple[InstanceType, ...]


def solve(scene: Scene, pods: Iterable[Pod]) -> Plan:
    """Place ``pods``. Never raises: a pod that means nothing is refused by field and value."""
    return Run(scene).solve(pods)


def order_of(pod: Pod, wish: Wish) -> tuple[int, int, datetime, str]:
    """The largest first, then the oldest (spec 9.3). ``wish``: of the pod, or of an equal one."""
    created = pod.metadata.creation_timestamp or _NEVER
    requests = wish.requests
    return (-requests.get(CPU, 0), -requests.get(MEMORY, 0), created, pod.uid)


def standing_refusals(wish: Wish, company: Company, site: Standing) -> Refusals:
    """Return every reason against a pod on a standing node; () means it may run there."""
    return (
        *judge.node_refusals(wish, site.place),
        *judge.attach_refusals(wish.needs, site.attached, site.place.volume_room),
        *collisions(wish.held, site.held),
        *judge.room_refusals(wish.requests, site.free),
        *companies.site_refusals(company, site),
    )


def fit(wish: Wish, company: Company, machine: Opened) -> Fit | Refusals:
    """Return what the machine becomes when it takes the pod, or why it does not."""
    against = (
        *judge.base_refusals(wish, machine.base),
        *collisions(wish.held, machine.held),
        *company.taken,
    )
    if against:
        return against
    refused: Refusals = wish.no_way
    for way in wish.ways:
        found = _fit(wish, company, machine, way)
        if isinstance(found, Fit):
            return found
        refused = refused or found
    return refused


def _fit(wish: Wish, company: Company, machine: Opened, way: Requirements) -> Fit | Refusals:
    conflict = machine.requirements.first_incompatibility(way, undefined=names.WELL_KNOWN_LABELS)
    if conflict is not None:
        return (Refusal(Constraint.REQUIREMENTS, conflict.key, str(conflict)),)
    requests = resources.add(machine.requests, wish.requests)
    wanted = machine.requirements.intersection(way)
    types = types_left(machine.types, wanted, requests)
    if not types:
        return (no_type(machine.types, wanted, requests),)
    found: Fit | Refusals = Fit(wanted, types)
    for key in company.keys:
        if isinstance(found, Fit):
            found = _in_a_domain(company, machine, found, key, requests)
    return found


def _in_a_domain(
    company: Company, machine: Opened, so_far: Fit, key: str, requests: Resources
) -> Fit | Refusals:
    """Narrow a machine down to domains of ``key`` in which nobody minds the pod."""
    is_host = key == names.HOSTNAME
    wanted, types = so_far.requirements, so_far.types
    domains = machine.domains(key) if is_host else values_of(key, wanted, types)
    if not domains:
        if not company.needs_domain(key):
            return so_far
        return (company.no_domain(key, "a new node has no known value for it"),)
    ranked = sorted(domains, key=lambda domain: company.rank(key, domain))
    allowed = [domain for domain in ranked if not company.refusals(key, domain)]
    if not allowed:
        return company.refusals(key, *ranked)
    pins = company.pins(key)
    if is_host or (len(allowed) == len(domains) and not pins):
        return so_far
    for choice in [(one,) for one in allowed] if pins else [tuple(allowed)]:
        narrowed = wanted.intersection(_one_of(key, *choice))
        left = types_left(types, narrowed, requests)
        if left:
            return Fit(narrowed, left)
    return (no_type(types, wanted, requests),)


def _one_of(key: str, *values: str) -> Requirements:
    return Requirements.all_of((Requirement.of(key, IN, values),))


class Run:
    """One simulation: what has been promised so far."""

    def __init__(self, scene: Scene) -> None:
        """Start with the scene as it stands."""
        self.scene = scene
        self.standing = [Standing(place, scene.view) for place in scene.places]
        self.opened = [Opened(one.name, one, one.types) for one in scene.started]
        self.remaining = {one.provisioner: one.remaining for one in scene.templates}
        self.has_soft_taints = scene.has_soft_taints
        self.watched: tuple[Term, ...] = ()
        self.placements: dict[Key, str] = {}
        self.given_up: dict[Key, tuple[str, ...]] = {}

    def solve(self, pods: Iterable[Pod]) -> Plan:
        """Run the queue down."""
        refused: dict[Key, Refusals] = {}
        first = {pod.key: self.wish(pod, 0) for pod in pods}
        for key, wish in first.items():
            if own := judge.own_refusals(wish):
                refused[key] = own
        sound = (one for key, one in first.items() if key not in refused)
        queue = deque(sorted(sound, key=lambda wish: order_of(wish.pod, wish)))
        self.watched = companies.watched_by(queue)
        self._keep_promises(queue)
        failed = 0
        while queue and failed < len(queue):
            wish = queue.popleft()
            if self._place(wish):
                failed = 0
            elif wish.level < levels_of(wish.pod, has_soft_taints=self.has_soft_taints):
                queue.append(self.wish(wish.pod, wish.level + 1))
                failed = 0
            else:
                queue.append(wish)
                failed += 1
        refused |= {wish.pod.key: self.explain(wish) for wish in queue}
        return Plan(
            placements=self.placements,
            machines=tuple(self._machines()),
            refused=refused,
            given_up=self.given_up,
        )

    def _keep_promises(self, queue: deque[Wish]) -> None:
        """Put where they were promised to go all who may; one may make way for another."""
        for _ in range(ROUNDS_KEPT_MAX):
            wishes = {wish.pod.key: wish for wish in queue}
            waiting = [wishes[key] for key in in_turn(wishes, self.scene.promised)]
            kept = {wish.pod.key for wish in waiting if self._kept(wish)}
            left = [wish for wish in queue if wish.pod.key not in kept]
            queue.clear()
            queue.extend(left)

    def _kept(self, wish: Wish) -> bool:
        """There it gives up whatever it has to, rather than have another machine made."""
        name = self.scene.promised[wish.pod.key]
        sites: Iterator[Standing | Opened] = chain(self.standing, self.opened)
        site = next((one for one in sites if one.name == name), None)
        levels = range(levels_of(wish.pod, has_soft_taints=self.has_soft_taints) + 1)
        wishes = (self.wish(wish.pod, level) for level in levels)
        return site is not None and any(self._put(one, self.company(one), site) for one in wishes)

    def watch(self, pods: Iterable[Pod]) -> None:
        """Know whom these pods are spread among; those that may not run at all do not matter."""
        wishes = (self.wish(pod, 0) for pod in pods)
        sound = (one for one in wishes if not judge.own_refusals(one))
        ordered = sorted(sound, key=lambda wish: order_of(wish.pod, wish))
        self.watched = companies.watched_by(ordered)

    def wish(self, pod: Pod, level: int) -> Wish:
        """Return what a pod wants that has given up ``level`` preferences."""
        return wish_of(pod, self.scene.view, level, has_soft_taints=self.has_soft_taints)

    @property
    def sites(self) -> list[Site]:
        """Everything where a pod may be."""
        return [*self.standing, *self.opened]

    def company(self, wish: Wish) -> Company:
        """Return what all others have to say to a pod as things stand."""
        potential = self._potential(wish)
        return companies.company_of(wish, self.scene.view, self.sites, potential, self.watched)

    def _potential(self, wish: Wish) -> Potential:
        """Where a machine for this pod may yet be opened, by the keys that it is spread over."""
        keys = {spread.key for spread in wish.spreads}
        found: dict[str, frozenset[str]] = {}
        for template in self.scene.templates if keys else ():
            for way in wish.musts if self._may_open(template, wish) else ():
                if not template.requirements.compatible(way, undefined=names.WELL_KNOWN_LABELS):
                    continue
                wanted = template.requirements.intersection(way)
                requests = resources.add(template.daemons, wish.requests)
                types = types_left(template.types, wanted, requests)
                for key in sorted(keys) if types else ():
                    new = frozenset((companies.NEW_HOST,))
                    values = new if key == names.HOSTNAME else values_of(key, wanted, types)
                    found[key] = found.get(key, frozenset()) | values
        return found

    def _may_open(self, template: Template, wish: Wish) -> bool:
        against = collisions(wish.held, template.held) or judge.base_refusals(wish, template)
        return template.machines_max != 0 and not against

    def may_have_one_more(self, template: Template) -> bool:
        """True when there is to be another machine of this provisioner, whatever its limits say."""
        most = template.machines_max
        made = (one for one in self.opened if not one.is_started)
        return most is None or sum(one.provisioner == template.provisioner for one in made) < most

    def _place(self, wish: Wish) -> bool:
        company = self.company(wish)
        order = sorted(range(len(self.opened)), key=lambda at: (len(self.opened[at].pods), at))
        opened = (self.opened[at] for at in order)
        sites: Iterator[Standing | Opened] = chain(self.standing, opened)
        if any(self._put(wish, company, site) for site in sites):
            return True
        for template in filter(self.may_have_one_more, self.scene.templates):
            machine = self.next_machine(template)
            found = fit(wish, company, machine)
            if isinstance(found, Fit):
                machine.put(wish, found.requirements, found.types)
                self.opened.append(machine)
                self._spend(template, found.types)
                return self._promised(wish, machine.name)
        return False

    def _put(self, wish: Wish, company: Company, site: Standing | Opened) -> bool:
        """Let the pod be there, if it may."""
        if isinstance(site, Standing):
            if standing_refusals(wish, company, site):
                return False
            site.put(wish)
            return self._promised(wish, site.name)
        found = fit(wish, company, site)
        if not isinstance(found, Fit):
            return False
        site.put(wish, found.requirements, found.types)
        return self._promised(wish, site.name)

    def _promised(self, wish: Wish, where: str) -> bool:
        self.placements[wish.pod.key] = where
        if wish.given_up:
            self.given_up[wish.pod.key] = wish.given_up
        return True

    def next_machine(self, template: Template) -> Opened:
        """Return what a provisioner would launch next, without pods."""
        remaining = self.remaining[template.provisioner]
        types = (
            one
            for one in template.types
            if all(one.capacity.get(name, 0) <= most for name, most in remaining.items())
        )
        return Opened(self._next_name(), template, tuple(types))

    def _next_name(self) -> str:
        return name_of(sum(not one.is_started for one in self.opened))

    def _spend(self, template: Template, types: Iterable[InstanceType]) -> None:
        """The largest that it may become counts against the limits."""
        largest = resources.largest(*(one.capacity for one in types))
        limits = self.remaining[template.provisioner]
        spent = {name: largest.get(name, 0) for name in limits}
        self.remaining[template.provisioner] = resources.subtract(limits, spent)

    def explain(self, wish: Wish) -> Refusals:
        """Return why the pod has no place: what each provisioner says, the nearest first.

        A node or machine that says less than any of them comes before.
        """
        company = self.company(wish)
        offers = sorted(self._offers(wish, company), key=distance_of_offer)
        there = min(self._answers(wish, company), key=distance, default=None)
        if there is not None and (not offers or distance(there) < min(map(distance, offers))):
            offers.insert(0, there)
        if not offers:
            nothing = "there is no node, and no provisioner that could launch one"
            return (Refusal(Constraint.PROVISIONER, "", nothing),)
        return tuple(chain.from_iterable(offers))

    def _offers(self, wish: Wish, company: Company) -> list[Refusals]:
        """What provisioners say; those that the pod itself leaves out do not matter."""
        called = [one.provisioner for one in self.scene.templates]
        if called and (unknown := blame.no_such_provisioner(wish, called)) is not None:
            return [(unknown,)]
        return [
            at_place(one.provisioner, self._template_refusals(wish, company, one))
            for one in blame.meant_by(wish, self.scene.templates)
        ]

    def _answers(self, wish: Wish, company: Company) -> Iterator[Refusals]:
        for machine in self.opened:
            found = fit(wish, company, machine)
            if not isinstance(found, Fit):  # One that was made cheaper may have room by now.
                yield at_place(machine.name, found)
        for site in self.standing:
            yield at_place(site.name, standing_refusals(wish, company, site))

    def _template_refusals(self, wish: Wish, company: Company, template: Template) -> Refusals:
        if template.problem:
            subject = STOCK if template.is_in_order else template.provisioner
            return (Refusal(Constraint.PROVISIONER, subject, template.problem),)
        # What no limit would change comes first: who raises a limit for nothing is not helped.
        machine = Opened(self._next_name(), template, template.types)
        found = fit(wish, company, machine)
        if not isinstance(found, Fit):
            if any(one.constraint is Constraint.TAINT for one in found):
                # To tolerate a taint is a remedy only where nothing else is in the way.
                bare = msgspec.structs.replace(template, taints=())
                more = self._template_refusals(wish, company, bare)
                return tuple(dict.fromkeys((*found, *more)))
            wider = with_all_types(template)
            still = () if wider is None else self._template_refusals(wish, company, wider)
            return by_default(found, template, wish, still)
        if template.hold is not None and not self.may_have_one_more(template):
            return (Refusal(Constraint.ON_HOLD, template.provisioner, template.hold.words),)
        left = Left(
            provisioner=template.provisioner,
            amounts=self.remaining[template.provisioner],
            limits=template.limits,
            is_on_order=any(one.provisioner == template.provisioner for one in self.opened),
        )
        return min((left.refusals(one.capacity) for one in found.types), key=excess)

    def _machines(self) -> Iterator[NewMachine]:
        for machine in self.opened:
            if machine.is_started:
                continue
            ranked = cheapest_first(machine.types, machine.requirements)
            yield NewMachine(
                name=machine.name,
                provisioner=machine.provisioner,
                requirements=machine.requirements,
                instance_types=tuple(one.type.name for one in ranked),
                requests=machine.requests,
                pods=tuple(pod.key for pod in machine.pods),
                price_usd_per_h=ranked[0].offering.price_usd_per_h,
                price_book=ranked[0].book,
            )
