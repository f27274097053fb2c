"""That mutants change what they should, and that a caught one can be told from a survivor."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.changes import Mutant, chosen, mutants_of

ROOT = Path(__file__).parents[2]

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


PROGRAM = """
import json, sys
from pathlib import Path
from tests.mutants.changes import mutants_of
from tests.mutants.covering import Covering
from tests.mutants.forks import Overlay, Trials

root, change, imported = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
tests = [f"test_one.py::test_minds_{what}" for what in ("nothing", "a_boundary")]
path = Path("maitred/one.py")
lines = {line: set(tests) for line in range(1, 20)}
covered = Covering(dict.fromkeys(tests, 0.1), {str(path): lines}, {str(path): set(imported)})
tried = [mutant for mutant in mutants_of(root / "src", path) if mutant.key.endswith(f": {change}")]
said = []
trials = Trials([Overlay(root, root / "overlay")], covered, 60, said.append)
trials.run(tried, [root / "src" / "maitred"], root)
(root / "said").write_text(json.dumps([(one.caught, one.by) for one in said]))
"""


@pytest.mark.parametrize("imported", [[], [11]], ids=["in a fork", "in an interpreter"])
@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ("need < min(free, 7) -> need <= min(free, 7)", [True, "test_one.py::test_minds_a_boundary"]),
        ("7 -> 8", [False, "none of 2 tests"]),
    ],
)
def test_a_mutant_is_caught_by_a_test_that_minds(
    tmp_path: Path, change: str, outcome: list[object], imported: list[int]
) -> None:
    package = tmp_path / "src" / "maitred"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "one.py").write_text(SOURCE.replace("    log.info", "    #"))
    (tmp_path / "test_one.py").write_text(TEST)
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), change, json.dumps(imported)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "src"), str(ROOT)])},
        check=True,
    )
    assert json.loads((tmp_path / "said").read_text()) == [outcome]
