"""Where a scheduler has its ledger, if nobody says so."""

import os
import re
from pathlib import Path

NONE = "none"
"""Said for `--ledger`, where there is to be none: an environment variable that is empty counts as not set."""


def default_ledger(server: str, shadow: bool) -> str:
    """A file for each cluster, by the address of its API server: a ledger of two would be a bill of none."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    place = re.sub(r"[^A-Za-z0-9.-]+", "-", server.partition("://")[2]).strip("-")
    return str(Path(base) / "maitred" / place / ("shadow.db" if shadow else "ledger.db"))
