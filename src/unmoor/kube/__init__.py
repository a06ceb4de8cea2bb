"""How do we speak to the API server?

The Kubernetes port over HTTP: client, list and watch, credentials, patches.

May import: runtime and below.
Must not: know any other adapter, decide anything.
"""
