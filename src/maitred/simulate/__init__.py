"""Discrete-event runs of the same decisions over days of virtual time."""
