"""`maitred override`: lift one group past the turn and the limits of its queue, with a reason and an end."""

from typing import TYPE_CHECKING

import click
import msgspec

from maitred.cli import output
from maitred.cli.asking import ClusterOptions, Question, ask, cluster_options
from maitred.cli.deadlines import deadline
from maitred.cli.decide import moment
from maitred.model.manifest import InputError

if TYPE_CHECKING:
    from maitred.explain.overriding.answer import OverrideList
    from maitred.explain.situation import Situation


@click.command()
@click.argument("name", required=False, metavar="[GROUP]")
@click.option("--reason", metavar="TEXT", help="Why, in one line. All who pay for it are told.")
@click.option(
    "--until",
    metavar="TIME",
    help="When it ends: a time such as 2026-03-01T18:00:00Z, or a duration such as 4h; 7 days at most.",
)
@click.option(
    "--list", "listing", is_flag=True, help="List the overrides in namespaces that you may look into."
)
@click.option("--end", metavar="GROUP", help="End the override of a group now. The group keeps what it has.")
@cluster_options
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(
    cluster: ClusterOptions,
    name: str | None,
    reason: str | None,
    until: str | None,
    listing: bool,
    end: str | None,
    form: str,
) -> None:
    """Lift one group that waits past the turn and the limits of its queue.

    It goes before other groups of its priority, and is not held to the caps of its queue and of those above.
    It becomes neither entitled nor of a higher priority. You need the verb `override` on groups.maitred.dev
    in the namespace of the group. The scheduler that leads writes it down. Receipts and bills name you.

    GROUP is the name of a group, of a pod, or as in job/train of an object that creates pods.

    \b
    Exit status:
      0 it was written down, or listed
      1 you may not, or no scheduler answers
      2 bad input, or there is nothing to lift or to end

    \b
    Examples:
      maitred override train -n team-a --reason "demo for the board" --until 4h
      maitred override --list
      maitred override --end train -n team-a
    """
    if sum((name is not None, listing, end is not None)) != 1:
        raise InputError("", "", "", "name a group to lift, or give --list, or --end GROUP")
    if (name is None) != (reason is None) or (name is None) != (until is None):
        raise InputError(
            "", "", "", "a group to lift takes --reason and --until; --list and --end take neither"
        )
    if listing:
        show_list(cluster, form)
        return
    cluster.order_only("overrides")
    if end is not None:
        place(cluster, end, "/end", b"{}", form)
    elif name is not None and until is not None:
        wish = {"reason": reason, "until": deadline(until, moment(None), "--until")}
        place(cluster, name, "", msgspec.json.encode(wish), form)


def place(cluster: ClusterOptions, name: str, path: str, body: bytes, form: str) -> None:
    from maitred.explain.overriding.answer import OverrideDone
    from maitred.explain.overriding.tables import done_lines
    from maitred.explain.why.answer import kind_called

    said, slash, rest = name.partition("/")
    kind = kind_called(said) if slash else None
    if slash and kind is None:
        raise InputError(
            "", "", "", f"{name} is not of the form GROUP or KIND/NAME; give a namespace with -n"
        )
    query = {} if kind is None else {"kind": kind}
    where = f"overrides/{cluster.home}/{rest if slash else name}{path}"
    done = ask(Question(where, OverrideDone, None, query, body), cluster)
    output.show(done, form, done_lines)


def show_list(cluster: ClusterOptions, form: str) -> None:
    from maitred.explain.overriding.answer import OverrideList
    from maitred.explain.overriding.tables import list_lines

    cluster.list_only()
    # Only the scheduler may read what it has written down.
    found = ask(Question("overrides", OverrideList, _overrides if cluster.files else None), cluster)
    output.show(found, form, list_lines)


def _overrides(situation: "Situation") -> "OverrideList":
    from maitred.explain.overriding.asking import overrides

    return overrides(situation, None)
