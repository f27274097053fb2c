"""How many examples a property gets: a count for the ``ci`` profile, in proportion for others."""

from hypothesis import settings

_USUAL = 100


def examples(count: int) -> settings:
    """``@examples(300)``: three times as many as the profile says, 300 under ``ci``."""
    usual = settings().max_examples
    return settings(max_examples=count * usual // _USUAL)
