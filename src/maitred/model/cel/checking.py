"""Parsing and type checking, by the CEL library: its parser, macros and type checker know the whole language.

The environment is that of Kubernetes 1.37 for device selectors: the standard functions, optional values,
`cel.bind`, macros over two variables, strings, lists, sets, regular expressions, quantities and versions.
Nothing else of maitred imports the library, which is young. It does not evaluate for us: it can hold no value
of a type that it does not know, such as a quantity, and nothing stops it when an expression costs too much.
"""

import re
from functools import cache
from itertools import permutations
from typing import Protocol

from cel_expr_python import cel  # type: ignore[import-untyped]

from maitred.model.cel.rules import check
from maitred.model.cel.tree import Checked, DoesNotCompile, Identifier, read, read_parsed, with_presence

QUANTITY = "kubernetes.Quantity"
VERSION = "kubernetes.Semver"

_EXTENSIONS = {"lists": 2, "sets": 0, "optional": 2, "bindings": 0, "two-var-comprehensions": 0}
_ORDER = ("_<_", "_<=_", "_>_", "_>=_")
_NUMERIC = ("int", "uint", "double")
_COMPARABLE = ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration")
_SUMMABLE = ("int", "uint", "double", "duration")
_DECLARED = """
quantity(string): quantity
isQuantity(string): bool
sign(quantity): int
quantity.isGreaterThan(quantity): bool
quantity.isLessThan(quantity): bool
quantity.compareTo(quantity): int
quantity.asApproximateFloat(): double
quantity.asInteger(): int
quantity.isInteger(): bool
quantity.add(quantity): quantity
quantity.add(int): quantity
quantity.sub(quantity): quantity
quantity.sub(int): quantity
semver(string): version
semver(string, bool): version
isSemver(string): bool
isSemver(string, bool): bool
version.isGreaterThan(version): bool
version.isLessThan(version): bool
version.compareTo(version): int
version.major(): int
version.minor(): int
version.patch(): int
ip(string): ip
isIP(string): bool
ip.isCanonical(string): bool
ip.family(): int
ip.isUnspecified(): bool
ip.isLoopback(): bool
ip.isLinkLocalMulticast(): bool
ip.isLinkLocalUnicast(): bool
ip.isGlobalUnicast(): bool
cidr(string): cidr
isCIDR(string): bool
cidr.containsIP(string): bool
cidr.containsIP(ip): bool
cidr.containsCIDR(string): bool
cidr.containsCIDR(cidr): bool
cidr.ip(): ip
cidr.prefixLength(): int
cidr.masked(): cidr
string(ip): string
string(cidr): string
string.find(string): string
string.findAll(string): list<string>
string.findAll(string, int): list<string>
string.charAt(int): string
string.indexOf(string): int
string.indexOf(string, int): int
string.lastIndexOf(string): int
string.lastIndexOf(string, int): int
string.lowerAscii(): string
string.upperAscii(): string
string.replace(string, string): string
string.replace(string, string, int): string
string.split(string): list<string>
string.split(string, int): list<string>
string.substring(int): string
string.substring(int, int): string
string.trim(): string
list<string>.join(): string
list<string>.join(string): string
strings.quote(string): string
list<dyn>.indexOf(dyn): int
list<dyn>.lastIndexOf(dyn): int
dyn.includes(dyn): bool
list<dyn>.unwrapOpt(): list<dyn>
optional.unwrap(list<dyn>): list<dyn>
"""
_SIGNATURE = re.compile(r"(?:(?P<target>[\w<>]+)\.)?(?P<name>\w+)\((?P<arguments>.*)\): (?P<result>.+)")
_NAMESPACES = ("optional", "strings")


class Checker(Protocol):
    """What the rest of the package needs of a CEL library."""

    def check(self, expression: str) -> tuple[Checked, str]:
        """The checked tree and the name of its type. Raises DoesNotCompile."""


