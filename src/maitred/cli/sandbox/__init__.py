"""`maitred sandbox`: break the sandbox, mend it, and play stories on it."""

import asyncio
import re
from typing import TYPE_CHECKING, Any

import click

from maitred.cli import output
from maitred.cli.files import content
from maitred.cli.groups import CommandGroup
from maitred.cli.sandbox.finding import Duration, on_sandbox
from maitred.cli.sandbox.tainting import taint, untaint
from maitred.model.manifest import InputError
from maitred.model.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from maitred.kube.client import Client

DRAIN_SECONDS = "5m"

LONGEST_PLACE = 50
_PLACE = re.compile(rf"(?=.{{1,{LONGEST_PLACE}}}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", re.ASCII)
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?", re.ASCII)

targets = click.argument("targets", nargs=-1, required=True, metavar="TARGET...")


@click.group(cls=CommandGroup)
def command() -> None:
    """Change the nodes and the load of the sandbox that `maitred up` started.

    A TARGET is the name of a node or labels: b1-r3-n05, rack=r3, block=b2,example.com/rack!=r7.
    """


command.add_command(taint)
command.add_command(untaint)


@command.command()
@targets
@click.option(
    "--for",
    "seconds",
    metavar="DURATION",
    type=Duration(),
    help="Heal the nodes after this time, such as 90s or 5m.",
)
@click.option(
    "--reason", metavar="TEXT", default="lost", show_default=True, help="Reason to write on the node."
)
@click.option(
    "--devices",
    metavar="COUNT",
    type=click.IntRange(min=1),
    help="Fail only this many devices of each node; the node stays ready.",
)
@on_sandbox
async def fail(
    client: "Client", targets: tuple[str, ...], seconds: float | None, reason: str, devices: int | None
) -> None:
    """Fail machines: their nodes become NotReady at once, and nothing runs on them any more.

    With --devices the nodes stay ready, but offer fewer devices than they have, as a device plugin reports
    unhealthy devices. If COUNT is all of them, the node looks as if the plugin were not answering.

    \b
    Examples:
      maitred sandbox fail b1-r3-n05
      maitred sandbox fail rack=r3 --for 5m
      maitred sandbox fail b1-r3-n05 --devices 3
    """
    from maitred.sandbox.world import nodes
    from maitred.sandbox.world.objects import WorldObjects

    objects = WorldObjects(client)
    lost = await nodes.meant(objects, targets)
    if devices is None:
        await nodes.fail(objects, lost, reason)
        click.echo(f"{counted(len(lost), 'node')} lost: {names(lost)}")
    else:
        await nodes.break_devices(objects, lost, devices)
        on_each = " on each" if len(lost) > 1 else ""
        unwell = f"{counted(devices, 'unwell device')}{on_each}"
        click.echo(f"{counted(len(lost), 'node')} with {unwell}: {names(lost)}")
    if seconds is None:
        return
    click.echo(f"the nodes heal in {seconds:g} s; Ctrl-C heals them now")
    try:
        await asyncio.sleep(seconds)
    finally:
        await (nodes.heal if devices is None else nodes.mend_devices)(objects, lost)
        click.echo(f"{counted(len(lost), 'node')} healed")


@command.command()
@targets
@on_sandbox
async def heal(client: "Client", targets: tuple[str, ...]) -> None:
    """Bring failed machines and devices back.

    \b
    Example:
      maitred sandbox heal rack=r3
    """
    from maitred.sandbox.world import nodes
    from maitred.sandbox.world.objects import WorldObjects

    objects = WorldObjects(client)
    found = await nodes.meant(objects, targets)
    broken, others = parted(found, nodes.is_broken)
    await nodes.heal(objects, broken)
    click.echo(done(broken, "healed") + (f"; {counted(others, 'node')} not lost" if others else ""))


@command.command()
@targets
@click.option("--force", is_flag=True, help="Also evict pods that have no controller to create them again.")
@click.option(
    "--timeout",
    "seconds",
    metavar="DURATION",
    type=Duration(),
    default=DRAIN_SECONDS,
    show_default=True,
    help="Give up after this time.",
)
@on_sandbox
async def drain(client: "Client", targets: tuple[str, ...], force: bool, seconds: float) -> None:
    """Cordon nodes and evict their pods, as `kubectl drain` does. Disruption budgets are respected.

    \b
    Example:
      maitred sandbox drain block=b2
    """
    from maitred.sandbox.world import drain, nodes
    from maitred.sandbox.world.objects import WorldObjects

    objects = WorldObjects(client)
    found = await nodes.meant(objects, targets)
    await drain.drain(objects, found, click.echo, force=force, seconds=seconds)


