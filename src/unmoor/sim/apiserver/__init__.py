"""How does an API server behave? One in memory, on raw JSON, deterministic.

``Server`` is the whole of it; ``sim.direct`` and the HTTP face are two doors to the same room.

How particular it is, ``Manners`` say: a rehearsal keeps no managedFields before somebody applies,
stores a built-in field of the wrong type, so that readers meet objects they cannot read, and fills
in only those defaults that somebody here reads.

Left out on purpose: access control, quotas and limit ranges, service accounts, and the protection
finalizers of volumes and claims. An emptied namespace waits for whoever finalizes it: an actor.

Must not: know who calls, or act on its own.
"""

from unmoor.sim.apiserver.server import Listing, Server
from unmoor.sim.apiserver.storage import Entry, Observer
from unmoor.sim.apiserver.terms import BARE, EASY, FAITHFUL, ROOMY, Manners, Terms
from unmoor.sim.apiserver.watch import Watch

__all__ = [
    "BARE",
    "EASY",
    "FAITHFUL",
    "ROOMY",
    "Entry",
    "Listing",
    "Manners",
    "Observer",
    "Server",
    "Terms",
    "Watch",
]
