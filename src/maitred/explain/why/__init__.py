"""Why a group waits, why it rather than another, why a pod had to leave: answers for those who ask.

What the answers are made of is in `answer`, apart from how they are found: whoever asks a scheduler for one
need not wait for the engine to be loaded.
"""
