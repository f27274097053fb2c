"""That mutants change what they should, and that a caught one can be told from a survivor."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.__main__ import Overlay
from tests.mutants.changes import Mutant, chosen, mutants_of
from tests.mutants.trying import CAUGHT

SOURCE = '''"""A module."""

A: int | None = None

def fits(need: int, free: int, *, strict: bool = True) -> bool:
    """Whether it fits."""
    assert need >= 0
    log.info("%d of %d", need + 1, free)
    if not strict and need == free:
        return True
    return need < min(free, 7)
'''
CHANGES = {
    "True -> False",
    "not strict and need == free -> not strict or need == free",
    "not strict -> strict",
    "need == free -> need != free",
    "True -> False #2",
    "return need < min(free, 7) -> return None",
    "need < min(free, 7) -> need <= min(free, 7)",
    "min(free, 7) -> max(free, 7)",
    "7 -> 8",
}

TEST = """
from maitred.one import fits

def test_minds_nothing():
    assert fits(1, 5)

def test_minds_a_boundary():
    assert not fits(5, 5)
"""


def of(folder: Path, source: str) -> dict[str, Mutant]:
    (folder / "one.py").write_text(source)
    return {mutant.key: mutant for mutant in mutants_of(folder, Path("one.py"))}


def test_annotations_assertions_and_logs_are_left_alone(tmp_path: Path) -> None:
    assert of(tmp_path, SOURCE).keys() == {f"one.py fits: {change}" for change in CHANGES}


def test_a_mutant_differs_in_one_place(tmp_path: Path) -> None:
    mutant = of(tmp_path, SOURCE)["one.py fits: need < min(free, 7) -> need <= min(free, 7)"]
    assert mutant.source(tmp_path).decode() == SOURCE.replace("need < min(free, 7)", "(need <= min(free, 7))")
    assert mutant.lines == range(11, 12)


def test_the_same_places_are_chosen_when_others_come_and_lines_move(tmp_path: Path) -> None:
    few = chosen(list(of(tmp_path, SOURCE).values()), 1, 100)
    more = "def other() -> int:\n    return 2 * 3\n\n\n" + SOURCE.removeprefix('"""A module."""\n')
    many = [mutant.key for mutant in chosen(list(of(tmp_path, more).values()), 1, 100)]
    assert [mutant.key for mutant in few] == [key for key in many if "other" not in key]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ("need < min(free, 7) -> need <= min(free, 7)", CAUGHT),
        ("7 -> 8", 0),
    ],
)
def test_a_mutant_is_caught_by_a_test_that_minds(tmp_path: Path, change: str, status: int) -> None:
    package = tmp_path / "root" / "src" / "maitred"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (tmp_path / "root" / "test_one.py").write_text(TEST)
    mutants = of(package, SOURCE.replace("    log.info", "    #"))
    found = replace(mutants[f"one.py fits: {change}"], path=Path("maitred/one.py"))
    tests = [{"test_one.py::test_minds_nothing": 0.1}, {"test_one.py::test_minds_a_boundary": 0.1}]
    ended, track = Overlay(tmp_path / "root", tmp_path / "overlay").attempt(found, tests)
    assert ended == status
    assert ("fails test_one.py::test_minds_a_boundary" in track) == (status == CAUGHT)
