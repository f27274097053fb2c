"""How much: the six questions of capacity, and why devices are idle.

Free devices do not say whether the next gang can be placed. `capacity(situation)` asks the engine: it counts
as the engine counts, and whatever it says would happen, the engine has tried. What the answer is made of is
in `document`, apart from how it is found.
"""
