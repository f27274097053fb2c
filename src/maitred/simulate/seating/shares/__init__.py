"""Lone pods that take whole devices or a share of one: three rules for which node and which device.

For comparison, and in simulations only. `least-loss` is maitred's own rule; the others are those of the
literature that it is measured against.
"""
