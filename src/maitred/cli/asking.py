"""How a verb gets its answer: from the scheduler that runs in a cluster, or worked out here."""

import asyncio
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import click
import msgspec

from maitred.cli import output
from maitred.cli.connecting import connection
from maitred.cli.decide import moment
from maitred.cli.files import read_live_policy_file, read_objects
from maitred.cli.manifest import NAMESPACE, check_namespace
from maitred.kube.errors import ApiError, KubeError, first_of
from maitred.model.manifest import Document, InputError
from maitred.model.objects import Object

if TYPE_CHECKING:
    from maitred.explain.situation import Situation
    from maitred.kube.answers import NoScheduler
    from maitred.kube.client import Client

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T")


@dataclass(frozen=True)
class Question(Generic[T]):
    """One question, asked of a running scheduler or answered here."""

    path: str
    """Below the version, such as `why/team-a/train`."""
    answer: type[T]
    here: "Callable[[Situation], T] | None"
    """The same answer, worked out in this process; None for what only a scheduler knows."""
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """What is posted, where the question is too long for a path."""
    supposing: Sequence[Object] = ()
    """New objects that the situation is to have too."""
    lookup: "Lookup | None" = None
    """Sees, where the answer is worked out here, what no situation tells."""


class Lookup(Protocol):
    """Looks at how pods and nodes are doing, in a dump or in a cluster."""

    def take(self, document: Document) -> bool:
        """Note what no decision reads; True if nobody else need read the document."""

    def done(self, objects: Sequence[Object]) -> None:
        """All of a dump has been read: these are the objects that decisions read."""

    async def look(self, client: "Client", objects: Sequence[Object], home: str | None) -> None:
        """`home` is where a scheduler was looked for in vain; None if nobody looked."""


@dataclass(frozen=True)
class ClusterOptions:
    """Which cluster is meant: a dump, or one that runs."""

    files: tuple[str, ...] = ()
    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    policy: str | None = None
    scheduler: str | None = None
    now: str | None = None
    service: str = f"{NAMESPACE}/maitred"

    @functools.cached_property
    def home(self) -> str:
        """The namespace of names that do not say theirs."""
        if self.namespace:
            check_namespace(self.namespace)
            return self.namespace
        if self.files:
            return "default"
        return connection(self.kubeconfig, self.context).namespace

    @property
    def is_supposed(self) -> bool:
        """A scheduler that runs has rules and a clock of its own."""
        return any(value is not None for value in (self.policy, self.scheduler, self.now))

    def order_only(self, orders: str) -> None:
        """Raises InputError where no scheduler that runs is meant, which alone takes such orders."""
        if self.files or self.is_supposed:
            what = f"only a running scheduler takes {orders}: leave out -f, --policy and --now"
            raise InputError("", "", "", what)

    def list_only(self) -> None:
        """Raises InputError where what a running scheduler has written down is asked for, as if it had other
        rules."""
        if self.is_supposed and not self.files:
            raise InputError("", "", "", "--policy, --scheduler and --now are only for --list with -f")


def cluster_options_with_dump(*flags: str) -> Callable[[C], C]:
    """The options that say which cluster is meant; the command gets all of them as `cluster`."""
    dump = click.option(
        *flags,
        "files",
        multiple=True,
        metavar="FILE|DIR|-",
        help="Dump of a cluster to read instead of the cluster. May be repeated.  [default: ask the cluster]",
    )
    chosen = (dump, *LIVE_OPTIONS, output.policy_file, output.scheduler_name, NOW)

    def decorate(function: C) -> C:
        @functools.wraps(function)
        def command(**values: Any) -> None:
            cluster = ClusterOptions(**{one.name: values.pop(one.name) for one in fields(ClusterOptions)})
            try:
                function(cluster=cluster, **values)
            except (KubeError, BaseExceptionGroup) as error:
                output.end_in_words(error)
                raise

        for option in reversed(chosen):
            command = option(command)
        return command  # type: ignore[return-value]  # click hands it all of the options, by name

    return decorate


