"""How a process that is an API server, and little else, should look for garbage."""

import gc

THRESHOLDS = (10_000, 20, 100)


def expect_much_to_stay() -> None:
    """Objects are trees of dicts, and nearly all that a write makes of them stays.

    As Python looks for garbage by default, after every 700 new ones, a third of the time that a bind takes
    goes into it. This is for a whole process, so a server that shares it with others does not do it itself.
    """
    gc.set_threshold(*THRESHOLDS)
