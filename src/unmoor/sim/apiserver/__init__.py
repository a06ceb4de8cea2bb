"""How does an API server behave? One in memory, on raw JSON, deterministic.

``Server`` is the whole of it; ``sim.direct`` and the HTTP face are two doors to the same room.

Left out on purpose: server-side apply and managedFields, access control, the types of built-in
fields (a wrong one is stored, so that readers meet objects they cannot read), quotas and limit
ranges, service accounts, the protection finalizers of volumes and claims, and defaults that nothing
here reads. An emptied namespace waits for whoever finalizes it.

Must not: know who calls, or act on its own.
"""

from unmoor.sim.apiserver.server import Listing, Server
from unmoor.sim.apiserver.storage import Entry, Observer
from unmoor.sim.apiserver.watch import Watch

__all__ = ["Entry", "Listing", "Observer", "Server", "Watch"]
