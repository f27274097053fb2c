"""Which tests run a line, and in which order they are asked about a change of it."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from tests.mutants.changes import Mutant

FOLDERS = (
    *("attacks", "catalogue", "cli", "cluster", "controllers", "decide", "explain"),
    *("one_truth", "preemption", "properties", "scenarios", "simulate"),
)
"""Tests of other folders run the packages too, but have little to say of them that these do not."""
LAWS = "tests/properties/"
"""They see most wrong decisions, and are asked after the first batch."""
MARKS = "not control_plane and not browser"
FILES = "files"
BATCHES = (2.0, 8.0, 30.0)
"""Seconds of tests: the first batches are small, for most changes are caught by the first few tests."""


@dataclass
class Covering:
    """What one run of the tests on the unchanged code has shown."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, set[str]]]
    """By file, from `src`, and line."""
    imported: dict[str, set[int]] = field(default_factory=dict)
    """Lines that run outside of tests, by file."""
    caught: Counter[tuple[Path, str]] = field(default_factory=Counter)
    """Which tests have caught changes of which file: they are asked first about the next one."""
    before: dict[str, str] = field(default_factory=dict)
    """Which test caught a change in an earlier run: it is asked before all others."""

    def __post_init__(self) -> None:
        self._breadth = Counter(
            test for lines in self.lines.values() for tests in lines.values() for test in tests
        )

    def batches(self, mutant: Mutant, patience: float) -> list[dict[str, float]]:
        lines = self.lines.get(str(mutant.path), {})
        tests = set().union(*(lines.get(line, ()) for line in mutant.lines)) or self._beside(mutant)
        batches: list[dict[str, float]] = [{}]
        spent = 0.0
        for test in self._ordered(mutant, tests):
            took = self.seconds[test]
            if spent + took > patience:
                continue
            spent += took
            if len(batches) <= len(BATCHES) and spent > sum(BATCHES[: len(batches)]) and batches[-1]:
                batches.append({})
            batches[-1][test] = took
        return [batch for batch in batches if batch]

    def _beside(self, mutant: Mutant) -> set[str]:
        """The tests that run others of its folder: for what runs in other processes, or when imported."""
        if mutant.path.parts[1] != "controllers" and mutant.lines.start > 1:
            return set()
        folder = f"{mutant.path.parent}/"
        files = [lines for path, lines in self.lines.items() if path.startswith(folder)]
        return set().union(*(tests for lines in files for tests in lines.values()))

    def _ordered(self, mutant: Mutant, tests: set[str]) -> list[str]:
        """Fast tests that run few other lines first, but not many of one file in a row: they see the same."""
        cost = {test: (self.seconds[test] + 0.02) * self._breadth[test] ** 0.5 for test in tests}
        before: Counter[str] = Counter()
        for test in sorted(tests, key=lambda test: (cost[test], test)):
            before[file := test.partition("::")[0]] += 1
            cost[test] *= 1 + before[file] / 4
        first = self.before.get(mutant.key)
        ordered = sorted(
            tests, key=lambda test: (test != first, -self.caught[mutant.path, test], cost[test], test)
        )
        few = sum(spent <= BATCHES[0] for spent in accumulate(self.seconds[test] for test in ordered))
        return ordered[:few] + sorted(ordered[few:], key=lambda test: not test.startswith(LAWS))

    def runs_at_import(self, mutant: Mutant) -> bool:
        return not self.imported.get(str(mutant.path), set()).isdisjoint(mutant.lines)


def covering(root: Path, folder: Path, packages: list[Path], jobs: int) -> Covering:
    """From recordings in the folder. Test files that have changed since run again; all, if the code has."""
    folder = folder / _digest(sorted((root / "src").rglob("*.py")))[:16]
    now = {
        str(p.relative_to(root)): _digest([p])
        for n in FOLDERS
        for p in (root / "tests" / n).rglob("test_*.py")
    }
    kept: dict[str, str] = {}
    for recording in _recordings(folder):
        kept |= json.loads((recording / FILES).read_text())
    changed = sorted(path for path in now if kept.get(path) != now[path])
    if changed:
        fresh = folder / f"{len(_recordings(folder)):04}"
        fresh.mkdir(parents=True, exist_ok=True)
        _record(root, fresh, packages, changed, jobs)
        (fresh / FILES).write_text(json.dumps({path: now[path] for path in changed}))
    return _read(root, _recordings(folder))


def _digest(paths: list[Path]) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()


def _recordings(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob(f"*/{FILES}"))


def _record(root: Path, folder: Path, packages: list[Path], files: list[str], jobs: int) -> None:
    environment = {
        **os.environ,
        "HYPOTHESIS_PROFILE": "quick",
        "PYTEST_PLUGINS": "tests.mutants.recording",
        "MAITRED_MUTANTS": os.pathsep.join(str(path) for path in (folder, *packages)),
    }
    options = ["-q", "-n", str(jobs), "--dist", "loadgroup", "-p", "no:schemathesis", "-m", MARKS]
    subprocess.run([sys.executable, "-m", "pytest", *options, *files], cwd=root, env=environment, check=False)


def _read(root: Path, recordings: list[Path]) -> Covering:
    seconds: dict[str, float] = {}
    lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    imported: dict[str, set[int]] = defaultdict(set)
    seen: set[str] = set()
    for recording in reversed(recordings):
        for path in recording.glob("[0-9]*.json"):
            record = json.loads(path.read_text())
            names = [name for name, _, _ in record["tests"]]
            passed = {
                n: took for n, took, good in record["tests"] if good and n.partition("::")[0] not in seen
            }
            seconds.update(passed)
            for file, covered in record["lines"].items():
                for line, tests in covered.items():
                    found = {names[number] for number in tests}
                    lines[str(Path(file).relative_to(root / "src"))][int(line)] |= found & passed.keys()
            for file, outside in record["imported"].items():
                imported[str(Path(file).relative_to(root / "src"))].update(outside)
        seen |= json.loads((recording / FILES).read_text()).keys()
    return Covering(seconds, lines, imported)
