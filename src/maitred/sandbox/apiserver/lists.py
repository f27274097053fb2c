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
from maitred.sandbox.apiserver.kinds.fielderrors import invalid
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.refusals import Refusal, bad_request
from maitred.sandbox.apiserver.selectors import Test, matcher
from maitred.sandbox.apiserver.store import Item, Shelf, Store

REMEMBERED = 64
"""Lists whose further pages can still be asked for."""
TOKEN_VERSION = "meta.k8s.io/v1"
NUMBER = re.compile("[-+]?[0-9]{1,20}")
LONGEST_VERSION = 20
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


def question(kind: Kind, namespace: str, params: Mapping[str, str]) -> Question:
    asked = Question(
        namespace,
        matcher(kind, params.get("labelSelector", ""), params.get("fieldSelector", "")),
        number(params.get("limit", "")),
        params.get("continue", ""),
        params.get("resourceVersion", ""),
    )
    number(params.get("timeoutSeconds", ""))  # No list takes so long, but it must be one.
    read_version(asked.version)
    if asked.token and asked.version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    return asked


def number(text: str) -> int:
    if not text:
        return 0
    if not NUMBER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        raise bad_request(f'strconv.ParseInt: parsing "{text[:40]}": invalid syntax')
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
        """Everything as of now, or as of the first page of a list, and where in it to begin."""
        if asked.token:
            token = decode_token(asked.token)
            known = self._moments.get((kind.shelf, token.rv))
            if known is None:
                raise refusals.expired(COMPACTED)
            return known, token.rv, token.start
        check_version(asked.version, self._store.version)
        return shelf.ordered(), self._store.version, ""

    def _remember(self, kind: Kind, version: int, items: list[Item]) -> None:
        self._moments[kind.shelf, version] = items
        self._moments.move_to_end((kind.shelf, version))
        while len(self._moments) > REMEMBERED:
            self._moments.popitem(last=False)


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


def read_version(text: str) -> int:
    if text and not (text.isascii() and text.isdecimal() and len(text) <= LONGEST_VERSION):
        error = invalid("resourceVersion", text, f'strconv.ParseUint: parsing "{text}": invalid syntax')
        raise bad_request(f"invalid resource version: {error}")
    return int(text or 0)


def check_version(text: str, newest: int) -> None:
    """What is asked for is always as new as can be, but may be asked for as it is not yet."""
    if read_version(text) > newest:
        message = f"Timeout: Too large resource version: {text}, current: {newest}"
        refusal = Refusal(504, "Timeout", message, retry_after=1)
        refusal.details["causes"] = [
            {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        ]
        raise refusal


def encode_token(token: Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def decode_token(text: str) -> Token:
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        token = msgspec.json.decode(data, type=Token)
    except (ValueError, msgspec.DecodeError):
        why = "it is not one that this server has made"
        raise bad_request(f"invalid continue token: continue key is not valid: {why}") from None
    return token