@command.command()
@targets
@on_sandbox
async def undrain(client: "Client", targets: tuple[str, ...]) -> None:
    """Uncordon nodes that were drained.

    \b
    Example:
      maitred sandbox undrain block=b2
    """
    from maitred.sandbox.world import nodes
    from maitred.sandbox.world.objects import WorldObjects

    objects = WorldObjects(client)
    found = await nodes.meant(objects, targets)
    closed, others = parted(found, nodes.is_closed)
    await nodes.close(objects, closed, False)
    click.echo(done(closed, "uncordoned") + (f"; {counted(others, 'node')} not cordoned" if others else ""))


@command.command()
@click.argument("count", type=click.IntRange(1, 20_000))
@click.option("--like", metavar="NODE", help="Node to copy.  [default: the first node]")
@click.option(
    "--block", metavar="NAME", help="Block of the new nodes.  [default: the block of the copied node]"
)
@click.option("--rack", metavar="NAME", help="Rack of the new nodes.  [default: the rack of the copied node]")
@click.option(
    "--label",
    "labels",
    metavar="KEY=VALUE",
    multiple=True,
    help="Label to add to the new nodes. May be repeated.",
)
@on_sandbox
async def add(
    client: "Client",
    count: int,
    like: str | None,
    block: str | None,
    rack: str | None,
    labels: tuple[str, ...],
) -> None:
    """Add COUNT nodes that are copies of an existing node.

    \b
    Example:
      maitred sandbox add 8 --block b2 --rack r9 --like b1-r1-n01
    """
    from maitred.sandbox.world import devices, nodes
    from maitred.sandbox.world.objects import WorldObjects
    from maitred.sandbox.world.targets import chosen, name_of

    places = {name: value for name, value in (("block", block), ("rack", rack)) if value is not None}
    for name, value in places.items():
        check_place(name, value)
    more = labels_of(labels)
    objects = WorldObjects(client)
    there = await nodes.simulated(objects)
    if not there:
        raise InputError(
            "add", "", "", "there is no node to copy; create one with `kubectl apply` (docs/sandbox.md)"
        )
    model = chosen([like], there)[0] if like else min(there, key=name_of)
    made = await nodes.create(objects, nodes.more_like(model, there, count, places, more))
    await devices.publish_like(objects, model, made)
    click.echo(f"{counted(len(made), 'node')} added: {span(made)}")


@command.command()
@click.argument("story", metavar="STORY|FILE")
@click.option("--keep", is_flag=True, help="Keep the objects of the story when it ends.")
@click.option(
    "--clear", is_flag=True, help="Before loading a dump, remove all nodes and pods of the sandbox."
)
@click.option(
    "--rack-label",
    metavar="KEY",
    help="Node label of a dump that names the rack.  [default: a label that is called rack]",
)
@click.option(
    "--block-label",
    metavar="KEY",
    help="Node label of a dump that names the block.  [default: a label that is called block or zone]",
)
@on_sandbox
async def load(
    client: "Client",
    story: str,
    keep: bool,
    clear: bool,
    rack_label: str | None,
    block_label: str | None,
) -> None:
    """Play a story, submit a workload, or copy the nodes and pods of a real cluster into the sandbox.

    A story is one that `maitred sandbox stories` lists, or a file of kind Story. A file with workloads and no
    nodes is submitted, with the pods that its operator would make. Any other file is a dump of a cluster: its
    nodes are simulated, its running pods run on the same nodes, and its other pods wait. On a cluster without
    PodGroups the second kubectl below fails and adds nothing.

    \b
    Examples:
      maitred sandbox load two-gangs
      maitred sandbox load examples/workloads/jobset.yaml
      kubectl get -A -o json > cluster.json \\
        nodes,pods,pc,ns,pvc,pv,sc,csinodes,pdb
      kubectl get -A -o json podgroups >> cluster.json
      maitred sandbox load cluster.json --clear
    """
    from maitred.cli.sandbox import loading
    from maitred.sandbox.kubelets.marks import BLOCK_MARK, RACK_MARK
    from maitred.sandbox.world.story import stories

    known = stories()
    data, source = content(str(known[story]) if story in known else named_file(story, list(known)))
    if loading.is_story(data, source):
        await loading.play(client, data, story if story in known else source, keep)
    elif loading.is_workload(data, source):
        await loading.submit(client, data, source)
    else:
        marks = {RACK_MARK: rack_label, BLOCK_MARK: block_label}
        places = {mark: label for mark, label in marks.items() if label}
        await loading.take_over(client, data, source, clear, places)


