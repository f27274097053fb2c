"""The map is true: every file and name in docs/architecture.md exists; its table agrees with contracts."""

import re
import tomllib
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from typing import Any, NamedTuple

import pytest

from tests.docs.console import ROOT

PAGE = ROOT / "docs/architecture.md"
SOURCE = ROOT / "src/maitred"
MOST_FILES = 5
RECIPES = (
    "a constraint",
    "a kind",
    "a blocker",
    "a supply",
    "a rule of order",
    "a source of membership",
    "a verb",
    "a page",
)

_SPAN = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\([^)]*\)")
_FILE = re.compile(r"[\w.-]+(/[\w.-]+)*(/|\.(py|md|toml|yaml))|[\w-]+(/[\w-]+)+")
_NAME = re.compile(r"[a-z_]+(\.\w+)+")
_STEP = re.compile(r"\d+\. |   ")


class Mention(NamedTuple):
    line: int
    text: str
    what: str

    def __str__(self) -> str:
        return f"docs/architecture.md:{self.line}: {self.what} is stale: {self.text.strip()}"


class Row(NamedTuple):
    imports: frozenset[str]
    pure: bool


def mentions() -> Iterator[Mention]:
    """What the page has in code, and every word of its pictures."""
    drawn = False
    for number, line in enumerate(PAGE.read_text().splitlines(), 1):
        if line.startswith("```"):
            drawn = not drawn
            continue
        words = line.replace("`", " ").split() if drawn else _SPAN.findall(_LINK.sub("]", line))
        for word in words:
            yield Mention(number, line, word.strip(",;:()") if drawn else word)


def is_there(path: str) -> bool:
    return (ROOT / path).exists() or (SOURCE / path).exists()


def packages() -> set[str]:
    return {folder.parent.name for folder in SOURCE.glob("*/__init__.py")}


def resolves(name: str) -> bool:
    """Whether it is a module, or something in one."""
    parts = ["maitred", *name.split(".")]
    for length in range(len(parts), 1, -1):
        try:
            module = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        try:
            reduce(getattr, parts[length:], module)
        except AttributeError:
            return False
        return True
    return False


def test_every_file_on_the_map_exists() -> None:
    named = [mention for mention in mentions() if _FILE.fullmatch(mention.what)]
    assert len(named) > 50
    stale = [str(mention) for mention in named if not is_there(mention.what)]
    assert not stale, "\n".join(stale)


def test_every_name_on_the_map_exists() -> None:
    named = [
        mention
        for mention in mentions()
        if _NAME.fullmatch(mention.what) and mention.what.partition(".")[0] in packages()
    ]
    assert len(named) > 10
    stale = [str(mention) for mention in named if not resolves(mention.what)]
    assert not stale, "\n".join(stale)


# -- packages ------------------------------------------------------------------------------------------


def contracts() -> dict[str, dict[str, Any]]:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return {contract["id"]: contract for contract in found}


def held() -> dict[str, Row]:
    """What each package may import by the contracts, and whether it is pure."""
    found, rules = dict[str, Row](), contracts()
    pure = {inner(module) for module in rules["pure"]["source_modules"]}
    users = {inner(module) for module in rules["verify-used-by-cli"]["allowed_importers"]}
    below = frozenset[str]()
    for layer in reversed(rules["layers"]["layers"]):
        beside = set(re.findall(r"\w+", layer)) & packages()
        for package in beside:
            more = {"verify"} if package in users else set()
            found[package] = Row(below | more, package in pure)
        below |= beside
    assert rules["verify-alone"]["forbidden_modules"] == ["maitred.*"]
    found["verify"] = Row(frozenset(), "verify" in pure)
    forbidden = {inner(module) for module in rules["apiserver-alone"]["forbidden_modules"]}
    found["sandbox.apiserver"] = Row(frozenset(packages() - {"sandbox"} - forbidden), False)
    return found


def inner(module: str) -> str:
    return module.removeprefix("maitred.").removesuffix(".**")


def test_the_table_of_packages_says_what_the_contracts_say() -> None:
    wanted = held()
    assert packages() <= wanted.keys()
    for number, line in enumerate(PAGE.read_text().splitlines(), 1):
        row = re.match(r"\| `([\w.]+)` \| .* \| (.*) \| (yes|no) \|$", line)
        if row is None:
            continue
        found = Row(frozenset(_SPAN.findall(row[2])), row[3] == "yes")
        expected = wanted.pop(row[1], None)
        assert found == expected, f"docs/architecture.md:{number}: the contracts say {expected} of {row[1]}"
    assert not wanted, f"docs/architecture.md: the table of packages lacks {', '.join(sorted(wanted))}"


# -- recipes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_takes_few_files(recipe: str) -> None:
    _, found, rest = PAGE.read_text().partition(f"\n### To add {recipe}\n")
    assert found, f"docs/architecture.md: there is no recipe to add {recipe}"
    steps = [line for line in re.split(r"^##", rest, flags=re.MULTILINE)[0].splitlines() if _STEP.match(line)]
    files = {path for step in steps for path in _SPAN.findall(step) if (SOURCE / path).is_file()}
    assert files, f"docs/architecture.md: the recipe to add {recipe} names no file"
    assert len(files) <= MOST_FILES, (
        f"docs/architecture.md: to add {recipe} takes {len(files)} files: {files}"
    )
