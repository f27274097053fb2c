"""What is unwell in a cluster, which groups that hurts, and in which family each fault belongs."""
