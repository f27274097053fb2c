"""`maitred drain`: who moves when before nodes go down, shown first, then asked for. It evicts nothing."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from maitred.cli import output
from maitred.cli.asking import ClusterOptions, Question, check_place, cluster_options, situation_of
from maitred.cli.connecting import connection
from maitred.cli.deadlines import deadline
from maitred.cli.files import read_objects
from maitred.model.drain import MOST_NODES, Drain, DrainRequest, drain_name, drain_object, drains_of
from maitred.model.manifest import InputError
from maitred.model.memory import HOME, MemoryObject
from maitred.model.node import Node
from maitred.model.objects import Object

if TYPE_CHECKING:
    from maitred.explain.maintenance.answer import DrainList, DrainPlan
    from maitred.explain.situation import Situation

NOT_ALL_FIT = 3
"""The exit status of --only-if-all-fit where something has no place."""


@dataclass(frozen=True)
class Wish:
    """What is asked for, before it is looked up which nodes that means."""

    targets: tuple[str, ...]
    by: str
    cordon: bool
    force: bool

    def request(self, nodes: Sequence[Node], situation: "Situation") -> DrainRequest:
        by = deadline(self.by, situation.now, "--by")
        domains = [target for target in self.targets if "=" in target]
        request = DrainRequest(by, situation.now.replace(microsecond=0), (), "", "", self.cordon, self.force)
        if not domains:
            names = {node.metadata.name for node in nodes}
            for target in self.targets:
                if target not in names:
                    raise InputError("", "", "", f"there is no node {target}")
            return replace(request, nodes=tuple(dict.fromkeys(self.targets)))
        if len(self.targets) > 1:
            raise InputError("", "", "", "give names of nodes, or one domain such as rack=r7: not both")
        name, _, value = domains[0].partition("=")
        label = label_of(name, nodes, situation)
        found = sorted({node.metadata.labels[label] for node in nodes if label in node.metadata.labels})
        if value not in found:
            shown = ", ".join(found[:5]) or "none"
            raise InputError("", "", "", f"no node has {label}={value}; the values of {label} are {shown}")
        return replace(request, label=label, value=value)


@click.command()
@click.argument("targets", nargs=-1, metavar="[NODE...|LEVEL=DOMAIN]")
@click.option(
    "--by",
    metavar="TIME",
    help="When the nodes must be empty: a time such as 2026-03-01T18:00:00Z, or a duration such as 2h.",
)
@click.option("--yes", "-y", is_flag=True, help="Record the request without asking.")
@click.option("--dry-run", is_flag=True, help="Show the plan and record nothing.")
@click.option(
    "--only-if-all-fit", is_flag=True, help="Record nothing if any pod has no place elsewhere, or would stay."
)
@click.option(
    "--cordon/--no-cordon",
    default=True,
    show_default=True,
    help="Cordon the nodes, for all schedulers, before the first pod leaves.",
)
@click.option("--force", is_flag=True, help="Also delete pods without a controller, which are not recreated.")
@click.option("--list", "listing", is_flag=True, help="List the requests and how far they are.")
@click.option("--cancel", metavar="NAME", help="Take back a request. Pods that have left do not come back.")
@cluster_options
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(
    cluster: ClusterOptions,
    targets: tuple[str, ...],
    by: str | None,
    yes: bool,
    dry_run: bool,
    only_if_all_fit: bool,
    cordon: bool,
    force: bool,
    listing: bool,
    cancel: str | None,
    form: str,
) -> None:
    """Empty nodes for maintenance: show who would leave when, where to and at what cost, then ask.

    Gangs leave whole, after a checkpoint where they say when that is, and only once there is a place for all
    of their members, which is kept for them. At the last moment before TIME everything leaves. The answer yes
    records a request; the scheduler that leads carries it out.

    NODE is the name of a node. LEVEL=DOMAIN means all nodes of a domain, as in rack=r7.

    \b
    Exit status:
      0 the plan was shown with --dry-run or from a dump, or the request was recorded
      1 the request was not recorded, because you answered no or the API server refused it
      2 bad input, or there is no terminal to ask on and no --yes
      3 --only-if-all-fit, and some pod has no place: nothing was recorded

    \b
    Examples:
      maitred drain r3-n02 --by 2h --dry-run
      maitred drain rack=r7 --by 2026-03-01T18:00:00Z
      maitred drain --list
      maitred drain n1 --by 2h -f examples/drain/rack.yaml --now 2026-03-01T12:00:00Z
    """
    if listing or cancel is not None:
        if targets or by or (listing and cancel is not None):
            raise InputError("", "", "", "--list and --cancel take no nodes and no time")
        manage(cluster, cancel, form)
        return
    if not targets or by is None:
        raise InputError("", "", "", "name the nodes and the time: maitred drain NODE --by TIME (or --list)")
    wish = Wish(targets, by, cordon, force)
    drain, plan = asyncio.run(prepared(cluster, wish))
    show(plan, form)
    if only_if_all_fit and not plan.all_fit:
        click.echo("nothing was recorded: not everything has a place elsewhere (--only-if-all-fit)", err=True)
        sys.exit(NOT_ALL_FIT)
    if dry_run or cluster.files:
        return
    agree(yes, f"Drain {'this node' if len(plan.nodes) == 1 else f'these {len(plan.nodes)} nodes'}?")
    asyncio.run(record(cluster, drain))


def agree(yes: bool, question: str) -> None:
    """Ends the command where nobody agrees."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo("nothing was recorded: there is no terminal to ask on; add --yes", err=True)
        sys.exit(output.BAD_INPUT)
    if not click.confirm(question):
        click.echo("nothing was recorded", err=True)
        sys.exit(output.FAILED)


