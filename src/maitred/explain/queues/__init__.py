"""What queues may have and what they have: `maitred queues`."""
