"""Readers of what others have recorded: from the bytes of a file to jobs, nodes and causes of faults."""
