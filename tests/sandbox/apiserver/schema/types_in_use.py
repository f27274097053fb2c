"""The types that the server uses: of the kinds that it serves, and of what else is said in requests."""

from maitred.sandbox.apiserver.builtin import BUILTIN
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.types import ListOf, MapOf, Struct, Type
from maitred.sandbox.apiserver.verbs import EVICTIONS


def types_in_use() -> dict[str, Struct]:
    """By name."""
    found: dict[str, Struct] = {}
    waiting: list[Type] = [kind.type for kind in (*BUILTIN, EVICTIONS)]
    waiting += [struct(name) for name in ("meta.v1.DeleteOptions", "meta.v1.Status")]
    while waiting:
        match waiting.pop():
            case Struct(name=name) if name not in found:
                found[name] = struct(name)
                waiting += [field.type for field in found[name].fields.values()]
            case ListOf(item=inner) | MapOf(value=inner):
                waiting.append(inner)
    return found
