"""The Job controller: the pods of a Job, and an account of them that survives a crash at any moment."""
