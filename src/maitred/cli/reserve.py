"""`maitred reserve`: keep nodes for a queue, a namespace or a group, for a time."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click
import msgspec

from maitred.cli import output
from maitred.cli.asking import ClusterOptions, Question, ask, cluster_options
from maitred.cli.decide import moment
from maitred.model.duration import FORM, milliseconds
from maitred.model.manifest import InputError
from maitred.model.reservations import (
    Beneficiary,
    CalendarError,
    Reservation,
    ReservedDevices,
    clock_time,
)
from maitred.model.selector import LabelSelector
from maitred.model.setting import NO_LIMIT

if TYPE_CHECKING:
    from maitred.explain.reserving.answer import ReservationList
    from maitred.explain.situation import Situation

CLOCK = "%Y-%m-%dT%H:%M:%S"
FOR_FORM = "queue/NAME, namespace/NAME or group/NAMESPACE/NAME"


@click.command()
@click.option("--gpus", type=click.IntRange(1), metavar="N", help="So many devices, on whole nodes.")
@click.option("--model", metavar="PATTERN", help="Model of the devices, such as H100.  [default: any]")
@click.option("--resource", metavar="NAME", help="Resource of the devices.  [default: nvidia.com/gpu]")
@click.option("--within", metavar="LEVEL", help="The devices are in one domain of this level, such as rack.")
@click.option(
    "--nodes", metavar="LABEL=VALUE,...", help="All nodes with these labels, in place of --gpus and its like."
)
@click.option(
    "--from", "begin", metavar="TIME", help="When it begins: 2026-12-01T14:00, or a duration from now."
)
@click.option(
    "--until", metavar="TIME", help="When it ends: a time, or a duration from its beginning, such as 4h."
)
@click.option(
    "--every", metavar="RULE", help="It comes again: day, week, or a rule such as FREQ=WEEKLY;BYDAY=MO,FR."
)
@click.option(
    "--time-zone", default="UTC", show_default=True, metavar="ZONE", help="Whose clocks show these times."
)
@click.option("--for", "whose", metavar="WHOM", help=f"For whom it is: {FOR_FORM}.")
@click.option("--name", metavar="NAME", help="What it is called.  [default: from --for and --from]")
@click.option(
    "--lead-time",
    default="1d",
    show_default=True,
    metavar="DURATION",
    help="From so long before it begins, nobody else is started there whose end is not known.",
)
@click.option(
    "--release-after",
    default=NO_LIMIT,
    show_default=True,
    metavar="DURATION",
    help="When it is not used for so long from its beginning, others may have its nodes.",
)
@click.option(
    "--on-start",
    type=click.Choice(["wait", "evict"]),
    default="wait",
    show_default=True,
    help="At its beginning: wait for those inside, or evict those who started later and were warned.",
)
@click.option("--list", "listing", is_flag=True, help="List the reservations, also those of the policy.")
@click.option("--cancel", metavar="NAME", help="Cancel a reservation now. Who runs there stays.")
@cluster_options
@output.output("table", "json", "yaml")
@output.refuses_bad_input
def command(
    cluster: ClusterOptions,
    gpus: int | None,
    model: str | None,
    resource: str | None,
    within: str | None,
    nodes: str | None,
    begin: str | None,
    until: str | None,
    every: str | None,
    time_zone: str,
    whose: str | None,
    name: str | None,
    lead_time: str,
    release_after: str,
    on_start: Literal["wait", "evict"],
    listing: bool,
    cancel: str | None,
    form: str,
) -> None:
    """Keep nodes for somebody for a time. From its beginning to its end nobody else is started there.

    You need the verb `reserve` on groups.maitred.dev in all namespaces. The scheduler that leads writes it
    down. What does not fit beside the other reservations is refused, with the first time at which it would.

    \b
    Exit status:
      0 it was written down, cancelled or listed
      1 you may not, or no scheduler answers
      2 bad input, it does not fit, or there is nothing to cancel

    \b
    Examples:
      maitred reserve --gpus 64 --model H100 --within rack --for queue/research --from 2h --until 8h
      maitred reserve --nodes pool=demo --for namespace/vision --from 2h --until 4h --name demo
      maitred reserve --list
      maitred reserve --cancel demo
    """
    said = [gpus, model, resource, within, nodes, begin, until, every, whose, name]
    wishes = any(value is not None for value in said)
    if sum((wishes, listing, cancel is not None)) != 1:
        raise InputError(
            "", "", "", "say what to reserve, for whom and when, or give --list, or --cancel NAME alone"
        )
    if listing:
        show_list(cluster, form)
        return
    cluster.order_only("reservations")
    if cancel is not None:
        place(cluster, f"reservations/{checked_name(cancel)}/cancel", b"{}", form)
        return
    start, end = times_of(begin, until, time_zone, moment(None))
    wish = Reservation(
        name=name or "",
        beneficiary=beneficiary_of(whose),
        begin=start,
        until=end,
        devices=devices_of(gpus, model, resource, nodes),
        nodes=labels_of(nodes),
        within=within or "",
        every=every or "",
        time_zone=time_zone,
        lead_time=lead_time,
        release_after=release_after,
        on_start=on_start,
    )
    place(cluster, "reservations", msgspec.json.encode(wish), form)


# -- what was given ----------------------------------------------------------------------------------------


def checked_name(name: str) -> str:
    """It becomes part of a path."""
    if not name or not all(one.isascii() and (one.isalnum() or one in "-.") for one in name):
        raise InputError("--cancel", "", "", f"{name[:80]!r} is not the name of a reservation")
    return name


def beneficiary_of(text: str | None) -> Beneficiary:
    if text is None:
        raise InputError("--for", "", "", f"is required: {FOR_FORM}")
    kind, _, name = text.partition("/")
    if kind not in ("queue", "namespace", "group") or not name or (kind == "group" and name.count("/") != 1):
        raise InputError("--for", "", "", f"{text[:80]!r} is not {FOR_FORM}")
    return Beneficiary(**{kind: name})


def devices_of(
    gpus: int | None, model: str | None, resource: str | None, nodes: str | None
) -> ReservedDevices | None:
    if (gpus is None) == (nodes is None):
        raise InputError("--gpus", "", "", "say how many devices, or which --nodes, one of the two")
    if gpus is None and (model is not None or resource is not None):
        raise InputError("--nodes", "", "", "says which nodes these are: leave out --model and --resource")
    return None if gpus is None else ReservedDevices(resource or "nvidia.com/gpu", gpus, model or "*")


def labels_of(text: str | None) -> LabelSelector | None:
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(key and equals for key, equals, _ in pairs) or len({key for key, _, _ in pairs}) < len(pairs):
        raise InputError("--nodes", "", "", f"{text[:80]!r} is not of the form LABEL=VALUE,LABEL=VALUE")
    return LabelSelector(match_labels={key: value for key, _, value in pairs})


def times_of(begin: str | None, until: str | None, time_zone: str, now: datetime) -> tuple[str, str]:
    """As clocks of the time zone show them. A duration counts from now, or from the beginning."""
    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        what = f"{time_zone[:80]!r} is not a time zone such as UTC or Europe/Berlin"
        raise InputError("--time-zone", "", "", what) from None
    start = _clock("--from", begin, zone, now)
    since = start.replace(tzinfo=zone).astimezone(UTC)
    return start.strftime(CLOCK), _clock("--until", until, zone, since).strftime(CLOCK)


def _clock(option: str, text: str | None, zone: ZoneInfo, since: datetime) -> datetime:
    if text is None:
        raise InputError(option, "", "", "is required: a time such as 2026-12-01T14:00, or a duration")
    span = milliseconds(text)
    try:
        if span is not None:
            return (since + timedelta(milliseconds=span)).astimezone(zone).replace(tzinfo=None, microsecond=0)
        return clock_time(option, text)
    except OverflowError:
        raise InputError(option, "", "", f"{text} is too long") from None
    except CalendarError as problem:
        raise InputError(option, "", "", f"{problem.what}; it can also be {FORM}") from None


# -- asked -------------------------------------------------------------------------------------------------


def place(cluster: ClusterOptions, path: str, body: bytes, form: str) -> None:
    from maitred.explain.reserving.answer import ReservationDone
    from maitred.explain.reserving.tables import done_lines

    done = ask(Question(path, ReservationDone, None, {}, body), cluster)
    output.show(done, form, done_lines)


def show_list(cluster: ClusterOptions, form: str) -> None:
    from maitred.explain.reserving.answer import ReservationList
    from maitred.explain.reserving.tables import list_lines

    cluster.list_only()
    found = ask(Question("reservations", ReservationList, _reservations if cluster.files else None), cluster)
    output.show(found, form, list_lines)


def _reservations(situation: "Situation") -> "ReservationList":
    from maitred.explain.reserving.asking import reservations

    return reservations(situation)
