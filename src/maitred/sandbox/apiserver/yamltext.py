"""YAML to plain values, within bounds. kubectl sends JSON: this is for requests that people write by hand."""

import re
from typing import Any

import yaml

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MOST_EVENTS = 200_000
"""Of the parser, several for each value. No object is so large, and to read more would take seconds."""
DEEPEST = 100
_TAG = "tag:yaml.org,2002:"
_BEGINNINGS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class YamlError(Exception):
    pass


class _Loader(LOADER):  # type: ignore[misc]
    """Scalars mean what kubectl takes them for; timestamps stay strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag.removeprefix(_TAG) in ("bool", "null", "merge")]
    for first, known in LOADER.yaml_implicit_resolvers.items()
}
for _kind, _pattern in (
    ("int", r"[-+]?(0x[0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"),
):
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(f"^(?:{_pattern})$"), list("-+.0123456789"))


def read_yaml(data: bytes) -> Any:
    """Looked at event by event first: nothing that is small here may be large, or deep, afterwards."""
    depth = 0
    for number, event in enumerate(yaml.parse(data, Loader=LOADER)):
        if number == MOST_EVENTS:
            raise YamlError("there is too much of it; JSON may be larger")
        if isinstance(event, yaml.AliasEvent):
            raise YamlError("anchors and aliases are not accepted here")
        depth += isinstance(event, _BEGINNINGS) - isinstance(event, _ENDS)
        if depth > DEEPEST:
            raise YamlError(f"nested more than {DEEPEST} deep")
    return yaml.load(data, Loader=_Loader)
