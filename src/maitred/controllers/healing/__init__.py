"""Failures, as they are decided about: remembered first, then carried out and told."""
