"""Events: stored in their older form (core v1), served in that and in the newer one (events.k8s.io/v1)."""

from collections.abc import Iterator
from typing import Any

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid, required
from maitred.sandbox.apiserver.kinds.inner import inner
from maitred.sandbox.apiserver.kinds.metadata import immutable
from maitred.sandbox.apiserver.kinds.names import check_name, label_key
from maitred.sandbox.apiserver.kinds.strategy import Strategy
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

OBJECT = dict.fromkeys(("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"), "")
SOURCE = {"component": "", "host": ""}
TYPES = ("Normal", "Warning")
LONGEST_WORD = 128
LONGEST_MESSAGE = 1024
UNSET = "needs to be unset"


def to_stored(body: Body) -> Body:
    """From the newer form."""
    stored = {OLDER_NAMES.get(key, key): value for key, value in body.items()}
    return {**stored, "apiVersion": "v1", **{key: stored.get(key, "") for key in NAMED}}


def from_stored(body: Body) -> Body:
    """To the newer form."""
    named = {NEWER_NAMES.get(key, key): value for key, value in body.items() if key not in NAMED or value}
    return {**named, "apiVersion": "events.k8s.io/v1"}


class EventStrategy(Strategy):
    """Events come in their stored form, however they were sent: the server's messages speak of that."""

    reporter = "reportingComponent"

    def check(self, body: Body) -> list[FieldError]:
        if body.get("eventTime"):
            return [*check_namespace_of_new(body), *self.check_reporter(body), *check_words(body)]
        return list(check_namespace_of_old(body))

    def check_reporter(self, body: Body) -> Iterator[FieldError]:
        name = body.get("reportingComponent", "")
        if not name:
            yield required(self.reporter)
        yield from check_name(self.reporter, name, label_key)


class StrictEventStrategy(EventStrategy):
    """For those that are sent in the newer form, which has rules that the older had not."""

    reporter = "reportingController"

    def check(self, body: Body) -> list[FieldError]:
        return [*super().check(body), *check_series(body), *check_newness(body)]

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        errors = super().check(new)
        if new.get("series") != old.get("series"):
            errors += check_series(new)
        return [*errors, *check_unchanged(new, old)]


def check_namespace_of_old(body: Body) -> Iterator[FieldError]:
    namespace, involved = namespaces(body)
    allowed = (involved,) if involved else ("", "default")
    if namespace not in allowed:
        yield invalid("involvedObject.namespace", involved, "does not match event.namespace")


def check_namespace_of_new(body: Body) -> Iterator[FieldError]:
    namespace, involved = namespaces(body)
    if not involved and namespace not in ("default", "kube-system"):
        yield invalid("involvedObject.namespace", involved, "does not match event.namespace")


def namespaces(body: Body) -> tuple[str, str]:
    involved = body.get("involvedObject", {})
    return body["metadata"].get("namespace", ""), involved.get("namespace", "")


def check_words(body: Body) -> Iterator[FieldError]:
    for name in ("reportingInstance", "action", "reason"):
        word = body.get(name, "")
        if not word:
            yield required(name)
        yield from check_length(name, word, LONGEST_WORD)
    yield from check_length("message", body.get("message", ""), LONGEST_MESSAGE)


def check_length(name: str, text: str, limit: int) -> Iterator[FieldError]:
    if len(text.encode()) > limit:
        yield invalid(name, "", f"can have at most {limit} characters")


def check_series(body: Body) -> Iterator[FieldError]:
    series = body.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def check_newness(body: Body) -> Iterator[FieldError]:
    if not body.get("eventTime"):
        yield required("eventTime")
    kind = body.get("type", "")
    if kind not in TYPES:
        yield invalid("type", "", f"has invalid value: {kind}")
    for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if body.get(name):
            yield invalid(name, "", UNSET)


def check_unchanged(new: Body, old: Body) -> Iterator[FieldError]:
    after, before = unchanging(new), unchanging(old)
    for name, value in after.items():
        yield from immutable(name, value, before[name])


def unchanging(body: Body) -> dict[str, Any]:
    """What no update may change, as the messages show it."""
    return {
        "involvedObject": inner(body.get("involvedObject", {}), OBJECT),
        "reason": body.get("reason", ""),
        "message": body.get("message", ""),
        "source": inner(body.get("source", {}), SOURCE),
        "firstTimestamp": body.get("firstTimestamp"),
        "lastTimestamp": body.get("lastTimestamp"),
        "count": body.get("count", 0),
        "type": body.get("type", ""),
        "eventTime": body.get("eventTime"),
        "action": body.get("action", ""),
        "related": inner(body.get("related"), OBJECT),
        "reportingController": body.get("reportingComponent", ""),
        "reportingInstance": body.get("reportingInstance", ""),
    }


EVENTS = EventStrategy()
STRICT_EVENTS = StrictEventStrategy()
