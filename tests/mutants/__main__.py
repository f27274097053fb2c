"""Changes the code in many small places, one at a time, and shows which changes no test minds: `make
mutants`.

First the tests run once on the unchanged code, to see which test runs which line (kept in `.mutants` until
code or tests change). Then each change is tried with the tests that run its line, until one fails. The
working tree is not touched: forks of this process have the change in their functions, and what they start
has a folder of links to the sources, ahead of them on the path, in which one file is replaced.

A change that survives is either a hole in the tests or can be seen by nobody. For the second kind,
`equivalent.toml` has the place and the reason; it is then not tried. The status is 1 when fewer than nine in
ten of the others are caught.
"""

import json
import os
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

import click

from tests.mutants.changes import Mutant, chosen, mutants_of
from tests.mutants.covering import covering
from tests.mutants.forks import Outcome, Overlay, Trials

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".mutants"
PACKAGES = ("decide", "cluster", "controllers")
LEAST = 0.9


class Told:
    """What came out, printed as it comes. Which test catches a change is kept for the next run."""

    def __init__(self, file: Path, screen: TextIO) -> None:
        self._file = file
        self._screen = screen
        self.before = self._kept()
        self.outcomes: list[Outcome] = []

    def __call__(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        word = "caught  " if outcome.caught else "SURVIVED"
        self.say(f"{len(self.outcomes):4} {word} {outcome.seconds:5.1f} s  {line_of(outcome.mutant)}")
        self.say(f"      by {outcome.by}")
        if outcome.caught:
            self.before = {**self._kept(), outcome.mutant.key: outcome.by}
            self._file.write_text(json.dumps(self.before))

    def _kept(self) -> dict[str, str]:
        """Also what other runs have found meanwhile."""
        found: dict[str, str] = json.loads(self._file.read_text()) if self._file.exists() else {}
        return found

    def say(self, line: str) -> None:
        click.echo(line, file=self._screen)


@contextmanager
def elsewhere() -> Iterator[TextIO]:
    """The screen, while all that pytest and the tests print goes nowhere."""
    with os.fdopen(os.dup(1), "w", buffering=1) as screen, Path(os.devnull).open("r+") as nowhere:
        for number in (0, 1, 2):
            os.dup2(nowhere.fileno(), number)
        yield screen
        sys.stdout.flush()
        os.dup2(screen.fileno(), 1)


def line_of(mutant: Mutant) -> str:
    return f"{mutant.path}:{mutant.lines.start} {mutant.function}\n      {mutant.before}  →  {mutant.after}"


def summary(outcomes: list[Outcome], named: int) -> float:
    click.echo(f"\n{'':16}{'tried':>8}{'caught':>8}{'survived':>10}")
    for package in PACKAGES:
        mine = [outcome for outcome in outcomes if outcome.mutant.path.parts[1] == package]
        caught = sum(outcome.caught for outcome in mine)
        click.echo(f"{package + '/':16}{len(mine):8}{caught:8}{len(mine) - caught:10}")
    caught = sum(outcome.caught for outcome in outcomes)
    share = caught / len(outcomes) if outcomes else 1.0
    click.echo(
        f"{caught} of {len(outcomes)} changes are caught: {share:.1%}; {named} more are named as equivalent"
    )
    return share


@click.command()
@click.option("--seed", default=1, show_default=True, help="Which places are chosen.")
@click.option("--count", default=300, show_default=True, help="How many places.")
@click.option("--skip", default=0, show_default=True, help="How many of them to leave out, from the first.")
@click.option(
    "--only", multiple=True, help="Part of a place, such as decide/search.py or a function; repeatable."
)
@click.option("--jobs", default=2, show_default=True, help="How many at a time.")
@click.option("--patience", default=60.0, show_default=True, help="Most seconds of tests for one change.")
def main(seed: int, count: int, skip: int, only: tuple[str, ...], jobs: int, patience: float) -> None:
    packages = [ROOT / "src" / "maitred" / name for name in PACKAGES]
    paths = sorted(path.relative_to(ROOT / "src") for package in packages for path in package.rglob("*.py"))
    places = [mutant for path in paths for mutant in mutants_of(ROOT / "src", path)]
    equivalent = tomllib.loads((ROOT / "tests/mutants/equivalent.toml").read_text())["place"]
    for key in sorted(equivalent.keys() - {mutant.key for mutant in places}):
        click.echo(f"equivalent.toml names a place that is no more: {key}", err=True)
    places = [mutant for mutant in places if not only or any(part in mutant.key for part in only)]
    asked = chosen(places, seed, count)[skip:]
    tried = [mutant for mutant in asked if mutant.key not in equivalent]

    click.echo(f"{len(tried)} of {len(places)} places, seed {seed}")
    covered = covering(ROOT, KEPT, packages, jobs)
    with TemporaryDirectory(prefix="mutants-") as folder, elsewhere() as screen:
        told = Told(KEPT / "caught.json", screen)
        covered.before = told.before
        overlays = [Overlay(ROOT, Path(folder) / str(number)) for number in range(jobs)]
        Trials(overlays, covered, patience, told).run(tried, packages, ROOT)
    outcomes = told.outcomes

    survivors = [outcome for outcome in outcomes if not outcome.caught]
    for outcome in sorted(survivors, key=lambda outcome: outcome.mutant.key):
        click.echo(f"\nsurvived ({outcome.by}): {line_of(outcome.mutant)}\n      key: {outcome.mutant.key}")
    sys.exit(summary(outcomes, len(asked) - len(tried)) < LEAST)


if __name__ == "__main__":
    main()
