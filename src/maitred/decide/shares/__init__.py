"""Shares of devices: what is left of them is worth as much as the pods that are to be expected could use."""
