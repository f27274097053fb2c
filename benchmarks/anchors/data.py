"""Where others' traces and published figures are. They are not part of the project."""

import os
from pathlib import Path

BESIDE = Path(__file__).parents[3] / "shared" / "data"


def data_folder() -> Path:
    """What MAITRED_DATA names, or else the folder `shared/data` beside the repository. It may be absent."""
    return Path(os.environ.get("MAITRED_DATA") or BESIDE)
