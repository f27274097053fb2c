"""ConfigMaps and Secrets: how they come to be and change."""

import base64
from collections.abc import Iterator, Mapping, Sequence

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, invalid, too_long
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

LARGEST_DATA = 2**20
SEALED = "field is immutable when `immutable` is set"


class ConfigMaps(Strategy):
    def check(self, body: Body) -> list[FieldError]:
        return list(_check_config(body))

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return [*_check_sealed(new, old, ("data", "binaryData")), *self.check(new)]


class Secrets(Strategy):
    def set_defaults(self, body: Body) -> None:
        """Plain text is for writers only: it is stored, and read, as data."""
        for key, text in body.pop("stringData", {}).items():
            body.setdefault("data", {})[key] = base64.b64encode(text.encode()).decode()

    def check(self, body: Body) -> list[FieldError]:
        return [too_long("data", LARGEST_DATA)] if _size(body.get("data", {})) > LARGEST_DATA else []

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return [*_check_sealed(new, old, ("data",)), *self.check(new)]


CONFIG_MAPS = ConfigMaps()
SECRETS = Secrets()


def _check_sealed(new: Body, old: Body, names: Sequence[str]) -> Iterator[FieldError]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden("immutable", SEALED)
    for name in names:
        if new.get(name) != old.get(name):
            yield forbidden(name, SEALED)


def _check_config(body: Body) -> Iterator[FieldError]:
    data, binary = body.get("data", {}), body.get("binaryData", {})
    for key in data:
        if key in binary:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    size = sum(len(text.encode()) for text in data.values()) + _size(binary)
    if size > LARGEST_DATA:
        # So the server writes a path without parts.
        yield too_long("[]", LARGEST_DATA)


def _size(data: Mapping[str, str | None]) -> int:
    """Of what is encoded, without decoding it."""
    return sum(len(text) * 3 // 4 - text.count("=", -2) for text in data.values() if text)
