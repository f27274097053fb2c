"""Jobs in files that nobody has created yet: every verb that reads them decides as if they had been.

A file that one would apply has a Job and none of its pods, and whoever gives it to `decide` asks about those
pods. A Job of a dump is another matter: its controller makes its pods, and if there are none it has a reason.
So a Job is new only if it has no UID, no status, is not suspended, and no pod of the input is its own.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from maitred.explain.proposal.expansion import PLANNED, Expander, manifest_of
from maitred.model.group import PodGroup
from maitred.model.job import Job
from maitred.model.manifest import Document
from maitred.model.manifest.reader import jobs_with_pods
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.pod import Pod
from maitred.model.words import counted

HOME = "default"
"""The namespace of what names none, in files."""


@dataclass(frozen=True, slots=True)
class Created:
    """What the controller of one new Job would make of it."""

    documents: tuple[Document, ...]
    notes: tuple[str, ...]


def created(jobs: Iterable[tuple[Job, Document]], objects: Sequence[Object]) -> Iterator[Created]:
    """For each Job that is new among these objects, in the order of their names. Raises InputError."""
    owned, taken = jobs_with_pods(objects), names_in(objects)
    expander = Expander(HOME)
    for job, document in sorted(jobs, key=lambda pair: key_of(pair[0].metadata)):
        key = key_of(job.metadata)
        if key in owned or not job.is_new:
            continue
        before = len(expander.found.objects)
        expander.take(document)
        made = expander.found.objects[before:]
        if taken.isdisjoint(map(name_of, made)):
            yield Created(tuple(documents_of(made, document)), tuple(notes_of(key, job)))


def names_in(objects: Iterable[Object]) -> set[tuple[str, str]]:
    return {name_of(item) for item in objects if isinstance(item, Pod | PodGroup)}


def name_of(item: Object) -> tuple[str, str]:
    return type(item).__name__, key_of(item.metadata)


def documents_of(made: Iterable[Object], job: Document) -> Iterator[Document]:
    for item in made:
        if isinstance(item, PLANNED) and not isinstance(item, Job):
            body = manifest_of(item)
            yield Document(job.source, job.place, body["apiVersion"], body["kind"], body)


def notes_of(key: str, job: Job) -> Iterator[str]:
    pods = counted(job.members, "pod")
    yield f"Job {key} has no pods in the input: decided as if its {pods} had been created"
