"""Lists: what matches, page by page. All pages of a list are of one moment."""

import base64
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, invalid, unsupported
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.refusals import Refusal, bad_request
from maitred.sandbox.apiserver.selectors import Test, matcher
from maitred.sandbox.apiserver.store import Item, Shelf, Store

REMEMBERED = 64
"""Lists whose further pages can still be asked for."""
TOKEN_VERSION = "meta.k8s.io/v1"
MATCHES = ("Exact", "NotOlderThan")
COMPACTED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter."
)


class Token(msgspec.Struct):
    """Where the next page begins, as the client hands it back."""

    v: str
    rv: int
    start: str


@dataclass(frozen=True, slots=True)
class Page:
    items: list[Item]
    version: int
    token: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """Which objects, of which moment, and how many of them at a time."""

    namespace: str
    test: Test | None
    limit: int
    token: str
    version: str
    match: str


def question(kind: Kind, namespace: str, params: Mapping[str, str]) -> Question:
    asked = Question(
        namespace,
        matcher(kind, params.get("labelSelector", ""), params.get("fieldSelector", "")),
        number(params.get("limit", ""), "limit"),
        params.get("continue", ""),
        params.get("resourceVersion", ""),
        params.get("resourceVersionMatch", ""),
    )
    errors = contradictions(asked)
    if errors:
        raise refusals.invalid("meta.k8s.io", "ListOptions", "", errors)
    return asked


def contradictions(asked: Question) -> list[FieldError]:
    field = "resourceVersionMatch"
    if not asked.match:
        return []
    if asked.match not in MATCHES:
        return [unsupported(field, asked.match, MATCHES)]
    if not asked.version:
        return [forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided")]
    if asked.token:
        return [forbidden(field, "resourceVersionMatch is forbidden when continue is provided")]
    if asked.match == "Exact" and asked.version == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        return [forbidden(field, why)]
    return []


def number(text: str, name: str) -> int:
    try:
        return int(text or 0)
    except ValueError:
        raise bad_request(f'invalid {name} "{text[:40]}": must be a number') from None


class Lists:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._moments: OrderedDict[tuple[str, int], list[Item]] = OrderedDict()

    def page(self, kind: Kind, asked: Question) -> Page:
        shelf = self._store.shelf(kind.shelf)
        items, version, start = self._moment(kind, shelf, asked)
        found = [item for item in items if wanted(item, asked)]
        if start:
            found = [item for item in found if path_of(item) >= start]
        if not 0 < asked.limit < len(found):
            return Page(found, version)
        self._remember(kind, version, items)
        shown, rest = found[: asked.limit], len(found) - asked.limit
        token = encode_token(Token(TOKEN_VERSION, version, f"{path_of(shown[-1])}\0"))
        # A selector is not looked at ahead, so the real server cannot count what is left.
        return Page(shown, version, token, rest if asked.test is None else None)

    def _moment(self, kind: Kind, shelf: Shelf, asked: Question) -> tuple[list[Item], int, str]:
        """Everything as of the moment that is asked for, and where in it to begin."""
        if asked.token:
            token = decode_token(asked.token)
            return self._at(kind, shelf, token.rv, COMPACTED), token.rv, token.start
        version = version_number(asked.version)
        if version > self._store.version:
            raise too_large_version(version, self._store.version)
        if asked.match == "Exact" or (asked.limit and version and not asked.match):
            old = f"The provided resource version is too old: {version}"
            return self._at(kind, shelf, version, old), version, ""
        return shelf.ordered(), self._store.version, ""

    def _at(self, kind: Kind, shelf: Shelf, version: int, gone: str) -> list[Item]:
        known = self._moments.get((kind.shelf, version))
        if known is not None:
            return known
        newest = shelf.history.changes[-1].version if shelf.history.changes else shelf.history.since
        if newest <= version <= self._store.version:
            return shelf.ordered()
        if version < shelf.history.since:
            raise refusals.expired(gone)
        return past(shelf, version)

    def _remember(self, kind: Kind, version: int, items: list[Item]) -> None:
        self._moments[kind.shelf, version] = items
        self._moments.move_to_end((kind.shelf, version))
        while len(self._moments) > REMEMBERED:
            self._moments.popitem(last=False)


def past(shelf: Shelf, version: int) -> list[Item]:
    """The objects as they were: the changes since, undone."""
    items = {item.key: item for item in shelf}
    for change in reversed(shelf.history.changes):
        if change.version <= version:
            break
        if change.before is None:
            del items[change.last.key]
        else:
            items[change.last.key] = change.before
    return sorted(items.values(), key=path_of)


def wanted(item: Item, asked: Question) -> bool:
    if asked.namespace and item.key.namespace != asked.namespace:
        return False
    return asked.test is None or asked.test(item.body)


def path_of(item: Item) -> str:
    return "/".join(item.key)


def version_number(text: str) -> int:
    if text and not text.isdecimal():
        error = invalid("resourceVersion", text, f'strconv.ParseUint: parsing "{text}": invalid syntax')
        raise refusals.invalid("meta.k8s.io", "ListOptions", "", [error])
    return int(text or 0)


def too_large_version(asked: int, newest: int) -> Refusal:
    refusal = Refusal(
        504, "Timeout", f"Timeout: Too large resource version: {asked}, current: {newest}", retry_after=1
    )
    refusal.details["causes"] = [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    return refusal


def encode_token(token: Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def decode_token(text: str) -> Token:
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        token = msgspec.json.decode(data, type=Token)
    except (ValueError, msgspec.DecodeError):
        raise bad_request("continue key is not valid: illegal base64 data or encoding") from None
    if token.v != TOKEN_VERSION:
        raise bad_request("continue key is not valid: server does not recognize this encoded version")
    return token
