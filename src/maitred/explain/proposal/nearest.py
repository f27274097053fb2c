"""What may have been meant by a name that nothing has."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_NAMED = 5


def nearest(name: str, known: Iterable[str]) -> str:
    """What may have been meant, or else what there is."""
    names = sorted(set(known))
    close = get_close_matches(name, names, MOST_NAMED, 0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"there is {', '.join(names[:MOST_NAMED])}{more}" if names else "there is none"
