"""In which order are promised places taken?

Must not: know why they were promised.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heapreplace

from unmoor.model.base import Key


def in_turn(queue: Iterable[Key], promised: Mapping[Key, str]) -> Iterator[Key]:
    """Yield who was promised a place: those of each place as they were put there, so that nobody
    finds there whom he did not meet then; of who is next at each place the first in the queue.
    """
    order = {key: at for at, key in enumerate(queue) if key in promised}
    lines: dict[str, deque[Key]] = {}
    for key in promised:
        if key in order:
            lines.setdefault(promised[key], deque()).append(key)
    heads = [(order[line[0]], name) for name, line in lines.items()]
    heapify(heads)
    while heads:
        _, name = heads[0]
        line = lines[name]
        yield line.popleft()
        if line:
            heapreplace(heads, (order[line[0]], name))
        else:
            heappop(heads)
