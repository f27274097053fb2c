"""Text as Go writes it in messages."""

import msgspec


def quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
