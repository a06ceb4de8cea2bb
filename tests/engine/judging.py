"""Is a plan feasible? The oracle's own judgements, asked pod by pod in the order of the plan.

Whoever found the plan, and however: what it promises must be what the judge lets through.
"""

from __future__ import annotations

from collections.abc import Iterable

from unmoor.engine import oracle
from unmoor.engine.oracle import Fit, Run
from unmoor.engine.plan import Plan
from unmoor.engine.scene import Scene
from unmoor.engine.sites import Opened, Standing
from unmoor.model.base import Key
from unmoor.model.pod import Pod


def problems(scene: Scene, plan: Plan, pods: Iterable[Pod]) -> list[str]:
    """Return what is wrong with a plan, [] when each pod may run where it is put."""
    run, by_key = Run(scene), {pod.key: pod for pod in pods}
    run.watch(by_key.values())
    standing = {site.name: site for site in run.standing}
    opened = {site.name: site for site in run.opened}
    planned = {one.name: one for one in plan.machines}
    templates = {one.provisioner: one for one in scene.templates}
    found = []
    for key, where in plan.placements.items():
        if where in planned and where not in opened:
            machine = run.next_machine(templates[planned[where].provisioner])
            opened[where] = machine
            machine.name = where
        site = standing.get(where) or opened[where]
        found += _placed(run, by_key[key], site, key, len(plan.given_up.get(key, ())))
        if isinstance(site, Opened) and site not in run.opened:
            run.opened.append(site)
    for name, base in templates.items():
        made = sum(machine.provisioner == name for machine in plan.machines)
        if base.machines_max is not None and made > base.machines_max:
            found.append(f"{made} machines of {name}, not {base.machines_max} at most")
    for name, one in planned.items():
        left = {kind.name for kind in opened[name].types}
        if not set(one.instance_types) <= left:
            found.append(f"{name} names {one.instance_types}, of which only {left} would do")
        if one.requirements != opened[name].requirements:
            found.append(f"{name} requires {one.requirements}, not {opened[name].requirements}")
    return found


def _placed(run: Run, pod: Pod, site: Standing | Opened, key: Key, level: int) -> list[str]:
    wish = run.wish(pod, level)
    company = run.company(wish)
    if isinstance(site, Standing):
        against = oracle.standing_refusals(wish, company, site)
        site.put(wish)
        return [f"{key} on {site.name}: {one}" for one in against]
    fits = oracle.fit(wish, company, site)
    if not isinstance(fits, Fit):
        return [f"{key} on {site.name}: {one}" for one in fits]
    site.put(wish, fits.requirements, fits.types)
    return []
