"""unmoor takes Kubernetes nodes out of service safely, and only when it is worth it.

A view of the world and a moment go in; a step comes out. The packages below each answer one
question, and imports point down only:

    app -> sim | kube | cloud | host -> runtime -> lifecycle -> policy -> engine -> model

This module holds the version and nothing else, so that importing it is free.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