def show(plan: "DrainPlan", form: str) -> None:
    from maitred.explain.maintenance.tables import plan_lines

    output.show(plan, form, plan_lines)


# -- the plan ------------------------------------------------------------------------------------------


async def prepared(cluster: ClusterOptions, wish: Wish) -> "tuple[Drain, DrainPlan]":
    """The request, and what would become of it."""
    objects, group_api = await read(cluster)
    from maitred.explain.maintenance.survey import drain_plan

    question = Question[None]("", type(None), None)
    nodes = [item for item in objects if isinstance(item, Node)]
    request = wish.request(nodes, situation_of(nodes, question, cluster))
    if len(nodes) > MOST_NODES and request.nodes:
        raise InputError("", "", "", f"a request may name {MOST_NODES} nodes at most: name a domain instead")
    drain = Drain(drain_name(request), request)
    known = {item.metadata.name for item in objects if isinstance(item, MemoryObject)}
    if drain_object(drain).metadata.name in known:
        raise InputError(
            "",
            "",
            "",
            f"there is a request {drain.name} already: see `maitred drain --list`, or cancel it first",
        )
    situation = situation_of([*objects, drain_object(drain)], question, cluster, group_api)
    return drain, drain_plan(situation, drain.name)


async def read(cluster: ClusterOptions) -> tuple[list[Object], bool | None]:
    if cluster.files:
        reader = read_objects(cluster.files)
        output.warn(reader.warnings())
        return list(reader.objects), None
    from maitred.kube.client import Client
    from maitred.kube.drains import at_home, kept_drains
    from maitred.kube.errors import first_of
    from maitred.kube.lists import list_cluster

    check_place(cluster.service)
    async with Client(connection(cluster.kubeconfig, cluster.context)) as client:
        try:
            listed = await list_cluster(client)
        except ExceptionGroup as errors:
            raise first_of(errors) from None
        output.warn(listed.warnings)
        kept = await kept_drains(client, home_of(cluster))
    return [*listed.objects, *(at_home(one, HOME) for one in kept)], listed.group_api


def label_of(name: str, nodes: Sequence[Node], situation: "Situation") -> str:
    """A level of the policy, a label, or the end of one."""
    from maitred.decide.levels import key_of_level

    key = key_of_level(name, situation.policy.topology.levels)
    labels = {label for node in nodes for label in node.metadata.labels}
    if key in labels:
        return key
    found = sorted(label for label in labels if label.rpartition("/")[2] == name)
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError("", "", "", f"{name} may mean {' or '.join(found)}: name the whole label")
    raise InputError("", "", "", f"{name} is no topology level of the policy, and no node has such a label")


def home_of(cluster: ClusterOptions) -> str:
    return cluster.service.partition("/")[0]


# -- requests ------------------------------------------------------------------------------------------


async def record(cluster: ClusterOptions, drain: Drain) -> None:
    from maitred.kube.client import Client
    from maitred.kube.drains import request_drain

    async with Client(connection(cluster.kubeconfig, cluster.context)) as client:
        await request_drain(client, home_of(cluster), drain)
    click.echo(
        f"request {drain.name} is recorded; `maitred drain --list` says how far it is, and "
        f"`maitred drain --cancel {drain.name}` takes it back",
        err=True,
    )


def manage(cluster: ClusterOptions, cancel: str | None, form: str) -> None:
    if cancel is not None:
        asyncio.run(take_back(cluster, cancel))
        return
    from maitred.explain.maintenance.tables import list_lines

    found, unread = asyncio.run(requests(cluster))
    output.warn(unread)
    output.show(found, form, list_lines)


async def requests(cluster: ClusterOptions) -> "tuple[DrainList, tuple[str, ...]]":
    from maitred.explain.maintenance.answer import DrainList
    from maitred.explain.maintenance.survey import drain_status

    if cluster.files:
        objects: Sequence[Object] = read_objects(cluster.files).objects
    else:
        objects = await requests_there(cluster)
    drains, unread = drains_of(item for item in objects if isinstance(item, MemoryObject))
    return DrainList(requests=tuple(map(drain_status, drains))), unread


async def requests_there(cluster: ClusterOptions) -> list[MemoryObject]:
    from maitred.kube.client import Client
    from maitred.kube.drains import at_home, kept_drains

    check_place(cluster.service)
    async with Client(connection(cluster.kubeconfig, cluster.context)) as client:
        return [at_home(one, HOME) for one in await kept_drains(client, home_of(cluster))]


async def take_back(cluster: ClusterOptions, name: str) -> None:
    from maitred.kube.client import Client
    from maitred.kube.drains import cancel_drain

    if cluster.files:
        raise InputError("--cancel", "", "", "a request of a dump cannot be taken back")
    check_place(cluster.service)
    async with Client(connection(cluster.kubeconfig, cluster.context)) as client:
        await cancel_drain(client, home_of(cluster), name)
    click.echo(f"request {name} is taken back; nodes that were cordoned stay so: kubectl uncordon NODE")
