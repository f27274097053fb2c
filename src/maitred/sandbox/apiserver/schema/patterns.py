"""Patterns in definitions of custom kinds, read as Go reads them.

A pattern is whatever a user wrote. With RE2, as with Go, its time grows with the text and no faster, so none
takes for ever; Python's own expressions try all ways there are, one after the other.
"""

from functools import lru_cache
from typing import Any, Final

import re2  # type: ignore[import-untyped]

REMEMBERED: Final = 512
"""Patterns that are kept ready."""
_IN_WORDS_OF_GO: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}


class BadPattern(ValueError):
    """In the words of the API server."""


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    return options


_OPTIONS: Final = _options()


@lru_cache(maxsize=REMEMBERED)
def compiled(pattern: str) -> Any:
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        raise BadPattern(_words(error.args[0].decode(errors="replace"))) from None


def matches(pattern: str, text: str) -> bool:
    """Whether it is found anywhere in the text."""
    return compiled(pattern).search(text) is not None


def _words(problem: str) -> str:
    what, _, where = problem.partition(": ")
    return f"error parsing regexp: {_IN_WORDS_OF_GO.get(what, what)}: `{where}`"
