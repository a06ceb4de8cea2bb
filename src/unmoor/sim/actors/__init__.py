"""Who else lives in the cluster: machines, kubelets, scheduler and controllers, as plain actors.

Each actor speaks to the API port only, so the same code plays in virtual time against the embedded
server and in real time against a real one (there only machines and kubelets, which it has not).

Must not: know unmoor. They do what the real ones do, and what they do not do is said in each.
"""
