"""Accounts of queues, by number."""

NO_ACCOUNT = 0
"""Of pods that are in no queue."""
