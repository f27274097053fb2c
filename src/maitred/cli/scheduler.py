"""`maitred scheduler`: the process that runs in a cluster, or beside one."""

import asyncio
import faulthandler
import logging
import math
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import click
import msgspec

from maitred.cli import output
from maitred.cli.connecting import connection as connection_of
from maitred.cli.files import content, read_live_policy_file
from maitred.cli.garbage_collection import expect_much_to_stay
from maitred.cli.ledgers import NONE, default_ledger
from maitred.cli.loops import quickest_loop
from maitred.cli.manifest import NAMESPACE
from maitred.model.manifest import InputError, read_settings
from maitred.model.manifest.checks import name_problem
from maitred.model.quantity import STORAGE, QuantityError, amount
from maitred.model.setting import Setting
from maitred.model.words import printable

if TYPE_CHECKING:
    from maitred.controllers.answers.backlog import Backlog
    from maitred.controllers.bookkeeping import Keeping
    from maitred.controllers.policy import PolicySource
    from maitred.controllers.recording.ring import Ring
    from maitred.controllers.scheduling.metrics import Metrics
    from maitred.controllers.scheduling.term import Witnesses
    from maitred.controllers.scheduling.tracing import Tracing
    from maitred.kube.client import Client
    from maitred.kube.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])
NAME = "maitred"
"""What pods call us, and how the Lease is called."""


ENDING_SECONDS = 9.0
"""From the signal to the end, at the latest."""
SMALLEST_RECORD = 2**20
Seconds = Annotated[float, msgspec.Meta(ge=1)]


class SchedulerConfig(Setting, frozen=True):
    """What `--config` may say. Every field is an option of the command, which wins over it."""

    api_version: Literal["maitred.dev/v1alpha1"] = "maitred.dev/v1alpha1"
    kind: Literal["SchedulerConfig"] = "SchedulerConfig"
    kubeconfig: str | None = None
    context: str | None = None
    policy: str | None = None
    policy_config_map: str | None = None
    scheduler_name: str | None = None
    shadow: bool | None = None
    leader_election: bool | None = None
    lease_namespace: str | None = None
    listen: str | None = None
    answers: str | None = None
    record: str | None = None
    record_limit: str | None = None
    ledger: str | None = None
    ledger_days: Annotated[int, msgspec.Meta(ge=1, le=36500)] | None = None
    traces: str | None = None
    complete_within: Seconds | None = None
    resync: Seconds | None = None
    binds_in_flight: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    log_form: Literal["json", "text"] | None = None


def option(flag: str, **settings: Any) -> Callable[[F], F]:
    """An option that can also be given as MAITRED_..., or in the file of --config."""
    name = flag.partition("/")[0].lstrip("-").replace("-", "_")
    return click.option(flag, name, envvar=f"MAITRED_{name.upper()}", show_envvar=True, **settings)


