"""Nodes emptied for maintenance: who leaves when, to which places, and what that costs."""
