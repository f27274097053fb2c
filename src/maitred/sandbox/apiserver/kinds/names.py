"""What names may look like, in the words of the API server.

A rule takes a text and says what is wrong with it: one message for each thing.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from ipaddress import ip_address
from typing import TypeAlias

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid

NameRule: TypeAlias = Callable[[str], list[str]]

LONGEST_SUBDOMAIN = 253
LONGEST_LABEL = 63

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

_KEY_WORDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_KEY_EXAMPLES = ("MyName", "my.name", "123-abc")


def check_name(field: str, value: str, rule: NameRule) -> Iterator[FieldError]:
    # What is longer is hardly seen twice, and could fill the memory.
    problems = _remembered(rule, value) if len(value) <= LONGEST_SUBDOMAIN else rule(value)
    return (invalid(field, value, message) for message in problems)


@lru_cache(maxsize=4096)
def _remembered(rule: NameRule, value: str) -> tuple[str, ...]:
    """The pods of a job have most of their names in common."""
    return tuple(rule(value))


def subdomain(value: str) -> list[str]:
    return _subdomain(value, "characters")


def label(value: str) -> list[str]:
    words = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character"
    )
    problems = _matching(_LABEL, value, words, "my-name", "123-abc")
    if problems and re.fullmatch(_SUBDOMAIN, value):
        problems = ["must not contain dots"]
    return [*_at_most(LONGEST_LABEL, "characters", value), *problems]


def label_1035(value: str) -> list[str]:
    words = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
        "start with an alphabetic character, and end with an alphanumeric character"
    )
    return [
        *_at_most(LONGEST_LABEL, "characters", value),
        *_matching(_LABEL_1035, value, words, "my-name", "abc-123"),
    ]


def path_segment(value: str) -> list[str]:
    """For names that are anything a URL can hold, such as those of roles."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in value]


def label_key(value: str) -> list[str]:
    """Of labels, taints, resources, finalizers: a name, and a domain before it if need be."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        words = _explained(f"a valid label key {_KEY_WORDS}", _KEY, *_KEY_EXAMPLES)
        return [f"{words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems = list[str]()
    if slash:
        problems += _key_prefix(prefix)
    if not name:
        problems.append("name part must be non-empty")
    problems += [f"name part {message}" for message in _at_most(LONGEST_LABEL, "bytes", name)]
    problems += [f"name part {message}" for message in _matching(_KEY, name, _KEY_WORDS, *_KEY_EXAMPLES)]
    return problems


def label_value(value: str) -> list[str]:
    words = (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
        "and must start and end with an alphanumeric character"
    )
    return [
        *_at_most(LONGEST_LABEL, "bytes", value),
        *_matching(_VALUE, value, words, "MyValue", "my_value", "12345"),
    ]


def config_key(value: str) -> list[str]:
    words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    return [
        *_at_most(LONGEST_SUBDOMAIN, "characters", value),
        *_matching(_CONFIG_KEY, value, words, "key.name", "KEY_NAME", "key-name"),
        *_no_step_up(value),
    ]


def port_name(value: str) -> list[str]:
    problems = _at_most(15, "characters", value)
    if not re.fullmatch("[-a-z0-9]+", value):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def domain_path(value: str) -> list[str]:
    host, _, rest = value.partition("/")
    if not host or not rest:
        return ['must be a domain-prefixed path (such as "acme.io/foo")']
    return [*subdomain(host), *_matching(_PATH, rest, "Invalid path", "foo/bar")]


def address(value: str) -> list[str]:
    try:
        ip_address(value)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return []


def _subdomain(value: str, units: str) -> list[str]:
    words = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character"
    )
    return [
        *_at_most(LONGEST_SUBDOMAIN, units, value),
        *_matching(_SUBDOMAIN, value, words, "example.com"),
    ]


def _key_prefix(prefix: str) -> list[str]:
    messages = _subdomain(prefix, "bytes") if prefix else ["must be non-empty"]
    return [f"prefix part {message}" for message in messages]


def _at_most(limit: int, units: str, value: str) -> list[str]:
    return [f"must be no more than {limit} {units}"] if len(value.encode()) > limit else []


def _matching(pattern: str, value: str, words: str, *examples: str) -> list[str]:
    return [] if re.fullmatch(pattern, value) else [_explained(words, pattern, *examples)]


def _explained(words: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {shown}regex used for validation is '{pattern}')"


def _no_step_up(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []
