"""How a change that is not allowed is shown to whoever tried it."""

import difflib
import json
from itertools import islice

from maitred.sandbox.apiserver.schema.types import Body

HEADER = 2
"""Lines that name the two sides, which have no names here."""


def difference(old: Body, new: Body) -> str:
    """Line by line. The server shows objects as it has them within itself, here they are as on the wire."""
    before, after = (json.dumps(body, indent=1, sort_keys=True).splitlines() for body in (old, new))
    lines = difflib.unified_diff(before, after, lineterm="")
    return "".join(f"{line}\n" for line in islice(lines, HEADER, None))
