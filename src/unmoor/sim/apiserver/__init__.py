"""How does an API server behave? One in memory, on raw JSON, deterministic.

``Server`` is the whole of it; ``sim.direct`` and the HTTP face are two doors to the same room.

Must not: know who calls, or act on its own.
"""

from unmoor.sim.apiserver.server import Listing, Server
from unmoor.sim.apiserver.storage import Entry, Observer
from unmoor.sim.apiserver.watch import Watch

__all__ = ["Entry", "Listing", "Observer", "Server", "Watch"]
