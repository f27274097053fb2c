"""`maitred verify`: a second opinion on a Plan, or on the bindings of any cluster, from code of its own."""

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from maitred.cli import output
from maitred.cli.decide import moment
from maitred.cli.files import read_plan_file, read_policy_file, read_raw_objects
from maitred.model.manifest import InputError
from maitred.verify import Breach, verify

if TYPE_CHECKING:
    from rich.text import Text

BREACHES = 1


@click.command()
@output.inputs
@click.option("--plan", metavar="FILE", help="Plan to check.  [default: check the bindings in the objects]")
@output.policy_file
@output.scheduler_name
@click.option(
    "--now",
    metavar="RFC3339",
    help="Time that the Plan was made for.  [default: rules that depend on the time are not checked]",
)
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(
    files: tuple[str, ...],
    more: tuple[str, ...],
    plan: str | None,
    policy: str | None,
    scheduler: str | None,
    now: str | None,
    form: str,
) -> None:
    """Check a Plan against the laws (docs/verify.md), given the objects that it was made for.

    Exit status: 0 if the Plan keeps all laws, 1 if it breaks one, 2 if the input is not valid.

    \b
    Examples:
      maitred decide -f examples/first-gang -o json > plan.json
      maitred verify -f examples/first-gang --plan plan.json
    """
    time = None if now is None else moment(now)
    rules = read_policy_file(policy)[1] if policy else None
    document = read_plan_file(plan) if plan else None
    objects, warnings = read_raw_objects((*files, *more))
    breaches = judged(objects, document, rules, scheduler, time, plan)
    if form == "table":
        output.warn(warnings)
        output.write_lines(lambda width: breach_lines(breaches, width))
    else:
        output.write_data({"breaches": breaches, "warnings": warnings}, form)
    sys.exit(BREACHES if breaches else 0)


def judged(
    objects: list[dict[str, Any]],
    plan: dict[str, Any] | None,
    policy: dict[str, Any] | None,
    scheduler: str | None,
    now: datetime | None,
    plan_file: str | None,
) -> list[Breach]:
    try:
        return verify(objects, plan, policy, scheduler, now)
    except ValueError as error:
        what = str(error)
        source = plan_file or "" if what.startswith("Plan:") else ""
        raise InputError(source, "", "", what) from None


def breach_lines(breaches: Sequence[Breach], width: int | None) -> Iterator["Text"]:
    from rich.text import Text

    from maitred.explain.tables import aligned

    if not breaches:
        yield Text("Every law holds.")
        return
    header = [Text(title, "bold") for title in ("LAW", "SUBJECT", "BREACH")]
    yield from aligned([header, *((f"{b.law} {b.name}", b.subject, b.message) for b in breaches)], width)
    yield Text()
    count = len(breaches)
    yield Text("1 breach." if count == 1 else f"{count} breaches.", "red")
