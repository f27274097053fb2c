"""An audit of what kubectl has written down."""

from collections.abc import Iterable
from datetime import datetime

from maitred.cli.files import sources
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.seen import SeenPod
from maitred.model.manifest import Document, InputError, Reader, documents
from maitred.model.manifest.errors import FieldError
from maitred.model.manifest.reader import decode
from maitred.model.objects import Object
from maitred.model.pod import Pod
from maitred.model.policy import Policy


def read_dump(paths: Iterable[str], policy: Policy, now: datetime) -> tuple[Observer, tuple[str, ...]]:
    """What is in the files, and warnings about what was left out of it."""
    observer, reader, at = Observer(policy), Reader(), now.timestamp()
    for source, data in sources(paths):
        for document in documents(data, source):
            if (found := reader.take(document)) is not None:
                observer.see(in_full(document, found), at)
    return observer, reader.warnings()


def in_full(document: Document, found: Object) -> Object:
    """Pods with what no decision reads of them."""
    if not isinstance(found, Pod):
        return found
    try:
        return decode(document, SeenPod)
    except FieldError as problem:
        raise InputError(document.source, document.title, problem.field, problem.what) from None
