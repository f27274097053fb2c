"""The ways to change an object in part, and who owns which field of it afterwards."""