class LibraryChecker:
    """The CEL library, set up once."""

    def __init__(self) -> None:
        extensions = "".join(f"  - name: {name}\n    version: {v}\n" for name, v in _EXTENSIONS.items())
        # The library orders numbers of one type only, Kubernetes also an int and a double; and Kubernetes
        # makes strings of more types.
        replaced = "".join(f"    - name: {name}\n" for name in (*_ORDER, "string"))
        by_domain = cel.Type.Map(cel.Type.STRING, cel.Type.Map(cel.Type.STRING, cel.Type.DYN))
        capacity = cel.Type.Map(cel.Type.STRING, cel.Type.Map(cel.Type.STRING, _type("quantity")))
        self._environment = cel.NewEnv(
            config=cel.NewEnvConfigFromYaml(
                f"extensions:\n{extensions}stdlib:\n  exclude_functions:\n{replaced}"
            ),
            variables={
                # The fields by their whole names give them types; the variable itself is for `has(device.x)`.
                "device": cel.Type.DYN,
                "device.driver": cel.Type.STRING,
                "device.allowMultipleAllocations": cel.Type.BOOL,
                "device.attributes": by_domain,
                "device.capacity": capacity,
            },
            functions=_functions(),
        )

    def check(self, expression: str) -> tuple[Checked, str]:
        try:
            compiled = self._environment.compile(expression)
        except RuntimeError as error:
            raise DoesNotCompile(_plain(str(error))) from None
        checked = read(compiled.serialize())
        if "has(" in expression.replace(" ", ""):
            parsed = self._environment.compile(expression, disable_check=True)
            checked = with_presence(checked, read_parsed(parsed.serialize()))
        check(checked)
        if isinstance(checked.root, Identifier) and checked.root.test:
            return checked, "bool"
        return checked, compiled.return_type().name().lower()


@cache
def checker() -> Checker:
    return LibraryChecker()


def _plain(message: str) -> str:
    """The library's message without its status code and without the picture of the expression under it."""
    if unknown := re.search(r"undeclared reference to '(format|url|isURL)'", message):
        return f"it calls {unknown[1]}, which maitred does not evaluate"
    first = re.sub(r"^[A-Z_]+: |\[[A-Z_]+\]$", "", message.splitlines()[0])
    return re.sub(r"^ERROR: <input>:(-?\d+):(-?\d+): ", r"line \1, column \2: ", first).strip()


def _functions() -> list[cel.FunctionDecl]:
    lines = [line for line in _DECLARED.splitlines() if line]
    for kind in _COMPARABLE:
        lines += [
            f"list<{kind}>.isSorted(): bool",
            f"list<{kind}>.min(): {kind}",
            f"list<{kind}>.max(): {kind}",
        ]
    lines += [f"list<{kind}>.sum(): {kind}" for kind in _SUMMABLE]
    lines += [f"string({kind}): string" for kind in _COMPARABLE]
    overloads: dict[str, list[cel.Overload]] = {}
    for line in lines:
        name, overload = _overload(line)
        overloads.setdefault(name, []).append(overload)
    pairs = [(kind, kind) for kind in _COMPARABLE] + [*permutations(_NUMERIC, 2)]
    for name in _ORDER:
        overloads[name] = [
            cel.Overload(f"{name}_{a}_{b}", return_type=cel.Type.BOOL, parameters=[_type(a), _type(b)])
            for a, b in pairs
        ]
    return [cel.FunctionDecl(name, declared) for name, declared in overloads.items()]


def _overload(line: str) -> tuple[str, cel.Overload]:
    match = _SIGNATURE.fullmatch(line)
    assert match, line
    target, name = match["target"], match["name"]
    if target in _NAMESPACES or name == "isCanonical":
        target, name = None, f"{target}.{name}"
    parameters = [_type(part) for part in ([target] if target else []) + _split(match["arguments"])]
    overload = cel.Overload(
        re.sub(r"\W+", "_", line),
        return_type=_type(match["result"]),
        parameters=parameters,
        is_member=target is not None,
    )
    return name, overload


def _split(arguments: str) -> list[str]:
    return arguments.split(", ") if arguments else []


def _type(text: str) -> cel.Type:
    if inner := re.fullmatch(r"list<(.+)>", text):
        return cel.Type.List(_type(inner[1]))
    opaque = {"quantity": QUANTITY, "version": VERSION, "ip": "net.IP", "cidr": "net.CIDR"}
    if text in opaque:
        return cel.Type.AbstractType(opaque[text])
    return getattr(cel.Type, text.upper())
