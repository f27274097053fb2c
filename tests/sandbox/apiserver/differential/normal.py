"""What differs between two servers that behave alike, replaced by names: uids, versions, times, tokens.

The same value has the same name throughout a story, and a version says whether it is new, so that an object
that should have changed and did not is still seen.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.sandbox.apiserver.differential.requests import Json

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{6})?Z")
ADDRESS = re.compile(r"\b10\.0\.\d+\.\d+\b|127\.0\.0\.1:\d+")
VERSION = re.compile(r'(in record \(|in object meta: |current: |resourceVersion\\?":\\?")\d+')
"""Within messages."""
MISFIT = re.compile(r"(cannot be handled as an? \w+): (?!strict decoding).*", re.DOTALL)
"""A value of a wrong type is refused in words of our own."""
AGE = re.compile(r"\b\d+[smh](\d+[sm])?\b")
SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"
LONGEST_BEGIN = 58
RECENT = timedelta(hours=1)
"""A time that is not recent was in a request."""

DISCOVERY = ("resources", "groups", "items", "subresources")


class Names:
    def __init__(self) -> None:
        self.generated = set[str]()
        """How names begin of which a server made the rest."""
        self._known: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._versions: dict[str, str] = {}

    def expect(self, begin: str) -> None:
        self.generated.add(begin[:LONGEST_BEGIN])

    def version(self, uid: str, version: str) -> str:
        """Of an object, which has a uid, or of a list or a bookmark, which have none."""
        if not uid:
            return "<version>"
        before, self._versions[uid] = self._versions.get(uid), version
        return "<version as before>" if version == before else "<new version>"

    def of(self, sort: str, value: str) -> str:
        name = self._known.get((sort, value))
        if name is None:
            self._counts[sort] = self._counts.get(sort, 0) + 1
            name = self._known[sort, value] = f"<{sort} {self._counts[sort]}>"
        return name


def normal(body: Any, names: Names, only: tuple[str, ...] = ()) -> Any:
    return _Normaliser(names, only).value(body)


class _Normaliser:
    def __init__(self, names: Names, only: tuple[str, ...]) -> None:
        self._names = names
        self._only = only

    def value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self.value(each) for each in value]
        return self._text(value) if isinstance(value, str) else value

    def _object(self, body: Json) -> Json:
        if body.get("kind") == "Status" and body.get("reason") == "Invalid":
            body = fields_only(body)
        if "metadata" in body and isinstance(body["metadata"], dict):
            body = {**body, "metadata": self._metadata(body, body["metadata"])}
        if "cells" in body:
            body = {**body, "cells": [self._cell(cell) for cell in body["cells"]]}
        for name in DISCOVERY if self._only else ():
            if isinstance(body.get(name), list):
                body = {**body, name: [each for each in body[name] if self._wanted(each, body)]}
        if self._only and not body.get("subresources", True):
            body = {key: value for key, value in body.items() if key != "subresources"}
        return {self._text(key): self.value(value) for key, value in body.items()}

    def _wanted(self, entry: Any, whole: Json) -> bool:
        if not isinstance(entry, dict):
            return True
        if "subresource" in entry:
            return f"{whole['resource']}/{entry['subresource']}" in self._only
        name = entry.get("name") or entry.get("resource") or entry.get("metadata", {}).get("name")
        return name is None or name in self._only

    def _metadata(self, body: Json, metadata: Json) -> Json:
        metadata = dict(metadata)
        version = metadata.get("resourceVersion")
        if version:
            metadata["resourceVersion"] = self._names.version(metadata.get("uid", ""), version)
        if metadata.get("continue"):
            metadata["continue"] = "<continue>"
        if isinstance(metadata.get("managedFields"), list):
            # By time, in whole seconds, and a second may end between two requests.
            metadata["managedFields"] = sorted(metadata["managedFields"], key=_owner)
        return metadata

    def _generated(self, found: re.Match[str]) -> str:
        return found[1] + self._names.of("suffix", found[2])

    def _cell(self, cell: Any) -> Any:
        return AGE.sub("<age>", cell) if isinstance(cell, str) else cell

    def _text(self, text: str) -> str:
        text = UID.sub(lambda found: self._names.of("uid", found[0]), text)
        text = VERSION.sub(r"\1<version>", text)
        text = MISFIT.sub(r"\1: <words>", text)
        text = ADDRESS.sub("<address>", text)
        for begin in self._names.generated:
            text = re.sub(rf"({re.escape(begin)})({SUFFIX})", self._generated, text)
        return TIME.sub(_time, text)


def fields_only(refusal: Json) -> Json:
    """An object is refused for the same fields; what is said of them is in words of our own."""
    causes = refusal.get("details", {}).get("causes", ())
    fields = sorted({cause.get("field", "") for cause in causes})
    return {**refusal, "message": "<fields>", "details": {**refusal.get("details", {}), "causes": fields}}


def _time(found: re.Match[str]) -> str:
    then = datetime.fromisoformat(f"{found[1]}+00:00")
    if abs(datetime.now(UTC) - then) > RECENT:
        return found[0]
    return "<micro time>" if found[2] else "<time>"


def _owner(entry: Json) -> tuple[str, ...]:
    return tuple(str(entry.get(name)) for name in ("operation", "manager", "apiVersion", "subresource"))
