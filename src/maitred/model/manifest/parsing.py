"""Text to documents: JSON or YAML, one object or a list of them, each with its kind and where it stood.

An object in JSON stays raw bytes until its kind is known, so that a dump of a large cluster is scanned here
and decoded once, into the lean struct of its kind.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from maitred.model.manifest.errors import InputError, field_error
from maitred.model.manifest.yamltext import YamlError
from maitred.model.manifest.yamltext import values as yaml_values
from maitred.model.meta import Lean

LARGEST_SOURCE = 2 * 2**30
DEEPEST_LIST = 5
LONGEST_TITLE = 320
LARGEST_SECOND_TRY = 2**24
"""What starts like JSON and is not is tried as YAML up to this size; more would take minutes to refuse."""

_FLOW = re.compile(rb"\s*[{\[]")
_LIKE_JSON = re.compile(rb'\s*[{\[]\s*["{}\[\]]')
_AT_BYTE = re.compile(r"(?:JSON is malformed: )?(.*) \(byte (\d+)\)")
_SEPARATOR = re.compile(rb"---\s*")
_TRAILING = "trailing characters"
_TOO_DEEP = "nested too deep"
_CUT = "Input data was truncated"

# Maps from string to string: there the API reads null as the empty string, everywhere else as absent.
_STRING_MAPS = ("labels", "annotations", "nodeSelector", "matchLabels")


class Envelope(Lean, frozen=True):
    """What says of which kind an object is, and the items if it is a list."""

    api_version: str | None = None
    kind: str | None = None
    items: list[msgspec.Raw] | None = None


class PlainEnvelope(Envelope, frozen=True):
    items: list[Any] | None = None


class ObjectName(Lean, frozen=True):
    namespace: str | None = None
    name: str | None = None


class Named(Lean, frozen=True):
    metadata: ObjectName = ObjectName()


_ENVELOPE = msgspec.json.Decoder(Envelope)
_NAMED = msgspec.json.Decoder(Named)


@dataclass(frozen=True, slots=True)
class Document:
    """One object, not yet decoded: raw JSON, or the value of a YAML document."""

    source: str
    place: str
    api_version: str
    kind: str
    body: Any

    @property
    def title(self) -> str:
        """What to call the object in a message: `Pod ns/name`, or where it stood if it has no name."""
        if not self.kind:
            return self.place
        try:
            plain = isinstance(self.body, dict)
            named = msgspec.convert(self.body, Named) if plain else _NAMED.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            named = Named()
        name = "/".join(name for name in (named.metadata.namespace, named.metadata.name) if name)
        sensible = named.metadata.name and len(name) <= LONGEST_TITLE
        return f"{self.kind} {name}" if sensible else f"{self.kind} in {self.place}"

    def plain(self, nulls: bool = False) -> dict[str, Any]:
        """The object as dicts and lists, without nulls unless they are wanted."""
        try:
            body = self.body if isinstance(self.body, dict) else msgspec.json.decode(self.body)
            return body if nulls else without_nulls(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(self.source, self.place, "", json_words(error)) from None


class JsonError(Exception):
    """Not JSON; `cut` when it is the beginning of some."""

    def __init__(self, what: str, cut: bool) -> None:
        super().__init__(what)
        self.cut = cut


def documents(data: bytes, source: str) -> Iterator[Document]:
    """Every object in the text, lists unfolded."""
    for position, (envelope, body) in enumerate(parts(data, source), 1):
        if body is not None:
            yield from unfolded(envelope, Document(source, f"document {position}", "", "", body), 0)


def unfolded(envelope: Envelope, found: Document, depth: int) -> Iterator[Document]:
    """The document with its kind, or each item if it is a list; `found` has the kind of items without one."""
    source, place = found.source, found.place
    kind, version = envelope.kind or found.kind, envelope.api_version or found.api_version
    if not (kind == "List" or (kind.endswith("List") and envelope.items is not None)):
        yield Document(source, place, version, kind, found.body)
        return
    if depth == DEEPEST_LIST:
        raise InputError(source, place, "items", f"lists are nested more than {DEEPEST_LIST} deep")
    kind, version = ("", "") if kind == "List" else (kind.removesuffix("List"), version)
    for position, item in enumerate(envelope.items or ()):
        inner = Document(source, f"{place}, items[{position}]", version, kind, item)
        yield from unfolded(envelope_of(inner), inner, depth + 1)


def envelope_of(found: Document) -> Envelope:
    body = found.body
    try:
        if isinstance(body, msgspec.Raw | memoryview):
            return _ENVELOPE.decode(body)
        return msgspec.convert(body, PlainEnvelope)
    except msgspec.ValidationError as error:
        problem = field_error(error, None, Envelope)
        raise InputError(found.source, found.place, problem.field, problem.what) from None
    except UnicodeDecodeError as error:
        raise InputError(found.source, found.place, "", json_words(error)) from None


def parts(data: bytes, source: str) -> Iterator[tuple[Envelope, Any]]:
    """The documents of the text: raw JSON, or plain values."""
    if len(data) > LARGEST_SOURCE:
        raise InputError(source, "", "", f"larger than {LARGEST_SOURCE // 2**30} GiB")
    data = utf8(data, source)
    like_json, refusal = _LIKE_JSON.match(data), None
    if _FLOW.match(data):
        try:
            yield from list(json_parts(data, source))
            return
        except JsonError as error:
            refusal = InputError(source, "", "", str(error))
            if like_json and (error.cut or len(data) > LARGEST_SECOND_TRY):
                raise refusal from None
    try:
        for position, value in enumerate(yaml_values(data), 1):
            found = Document(source, f"document {position}", "", "", {} if value is None else value)
            yield envelope_of(found), value
    except YamlError as error:
        raise (like_json and refusal) or InputError(source, "", "", str(error)) from None


def json_parts(data: bytes, source: str) -> Iterator[tuple[Envelope, memoryview]]:
    """JSON values one after the other, as kubectl and jq write them."""
    rest, position = memoryview(data), 1
    while rest:
        found = Document(source, f"document {position}", "", "", rest)
        try:
            yield envelope_of(found), rest
            return
        except msgspec.DecodeError as error:
            what, at = at_byte(error)
            if what != _TRAILING:
                raise json_error(error, data, len(data) - len(rest) + at) from None
        except RecursionError:
            raise JsonError(_TOO_DEEP, cut=True) from None
        # The byte that is named is the one after the first that is too much.
        value, rest = rest[: at - 1], rest[at - 1 :]
        yield envelope_of(Document(source, found.place, "", "", value)), value
        separator = _SEPARATOR.match(rest)
        rest, position = rest[separator.end() if separator else 0 :], position + 1


def at_byte(error: Exception) -> tuple[str, int]:
    match = _AT_BYTE.fullmatch(str(error))
    return (match[1], int(match[2])) if match else (str(error), 0)


def json_error(error: Exception, data: bytes, at: int) -> JsonError:
    if str(error) == _CUT:
        lines = data.count(b"\n") + 1
        place = f"in line {lines}, after {len(data):,} bytes"
        return JsonError(f"the JSON ends in the middle, {place}; was it cut off?", cut=True)
    line = data.count(b"\n", 0, at) + 1
    column = at - data.rfind(b"\n", 0, at)
    return JsonError(f"line {line}, column {column}: not valid JSON: {at_byte(error)[0]}", cut=False)


def json_words(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    return _TOO_DEEP if isinstance(error, RecursionError) else f"not valid JSON: {at_byte(error)[0]}"


def utf8(data: bytes, source: str) -> bytes:
    """Some shells write UTF-16, and some editors a mark in front."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16").encode()
        except UnicodeError:
            raise InputError(source, "", "", "neither UTF-8 nor UTF-16 text") from None
    return data.removeprefix(b"\xef\xbb\xbf")


def without_nulls(value: Any, key: str = "") -> Any:
    """Explicit nulls left out, as the API reads them."""
    if isinstance(value, dict):
        null = "" if key in _STRING_MAPS else None
        filled = ((k, null if v is None else v) for k, v in value.items())
        return {k: without_nulls(v, k) for k, v in filled if v is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
