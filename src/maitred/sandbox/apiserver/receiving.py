"""From the bytes of a request to a body that conforms to its type, with its defaults."""

from typing import Any

import msgspec

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.kinds.fielderrors import invalid
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.media import CUSTOM_OBJECTS, OBJECTS, PROTOBUF
from maitred.sandbox.apiserver.refusals import bad_request, unsupported_media
from maitred.sandbox.apiserver.schema.conform import conform
from maitred.sandbox.apiserver.schema.defaults import fill
from maitred.sandbox.apiserver.schema.protobuf import ProtobufError, read_protobuf
from maitred.sandbox.apiserver.schema.scalars import Misfit
from maitred.sandbox.apiserver.schema.types import Body, Struct
from maitred.sandbox.apiserver.store import decode


def parse(data: bytes, media: str, type: Struct) -> Body:
    """What was sent, as an object. Only protobuf needs to know the type."""
    # Definitions have schemas within, and no client of ours sends those in protobuf.
    readable = CUSTOM_OBJECTS if type.custom or type.name.startswith("apiextensions.") else OBJECTS
    if media not in ("", *readable):
        raise unsupported_media(readable)
    if media == PROTOBUF:
        return parse_protobuf(data, type)
    return as_object(parse_json(data))


def parse_protobuf(data: bytes, type: Struct) -> Body:
    try:
        return read_protobuf(data, type)
    except ProtobufError as error:
        raise bad_request(str(error)) from None


def parse_json(data: bytes) -> Any:
    try:
        return decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request(f"the object provided is unrecognized (must be of type JSON): {error}") from None


def as_object(value: Any) -> Body:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad_request("the object provided is unrecognized (must be a JSON object)")
    return value


def conformed(kind: Kind, body: Body, call: Call) -> Body:
    """The body as the kind has it. What does not belong to it is dropped, with a warning or a refusal."""
    check_type(kind, body)
    call.warnings += kind.strategy.understand(body)
    disowned = has_no_owners(body)
    try:
        unknown = conform(body, kind.type)
    except Misfit as misfit:
        raise bad_request(
            f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: {misfit}'
        ) from None
    if unknown:
        report_unknown(kind, unknown, call)
    body["apiVersion"], body["kind"] = kind.api_version, kind.name
    body.setdefault("metadata", {})
    if disowned:
        body["metadata"]["managedFields"] = []
    fill(body, kind.type)
    kind.strategy.set_defaults(body)
    return body


def has_no_owners(body: Body) -> bool:
    """To say so is to start anew with them, which is not the same as to say nothing."""
    metadata = body.get("metadata")
    return isinstance(metadata, dict) and metadata.get("managedFields") == []


def check_type(kind: Kind, body: Body) -> None:
    version, name = body.get("apiVersion") or kind.api_version, body.get("kind") or kind.name
    if kind.is_custom:
        check_custom_type(kind, body)
    if version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({kind.api_version})"
        )
    if name != kind.name and kind.is_custom:
        error = invalid("kind", name, f"must be {kind.name}")
        raise refusals.invalid(kind.group, name, body.get("metadata", {}).get("name", ""), [error])
    if name != kind.name:
        raise bad_request(f"the kind in the data ({name}) does not match the expected kind ({kind.name})")


def check_custom_type(kind: Kind, body: Body) -> None:
    """An object of a custom kind has to say what it is."""
    if not body.get("kind"):
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind.name}): Object 'Kind' is missing"
        )
    if not body.get("apiVersion"):
        raise bad_request(
            f"the API version in the data () does not match the expected API version ({kind.api_version})"
        )


def report_unknown(kind: Kind, unknown: list[str], call: Call) -> None:
    words = [f'unknown field "{path}"' for path in unknown]
    if call.validation == "Strict":
        listed = ", ".join(words)
        raise bad_request(
            f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: '
            f"strict decoding error: {listed}"
        )
    if call.validation == "Warn":
        call.warnings += words
