"""The few controllers that a bare API server lacks, as ordinary clients of it.

They take the place of kube-controller-manager where there is none, so they do what it does, in its words,
and hold nothing that they could not read again from the server after a crash.
"""
