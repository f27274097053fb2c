"""Patches: the type that is declared decides how one is read."""

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.patching.jsonpatch import json_patch
from maitred.sandbox.apiserver.patching.mergepatch import merge_patch
from maitred.sandbox.apiserver.patching.strategic import strategic_merge_patch
from maitred.sandbox.apiserver.receiving import parse_json
from maitred.sandbox.apiserver.refusals import Refusal
from maitred.sandbox.apiserver.schema.types import Body

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
KNOWN = (JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY)


def patched(kind: Kind, body: Body, data: bytes, media: str) -> Body:
    """`body` is a copy that may be changed."""
    known = [name for name in KNOWN if name != STRATEGIC or not kind.is_custom]
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
    return strategic_merge_patch(body, patch, kind.type)
