"""Events: stored in their older form (core v1), served in that and in the newer one (events.k8s.io/v1)."""

from maitred.sandbox.apiserver.schema.types import Body

OLDER_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
NEWER_NAMES = {older: newer for newer, older in OLDER_NAMES.items()}
NAMED = ("reportingComponent", "reportingInstance")
"""Shown also where they are empty, but only in the older form."""


def to_stored(body: Body) -> Body:
    """From the newer form."""
    stored = {OLDER_NAMES.get(key, key): value for key, value in body.items()}
    return {**stored, "apiVersion": "v1", **{key: stored.get(key, "") for key in NAMED}}


def from_stored(body: Body) -> Body:
    """To the newer form."""
    named = {NEWER_NAMES.get(key, key): value for key, value in body.items() if key not in NAMED or value}
    return {**named, "apiVersion": "events.k8s.io/v1"}
