"""Lists: what matches, page by page. All pages of a list are of one moment."""

import base64
import re
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

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
NOT_OLDER = "NotOlderThan"
MATCHES = ("Exact", NOT_OLDER, "")
NUMBER = re.compile("[-+]?[0-9]+")
LONGEST_NUMBER = 20
LAST = "\U0010ffff"
"""Greater than any name."""
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
        number(params.get("limit", "")),
        params.get("continue", ""),
        params.get("resourceVersion", ""),
        params.get("resourceVersionMatch", ""),
    )
    number(params.get("timeoutSeconds", ""))  # No list takes so long, but it must be one.
    errors = contradictions(asked)
    if "sendInitialEvents" in params:
        errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if errors:
        raise refusals.invalid("meta.k8s.io", "ListOptions", "", errors)
    if asked.token and asked.version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    return asked


def contradictions(asked: Question) -> list[FieldError]:
    field = "resourceVersionMatch"
    if not asked.match:
        return []
    errors = list[FieldError]()
    if not asked.version:
        errors.append(forbidden(field, f"{field} is forbidden unless resourceVersion is provided"))
    if asked.token:
        errors.append(forbidden(field, f"{field} is forbidden when continue is provided"))
    if asked.match not in MATCHES:
        errors.append(unsupported(field, asked.match, MATCHES))
    if asked.match == "Exact" and asked.version == "0":
        errors.append(forbidden(field, f'{field} "exact" is forbidden for resourceVersion "0"'))
    return errors


def number(text: str) -> int:
    """As Go reads one of 64 bits."""
    if not text:
        return 0
    if not NUMBER.fullmatch(text):
        raise bad_request(f'strconv.ParseInt: parsing "{text[:40]}": invalid syntax')
    if len(text) > LONGEST_NUMBER or not -(2**63) <= int(text) < 2**63:
        raise bad_request(f'strconv.ParseInt: parsing "{text[:40]}": value out of range')
    return int(text)


class Lists:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._moments: OrderedDict[tuple[str, int], list[Item]] = OrderedDict()

    def page(self, kind: Kind, asked: Question) -> Page:
        shelf = self._store.shelf(kind.shelf)
        items, version, start = self._moment(kind, shelf, asked)
        onwards = items[bisect_left(items, start, key=path_of) :] if start else items
        matching = (item for item in onwards if wanted(item, asked))
        shown = list(islice(matching, asked.limit if asked.limit > 0 else None))
        if not 0 < asked.limit <= len(shown):
            return Page(shown, version)
        rest = left_after(shown[-1], items, asked)
        if not rest:
            return Page(shown, version)
        self._remember(kind, version, items)
        token = encode_token(Token(TOKEN_VERSION, version, f"{path_of(shown[-1])}\0"))
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


def left_after(last: Item, items: list[Item], asked: Question) -> int:
    """Selectors are not looked at ahead: what is left may be nothing that they let pass."""
    end = len(items)
    if asked.namespace:
        end = bisect_left(items, f"{asked.namespace}/{LAST}", key=path_of)
    return end - bisect_right(items, path_of(last), key=path_of)


def path_of(item: Item) -> str:
    return "/".join(item.key)


def version_number(text: str) -> int:
    if not is_version(text):
        raise bad_request(f"invalid resource version: {unreadable_version(text)}")
    return int(text or 0)


def is_version(text: str) -> bool:
    return not text or (is_digits(text) and len(text) <= LONGEST_NUMBER and int(text) < 2**64)


def is_digits(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def unreadable_version(text: str) -> Refusal:
    """What the real server takes for its own failure, though the request is to blame."""
    why = "value out of range" if is_digits(text) else "invalid syntax"
    error = invalid("resourceVersion", text, f'strconv.ParseUint: parsing "{text}": {why}')
    return Refusal(500, "", str(error))


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
        raise bad_token("it is not one that this server has made") from None
    if token.v != TOKEN_VERSION:
        raise bad_token(f'server does not recognize this encoded version "{token.v[:40]}"')
    if token.rv == 0:
        raise bad_token(f"incorrect encoded start resourceVersion (version {TOKEN_VERSION})")
    return token


def bad_token(why: str) -> Refusal:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")
