"""Label and field selectors as they are in a query: `app=web,tier in (a, b),!legacy`."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from maitred.sandbox.apiserver.kinds.fielderrors import invalid
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.kinds.names import label_key, label_value
from maitred.sandbox.apiserver.refusals import Refusal, bad_request
from maitred.sandbox.apiserver.schema.types import Body

Test = Callable[[Body], bool]
Labels = Mapping[str, str]
LabelTest = Callable[[Labels], bool]

TOKEN = re.compile(r"\s*(==|!=|=|!|,|\(|\)|<|>|[^\s=!,()<>]+)\s*")
ENDED_WORD = re.compile(r"(?<=[^\s=!,()<>\0])\0")
MARKS = ("==", "!=", "=", ",", "(", ")", "<", ">")
"""What can be neither a key nor a value, nor begin one."""
FIELD = re.compile(r"(.*?)(==|!=|=)(.*)", re.DOTALL)
EMPTY: Labels = {}


class Unreadable(Exception):
    pass


def matcher(kind: Kind, labels: str, fields: str) -> Test | None:
    """What a request's selectors mean; None where they let everything pass."""
    tests: list[Test] = [*label_tests(labels), *field_tests(kind, fields)]
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else lambda body: all(test(body) for test in tests)


# -- labels ------------------------------------------------------------------------------------------------


def label_tests(text: str) -> Iterator[Test]:
    try:
        text = until_zero(text)
        requirements = list(Requirements(text)) if text.strip() else []
    except Unreadable as error:
        raise bad_request(str(error)) from None
    for requirement in requirements:
        yield on_labels(requirement)


def until_zero(text: str) -> str:
    """A zero ends a word, and without one before it the whole text: so it is read by the real server."""
    return ENDED_WORD.sub(" ", text).partition("\0")[0]


def on_labels(test: LabelTest) -> Test:
    return lambda body: test(body["metadata"].get("labels", EMPTY))


class Requirements:
    """A parser of label selectors; it yields the requirements one by one."""

    def __init__(self, text: str) -> None:
        self._tokens = TOKEN.findall(text)
        if "".join(self._tokens) != re.sub(r"\s", "", text):
            raise Unreadable(f"found unexpected characters in {text[:100]!r}")
        self._at = 0

    def __iter__(self) -> Iterator[LabelTest]:
        self._expect_word("!, identifier, or 'end of string'")
        yield self._requirement()
        while self._peek() == ",":
            self._next()
            self._expect_word("identifier after ','")
            yield self._requirement()
        if self._peek():
            raise Unreadable(f"found '{self._peek()}', expected: ',' or 'end of string'")

    def _expect_word(self, words: str) -> None:
        if not self._peek() or self._peek() in MARKS:
            raise Unreadable(f"found '{self._peek()}', expected: {words}")

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _requirement(self) -> LabelTest:
        try:
            return self._one()
        except Unreadable as error:
            raise Unreadable(f"unable to parse requirement: {error}") from None

    def _one(self) -> LabelTest:
        absent = self._peek() == "!"
        if absent:
            self._next()
        key = checked_key(self._next())
        if absent or self._peek() in ("", ","):
            return lambda labels: (key in labels) is not absent
        return self._comparison(key, self._next())

    def _comparison(self, key: str, operator: str) -> LabelTest:
        match operator:
            case "=" | "==":
                value = self._value()
                return lambda labels: labels.get(key) == value
            case "!=":
                value = self._value()
                return lambda labels: labels.get(key) != value
            case "in":
                values = self._values()
                return lambda labels: labels.get(key) in values
            case "notin":
                values = self._values()
                return lambda labels: labels.get(key) not in values
            case "<" | ">":
                return above_or_below(key, operator, self._value())
        raise Unreadable(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")

    def _value(self) -> str:
        return "" if self._peek() in ("", ",") else checked_value(self._next())

    def _values(self) -> frozenset[str]:
        if (token := self._next()) != "(":
            raise Unreadable(f"found '{token}' expected: '('")
        if not self._peek() or (self._peek() in MARKS and self._peek() not in (",", ")")):
            raise Unreadable(f"found '{self._peek()}', expected: ',', ')' or identifier")
        found = [self._value_in_set()]
        while (token := self._next()) == ",":
            found.append(self._value_in_set())
        if token != ")":
            raise Unreadable(f"found '{token}', expected: ',' or ')'")
        return frozenset(found)

    def _value_in_set(self) -> str:
        return "" if self._peek() in (",", ")") else checked_value(self._next())


def above_or_below(key: str, operator: str, bound: str) -> LabelTest:
    try:
        limit = int(bound)
    except ValueError:
        raise Unreadable(f"for '{operator}' the value must be an integer, not {bound!r}") from None
    sign = 1 if operator == ">" else -1

    def test(labels: Labels) -> bool:
        text = labels.get(key, "")
        return text.lstrip("-").isdecimal() and (int(text) - limit) * sign > 0

    return test


def checked_key(key: str) -> str:
    problems = label_key(key)
    if problems:
        raise Unreadable(invalid("<nil>", key, "; ".join(problems)))
    return key


def checked_value(value: str) -> str:
    problems = label_value(value)
    if problems:
        raise Unreadable(invalid("values", value, "; ".join(problems)))
    return value


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
