"""Queues of other schedulers as a Policy: what is taken over, and in words what is not."""
