"""Nodes that only pretend: ordinary clients of the API that do what kubelets do, and refuse what they refuse.

What a pod takes and where it may run is worked out here anew, and not by the code that schedulers of ours
use, so that a mistake over there shows as a pod that is refused over here.
"""
