"""Queues over a snapshot: the tree, who is in which queue, and what each of them uses."""
