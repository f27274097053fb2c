"""Keeps the record of a scheduler: what it sees, what it is asked and what it decides, in files of a ring."""