def from_config(ctx: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """What the file says takes the place of the defaults, so flags and the environment win over it."""
    if path is None:
        return
    try:
        config, _ = read_settings(*content(path), SchedulerConfig)
    except InputError as error:
        click.echo(printable(str(error)), err=True)
        sys.exit(output.BAD_INPUT)
    fields = (name for name in config.__struct_fields__ if name not in ("api_version", "kind"))
    ctx.default_map = {name: value for name in fields if (value := getattr(config, name)) is not None}


@click.command()
@click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    envvar="MAITRED_CONFIG",
    show_envvar=True,
    callback=from_config,
    help="Read options from this file of kind SchedulerConfig. Flags and environment variables override it.",
)
@option(
    "--kubeconfig",
    metavar="FILE",
    help="Kubeconfig file.  [default: the one that kubectl uses, or the pod's service account]",
)
@option("--context", metavar="NAME", help="Context in the kubeconfig.  [default: the current context]")
@option(
    "--policy",
    metavar="FILE",
    help="Policy file; it is read again when it changes.  [default: the built-in defaults]",
)
@option(
    "--policy-config-map",
    metavar="NAMESPACE/NAME",
    help="Read the policy from the key policy.yaml of this ConfigMap.",
)
@option(
    "--scheduler-name",
    metavar="NAME",
    help="Schedule pods with this schedulerName.  [default: maitred; with --shadow: all pods]",
)
@option("--shadow", is_flag=True, help="Only decide and report; write nothing to the cluster.")
@option(
    "--leader-election/--no-leader-election",
    default=None,
    help="Write only while this process holds the Lease.  [default: on in a cluster]",
)
@option(
    "--lease-namespace",
    metavar="NAME",
    help="Namespace of the Lease and of maitred's own records.  [default: that of the service account]",
)
@option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:10351",
    show_default=True,
    help="Serve /healthz, /readyz and /metrics here. With an empty value, nothing is served.",
)
@option(
    "--answers",
    metavar="HOST:PORT",
    default="127.0.0.1:10352",
    show_default=True,
    help="Answer `maitred why`, `plan`, `capacity` and `bill` here, over TLS. With an empty value, "
    "no questions are answered.",
)
@option(
    "--record", metavar="DIR", help="Record what is seen and decided in this directory, for `maitred replay`."
)
@option(
    "--record-limit",
    metavar="BYTES",
    default="1Gi",
    show_default=True,
    help="Most disk space for the record; the oldest part is deleted first.",
)
@option(
    "--ledger",
    metavar="PATH|URL",
    help="Keep the ledger in this file or database (postgresql://...). `none` keeps no ledger.  "
    "[default: none in a cluster, else a file for each cluster]",
)
@option(
    "--ledger-days",
    metavar="DAYS",
    type=click.IntRange(1, 36500),
    default=90,
    show_default=True,
    help="Days after which the ledger drops details; it keeps the usage of each day.",
)
@option("--traces", metavar="URL", help="Send traces to this OpenTelemetry collector (OTLP over HTTP).")
@option(
    "--complete-within",
    metavar="SECONDS",
    type=click.FloatRange(min=1),
    default=60.0,
    show_default=True,
    help="If a gang is bound only in part, take its members back after this time.",
)
@option(
    "--resync",
    metavar="SECONDS",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    help="How often every waiting group is decided again, even if nothing changed.",
)
@option(
    "--binds-in-flight",
    metavar="COUNT",
    type=click.IntRange(1, 1000),
    default=64,
    show_default=True,
    help="Most binds in flight at the same time.",
)
@option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="Lowest level that is logged.",
)
@option(
    "--log-form",
    type=click.Choice(["json", "text"]),
    default=None,
    help="Log format.  [default: text on a terminal, else json]",
)
@output.refuses_bad_input
def command(**options: Any) -> None:
    """Run the scheduler. It places pods with `schedulerName: maitred`: whole groups, or no pod of a group.

    \b
    Examples:
      maitred scheduler --shadow
      maitred scheduler --policy examples/policies/datacenter.yaml
      maitred scheduler --kubeconfig dev.kubeconfig --context staging
    """
    check(options)
    from maitred.controllers.logs import start_logging

    expect_much_to_stay()
    start_logging(options["log_level"], options["log_form"] or ("text" if sys.stderr.isatty() else "json"))
    try:
        with asyncio.Runner(loop_factory=quickest_loop()) as runner:
            is_told_to_stop = runner.run(serve(options))
    except Exception as error:
        output.end_in_words(error)
        raise
    if is_told_to_stop:
        leave()


