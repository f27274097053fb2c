"""The places of a source file that a mutant can change, and the file with one of them changed.

A place is told by what stays when lines move: its file, its function, the change in words, and which of
several equal ones it is. Nothing is changed where no test could or should see it: annotations, decorators,
assertions, `__repr__`, words for the log, and texts. A change is small and the file still compiles; whether
it is wrong, the tests have to say.
"""

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_OPERATORS: list[tuple[type[ast.AST], type[ast.AST]]] = [
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    *((ast.And, ast.Or), (ast.BitAnd, ast.BitOr), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv)),
]
_NAMES = [("min", "max"), ("any", "all"), ("minimum", "maximum"), ("argmin", "argmax")]
SWAPS = {a: b for pair in _OPERATORS for a, b in (pair, pair[::-1])} | {ast.Div: ast.Mult, ast.Mod: ast.Mult}
NAMES = {a: b for pair in _NAMES for a, b in (pair, pair[::-1])}
LONGEST = 110
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

Part = ast.stmt | ast.expr


@dataclass(frozen=True)
class Mutant:
    path: Path
    function: str
    before: str
    after: str
    nth: int
    """Among the same changes of the same function, from 1."""
    lines: range
    """A test that runs one of these runs the place."""
    span: tuple[int, int] = field(repr=False)
    text: str = field(repr=False)

    @property
    def key(self) -> str:
        nth = f" #{self.nth}" if self.nth > 1 else ""
        return f"{self.path} {self.function}: {self.before} -> {self.after}{nth}"

    def source(self, root: Path) -> bytes:
        source = (root / self.path).read_bytes()
        return source[: self.span[0]] + self.text.encode() + source[self.span[1] :]


def chosen(mutants: list[Mutant], seed: int, count: int) -> list[Mutant]:
    """By a hash of each place, so that places stay chosen when the code around them changes."""
    return sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.key}".encode()).digest())[
        :count
    ]


def mutants_of(root: Path, path: Path) -> list[Mutant]:
    source = (root / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for place in _Places(len(starts)).of(ast.parse(source)):
        node, before, after = place.node, _short(place.node), _short(place.new)
        seen[place.function, before, after] += 1
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        span = (
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )
        text = ast.unparse(place.new)
        text = f"({text})" if isinstance(node, ast.expr) else text
        nth = seen[place.function, before, after]
        found.append(Mutant(path, place.function, before, after, nth, place.lines, span, text))
    return found


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


@dataclass(frozen=True)
class _Place:
    node: Part
    new: Part
    function: str
    lines: range


class _Places:
    """Walks a module, with the function and the lines of the statement that a node is in."""

    def __init__(self, length: int) -> None:
        self._whole = range(1, length + 1)

    def of(self, module: ast.Module) -> Iterator[_Place]:
        for statement in module.body:
            yield from self._walk(statement, (), self._whole, inside=False)

    def _walk(self, node: ast.AST, scope: tuple[str, ...], lines: range, *, inside: bool) -> Iterator[_Place]:
        if _left_alone(node):
            return
        if isinstance(node, FUNCTIONS):
            scope = (*scope, node.name)
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    yield from self._walk(default, scope, _rows(node), inside=True)
            for statement in node.body:
                yield from self._walk(statement, scope, _header(statement), inside=True)
        elif isinstance(node, ast.ClassDef):
            for statement in node.body:
                yield from self._walk(statement, (*scope, node.name), self._whole, inside=False)
        else:
            lines = _header(node) if inside and isinstance(node, ast.stmt) else lines
            for old, new in _changes(node, scope, inside=inside):
                yield _Place(old, new, ".".join(scope) or "<module>", lines)
            for child in _parts(node):
                yield from self._walk(child, scope, lines, inside=inside)


def _left_alone(node: ast.AST) -> bool:
    match node:
        # Positions inside of an f-string are wrong before Python 3.12; it is a text in any case.
        case ast.Assert() | ast.JoinedStr() | ast.pattern() | ast.Import() | ast.ImportFrom():
            return True
        case ast.FunctionDef(name="__repr__") | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "logging"))):
            return True
    return False


def _parts(node: ast.AST) -> list[ast.AST]:
    skipped = {id(node.annotation)} if isinstance(node, ast.AnnAssign) else set()
    return [child for child in ast.iter_child_nodes(node) if id(child) not in skipped]


def _rows(node: Part) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _header(statement: ast.stmt) -> range:
    """A statement without the statements in it."""
    match statement:
        case ast.Match(cases=[first, *_]):
            return range(statement.lineno, first.pattern.lineno)
        case ast.If(body=[first, *_]) | ast.While(body=[first, *_]) | ast.For(body=[first, *_]):
            return range(statement.lineno, max(first.lineno, statement.lineno + 1))
        case ast.With(body=[first, *_]) | ast.AsyncWith(body=[first, *_]) | ast.AsyncFor(body=[first, *_]):
            return range(statement.lineno, max(first.lineno, statement.lineno + 1))
    return _rows(statement)


def _changes(node: ast.AST, scope: tuple[str, ...], *, inside: bool) -> Iterator[tuple[Part, Part]]:
    for test in _conditions(node):
        if isinstance(test, ast.Name | ast.Call | ast.Attribute | ast.Subscript):
            yield test, ast.UnaryOp(ast.Not(), test)
    if isinstance(node, ast.stmt):
        yield from ((node, new) for new in _changed_statement(node, scope))
    elif isinstance(node, ast.expr) and (
        inside or not isinstance(node, ast.BinOp)
    ):  # elsewhere `A | B` is a type
        yield from ((node, new) for new in _changed_expression(node))


def _conditions(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return [test]
        case ast.comprehension(ifs=tests) | ast.BoolOp(values=tests):
            return tests
    return []


def _changed_statement(node: ast.stmt, scope: tuple[str, ...]) -> Iterator[ast.stmt]:
    match node:
        case ast.Expr(value=ast.Call() as call) | ast.Expr(value=ast.Await(value=ast.Call() as call)):
            if not _left_alone(call):
                yield ast.Pass()
        case ast.AugAssign() | ast.Raise() | ast.Delete() | ast.Return(value=None):
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]) if scope[-1:] != ("__init__",):
            yield ast.Pass()
        case ast.Return(value=value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def _changed_expression(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=ops):
            for at, operator in enumerate(ops):
                yield _with(node, "ops", [*ops[:at], SWAPS[type(operator)](), *ops[at + 1 :]])
        case ast.BoolOp(op=operator) | ast.BinOp(op=operator) if type(operator) in SWAPS:
            yield _with(node, "op", SWAPS[type(operator)]())
        case ast.UnaryOp(operand=operand) if not isinstance(operand, ast.Constant):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Call(func=ast.Name(id=name) as called) if name in NAMES:
            yield _with(node, "func", _with(called, "id", NAMES[name]))
        case ast.Call(func=ast.Attribute(attr=name) as called) if name in NAMES:
            yield _with(node, "func", _with(called, "attr", NAMES[name]))


def _with(node: ast.expr, name: str, value: object) -> ast.expr:
    changed = copy.copy(node)
    setattr(changed, name, value)
    return changed
