"""What names may look like: one pattern for each form. A rule says what is wrong with a text, or nothing."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from ipaddress import ip_address
from typing import TypeAlias

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid

NameRule: TypeAlias = Callable[[str], str]

LONGEST_REMEMBERED = 253
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]{0,31}"
_NUMBER = r"(0|[1-9]\d*)"
_PRERELEASE = r"(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


def form(pattern: str, what: str, longest: int = 253) -> NameRule:
    compiled = re.compile(pattern)

    def rule(value: str) -> str:
        if compiled.fullmatch(value) and len(value.encode()) <= longest:
            return ""
        return f"must be {what}, and no more than {longest} bytes (regex used for validation is '{pattern}')"

    return rule


def address(value: str) -> str:
    try:
        ip_address(value)
    except ValueError:
        return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    return ""


subdomain = form(
    _SUBDOMAIN, "lower case letters, digits, '-' or '.', with a letter or digit at both ends (example.com)"
)
label = form(_LABEL, "lower case letters, digits or '-', with a letter or digit at both ends (my-name)", 63)
label_1035 = form(
    "[a-z]([-a-z0-9]*[a-z0-9])?", "lower case letters, digits or '-', with a letter first (my-name)", 63
)
label_key = form(
    rf"((?=[^/]{{1,253}}/){_SUBDOMAIN}/)?(?=.{{1,63}}$){_KEY}",
    "a name of letters, digits, '-', '_' or '.', with an optional domain before it (example.com/my-name)",
    317,
)
label_value = form(
    f"({_KEY})?", "empty, or letters, digits, '-', '_' or '.', with a letter or digit at both ends", 63
)
config_key = form(r"(?!\.\.)(?!\.$)[-._a-zA-Z0-9]+", "letters, digits, '-', '_' or '.' (key.name)")
path_segment = form(
    r"(?!\.{1,2}$)[^/%]*", "a part of a path: not '.' or '..', and without '/' and '%'", 2**16
)
port_name = form(
    "(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?", "lower case letters, digits or '-' (http)", 15
)
domain_path = form(
    rf"{_SUBDOMAIN}/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", "a path behind a domain (example.com/foo)", 2**16
)
driver = form(
    rf"(?i:{_SUBDOMAIN})",
    "letters, digits, '-' or '.', with a letter or digit at both ends (gpu.example.com)",
    63,
)
pool = form(rf"{_SUBDOMAIN}(/{_SUBDOMAIN})*", "names with '/' between them (example.com/rack-1)")
attribute = form(
    rf"(?=[^/]{{1,63}}/)(?i:{_SUBDOMAIN})/{_IDENTIFIER}",
    "a domain and a name with '/' between (example.com/model)",
    96,
)
qualified = form(
    rf"((?=[^/]{{1,63}}/)(?i:{_SUBDOMAIN})/)?{_IDENTIFIER}",
    "a name, with an optional domain before it (model)",
    96,
)
uid = form(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a UUID in lower case", 36)
version = form(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    "a semantic version (1.2.3)",
    64,
)
extended = form(
    rf"(?!.*kubernetes\.io/)(?!requests\.)(?=[^/]{{1,244}}/){_SUBDOMAIN}/(?=.{{1,63}}$){_KEY}",
    "the name of a resource with the domain of its vendor before it (example.com/gpu)",
    317,
)


def check_name(field: str, value: str, rule: NameRule) -> Iterator[FieldError]:
    # What is longer is hardly seen twice, and could fill the memory.
    problem = _remembered(rule, value) if len(value) <= LONGEST_REMEMBERED else rule(value)
    if problem:
        yield invalid(field, value, problem)


@lru_cache(maxsize=4096)
def _remembered(rule: NameRule, value: str) -> str:
    """The pods of a job have most of their names in common."""
    return rule(value)
