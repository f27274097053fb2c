"""`maitred bill`: what the devices of a month were used for, by whom, and what that cost."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from maitred.cli import output
from maitred.cli.asking import ClusterOptions, Question, ask, service
from maitred.cli.files import read_live_policy_file
from maitred.cli.ledgers import NONE
from maitred.kube.errors import KubeError
from maitred.model.manifest import InputError

if TYPE_CHECKING:
    from maitred.explain.billing.document import Bill


@click.command()
@click.option(
    "--month", metavar="YYYY-MM", help="Month to bill; days begin at 00:00 UTC.  [default: this month]"
)
@click.option(
    "--by",
    metavar="namespace|queue|model|label:KEY",
    default="namespace",
    show_default=True,
    help="One row for each of these. A label is read from the pod, else from its namespace.",
)
@click.option(
    "--ledger",
    metavar="PATH|URL",
    envvar="MAITRED_LEDGER",
    show_envvar=True,
    help="Ledger to read.  [default: ask the scheduler]",
)
@output.policy_file
@output.kubeconfig
@output.context
@service
@output.output("table", "csv", "json", "yaml")
@output.refuses_bad_input
def command(
    month: str | None,
    by: str,
    ledger: str | None,
    policy: str | None,
    kubeconfig: str | None,
    context: str | None,
    service: str,
    form: str,
) -> None:
    """Say how every device-hour of a month was used: each is in exactly one bucket, and all of them add up to
    the capacity of the cluster. Prices come from the policy.

    \b
    Examples:
      maitred bill
      maitred bill --by queue
      maitred bill --month 2026-11 --by label:team -o csv
      maitred bill --by model --ledger /var/lib/maitred/ledger.db --policy examples/policies/prices.yaml
    """
    ledger = None if ledger == NONE else ledger
    if policy is not None and not ledger:
        raise InputError(
            "--policy", "", "", "the scheduler bills by its own policy; add --ledger to bill by this one"
        )
    try:
        if ledger:
            found = read_bill(month, by, ledger, policy)
        else:
            found = ask_for_bill(month, by, ClusterOptions((), kubeconfig, context, service=service))
    except KubeError as error:
        output.end_in_words(error)
        raise
    from maitred.explain.billing.tables import bill_csv, bill_lines

    if form == "table":
        output.write_lines(lambda width: bill_lines(found, width))
    elif form == "csv":
        click.echo(bill_csv(found), nl=False)
    else:
        output.write_data(found, form)


def read_bill(month: str | None, by: str, ledger: str, policy: str | None) -> "Bill":
    from maitred.explain.billing.bill import bill, read_grouping, read_month
    from maitred.ledger.connections import LedgerError
    from maitred.ledger.store import Ledger

    now = datetime.now(UTC)
    chosen = read_month(month, now)
    read_grouping(by)
    rules = read_live_policy_file(policy)
    try:
        usage = Ledger.existing(ledger).usage(chosen.first_day, chosen.end_day)
    except LedgerError as error:
        raise InputError("--ledger", "", "", str(error)) from None
    return bill(usage, by, rules, chosen, now)


def ask_for_bill(month: str | None, by: str, cluster: ClusterOptions) -> "Bill":
    from maitred.explain.billing.bill import read_grouping, read_month
    from maitred.explain.billing.document import Bill
    from maitred.kube.answers import NoScheduler

    chosen = read_month(month, datetime.now(UTC))
    read_grouping(by)
    try:
        return ask(Question("bill", Bill, None, query={"month": chosen.name, "by": by}), cluster)
    except NoScheduler as nobody:
        raise KubeError(f"{nobody.why}; if it has left a ledger, read that with --ledger") from None
