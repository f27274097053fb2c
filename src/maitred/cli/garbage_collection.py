"""How a process that keeps a cluster in memory should look for garbage."""

import gc

THRESHOLDS = (10_000, 20, 100)


def expect_much_to_stay() -> None:
    """What comes in stays, or goes without the collector: objects are trees.

    As Python looks for garbage by default, after every 700 new ones, a third of the time that a bind takes in
    the API server of the sandbox goes into it, and a tenth of a large cycle of the scheduler. This is for a
    whole process, so whoever shares it with others leaves it to them.
    """
    gc.set_threshold(*THRESHOLDS)