def check(options: dict[str, Any]) -> None:
    """What can be told without a cluster is told before it is asked."""
    if options["policy"] and options["policy_config_map"]:
        raise InputError("--policy", "", "", "give either this or --policy-config-map, not both")
    if options["shadow"] and options["leader_election"]:
        raise InputError(
            "--leader-election",
            "",
            "",
            "cannot be used with --shadow, which writes nothing, not even a Lease; leave it out",
        )
    name = options["scheduler_name"]
    if name is not None and (problem := name_problem(name)):
        raise InputError("--scheduler-name", "", "", problem)
    if options["policy_config_map"] and options["policy_config_map"].count("/") != 1:
        raise InputError("--policy-config-map", "", "", "is not of the form NAMESPACE/NAME")
    if options["policy"] == "-":
        raise InputError(
            "--policy", "", "", "must be a file: standard input cannot be read again when the policy changes"
        )
    read_live_policy_file(options["policy"])
    for name in ("complete_within", "resync"):
        if not math.isfinite(options[name]):
            raise InputError(
                f"--{name.replace('_', '-')}", "", "", f"{options[name]} is not a number of seconds"
            )
    record_limit(options["record_limit"])
    for name in ("listen", "answers"):
        _, colon, port = options[name].rpartition(":")
        if options[name] and not (colon and port.isdecimal() and int(port) < 65536):
            raise InputError(f"--{name}", "", "", f"{options[name]!r} is not of the form HOST:PORT")


async def serve(options: dict[str, Any]) -> bool:
    """Until a signal says to stop: then True."""
    from maitred.controllers.answers.backlog import Backlog
    from maitred.controllers.health import ProcessHealth, serving
    from maitred.controllers.scheduling.metrics import Metrics
    from maitred.controllers.scheduling.scheduler import Scheduler
    from maitred.controllers.scheduling.term import SchedulerSettings
    from maitred.kube.client import Client
    from maitred.kube.lease import LeaderLease

    connection = connection_of(options["kubeconfig"], options["context"])
    metrics, health, stop = Metrics(), ProcessHealth(), asyncio.Event()
    end_in_time(stop)
    keeping = open_ledger(options, connection)
    backlog = Backlog() if options["answers"] else None
    witnesses = call_witnesses(options, metrics, keeping, backlog)
    shadow = options["shadow"]
    elect = options["leader_election"]
    if elect is None:
        elect = connection.in_cluster
    settings = SchedulerSettings(
        scheduler=options["scheduler_name"] or (None if shadow else NAME),
        shadow=shadow,
        namespace=own_namespace(options, connection),
        complete_within_seconds=options["complete_within"],
        resync_seconds=options["resync"],
        binds_in_flight=options["binds_in_flight"],
    )
    async with Client(connection) as client, serving(options["listen"], health, metrics.registry):
        lease = LeaderLease(client, settings.namespace, settings.scheduler or NAME)
        scheduler = Scheduler(
            client,
            source(client, options),
            settings,
            lease=lease if elect and not shadow else None,
            instance=lease.identity,
            metrics=metrics,
            health=health,
            witnesses=witnesses,
        )
        try:
            async with answering(options, backlog, keeping, metrics):
                await scheduler.run(stop)
        finally:
            await asyncio.to_thread(dismiss, witnesses)
    return True


def own_namespace(options: dict[str, Any], connection: "Connection") -> str:
    """Where the Lease and the records are: beside a cluster, where an installation would have them."""
    inside = connection.namespace if connection.in_cluster else ""
    return options["lease_namespace"] or inside or NAMESPACE


