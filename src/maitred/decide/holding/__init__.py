"""Holds for groups that wait: a planned place and time, and what others may do beside it."""
