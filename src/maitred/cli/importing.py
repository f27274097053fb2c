"""`maitred import`: what of manifests for other schedulers is honoured here (`--check`), and their queues as
a Policy (`--queues`). Nothing is changed."""

import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
import msgspec

from maitred.cli import output
from maitred.cli.connecting import connection
from maitred.cli.files import read_live_policy_file, read_objects, sources
from maitred.model.kinds import KINDS
from maitred.model.manifest import Document, InputError, Reader, documents
from maitred.model.membership.treatment import OBJECTS_OF_OTHERS
from maitred.model.meta import Lean, ObjectMeta, controller_of
from maitred.model.objects import Object
from maitred.model.owners import OWNER_KINDS
from maitred.model.policy import Policy

if TYPE_CHECKING:
    from maitred.explain.importing.answer import ImportCheck
    from maitred.kube.client import Client
    from maitred.kube.resources import Resource

SCHEDULER = "maitred"
Kinds = frozenset[tuple[str, str]]
"""API groups and kinds."""


@click.command()
@click.option("--check", is_flag=True, help="Say for each manifest what maitred makes of it.")
@click.option("--queues", is_flag=True, help="Print a policy with the queues of Kueue, Volcano or KAI.")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE|DIR|-",
    help="Manifests, or a dump of a cluster. May be repeated.",
)
@click.argument("more", nargs=-1, metavar="")
@click.option("--cluster", is_flag=True, help="Read the cluster instead of files.")
@output.kubeconfig
@output.context
@output.policy_file
@click.option(
    "--scheduler",
    metavar="NAME",
    default=SCHEDULER,
    show_default=True,
    help="What this scheduler is called in schedulerName.",
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["table", "json", "yaml"]),
    help="Output format.  [default: table; yaml with --queues]",
)
@output.refuses_bad_input
def command(
    check: bool,
    queues: bool,
    files: tuple[str, ...],
    more: tuple[str, ...],
    cluster: bool,
    kubeconfig: str | None,
    context: str | None,
    policy: str | None,
    scheduler: str,
    form: str | None,
) -> None:
    """With --check, say for each manifest what maitred makes of the labels, annotations and objects in it
    that were written for Kueue, Volcano, KAI, Koordinator, YuniKorn or scheduler-plugins.

    With --queues, print a policy with the queues of Kueue, Volcano or KAI. Warnings say what of them has no
    equivalent.

    Nothing is changed anywhere.

    \b
    Exit status of --check:
      0 no workload would change its meaning   1 something would, or a group would be Invalid

    \b
    Examples:
      maitred import --check -f examples/import/scheduler-plugins
      maitred import --queues -f examples/import-queues/kueue.yaml > policy.yaml
    """
    if check == queues:
        raise InputError("--check", "", "", "give either this or --queues")
    if cluster == bool(files):
        raise InputError("-f", "", "", "give either this or --cluster, not both")
    rules = read_live_policy_file(policy)
    if queues:
        if form == "table":
            raise InputError("-o", "", "", "a policy is yaml or json")
        write_queues(kubeconfig, context, (*files, *more), rules, form or "yaml")
        return
    found = from_cluster(kubeconfig, context) if cluster else from_files((*files, *more))
    answer = answer_of(*found, rules, scheduler)
    if form in (None, "table"):
        from maitred.explain.importing.tables import import_lines

        output.write_lines(lambda width: import_lines(answer, width))
    else:
        output.write_data(answer, form or "yaml")
    sys.exit(1 if answer.changes else 0)


def answer_of(
    found: Sequence[Document], objects: Iterable[Object], policy: Policy, scheduler: str
) -> "ImportCheck":
    # The engine brings numpy along, which bad input need not wait for.
    from maitred.cluster.state import ClusterState, Put
    from maitred.explain.importing.checking import check_import
    from maitred.explain.situation import Situation

    state = ClusterState(workloads=policy.workloads)
    for item in objects:
        state.apply(Put(item))
    situation = Situation(state.snapshot(), policy, datetime.now(UTC), None)
    return check_import(found, situation, scheduler)


