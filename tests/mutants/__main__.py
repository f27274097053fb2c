"""Changes the code in many small places, one at a time, and shows which changes no test minds: `make
mutants`.

First the tests run once on the unchanged code, to see which test runs which line (kept in `.mutants` until
code or tests change). Then each change is tried with the tests that run its line, until one fails. The
working tree is not touched: a worker has a folder of links to the sources, ahead of them on the path, in
which one file is replaced.

A change that survives is either a hole in the tests or can be seen by nobody. For the second kind,
`equivalent.toml` has the place and the reason; it is then not tried. The status is 1 when fewer than nine in
ten of the others are caught.
"""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

import click

from tests.mutants.changes import Mutant, chosen, mutants_of
from tests.mutants.covering import Covering, covering
from tests.mutants.trying import CAUGHT

ROOT = Path(__file__).parents[2]
PACKAGES = ("decide", "cluster", "controllers")
LEAST = 0.9
HUNG = {-signal.SIGPROF, -signal.SIGALRM}


@dataclass(frozen=True)
class Outcome:
    mutant: Mutant
    caught: bool
    tests: int
    """That were run."""
    by: str
    """The test that failed, or why none did."""
    seconds: float


class Overlay:
    """The sources as links, and beside them what they look for there; one file can be another."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        for path in sorted((root / "src" / "maitred").rglob("*")):
            link = folder / path.relative_to(root)
            if path.is_file() and path.suffix != ".pyc":
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)
        for name in ("deploy", "examples"):
            (folder / name).symlink_to(root / name)

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        link = self._folder / "src" / mutant.path
        self._replace(link)
        link.write_bytes(mutant.source(self._root / "src"))
        try:
            yield
        finally:
            self._replace(link)
            link.symlink_to(self._root / "src" / mutant.path)

    def _replace(self, link: Path) -> None:
        link.unlink()
        for compiled in link.parent.glob(f"__pycache__/{link.stem}.*.pyc"):
            compiled.unlink()

    def attempt(self, mutant: Mutant, tests: list[dict[str, float]]) -> tuple[int, list[str]]:
        """The exit status, and what was noted of the tests that ran."""
        plan, track = self._folder / "tests.json", self._folder / "track"
        plan.write_text(json.dumps(tests))
        track.write_text("")
        path = os.pathsep.join([str(self._folder / "src"), str(ROOT)])
        environment = {**os.environ, "HYPOTHESIS_PROFILE": "quick", "PYTHONPATH": path}
        with self.changed(mutant):
            self._process = process = subprocess.Popen(
                [sys.executable, "-m", "tests.mutants.trying", str(plan), str(track)],
                cwd=self._root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            status = process.wait()
            self.stop()
        return status, track.read_text().splitlines()

    def stop(self) -> None:
        """Also what the tests have started."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


def try_out(mutant: Mutant, covered: Covering, overlays: SimpleQueue[Overlay], patience: float) -> Outcome:
    batches = covered.batches(mutant, patience)
    if not batches:
        return Outcome(mutant, False, 0, "no test runs it", 0.0)
    overlay = overlays.get()
    began = time.monotonic()
    try:
        status, track = overlay.attempt(mutant, batches)
    finally:
        overlays.put(overlay)
    took = time.monotonic() - began
    ran = sum(line.startswith("runs ") for line in track)
    last = track[-1].partition(" ")[2] if track else "(the start)"
    if status in HUNG:
        last = f"{last} (took too long)"
    elif status not in (0, CAUGHT):
        last = f"{last} (the process ended with {status})"
    if status != 0:
        covered.caught[mutant.path, last] += 1
    return Outcome(mutant, status != 0, ran, last if status else f"none of {ran} tests", took)


def outcomes_of(tried: list[Mutant], covered: Covering, jobs: int, patience: float) -> Iterator[Outcome]:
    overlays: SimpleQueue[Overlay] = SimpleQueue()
    with TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        everyone = [Overlay(ROOT, Path(folder) / str(number)) for number in range(jobs)]
        for overlay in everyone:
            overlays.put(overlay)
        futures = [pool.submit(try_out, mutant, covered, overlays, patience) for mutant in tried]
        try:
            for done in as_completed(futures):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for overlay in everyone:
                overlay.stop()


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
    covered = covering(ROOT, ROOT / ".mutants", packages, jobs)
    outcomes = list[Outcome]()
    with suppress(KeyboardInterrupt):
        for outcome in outcomes_of(tried, covered, jobs, patience):
            outcomes.append(outcome)
            word = "caught  " if outcome.caught else "SURVIVED"
            click.echo(f"{len(outcomes):4} {word} {outcome.seconds:5.1f} s  {line_of(outcome.mutant)}")
            click.echo(f"      by {outcome.by}")

    survivors = [outcome for outcome in outcomes if not outcome.caught]
    for outcome in sorted(survivors, key=lambda outcome: outcome.mutant.key):
        click.echo(f"\nsurvived ({outcome.by}): {line_of(outcome.mutant)}\n      key: {outcome.mutant.key}")
    sys.exit(summary(outcomes, len(asked) - len(tried)) < LEAST)


if __name__ == "__main__":
    main()
