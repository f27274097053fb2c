"""Traces that are not ours to ship: read where they are, and missed with a word where they are not."""

import pytest

from benchmarks.anchors.data import data_folder

FOLDER = data_folder()


def shared(name: str) -> bytes:
    file = FOLDER / name
    if not file.is_file():
        pytest.skip(f"{name} is not there; MAITRED_DATA names the folder of traces")
    return file.read_bytes()
