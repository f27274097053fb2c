"""Figures that others have published, computed anew on maitred's own loop."""