def write_queues(
    kubeconfig: str | None, context: str | None, files: Sequence[str], rules: Policy, form: str
) -> None:
    """The policy goes where it can be kept, what is missing from it where it is read."""
    from maitred.explain.importing.queues.importing import import_queues

    if files:
        found = [one for source, data in sources(files) for one in documents(data, source)]
    else:
        found = listed(kubeconfig, context, QUEUES_OF_OTHERS)
    made = import_queues(found, rules)
    output.warn(made.notes)
    output.write_data(made.policy, form)


Input = tuple[Sequence[Document], Iterable[Object]]
"""What was written, and the objects that a decision makes of it, with the pods that would be created."""


def from_files(paths: Iterable[str]) -> Input:
    found: dict[tuple[str, str], Document] = {}

    def seen(document: Document) -> bool:
        """What is made of a document comes after it, from the same place."""
        found.setdefault((document.source, document.place), document)
        return False

    reader = read_objects(paths, seen)
    return list(found.values()), reader.objects


# -- a cluster -----------------------------------------------------------------------------------------------


def from_cluster(kubeconfig: str | None, context: str | None) -> Input:
    found = listed(kubeconfig, context, WANTED)
    reader, problems = Reader(), list[str]()
    for document in found:
        try:
            reader.take(document)
        except InputError as problem:
            problems.append(f"{problem} (left out)")
    output.warn(problems)
    return list(written(found)), reader.objects


def listed(kubeconfig: str | None, context: str | None, wanted: Kinds) -> list[Document]:
    try:
        return asyncio.run(list_documents(kubeconfig, context, wanted))
    except Exception as error:
        output.end_in_words(error)
        raise


class Owned(Lean, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def written(found: Sequence[Document]) -> Iterator[Document]:
    """Without what a controller has made of another object in the list: that one says the same."""
    abouts = [msgspec.convert(document.plain(), Owned).metadata for document in found]
    known = {about.uid for about in abouts}
    for document, about in zip(found, abouts, strict=True):
        owner = controller_of(about)
        if owner is None or owner.uid not in known:
            yield document


WANTED = frozenset(
    {(row.group, row.name) for row in KINDS if row.watched}
    | {(one.group, one.kind) for one in OWNER_KINDS}
    | set(OBJECTS_OF_OTHERS)
)
"""What a decision reads, what makes pods, and what other schedulers have."""


QUEUES_OF_OTHERS = frozenset(
    one for one in OBJECTS_OF_OTHERS if one[0] == "kueue.x-k8s.io" or one[1] == "Queue"
)


async def list_documents(kubeconfig: str | None, context: str | None, wanted: Kinds) -> list[Document]:
    from maitred.kube.client import Client

    async with Client(connection(kubeconfig, context)) as client:
        resources = await wanted_resources(client, wanted)
        lists = await asyncio.gather(*(list_raw(client, resource) for resource in resources))
    return [document for one in lists for document in one]


async def wanted_resources(client: "Client", wanted: Kinds) -> "list[Resource]":
    """Each kind in one version, the first in which the server has it."""
    from maitred.kube.discovery import resources_of
    from maitred.kube.resources import Resource

    groups = {group for group, _ in wanted}
    found: dict[tuple[str, str], Resource] = {}
    for one in await resources_of(client, groups):
        if (one.group, one.kind) in wanted and "/" not in one.plural:
            found.setdefault((one.group, one.kind), one)
    core = (row for row in KINDS if row.watched and ("", row.name) in wanted)
    return [*(Resource("", "v1", row.plural, row.name, row.namespaced) for row in core), *found.values()]


async def list_raw(client: "Client", resource: "Resource") -> list[Document]:
    from maitred.kube.errors import ApiError
    from maitred.kube.lists import NEEDED, raw_items

    try:
        items = await raw_items(client, resource.path(), {})
    except ApiError as error:
        if error.status != 403 or resource in NEEDED:
            raise
        output.warn((f"you may not list {resource}, so this check assumes that there are none",))
        return []
    return [
        Document(str(resource), f"item {number}", resource.api_version, resource.kind, item)
        for number, item in enumerate(items, 1)
    ]
