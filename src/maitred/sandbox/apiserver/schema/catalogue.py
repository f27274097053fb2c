"""The types of the API, from the files in `data`: one for each group and version, or a few where it is large.

A type is named by group, version and kind, such as `core.v1.Pod`, `meta.v1.ObjectMeta` or
`scheduling.v1beta1.PodGroup`. Files write names of their own group and of `meta.v1` without these. What they
call a `kind` has `apiVersion`, `kind` and `metadata` too. A group is read when one of its types is asked for.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from maitred.sandbox.apiserver.schema.notation import parse
from maitred.sandbox.apiserver.schema.types import Struct

META: Final = "meta.v1"
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DATA: Final = Path(__file__).parent / "data"
_OF_EVERY_KIND: Final = {"apiVersion": "string", "kind": "string", "metadata": "1 ObjectMeta"}


def struct(name: str) -> Struct:
    group, _, kind = name.rpartition(".")
    found = _group(group).get(kind)
    if found is None:
        raise KeyError(f"the catalogue has no type {name!r}; names are like core.v1.Pod")
    return found


@cache
def _group(group: str) -> dict[str, Struct]:
    structs: dict[str, Struct] = {}
    written: list[tuple[Struct, dict[str, str]]] = []
    for file in sorted(_DATA.glob(f"{group}.yaml")) + sorted(_DATA.glob(f"{group}.*.yaml")):
        for title, fields in yaml.load(file.read_bytes(), Loader=LOADER).items():
            *marks, kind = title.split(" ")
            structs[kind] = Struct(f"{group}.{kind}", atomic="atomic" in marks)
            written.append((structs[kind], {**_OF_EVERY_KIND, **fields} if "kind" in marks else fields))

    def resolve(name: str) -> Struct:
        return structs.get(name) or struct(name if "." in name else f"{META}.{name}")

    # All structs are there before their fields are: types refer to each other, and some to themselves.
    for each, fields in written:
        each.fields.update((name, parse(expression, resolve)) for name, expression in fields.items())
    return structs
