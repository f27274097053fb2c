"""`maitred defrag`: moves that would let groups start which wait for scattered room, and asking for them."""

import asyncio
from typing import TYPE_CHECKING

import click

from maitred.cli import output
from maitred.cli.asking import ClusterOptions, Question, cluster_options, situation_of
from maitred.cli.deadlines import deadline
from maitred.cli.drain import agree, read, record
from maitred.model.drain import Drain, DrainRequest, drain_name, drain_object
from maitred.model.manifest import InputError
from maitred.model.memory import MemoryObject

if TYPE_CHECKING:
    from maitred.explain.maintenance.answer import DefragPlan


@click.command()
@click.argument("groups", nargs=-1, metavar="[GROUP...]")
@click.option(
    "--preview/--apply", default=True, show_default=True, help="Show the moves, or ask for them too."
)
@click.option(
    "--by",
    metavar="TIME",
    default="24h",
    show_default=True,
    help="Until when they may be made: a time such as 2026-03-01T18:00:00Z, or a duration such as 2h.",
)
@click.option("--yes", "-y", is_flag=True, help="With --apply: record the request without asking.")
@cluster_options
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(
    cluster: ClusterOptions, groups: tuple[str, ...], preview: bool, by: str, yes: bool, form: str
) -> None:
    """Show which pods could move elsewhere, so that groups start that wait for scattered room.

    Each line is one move: of one group, of one pod, or of all on one node. The engine has tried it: those who
    move have places elsewhere, and the group that waits starts. --apply records a request; the scheduler that
    leads carries it out, move by move: only right after a checkpoint where they say when that is, only if all
    have places at that moment, and only while the group still waits. It never does this by itself.

    GROUP is the name of a group that waits, as NAME or NAMESPACE/NAME; else all are looked at.

    \b
    Exit status:
      0 the moves were shown, or the request was recorded
      1 the request was not recorded, because you answered no or the API server refused it
      2 bad input, or there is no terminal to ask on and no --yes

    \b
    Examples:
      maitred defrag
      maitred defrag llama --apply --by 6h
      maitred defrag -f examples/defrag --now 2026-03-01T12:00:00Z
    """
    if cluster.files and not preview:
        raise InputError("--apply", "", "", "nothing can be moved in a dump")
    drain, plan = asyncio.run(prepared(cluster, groups, by))
    from maitred.explain.maintenance.tables import defrag_lines

    output.show(plan, form, defrag_lines)
    if preview:
        return
    if not drain.request.room:
        click.echo("nothing was recorded: there is no move that would help", err=True)
        return
    agree(yes, "Move them?")
    asyncio.run(record(cluster, drain))


async def prepared(cluster: ClusterOptions, groups: tuple[str, ...], by: str) -> "tuple[Drain, DefragPlan]":
    """The request, and what would become of it now."""
    objects, group_api = await read(cluster)
    from maitred.explain.maintenance.rooms import blocked_groups, defrag_plan, makings_of

    question = Question[None]("", type(None), None)
    situation = situation_of(objects, question, cluster, group_api)
    names = [name if "/" in name else f"{cluster.home}/{name}" for name in groups]
    blocked = blocked_groups(situation, names)
    until, asked = deadline(by, situation.now, "--by"), situation.now.replace(microsecond=0)
    request = DrainRequest(until, asked, room=makings_of(blocked))
    drain = Drain(drain_name(request), request)
    known = {item.metadata.name for item in objects if isinstance(item, MemoryObject)}
    if drain_object(drain).metadata.name in known:
        what = f"there is a request {drain.name} already: see `maitred drain --list`, or cancel it first"
        raise InputError("", "", "", what)
    if request.room:
        situation = situation_of([*objects, drain_object(drain)], question, cluster, group_api)
    return drain, defrag_plan(situation, drain, blocked)
