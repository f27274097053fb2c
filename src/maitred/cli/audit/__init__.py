"""`maitred audit`: what a cluster does to its gangs, whatever schedules it. Nothing is changed anywhere."""

import asyncio
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
import msgspec

from maitred.cli import output
from maitred.cli.decide import moment
from maitred.cli.files import read_policy_file
from maitred.model.duration import FORM, milliseconds
from maitred.model.manifest import InputError

if TYPE_CHECKING:
    from maitred.explain.audit.answer import Audit
    from maitred.explain.audit.observer import Observer
    from maitred.model.policy import Policy


@click.command()
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE|DIR|-",
    help="Dump of a cluster to read instead of the cluster. May be repeated.  [default: read the cluster]",
)
@output.kubeconfig
@output.context
@click.option("--for", "span", metavar="DURATION", help="Watch the cluster for this time, such as 1h or 7d.")
@output.policy_file
@click.option("--now", metavar="RFC3339", help="Time at which the dump was made.  [default: now]")
@click.option(
    "--record",
    "records",
    multiple=True,
    metavar="FILE|DIR",
    help="Record that `maitred record` wrote; all of it is audited. May be repeated.",
)
@click.option(
    "--replay",
    is_flag=True,
    help="Also simulate the jobs that were seen, once placed pod by pod and once as whole groups.",
)
@click.option(
    "--role", is_flag=True, help="Print the ClusterRole that the audit needs, for kubectl to apply."
)
@output.output("table", "json", "yaml", "html")
@output.refuses_bad_input
def command(
    files: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    span: str | None,
    policy: str | None,
    now: str | None,
    records: tuple[str, ...],
    replay: bool,
    role: bool,
    form: str,
) -> None:
    """Find gangs that run in part and what they hold, devices that no pod can use, and requests that can
    never fit, on any cluster with any scheduler. It only reads: get, list and watch.

    \b
    To write a dump (add podgroups and deviceclasses to the list if the cluster has them):
      kubectl get -A -o json > cluster.json \\
        nodes,pods,jobs,pdb,pc,ns,pvc,pv,sc,csinodes,csidrivers,volumeattachments

    \b
    Examples:
      maitred audit -f examples/audit --now 2026-03-02T12:00:00Z
      maitred audit -f examples/audit --now 2026-03-02T12:00:00Z -o html > audit.html
    """
    if role:
        print_role(form)
        return
    check(files, records, span, now)
    seconds = None if span is None else watch_seconds(span)
    if form == "html" and sys.stdout.isatty():
        raise InputError("-o html", "", "", "is a page for a browser: write it to a file with > audit.html")
    rules, _ = read_policy_file(policy)
    # The engine brings numpy along, which bad input need not wait for.
    from maitred.cli.audit.dumps import read_dump
    from maitred.cli.audit.records import read_records

    if files:
        at = moment(now)
        observer, warnings = read_dump(files, rules, at)
    elif records:
        observer, at, warnings = read_records(records, rules)
    else:
        observer, warnings = read_cluster(kubeconfig, context, rules, seconds)
        at = datetime.now(UTC)
    write(answer_of(observer, at, warnings, replay), form)


def read_cluster(
    kubeconfig: str | None, context: str | None, policy: "Policy", seconds: float | None
) -> "tuple[Observer, tuple[str, ...]]":
    from maitred.cli.audit import cluster

    try:
        return asyncio.run(cluster.read_cluster(kubeconfig, context, policy, seconds))
    except Exception as error:
        output.end_in_words(error)
        raise


def answer_of(observer: "Observer", at: datetime, warnings: tuple[str, ...], replay: bool) -> "Audit":
    from maitred.explain.audit.auditing import audit
    from maitred.explain.audit.replaying import replayed

    answer = audit(observer, at)
    return msgspec.structs.replace(
        answer,
        replay=replayed(observer, at) if replay else None,
        warnings=(*warnings, *answer.warnings),
    )


def check(files: tuple[str, ...], records: tuple[str, ...], span: str | None, now: str | None) -> None:
    if files and records:
        raise InputError("--record", "", "", "give either this or -f, not both")
    if not files and now is not None:
        raise InputError("--now", "", "", "can only be used with -f: a cluster or a record has its own time")
    if span is not None and (files or records):
        raise InputError(
            "--for",
            "",
            "",
            "cannot be used with -f or --record: only a cluster can be watched, not a file",
        )


def watch_seconds(span: str) -> float:
    length = milliseconds(span)
    if not length:
        raise InputError("--for", "", "", f"{span!r} is not {FORM}")
    return length / 1000


def write(answer: "Audit", form: str) -> None:
    if form in ("json", "yaml"):
        output.write_data(answer, form)
        return
    output.warn(answer.warnings)
    if form == "html":
        from maitred.explain.audit.page import page

        click.echo(page(answer), nl=False)
    else:
        from maitred.explain.audit.tables import audit_lines

        output.write_lines(lambda width: audit_lines(answer, width))


def print_role(form: str) -> None:
    from maitred.cli.manifest import objects

    for item in objects("audit"):
        click.echo("---")
        output.write_data(item, "yaml" if form == "table" else form)
