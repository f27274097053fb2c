"""How a change that is not allowed is shown to whoever tried it."""

import difflib
import json

from maitred.sandbox.apiserver.schema.types import Body


def difference(old: Body, new: Body) -> str:
    """Line by line. The server compares the objects as it has them in memory, here they are as they are sent."""
    before, after = (json.dumps(body, indent=1, sort_keys=True).splitlines() for body in (old, new))
    lines = difflib.unified_diff(before, after, lineterm="")
    return "".join(f"{line.rstrip() if line.startswith(('---', '+++')) else line}\n" for line in lines)
