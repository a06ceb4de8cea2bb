"""The same answers as the oracle's, for whole clusters: classes, integer rows, numpy in bulk.

Equal pods are one class, equal requirements one shape, equal selections one tally. What does not
depend on how full things are is asked once for each pair of them; what does is compared for all
places at once by conditions that never refuse what the oracle accepts, and the one that is chosen
is then judged exactly.

May import: the oracle's own words and judgements, numpy.
Must not: know a rule that the oracle does not know.
"""
