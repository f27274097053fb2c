"""Preemption: which pods to evict so that a group of higher rank can be seated, and at what cost."""
