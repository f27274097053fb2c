"""Patches: the type that is declared decides how one is read."""

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.media import CUSTOM_PATCHES, JSON_PATCH, MERGE_PATCH, PATCHES
from maitred.sandbox.apiserver.patching.jsonpatch import json_patch, merge_patch
from maitred.sandbox.apiserver.patching.strategic import strategic_merge_patch
from maitred.sandbox.apiserver.receiving import parse_json
from maitred.sandbox.apiserver.refusals import Refusal
from maitred.sandbox.apiserver.schema.types import Body


def patched(kind: Kind, body: Body, data: bytes, media: str) -> Body:
    """`body` is a copy that may be changed."""
    known = CUSTOM_PATCHES if kind.is_custom else PATCHES
    if media not in known:
        raise refusals.unsupported_media(known) if kind.is_custom else refusals.unknown_patch()
    try:
        patch = parse_json(data)
    except Refusal:
        raise refusals.bad_request("invalid JSON patch") from None
    if media == JSON_PATCH:
        return json_patch(body, patch)
    if media == MERGE_PATCH:
        return merge_patch(body, patch)
    whole = strategic_merge_patch(body, patch, kind.type)
    # What it says of the type goes unheard: the server knows that already.
    return {**whole, "apiVersion": kind.api_version, "kind": kind.name}
