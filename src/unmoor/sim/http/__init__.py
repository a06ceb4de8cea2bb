"""How does anybody else reach the embedded API server? Over HTTPS, as kubectl speaks it.

``HttpFace`` puts a port before a ``Server``: paths, parameters, content types, tables, discovery,
schemas. What an object becomes is the server's answer, never this package's.

Left out on purpose: CBOR, answers in protobuf (requests in it are read), and everything that would
need a container (logs, exec, attach, port-forward) or measure one (metrics). Those are refused in
words.

Must not: change an object, or know who plays in the cluster.
"""

from unmoor.sim.http.face import HttpFace
from unmoor.sim.http.target import Asked

__all__ = ["Asked", "HttpFace"]
