"""The same is not said at every look, and not for ever forgotten either."""

from __future__ import annotations

from tests.builders import moment
from unmoor.lifecycle import telling
from unmoor.lifecycle.effects import Evict, Publish
from unmoor.model.base import Ref
from unmoor.model.cadence import Cadence
from unmoor.model.settings import Settings
from unmoor.model.snapshot import View

NODE = Ref("Node", "a", uid="1")
HELD = Publish(regarding=NODE, reason="FailedDraining", message="held")
OTHER = Publish(regarding=NODE, reason="FailedDraining", message="something else")
EVICT = Evict(ref=Ref("Pod", "web", namespace="shop", uid="2"))


def test_an_event_is_offered_again_only_after_the_set_time() -> None:
    view = View.of(settings=Settings(cadence=Cadence(event_dedupe_s=60)))
    first, told = telling.once(view, (EVICT, HELD), {}, moment())
    soon, told = telling.once(view, (EVICT, HELD, OTHER), told, moment(59))
    late, _ = telling.once(view, (EVICT, HELD, OTHER), told, moment(60))

    assert first == (EVICT, HELD)
    assert soon == (EVICT, OTHER)
    assert late == (EVICT, HELD)


def test_without_memory_everything_is_offered() -> None:
    kept, _ = telling.once(View(), (HELD, OTHER, HELD), {}, moment())

    assert kept == (HELD, OTHER)


def test_memory_is_bounded_and_forgets_the_oldest() -> None:
    told: dict[Publish, float] = {}
    view = View.of(settings=Settings(cadence=Cadence(event_dedupe_s=1e6)))
    for number in range(telling.TOLD_MAX + 50):
        event = Publish(regarding=NODE, reason="Evicted", message=str(number))
        _, told = telling.once(view, (event,), told, moment(number))

    assert len(told) == telling.TOLD_MAX
    assert min(told.values()) == moment(50).mono
