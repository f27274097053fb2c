"""Documents to model objects, one of each name, and a word about those that are left out."""

from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TypeVar

import msgspec

from maitred.model.group import MARK_PREFIX, MARKS
from maitred.model.job import JOB_NAMES, Job
from maitred.model.kinds import KINDS, OPERATED, Kind, row_of
from maitred.model.manifest import checks
from maitred.model.manifest.errors import FieldError, InputError, field_error
from maitred.model.manifest.parsing import Document, documents
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.operators.pods import MAKERS
from maitred.model.owners import BATCH_JOB, Owner, kind_title, owner_kind, owner_of, owners_of
from maitred.model.pod import Pod
from maitred.model.policy import API_VERSION

T = TypeVar("T")

READ = {(version, row.name): row for row in KINDS for version in row.api_versions}
READ_ELSEWHERE = tuple(
    f"{MARK_PREFIX}{name}"
    for name in (
        "allocated-by",
        "record",
        "seating",
        "suspended",
        "run-seconds",
        "exit-code",
        "start-seconds",
        "step-time",
    )
)
"""What the scheduler notes on objects, what tells the kubelets of the sandbox how pods behave, and how long
the steps of members take, which only their health is about."""
ELSEWHERE = {
    "Policy": "a Policy is given with --policy",
    "Plan": "a Plan is checked with maitred verify --plan",
}


class Reader:
    """Collects the objects of all sources. The same object twice, wherever, is refused. An object of an
    operator or of another scheduler that cannot be read is left out with a warning: it may be newer than we
    are."""

    def __init__(self) -> None:
        self.objects: list[Object] = []
        self._seen: dict[tuple[str, str, str], tuple[str, str]] = {}
        self._skipped: Counter[tuple[str, str]] = Counter()
        self._unknown: Counter[str] = Counter()
        self._notes: list[str] = []

    def read(self, data: bytes, source: str) -> None:
        for document in documents(data, source):
            self.take(document)

    def take(self, document: Document) -> Object | None:
        """The object, decoded and checked; None if it is of a kind that no decision reads."""
        row = READ.get((document.api_version, document.kind))
        try:
            if row is None:
                self._skip(document)
                return None
            return self._take(document, row)
        except FieldError as problem:
            error = InputError(document.source, document.title, problem.field, problem.what)
            if row is None or row not in OPERATED:
                raise error from None
            self.note(f"{error} (ignored)")
            return None

    def _take(self, document: Document, row: Kind) -> Object:
        found = decode(document, row.type)
        checks.check_name(found.metadata)
        if (check := checks.CHECKS.get(row.type)) is not None:
            check(found)
        namespace = found.metadata.namespace or "default" if row.namespaced else ""
        key = (row.title, namespace, found.metadata.name)
        here = (document.source, document.place)
        earlier = self._seen.setdefault(key, here)
        if earlier is not here:
            raise FieldError(
                "metadata.name", f"another object of this name is in {earlier[0]} ({earlier[1]})"
            )
        self.objects.append(found)
        self._unknown.update(
            mark for mark in (*found.metadata.annotations, *found.metadata.labels) if is_unknown_mark(mark)
        )
        return found

    def _skip(self, document: Document) -> None:
        for field, value in (("apiVersion", document.api_version), ("kind", document.kind)):
            if not value:
                raise FieldError(field, "is required")
        if document.api_version == API_VERSION and document.kind in ELSEWHERE:
            raise FieldError("kind", ELSEWHERE[document.kind])
        self._skipped[document.kind, document.api_version] += 1

    def note(self, words: str) -> None:
        """One more warning."""
        self._notes.append(words)

    def warnings(self) -> tuple[str, ...]:
        """One for each kind that was left out, and each mark; the order of the input does not show."""
        if not self.objects and not self._skipped:
            return (*self._notes, "the input has no objects")
        left_out = +(self._skipped + self._owners_without_pods())
        skipped = [skip_words(*key, left_out[key]) for key in sorted(left_out)]
        unknown = [unknown_words(mark, self._unknown[mark]) for mark in sorted(self._unknown)]
        return (*self._notes, *skipped, *unknown)

    def _owners_without_pods(self) -> Counter[tuple[str, str]]:
        """Owners tell what their pods are; by themselves they ask for nothing."""
        owned, found = owners_with_pods(self.objects), Counter[tuple[str, str]]()
        for item in self.objects:
            row = row_of(type(item))
            if row.type in MAKERS or row.serial:
                found[row.name, row.api_versions[0]] += (kind_title(item), key_of(item.metadata)) not in owned
        return found


def owners_with_pods(objects: Iterable[Object]) -> frozenset[Owner]:
    """Owners, by the titles of their kinds and as `namespace/name`, that some pod says it is of: in its owner
    references, or in labels that stay where a dump has lost them. Whoever owns one of those has pods too."""
    found = set[Owner]()
    for item in objects:
        meta = item.metadata
        namespace = meta.namespace or "default"
        names = set(owners_of(meta.labels, owner_of(meta))) if isinstance(item, Pod | Job) else set()
        if isinstance(item, Pod):
            names |= {(BATCH_JOB.title, meta.labels[label]) for label in JOB_NAMES if label in meta.labels}
        elif type(item) in MAKERS and (above := owner_of(meta)) is not None:
            names.add(above)
        found |= {(title, f"{namespace}/{name}") for title, name in names}
    return frozenset(found)


def decode(document: Document, into: type[T]) -> T:
    """Fast as it is; only what fails is looked at again, without its nulls."""
    try:
        if isinstance(document.body, dict):
            return msgspec.convert(document.body, into)
        return msgspec.json.decode(document.body, type=into)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if isinstance(error, msgspec.ValidationError) and "out of range" in str(error):
            # A number that plain values could not hold either.
            raise field_error(error, None, into) from None
    plain = document.plain()
    try:
        return msgspec.convert({"metadata": {}, **plain}, into)
    except msgspec.ValidationError as error:
        raise field_error(error, plain, into) from None


def is_unknown_mark(mark: str) -> bool:
    return mark.startswith(MARK_PREFIX) and mark not in (*MARKS, *READ_ELSEWHERE)


def unknown_words(mark: str, count: int) -> str:
    meant = get_close_matches(mark, MARKS, n=1)
    hint = f"; did you mean {meant[0]}?" if meant else ""
    return f"{mark}: maitred knows no such label or annotation{hint} ({count} ignored)"


def skip_words(kind: str, version: str, count: int) -> str:
    objects = f"{count} object{'' if count == 1 else 's'}"
    if (owner := owner_kind(version, kind)) is not None:
        return (
            f"{owner.title}: this command does not create its pods; give the pods themselves ({objects} "
            f"skipped)"
        )
    known = [read for read, name in READ if name == kind]
    if known:
        return f"{kind} of {version}: not read; {', '.join(sorted(known))} are ({objects} skipped)"
    return f"{kind} of {version}: not read ({objects} skipped)"
