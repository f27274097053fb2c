"""What there is to see in a sandbox: nodes from a short file, stories that happen on them, and faults."""