@command.command()
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def stories(form: str) -> None:
    """List the stories that `maitred sandbox load` plays."""
    from rich.text import Text

    from maitred.explain.tables import aligned
    from maitred.sandbox.world.story import read_story, stories

    found = {name: read_story(file.read_bytes(), str(file)) for name, file in stories().items()}
    if form != "table":
        output.write_data([{"name": n, "title": s.title, "about": s.about} for n, s in found.items()], form)
        return
    header = [Text("STORY", "bold"), Text("WHAT HAPPENS", "bold")]
    output.write_lines(lambda width: aligned([header, *((n, s.about) for n, s in found.items())], width))


@command.command()
@click.option("-w", "--watch", is_flag=True, help="Keep showing it until Ctrl-C.")
@output.output("table", "json", "yaml")
@on_sandbox
async def floor(client: "Client", watch: bool, form: str) -> None:
    """Show which group runs where, which group waits and why, and what is free.

    \b
    Example:
      maitred sandbox floor --watch
    """
    from datetime import UTC, datetime

    from maitred.cli.floor import show
    from maitred.cli.sandbox.asked_floor import watching_from_outside
    from maitred.explain.floorplan_tables import floor_lines

    if watch and form != "table":
        raise InputError("--watch", "", "", f"can only be used with -o table, not with -o {form}")
    async with watching_from_outside(client) as watcher:
        if watch:
            await show(watcher)
        plan = watcher.floor()
    if form == "table":
        output.write_lines(lambda width: floor_lines(plan, datetime.now(UTC), width))
    else:
        output.write_data(plan, form)


def parted(
    nodes: "list[dict[str, Any]]", are_meant: "Callable[[dict[str, Any]], bool]"
) -> "tuple[list[dict[str, Any]], int]":
    """Those that there is something to do for, and how many others."""
    meant = [node for node in nodes if are_meant(node)]
    return meant, len(nodes) - len(meant)


def done(nodes: "list[dict[str, Any]]", what: str) -> str:
    return f"{counted(len(nodes), 'node')} {what}{': ' if nodes else ''}{names(nodes)}"


def names(nodes: "list[dict[str, Any]]") -> str:
    from maitred.sandbox.world.targets import name_of

    return span([name_of(node) for node in nodes])


def span(names: list[str]) -> str:
    """`b1-r3-n01 to b1-r3-n08`."""
    return " to ".join(dict.fromkeys((*names[:1], *names[-1:])))


def check_place(level: str, name: str) -> None:
    """It becomes the value of a label, and part of the names of nodes."""
    if not _PLACE.fullmatch(name):
        what = (
            f"{name!r} is not a valid name: use lowercase letters, digits and `-`, at most "
            f"{LONGEST_PLACE} characters"
        )
        raise InputError(f"--{level}", "", "", what)


def labels_of(written: tuple[str, ...]) -> dict[str, str]:
    from maitred.model.manifest.checks import label_key_problem

    found = dict[str, str]()
    for label in written:
        key, equal, value = label.partition("=")
        if not equal or label_key_problem(key):
            raise InputError("--label", "", "", f"{label!r} is not of the form KEY=VALUE")
        if not _LABEL_VALUE.fullmatch(value):
            raise InputError("--label", "", "", f"{value!r} is not a valid label value")
        found[key] = value
    return found


def named_file(story: str, known: list[str]) -> str:
    """A word that is neither a story nor a path is a misspelt story."""
    from difflib import get_close_matches
    from pathlib import Path

    if story == "-" or Path(story).exists() or "/" in story or "." in story:
        return story
    near = get_close_matches(story, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    raise InputError(story, "", "", f"is neither a story nor a file; {hint}")
