"""`maitred replay`: a record, decided once more."""

import gzip
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import click

from maitred.cli import output
from maitred.cli.files import read_live_policy_file, refuse
from maitred.model.manifest import InputError

LONGEST_LINE = 256 * 2**20
SUFFIXES = (".jsonl.gz", ".jsonl")
DIFFERENT = 1


@click.command()
@click.argument("records", nargs=-1, required=True, metavar="FILE|DIR...")
@click.option(
    "--policy",
    metavar="FILE",
    help="Decide by this policy instead of the recorded one, and show what changes.",
)
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(records: tuple[str, ...], policy: str | None, form: str) -> None:
    """Decide again what a scheduler decided, on what it saw then, and show whether the result is the same.

    With --policy, each decision is made by that policy on what the scheduler saw then, and the differences
    are shown. The next decision again sees what was recorded, not what the other policy would have led to;
    for that, use `maitred simulate`.

    Exit status: 0 when every decision is the same, or --policy was given; 1 when some are not.

    \b
    Examples:
      maitred replay incident
      maitred replay incident --policy examples/policies/datacenter.yaml -o json
    """
    other = None if policy is None else read_live_policy_file(policy)
    from maitred.explain.replay import Replayer
    from maitred.explain.replay_tables import replay_lines

    segments = list(dict.fromkeys(path.resolve() for path in segments_of(records)))
    warnings: list[str] = []
    replayer = Replayer(records[0], other)
    for number, path in enumerate(segments, 1):
        show_progress(number, len(segments), path)
        replayer.source = os.path.relpath(path)
        for line in lines_of(path, warnings):
            replayer.take(line)
    replay = replayer.replay(warnings)
    if form == "table":
        output.warn(replay.warnings)
        output.write_lines(lambda width: replay_lines(replay, other is not None, width))
    else:
        output.write_data(replay, form)
    if other is None and replay.same < replay.decisions:
        sys.exit(DIFFERENT)


def segments_of(records: tuple[str, ...]) -> Iterator[Path]:
    for record in records:
        path = Path(record)
        if not path.is_dir():
            yield path
            continue
        inside = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES))
        if not inside:
            raise InputError(record, "", "", f"has no files ending in {' or '.join(SUFFIXES)}")
        yield from inside


def lines_of(path: Path, warnings: list[str]) -> Iterator[bytes]:
    """Whole lines. The last of a scheduler that was killed may be cut off; what is before it counts."""
    try:
        with gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb") as file:
            while line := file.readline(LONGEST_LINE):
                if not line.endswith(b"\n"):
                    warnings.append(f"{path}: the last line is incomplete and was not read")
                    return
                yield line
    except EOFError:
        warnings.append(f"{path}: the file is incomplete; it was read up to where it ends")
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(str(path), "", "", f"is not a valid gzip file: {error}") from None
    except OSError as error:
        refuse(error, str(path))


def show_progress(number: int, count: int, path: Path) -> None:
    if count > 1 and sys.stderr.isatty():
        click.echo(f"replaying {number} of {count}: {path.name}", err=True)
