"""Does the engine's judge find bound pods where they may be?"""

from collections import Counter

import msgspec

from tests import builders
from tests.sim.clusters.worlds import decoded, generate
from unmoor.cloud.catalogue import ec2_types
from unmoor.engine import company, oracle
from unmoor.engine.refusal import Constraint, Refusal
from unmoor.engine.scenery import scene_of
from unmoor.engine.sites import Standing
from unmoor.engine.wish import levels_of, wish_of
from unmoor.model import kinds
from unmoor.model.pod import Pod
from unmoor.model.snapshot import View
from unmoor.sim.clusters.mix import hard

UNDONE = {Constraint.SPREAD, Constraint.POD_AFFINITY}
"""What may have held before the cluster was scaled down, and is asked of a new pod only."""


def refusals(pod: Pod, view: View) -> tuple[Refusal, ...]:
    """What speaks against a bound pod where it is, if it had to be put there again."""
    scene = scene_of(view, ec2_types(), placing=[pod.key])
    sites = [Standing(place, view) for place in scene.places]
    (here,) = (site for site in sites if site.name == pod.node_name)
    pending = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=""))
    level = levels_of(pending, has_soft_taints=True)
    wish = wish_of(pending, view, level, has_soft_taints=True)
    return oracle.standing_refusals(wish, company.company_of(wish, view, sites, {}), here)


def test_nothing_speaks_against_where_pods_are() -> None:
    said = Counter[Constraint]()
    asked = 0
    for seed in range(12):
        objects = generate(hard(seed))
        some = sorted({ref.kind for ref, _ in objects} & kinds.KINDS.keys())
        everything = [one for kind in some for one in decoded(objects, kinds.KINDS[kind])]
        view = View.of(*everything, identity=builders.IDENTITY)
        for pod in decoded(objects, kinds.PODS):
            if pod.node_name and not pod.is_daemon:
                said.update(one.constraint for one in refusals(pod, view))
                asked += 1

    assert said.keys() <= UNDONE
    assert said.total() < asked / 20
    assert asked > 100
