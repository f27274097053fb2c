"""Manifests to objects: what kubectl writes and people type, refused in plain words where wrong. No I/O."""

from maitred.model.manifest.errors import InputError
from maitred.model.manifest.parsing import LARGEST_SOURCE, Document, documents
from maitred.model.manifest.reader import Reader
from maitred.model.manifest.settings import read_live_policy, read_plan, read_policy, read_settings

__all__ = [
    "LARGEST_SOURCE",
    "Document",
    "InputError",
    "Reader",
    "documents",
    "read_live_policy",
    "read_plan",
    "read_policy",
    "read_settings",
]
