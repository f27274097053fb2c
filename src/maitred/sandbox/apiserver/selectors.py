"""Label and field selectors as they are in a query: `app=web,tier in (a, b),!legacy`."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from maitred.sandbox.apiserver.kinds.fielderrors import invalid
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.kinds.names import NameRule, label_key, label_value
from maitred.sandbox.apiserver.refusals import Refusal, bad_request
from maitred.sandbox.apiserver.schema.types import Body

Test = Callable[[Body], bool]
Labels = Mapping[str, str]
LabelTest = Callable[[Labels], bool]

REQUIREMENT = re.compile(
    r"\s*(?:(?P<absent>!?)\s*(?P<named>[^\s=!,()<>]+)"
    r"|(?P<key>[^\s=!,()<>]+)\s*(?:(?P<compared>==|=|!=)\s*(?P<value>[^\s=!,()<>]*)"
    r"|\s(?P<among>in|notin)\s*\((?P<values>[^=!()<>]*)\)))\s*(?:,(?=\s*[^\s,])|$)"
)
"""One of a label selector, up to the next: `!a`, `a`, `a=b`, `a in (b, c)`."""
FIELD = re.compile(r"(.*?)(==|!=|=)(.*)", re.DOTALL)
EMPTY: Labels = {}


def matcher(kind: Kind, labels: str, fields: str) -> Test | None:
    """What a request's selectors mean; None where they let everything pass."""
    tests: list[Test] = [*label_tests(labels), *field_tests(kind, fields)]
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else lambda body: all(test(body) for test in tests)


# -- labels ------------------------------------------------------------------------------------------------


def label_tests(text: str) -> Iterator[Test]:
    position = 0
    while position < len(text):
        found = REQUIREMENT.match(text, position)
        if found is None:
            raise bad_request(f"unable to parse requirement: found unexpected {text[position:][:100]!r}")
        yield on_labels(label_test(found))
        position = found.end()


def on_labels(test: LabelTest) -> Test:
    return lambda body: test(body["metadata"].get("labels", EMPTY))


def label_test(found: re.Match[str]) -> LabelTest:
    key = checked("<nil>", found["named"] or found["key"], label_key)
    if found["named"]:
        present = not found["absent"]
        return lambda labels: (key in labels) is present
    given = [found["value"]] if found["compared"] else found["values"].split(",")
    values = frozenset(checked("values", value.strip(), label_value) for value in given)
    wanted = found["compared"] in ("=", "==") or found["among"] == "in"
    return lambda labels: (labels.get(key) in values) is wanted


def checked(what: str, text: str, rule: NameRule) -> str:
    if problem := rule(text):
        raise bad_request(f"unable to parse requirement: {invalid(what, text, problem)}")
    return text


# -- fields ------------------------------------------------------------------------------------------------


def field_tests(kind: Kind, text: str) -> Iterator[Test]:
    for term in filter(None, text.split(",")):
        parts = FIELD.fullmatch(term)
        if parts is None:
            raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
        path, operator, value = parts.groups()
        known = {"metadata.name": "", "metadata.namespace": "", **kind.fields}
        if path not in known:
            raise unknown_field(kind, path)
        yield on_field(kind.field_paths.get(path, path), operator != "!=", value, known[path])


def unknown_field(kind: Kind, path: str) -> Refusal:
    if kind.fields or kind.is_custom:
        return bad_request(f"field label not supported: {path}")
    return bad_request(f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"')


def on_field(path: str, equal: bool, value: str, absent: str) -> Test:
    names = path.split(".")
    return lambda body: ((text_at(body, names) or absent) == value) is equal


def text_at(body: Body, names: list[str]) -> str:
    here: Any = body
    for name in names:
        here = here.get(name) if isinstance(here, dict) else None
    match here:
        case None:
            return ""
        case bool():
            return "true" if here else "false"
    return str(here)


def named(fields: str) -> str:
    """The one name that a field selector asks for, which is as good as a name in the path."""
    for term in fields.split(","):
        if term.startswith("metadata.name="):
            return term.removeprefix("metadata.name=").removeprefix("=")
    return ""
