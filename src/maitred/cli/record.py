"""`maitred record`: a shadow that writes down what it sees and decides, to be replayed elsewhere."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import click

from maitred.cli import output, scheduler
from maitred.controllers.recording.ring import segments
from maitred.model.duration import FORM, milliseconds
from maitred.model.manifest import InputError

READ_SECONDS = 60.0
POLL_SECONDS = 0.1
QUIETLY = (
    *("--shadow", "--listen", "", "--answers", "", "--ledger", "none"),
    *("--log-form", "text", "--log-level", "warning"),
)
"""It serves nobody, keeps no ledger, and says only what goes wrong."""


@click.command()
@click.argument("directory")
@click.option(
    "--for", "duration", metavar="DURATION", help="How long to record, such as 10m.  [default: until Ctrl-C]"
)
@click.option("--limit", metavar="BYTES", default="1Gi", show_default=True, help="Most disk space to use.")
@output.kubeconfig
@output.context
@output.policy_file
@output.scheduler_name
@output.refuses_bad_input
def command(
    directory: str,
    duration: str | None,
    limit: str,
    kubeconfig: str | None,
    context: str | None,
    policy: str | None,
    scheduler: str | None,
) -> None:
    """Write to DIRECTORY what a scheduler sees of the cluster and what it would decide. Nothing is changed.

    The record holds nodes, pods and the other objects that a decision reads. It leaves out environment
    variables, arguments, and the volumes and annotations that no decision reads. `maitred replay` decides the
    record again. A running scheduler writes the same record with its option --record.

    \b
    Examples:
      maitred record incident --for 10m
      maitred replay incident
    """
    arguments = [*QUIETLY, "--record", directory, "--record-limit", limit]
    for name, value in {
        "--kubeconfig": kubeconfig,
        "--context": context,
        "--policy": policy,
        "--scheduler-name": scheduler,
    }.items():
        arguments += [] if value is None else [name, value]
    before = set(segments(Path(directory)))
    if duration is not None:
        stop_after(duration, Path(directory), before)
    shadow(arguments)
    if not set(segments(Path(directory))) - before:
        click.echo(
            f"{directory}: nothing was recorded: reading the cluster took longer than the recording", err=True
        )
        sys.exit(output.FAILED)


def shadow(arguments: list[str]) -> None:
    """A record is what a scheduler keeps anyway; all that is new here is that it does nothing else."""
    scheduler.command.main(arguments, prog_name="maitred record", standalone_mode=False)


def stop_after(duration: str, directory: Path, before: set[Path]) -> None:
    """As if somebody had asked it to stop then: what was begun is finished. The time runs from when the
    cluster has been read, or from when that takes too long."""
    length = milliseconds(duration)
    if not length:
        raise InputError("--for", "", "", f"{duration!r} is not {FORM}, and longer than 0")

    def wait() -> None:
        deadline = time.monotonic() + READ_SECONDS
        while time.monotonic() < deadline and not set(segments(directory)) - before:
            time.sleep(POLL_SECONDS)
        time.sleep(length / 1000)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="record-for", daemon=True).start()