NOW = click.option("--now", metavar="RFC3339", help="Time to answer for.  [default: now]")
service = click.option(
    "--service",
    metavar="NAMESPACE/NAME",
    default=ClusterOptions.service,
    show_default=True,
    envvar="MAITRED_SERVICE",
    help="Service of the scheduler to ask.",
)
LIVE_OPTIONS = (
    output.kubeconfig,
    output.context,
    click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        help="Namespace for names that have none.  [default: the namespace of the context]",
    ),
    service,
)
cluster_options = cluster_options_with_dump("-f", "--filename")


def ask(question: Question[T], cluster: ClusterOptions) -> T:
    """Raises InputError for what cannot be asked, KubeError where no answer can be had."""
    if cluster.files:
        reader = read_objects(cluster.files, question.lookup.take if question.lookup else None)
        if question.lookup:
            question.lookup.done(reader.objects)
        output.warn(reader.warnings())
        return work_out(question, situation_of(reader.objects, question, cluster))
    check_place(cluster.service)
    return asyncio.run(ask_cluster(question, cluster))


def situation_of(
    objects: Iterable[Object],
    question: Question[Any],
    cluster: ClusterOptions,
    group_api: bool | None = None,
) -> "Situation":
    now, policy = moment(cluster.now), read_live_policy_file(cluster.policy)
    # The engine brings numpy along, which bad input need not wait for.
    from maitred.cluster.state import ClusterState, Put
    from maitred.cluster.supposing import supposing
    from maitred.explain.situation import Situation

    state = ClusterState(workloads=policy.workloads)
    state.group_makers.served = group_api
    for item in objects:
        state.apply(Put(item))
    snapshot = supposing(state, question.supposing) if question.supposing else state.snapshot()
    return Situation(snapshot, policy, now, cluster.scheduler)


def check_place(service: str) -> None:
    if service.count("/") != 1 or not all(service.split("/")):
        raise InputError("--service", "", "", f"{service!r} is not of the form NAMESPACE/NAME")


async def ask_cluster(question: Question[T], cluster: ClusterOptions) -> T:
    from maitred.kube.answers import NoScheduler
    from maitred.kube.client import Client

    async with Client(connection(cluster.kubeconfig, cluster.context)) as client:
        if cluster.is_supposed:
            return await answer_here(question, cluster, client)
        try:
            return await ask_scheduler(question, cluster, client)
        except NoScheduler as nobody:
            if question.here is None:
                raise
            return await answer_instead(question, cluster, client, nobody)


async def ask_scheduler(question: Question[T], cluster: ClusterOptions, client: "Client") -> T:
    from maitred.kube import answers

    namespace, _, name = cluster.service.partition("/")
    place = answers.ServiceAddress(namespace, name)
    try:
        data = await answers.ask(client, place, question.path, question.query, question.body)
        return msgspec.json.decode(data, type=question.answer)
    except ApiError as error:
        if error.reason in answers.ABOUT_THE_QUESTION:
            raise InputError("", "", "", error.message) from None
        if error.reason in list(answers.Reason):
            raise KubeError(error.message) from None
        raise
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise KubeError(
            f"this command cannot read the answer of the scheduler behind Service {place}: {error}; "
            f"check that both have the same version"
        ) from None


async def answer_instead(
    question: Question[T], cluster: ClusterOptions, client: "Client", nobody: "NoScheduler"
) -> T:
    """There is no scheduler to ask. Whoever may see the cluster can do without one."""
    try:
        answer = await answer_here(question, cluster, client, cluster.service.partition("/")[0])
    except ApiError as refusal:
        if refusal.status != 403:
            raise
        raise KubeError(
            f"{nobody}; this command could answer without the scheduler, but you lack a "
            f"permission: {refusal.message}"
        ) from None
    output.warn((f"{nobody.why}; this answer is from the current state of the cluster, without history",))
    return answer


async def answer_here(
    question: Question[T], cluster: ClusterOptions, client: "Client", home: str | None = None
) -> T:
    """`home` is the namespace in which a scheduler was looked for in vain, if somebody looked."""
    from maitred.kube.lists import list_cluster

    try:
        listed = await list_cluster(client)
    except ExceptionGroup as errors:
        raise first_of(errors) from None
    output.warn(listed.warnings)
    if question.lookup:
        await question.lookup.look(client, listed.objects, home)
    return work_out(question, situation_of(listed.objects, question, cluster, listed.group_api))


def work_out(question: Question[T], situation: "Situation") -> T:
    assert question.here is not None, "or nobody would have made the situation"
    return question.here(situation)
