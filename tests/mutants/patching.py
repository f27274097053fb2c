"""Puts a change into functions that are imported already, so that no import has to be made again for it.

That shows all of a change that is in the body of a function, unless the function ran when it was imported.
"""

import ast
import gc
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType

from tests.mutants.changes import FUNCTIONS, Mutant

Key = tuple[str, str, int]


def live_functions(root: Path) -> dict[Key, list[FunctionType]]:
    """All functions of the sources in this process, by file, name and first line."""
    found: dict[Key, list[FunctionType]] = defaultdict(list)
    for known in gc.get_objects():
        if isinstance(known, FunctionType) and known.__code__.co_filename.startswith(str(root)):
            found[_key(known.__code__)].append(known)
    return found


def put_in(mutant: Mutant, root: Path, live: dict[Key, list[FunctionType]]) -> bool:
    """Whether the change is in the functions now. It is not if it is in no body, or nothing has that body."""
    source = (root / mutant.path).read_bytes()
    at = mutant.span[0]
    name = _around(ast.parse(source), (source.count(b"\n", 0, at) + 1, at - source.rfind(b"\n", 0, at) - 1))
    if name is None:
        return False
    module = compile(mutant.source(root), str(root / mutant.path), "exec")
    changed = next(code for code in _codes(module) if (code.co_qualname, code.co_firstlineno) == name)
    functions = [(function, code) for code in _codes(changed) for function in live.get(_key(code), ())]
    if not any(code is changed for _, code in functions):
        return False
    for function, code in functions:
        if len(function.__code__.co_freevars) != len(code.co_freevars):
            return False
    for function, code in functions:
        function.__code__ = code
    return True


def _around(node: ast.AST, start: tuple[int, int], scope: str = "") -> tuple[str, int] | None:
    """The outermost function with this in its body: its name, and the line that it begins in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTIONS):
            first, end = child.body[0], child.end_lineno or child.lineno
            if (first.lineno, first.col_offset) <= start and start[0] <= end:
                return scope + child.name, min(part.lineno for part in (child, *child.decorator_list))
        elif isinstance(child, ast.ClassDef):
            found = _around(child, start, f"{scope}{child.name}.")
            if found is not None:
                return found
    return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _key(code: CodeType) -> Key:
    return code.co_filename, code.co_qualname, code.co_firstlineno
