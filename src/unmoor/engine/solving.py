"""Where do these pods go, and with which machines? The one question that others ask the engine.

The fast engine answers, with machines made cheaper where that is in nobody's way. numpy is loaded
when the first question comes, not before.

Must not: know how.
"""

from __future__ import annotations

from collections.abc import Iterable

from unmoor.engine.plan import Plan
from unmoor.engine.scene import Scene
from unmoor.model.pod import Pod


def solve(scene: Scene, pods: Iterable[Pod]) -> Plan:
    """Return a plan that the oracle finds feasible, and that costs no more than the oracle's.

    Never raises for what an API object says: a pod that means nothing is refused by field and
    value, and no other pod is planned differently for it.
    """
    from unmoor.engine.bulk import greedy  # noqa: PLC0415 - numpy takes a tenth of a second

    return greedy.solve(scene, pods, is_improved=True)
