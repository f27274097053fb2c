"""Devices that drivers publish, what is claimed of them, and the search for those that a claim gets."""
