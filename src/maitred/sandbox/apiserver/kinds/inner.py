"""Values as the API server has them within itself, which is how some of its messages show them."""

from collections.abc import Mapping
from typing import Any

from maitred.sandbox.apiserver.schema.types import Body

SHORT_WORDS = ("api", "uid", "seL")


def inner(value: Body | None, fields: Mapping[str, Any]) -> Body | None:
    """All `fields` in this order, under their inner names; they come with what they are when not set."""
    return None if value is None else {inner_name(key): value.get(key, no) for key, no in fields.items()}


def inner_name(key: str) -> str:
    for word in SHORT_WORDS:
        if key.startswith(word):
            return word.upper() + key[len(word) :]
    return key[:1].upper() + key[1:]
