"""Owners in files that nobody has created yet: every verb that reads them decides as if they had been.

A file that one would apply has a Job and none of its pods, and whoever gives it to `decide` asks about those
pods. A Job of a dump is another matter: its controller makes its pods, and if there are none it has a reason.
So an owner is new only if it has no UID, no status, is not suspended, and no pod of the input is its own.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from maitred.explain.proposal.expansion import Expander, Gathered, as_new, manifest_of, missing_words
from maitred.explain.proposal.workloads import MOST_PODS
from maitred.model.kinds import row_of
from maitred.model.manifest import Document
from maitred.model.manifest.reader import owners_with_pods
from maitred.model.membership.later import is_reckoned
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.operators.pods import MissingObject, pods_of
from maitred.model.owners import kind_title
from maitred.model.words import counted

HOME = "default"
"""The namespace of what names none, in files."""


@dataclass(frozen=True, slots=True)
class Created:
    """What the controller of one new owner would make of it."""

    documents: tuple[Document, ...]
    notes: tuple[str, ...]


def created(owners: Iterable[tuple[Object, Document]], objects: Sequence[Object]) -> Iterator[Created]:
    """For each owner that is new among these objects, in the order of their names. Raises InputError."""
    owned, taken, known = owners_with_pods(objects), {name_of(item) for item in objects}, Gathered(objects)
    expander = Expander(HOME, known)
    for owner, document in sorted(owners, key=lambda pair: name_of(pair[0])):
        title = f"{kind_title(owner)} {key_of(owner.metadata)}"
        if (kind_title(owner), key_of(owner.metadata)) in owned:
            continue
        try:
            parts = list(islice(pods_of(owner, known, document.api_version), MOST_PODS))
        except MissingObject as missing:
            yield Created((), (f"{title}: {missing_words(missing)}",))
            continue
        if any(not part.template.spec.containers or part.manager is not None for part in parts):
            continue
        before = len(expander.found.objects)
        expander.take(document)
        new = [item for item in expander.found.objects[before:] if name_of(item) != name_of(owner)]
        if parts and taken.isdisjoint(map(name_of, new)):
            later = sum(part.count for part in parts if is_reckoned(part))
            pods = counted(sum(part.count for part in parts) - later, "pod")
            more = f"; it creates {later} more once these are scheduled or ready" if later else ""
            words = f"{title} has no pods in the input: decided as if its {pods} had been created{more}"
            yield Created(tuple(documents_of(new, document)), (words,))


def name_of(item: Object) -> tuple[str, str]:
    return row_of(type(item)).title, key_of(item.metadata)


def documents_of(made: Iterable[Object], owner: Document) -> Iterator[Document]:
    for item in made:
        body = manifest_of(as_new(item))
        yield Document(owner.source, owner.place, body["apiVersion"], body["kind"], body)
