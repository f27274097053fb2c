"""Nodes emptied by request: what was decided is written down and carried out."""
