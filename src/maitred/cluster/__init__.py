"""The state of a cluster as columns: one writer, frozen snapshots, and trials that can be undone."""
