"""Preemption: whom to make leave so that a group of higher rank can be seated, and at what cost."""
