"""Events: stored in their older form (core v1), served in that and in the newer one (events.k8s.io/v1)."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid, required
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

UNCHANGING = ("involvedObject", "reason", "message", "type", "eventTime", "action", "related")
LONGEST_WORD = 128
LONGEST_MESSAGE = 1024


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

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        fixed = (error for name in UNCHANGING for error in immutable(name, new.get(name), old.get(name)))
        return [*super().check(new), *fixed]


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


EVENTS = EventStrategy()
STRICT_EVENTS = StrictEventStrategy()
