"""What Kubernetes refuses in an expression beside wrong types, and what is not evaluated here."""

from maitred.model.cel import tree
from maitred.model.cel.strings import pattern
from maitred.model.cel.tree import DoesNotCompile
from maitred.model.cel.values import EvaluationError

FIELDS = ("driver", "attributes", "capacity", "allowMultipleAllocations")
_DYNAMIC = b"\n\x00"
_PATTERNS = ("matches", "find", "findAll")


def check(checked: tree.Checked) -> None:
    """Raises DoesNotCompile."""
    for node in tree.everything_in(checked.root):
        match node:
            case tree.Select(tree.Identifier("device"), field) if field not in FIELDS:
                raise DoesNotCompile(f"undefined field '{field}': a device has {', '.join(FIELDS)}")
            case tree.Call("_[_]" | "_[?_]", [tree.Identifier("device"), _]):
                raise DoesNotCompile("a field of the device is written device.name, not with brackets")
            case tree.Call(function, [_, tree.Constant(str() as text), *_]) if function in _PATTERNS:
                _check_pattern(text)
            case tree.ListLiteral():
                present = [e for i, e in enumerate(node.elements) if i not in node.optional]
                _check_alike(present, checked)
            case tree.MapLiteral():
                _check_alike([entry.key for entry in node.entries], checked)
                _check_alike([entry.value for entry in node.entries if not entry.optional], checked)
            case tree.Fold() if "device" in (node.variable, node.second, node.accumulator):
                # Legal in Kubernetes, but then `device.x` means two things.
                raise DoesNotCompile("it names a variable of its own `device`")
            case _:
                pass


def _check_pattern(text: str) -> None:
    try:
        pattern(text)
    except EvaluationError as error:
        raise DoesNotCompile(str(error)) from None


def _check_alike(nodes: list[tree.Node], checked: tree.Checked) -> None:
    """The elements of a list, the keys of a map and its values are of one type each."""
    kinds = {checked.types.get(node.id, _DYNAMIC) for node in nodes}
    if len({kind for kind in kinds if kind == _DYNAMIC or _DYNAMIC not in kind}) > 1:
        raise DoesNotCompile("a list or map literal mixes types; wrap its elements in dyn() to do so")
