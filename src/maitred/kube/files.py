"""Reading files that a configuration names: bounded, and in words when it fails."""

import errno
import os

LARGEST = 16 * 2**20


def content(path: str) -> bytes:
    """Raises OSError, also for a file that is too large to be a configuration."""
    with open(path, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(errno.EFBIG, f"larger than {LARGEST // 2**20} MiB")
    return data


def why(error: OSError) -> str:
    what = error.strerror or str(error)
    return what[:1].lower() + what[1:]


def beside(file: str, path: str) -> str:
    """Relative paths in a configuration start at the file that has them."""
    return os.path.join(os.path.dirname(os.path.abspath(file)), path)
