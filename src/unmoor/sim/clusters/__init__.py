"""Which clusters do we test on? Realistic ones, hard ones and the public benchmark's, from a seed.

What comes out is plain JSON, as an API server stores it. ``generator.generate`` makes a cluster of
a :class:`~unmoor.sim.clusters.mix.Mix`, which says how often each constraint occurs; ``census``
counts them again, from the objects alone.

A new constraint is a ``Kind`` in ``mix``, a function in one of ``of_nodes``, ``of_neighbours``,
``of_itself`` and ``volumes``, and how one sees it in ``census``. If it decides where a pod may be,
``placing`` or ``neighbours`` must keep to it.

Parts that objects have in common are shared between them: whoever changes one copies it first.

Must not: run anything, or know the engine that will be tested on it.
"""
