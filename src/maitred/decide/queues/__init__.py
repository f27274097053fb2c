"""What the queues of the policy mean for a decision: who is admitted, who goes first, who may be evicted."""
