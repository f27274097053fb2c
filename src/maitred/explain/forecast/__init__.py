"""When a group will start: ranges, with what they rest on.

What the answers are made of is in `estimate`, apart from how they are found.
"""
