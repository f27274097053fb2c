"""Overrides, as people ask for them and see them."""