def end_in_time(stop: asyncio.Event) -> None:
    """When it is told to, whatever it is doing: what cannot end in an orderly way ends all the same.

    The handler runs between two steps of the main thread, also where the event loop is kept from its work,
    and the clock that it starts needs no interpreter.
    """
    loop = asyncio.get_running_loop()

    def end(number: int, frame: object) -> None:
        faulthandler.dump_traceback_later(ENDING_SECONDS, exit=True)
        loop.call_soon_threadsafe(stop.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def leave() -> None:
    """What a thread still searches for, nobody waits for; the interpreter would, to the end."""
    faulthandler.cancel_dump_traceback_later()
    if any(thread.is_alive() and not thread.daemon for thread in threading.enumerate()[1:]):
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


@asynccontextmanager
async def answering(
    options: dict[str, Any], backlog: "Backlog | None", keeping: "Keeping | None", metrics: "Metrics"
) -> AsyncIterator[None]:
    """For as long as the block runs; not at all for an empty address."""
    if backlog is None:
        yield
        return
    from maitred.controllers.answers.channel import Config
    from maitred.controllers.answers.supervisor import answering
    from maitred.controllers.listening import bound

    config = Config(
        options["kubeconfig"],
        options["context"],
        None if keeping is None else keeping.ledger.url,
        0 if keeping is None else keeping.days,
        logging.getLogger().level,
    )
    sockets = bound(options["answers"], "--answers")
    try:
        async with answering(sockets, backlog, config, metrics.answers_restarts.inc):
            yield
    finally:
        for one in sockets:
            one.close()


def call_witnesses(
    options: dict[str, Any], metrics: "Metrics", keeping: "Keeping | None", backlog: "Backlog | None"
) -> "Witnesses":
    from maitred.controllers.scheduling.capacity_gauges import CapacityGauges
    from maitred.controllers.scheduling.term import Witnesses

    survey = None
    if options["listen"]:  # or nobody would see it
        survey = CapacityGauges()
        metrics.registry.register(survey)
    return Witnesses(open_ring(options), backlog, open_tracing(options), survey, keeping)


def dismiss(witnesses: "Witnesses") -> None:
    """They write down first what they have been told."""
    for witness in (witnesses.ring, witnesses.tracing):
        if witness is not None:
            witness.close()


def open_ledger(options: dict[str, Any], connection: "Connection") -> "Keeping | None":
    url = options["ledger"]
    if url is None and not connection.in_cluster:
        url = default_ledger(connection.server, options["shadow"])
    if url in (None, "", NONE):
        return None
    from maitred.controllers.bookkeeping import Keeping
    from maitred.ledger.connections import LedgerError, is_file
    from maitred.ledger.store import Ledger

    try:
        is_file(url)
        return Keeping(Ledger(url), options["ledger_days"])
    except LedgerError as error:
        raise InputError("--ledger", "", "", str(error)) from None


def open_tracing(options: dict[str, Any]) -> "Tracing | None":
    if not options["traces"]:
        return None
    if not options["traces"].startswith(("http://", "https://")):
        what = f"{options['traces']!r} is not the address of a collector, such as http://127.0.0.1:4318"
        raise InputError("--traces", "", "", what)
    try:
        from maitred.controllers.scheduling.tracing import tracing_to
    except ImportError:
        raise InputError(
            "--traces", "", "", "needs OpenTelemetry, which is not installed: pip install 'maitred[otel]'"
        ) from None
    return tracing_to(options["traces"], options["scheduler_name"])


def open_ring(options: dict[str, Any]) -> "Ring | None":
    if not options["record"]:
        return None
    from maitred.controllers.recording.ring import Ring

    try:
        return Ring(Path(options["record"]), record_limit(options["record_limit"]))
    except OSError as error:
        raise InputError("--record", "", "", f"{options['record']}: {error.strerror}") from None


def record_limit(text: str) -> int:
    try:
        limit = amount(STORAGE, text)
    except QuantityError as problem:
        raise InputError("--record-limit", "", "", str(problem)) from None
    if limit < SMALLEST_RECORD:
        raise InputError("--record-limit", "", "", f"{text} is too little for a record; give 1Mi or more")
    return limit


def source(client: "Client", options: dict[str, Any]) -> "PolicySource":
    from maitred.controllers.policy import Defaults, PolicyConfigMap, PolicyFile

    if options["policy"]:
        return PolicyFile(os.path.abspath(options["policy"]))
    if options["policy_config_map"]:
        namespace, _, name = options["policy_config_map"].partition("/")
        return PolicyConfigMap(client, namespace, name)
    return Defaults()
