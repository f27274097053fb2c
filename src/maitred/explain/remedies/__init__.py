"""Remedies: small changes that would get a group scheduled, each of them tried.

`finder` looks for them; each kind of change has a module that knows how to make it and how to say it;
`rehearsal` and `rerun` try it.
"""
