"""Signals: what the objects of a cluster say about hardware and software that is unwell.

    node_signals(node, closing) -> NodeReport
        What a Node says: its conditions, taints and labels.
    pod_signals(pod, now) -> list[Signal]
        What kubelets and controllers say of a pod: refused, not started, ended, its devices.
    device_signal(node, resource, unwell) -> Signal
        Devices that a node has and does not offer.
    step_times(pods) -> StepTimes, slow_members(times, nodes) -> list[Signal]
        Members whose steps take much longer than those of the others.

Every signal keeps its evidence. A signal says what was seen, not who is to blame: that takes many signals,
and is worked out in `maitred.explain.health`. What nobody knows (a condition of an unknown type, an unknown
XID) is said as such.
"""
