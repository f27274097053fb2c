"""A gang scheduler for Kubernetes: it starts a whole group of pods, or says what the group waits for.

The package itself imports nothing, so that a command pays only for the layers it uses. Start reading at
`maitred.decide`, which turns a snapshot of the cluster into a Plan; the other layers feed it or read from it.
"""

__version__ = "0.1.0"
