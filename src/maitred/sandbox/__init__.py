"""Clusters to try things on, on one machine: a real control plane, and nodes that only pretend."""
