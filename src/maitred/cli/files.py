"""Reading what the user names: files, directories, standard input."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from maitred.model.manifest import (
    LARGEST_SOURCE,
    Document,
    InputError,
    Reader,
    documents,
    read_live_policy,
    read_plan,
    read_policy,
)
from maitred.model.objects import Object
from maitred.model.operators.pods import is_new
from maitred.model.policy import Policy

STDIN = "standard input"
SUFFIXES = (".yaml", ".yml", ".json")


def read_objects(paths: Iterable[str], beside: Callable[[Document], bool] | None = None) -> Reader:
    """`beside` is shown every document first, and keeps those for itself of which it says so."""
    reader = Reader()

    def take(document: Document) -> Object | None:
        return None if beside is not None and beside(document) else reader.take(document)

    read_each(paths, reader, take)
    return reader


def read_raw_objects(paths: Iterable[str]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The objects as they were written, after the same checks, and the warnings."""
    reader, raw = Reader(), list[dict[str, Any]]()

    def take(document: Document) -> Object | None:
        found = reader.take(document)
        if found is not None:
            named = {"apiVersion": document.api_version, "kind": document.kind}
            raw.append({**document.plain(), **named})
        return found

    read_each(paths, reader, take)
    return raw, reader.warnings()


def read_each(paths: Iterable[str], reader: Reader, take: Callable[[Document], Object | None]) -> None:
    """Every document of the files, and then what would be created for their owners of pods that are new."""
    owners = list[tuple[Object, Document]]()
    for source, data in sources(paths):
        for document in documents(data, source):
            found = take(document)
            if found is not None and is_new(found):
                owners.append((found, document))
    if not owners:
        return
    from maitred.explain.proposal.uncreated import created  # Most files have none.

    for new in tuple(created(owners, reader.objects)):
        for document in new.documents:
            take(document)
        for words in new.notes:
            reader.note(words)


def read_policy_file(path: str | None) -> tuple[Policy, dict[str, Any]]:
    """The policy and its document; the defaults where no file is named."""
    if path is None:
        return Policy(), {}
    return read_policy(*content(path))


def read_live_policy_file(path: str | None) -> Policy:
    """A policy that can be in force on a cluster."""
    return Policy() if path is None else read_live_policy(*content(path))[0]


def read_plan_file(path: str) -> dict[str, Any]:
    return read_plan(*content(path))


def sources(paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file, those in directories in the order of their names."""
    named = list(paths)
    if named.count("-") > 1:
        raise InputError("-", "", "", "standard input can be read only once")
    for path in named:
        inside = files_in(path) if path != "-" and Path(path).is_dir() else [path]
        for file in inside:
            data, source = content(file)
            yield source, data


def files_in(directory: str) -> list[str]:
    found = [
        str(Path(folder, name))
        for folder, _, names in os.walk(directory, onerror=refuse)
        for name in names
        if name.lower().endswith(SUFFIXES)
    ]
    if not found:
        raise InputError(directory, "", "", f"has no files ending in {', '.join(SUFFIXES)}")
    return sorted(found)


def content(path: str) -> tuple[bytes, str]:
    """What is in a file, and what to call the file."""
    if path == "-":
        return bounded(sys.stdin.buffer), STDIN
    try:
        with open(path, "rb") as file:
            return bounded(file), path
    except OSError as error:
        refuse(error, path)
        raise


def bounded(file: BinaryIO) -> bytes:
    """No more than what would be refused anyway, even from a pipe that never ends."""
    return file.read(LARGEST_SOURCE + 1)


def refuse(error: OSError, path: str = "") -> None:
    what = error.strerror or str(error)
    raise InputError(path or str(error.filename), "", "", what[:1].lower() + what[1:]) from None
