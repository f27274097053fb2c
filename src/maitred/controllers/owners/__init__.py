"""Owners of pods that were suspended to make room, and their return."""
