"""From what somebody asks for to a reservation that can be kept, and to what is told of it."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from maitred.cluster.selection import selected
from maitred.decide.holding.reserved import Reservations
from maitred.decide.levels import known_levels
from maitred.explain.reserving.answer import ReservationList, ReservationState
from maitred.explain.reserving.fitting import Fitting, TooManyLooksError, asked, kept_now
from maitred.explain.situation import Situation
from maitred.model.manifest.errors import FieldError, InputError
from maitred.model.manifest.reservation_checks import check_form, check_reservation
from maitred.model.queues import EVERY_MODEL
from maitred.model.reservations import (
    BEGUN,
    COMING,
    GIVEN_BACK,
    HORIZON,
    Beneficiary,
    Reservation,
    ReservedNodes,
    clock_time,
    is_left_out,
    is_over,
    spans_of,
)
from maitred.model.reserving import (
    LONGEST_NAME,
    LONGEST_USER,
    MadeReservation,
    ReservationMemory,
    is_past,
    names_tried,
    recorded,
)
from maitred.model.selector import LabelSelector, selector_of
from maitred.model.words import counted, moment, printable

OPTIONS = {
    "from": "--from",
    "until": "--until",
    "every": "--every",
    "timeZone": "--time-zone",
    "leadTime": "--lead-time",
    "releaseAfter": "--release-after",
    "for": "--for",
    "devices": "--gpus",
    "devices.model": "--model",
    "devices.resource": "--resource",
    "nodes": "--nodes",
    "within": "--within",
    "name": "--name",
    "": "--gpus",
}
"""By the fields of a reservation, the options of `maitred reserve`."""
LONGEST_WORD = 317
NAMES_SHOWN = 3
NOT_KEPT = "not kept"
STATES = {
    COMING: "others are not started there who would not end before",
    BEGUN: "nobody else is started there",
    GIVEN_BACK: "nobody came for whom it is, so others may start there",
}


def reservation_of(situation: Situation, wish: Reservation, by: str) -> MadeReservation:
    """Raises InputError for what could not be kept."""
    now = situation.now.astimezone(UTC).replace(microsecond=0)
    check_words(wish)
    try:
        said = named(situation, wish)
        check_reservation("", said, situation.policy.queues, levels_of(situation))
    except FieldError as problem:
        raise refused(problem.field, problem.what) from None
    check_times(said, situation.now)
    check_people(situation, said.beneficiary)
    if any(one.name == said.name for one in situation.policy.reservations):
        raise refused("name", f"the policy has a reservation {said.name} already; choose another name")
    made = MadeReservation(said, printable(by)[:LONGEST_USER], now)
    memory = situation.snapshot.reservations
    known = memory.at(situation.now).of(said.name)
    if known is not None and known.said == said:
        return known
    others = tuple(one.said.name for one in memory.at(situation.now).reservations)
    if isinstance(problem_found := recorded(memory, made, others, situation.now), str):
        raise InputError("", "", "", problem_found)
    check_fit(situation, made)
    return made


def refused(field: str, what: str) -> InputError:
    known = next((name for name in (field, field.partition(".")[0]) if name in OPTIONS), None)
    return InputError(field if known is None else OPTIONS[known], "", "", what)


def levels_of(situation: Situation) -> list[str]:
    return [level.name for level in known_levels(situation.policy, situation.snapshot)]


# -- what is asked -----------------------------------------------------------------------------------------


def check_words(wish: Reservation) -> None:
    """Before anything is looked at that could take long."""
    who, devices = wish.beneficiary, wish.devices
    words = {
        "for": who.queue or who.namespace or who.group,
        "from": wish.begin,
        "until": wish.until,
        "every": wish.every,
        "timeZone": wish.time_zone,
        "leadTime": wish.lead_time,
        "releaseAfter": wish.release_after,
        "within": wish.within,
        "devices.model": devices.model if devices else "",
        "devices.resource": devices.resource if devices else "",
    }
    for field, word in words.items():
        if len(word) > LONGEST_WORD or not word.isprintable():
            raise refused(field, f"is not plain text of at most {LONGEST_WORD} characters")
    if len(wish.name) > LONGEST_NAME:
        raise refused("name", f"has {len(wish.name)} characters, and may have {LONGEST_NAME}")
    try:
        check_form(msgspec.structs.replace(wish, name=wish.name or "reservation"))
    except FieldError as problem:
        raise refused(problem.field, problem.what) from None


def named(situation: Situation, wish: Reservation) -> Reservation:
    """With a name that tells for whom it is and when, if it was given none. Who asks again for the same gets
    the same."""
    if wish.name:
        return wish
    who = wish.beneficiary
    whose = (who.queue or who.namespace or who.group).lower().replace("/", "-")
    day = clock_time("from", wish.begin).strftime("%m%d-%H%M")
    base = f"{re.sub('[^a-z0-9-]', '-', whose)[:40].strip('-') or 'reservation'}-{day}"
    memory, taken = situation.snapshot.reservations.at(situation.now), situation.policy.reservations
    for name in names_tried(base):
        said, known = msgspec.structs.replace(wish, name=name), memory.of(name)
        free = known is None and not any(one.name == name for one in taken)
        if free or (known is not None and known.said == said):
            return said
    return msgspec.structs.replace(wish, name=base)


def check_times(said: Reservation, now: datetime) -> None:
    at = round(now.timestamp() * 1000)
    for field, text in (("from", said.begin), ("until", said.until)):
        if is_left_out(clock_time(field, text), said.time_zone):
            raise refused(
                field,
                f"clocks of {said.time_zone} never show {text}: they are put forward; give another time",
            )
    spans = spans_of(said, at)
    if not spans and is_over(said, at):
        raise refused("until", f"{said.until} is in the past; it is {told(at)} now")
    if not spans:
        raise refused("from", f"it begins more than {HORIZON.days} days from now; so far ahead nobody looks")
    if is_past(spans[0][0], now):
        raise refused("from", f"{told(spans[0][0])} is in the past; it is {told(at)} now")
    if spans[0][1] - spans[0][0] > HORIZON.total_seconds() * 1000:
        raise refused("until", f"a reservation lasts for {HORIZON.days} days at most; give an earlier time")


def check_people(situation: Situation, who: Beneficiary) -> None:
    """A name that is misspelt would keep nodes for nobody."""
    namespaces, named = situation.snapshot.namespaces, who.namespace or who.group.partition("/")[0]
    if named and namespaces and named not in namespaces:
        raise refused("for", f"there is no namespace {named[:80]}")


# -- whether it fits ---------------------------------------------------------------------------------------


def check_fit(situation: Situation, made: MadeReservation) -> None:
    fitting, said = Fitting(situation, situation.snapshot.reservations.at(situation.now)), made.said
    there = fitting.alone(made)
    if said.nodes is not None and not selected(situation.snapshot.nodes, selector_of(said.nodes) or ()).any():
        raise refused("nodes", "no node has these labels")
    if there < asked(said):
        raise refused(
            "devices",
            f"{asks_words(said)} are asked for, and {there} are there on nodes that are open and well; ask "
            f"for fewer, or add nodes",
        )
    try:
        misfit = fitting.misfit(made)
    except TooManyLooksError:
        raise refused(
            "every", "it meets other reservations at too many times to look at; reserve the times one by one"
        ) from None
    if misfit is None:
        return
    first = fitting.first(made)
    when = (
        "at none of the times that were tried it would"
        if first is None
        else f"it would from {told(first)} on"
    )
    beside = ", ".join(misfit.beside[:NAMES_SHOWN])
    what = f"reservation {misfit.robbed} would have less than it asks for"
    if not misfit.robbed:
        what = "others have them then"
        if said.devices is not None:
            what = f"{asks_words(said)} are asked for, and {misfit.have} are not reserved"
    raise refused("from", f"it does not fit at {told(misfit.span[0])} beside {beside}: {what}; {when}")


# -- what is told ------------------------------------------------------------------------------------------


def reservations(situation: Situation) -> ReservationList:
    memory = situation.snapshot.reservations.at(situation.now)
    kept, at = kept_now(situation, memory), told(round(situation.now.timestamp() * 1000))
    found = states(situation.decided().reservations, kept, memory)
    return ReservationList(reservations=tuple(found), at=at)


def state_of(situation: Situation, made: MadeReservation) -> ReservationState:
    """As it is once it has been made."""
    memory = situation.snapshot.reservations.at(situation.now).without(made.said.name)
    kept = kept_now(situation, memory.with_more(made))
    return next(one for one in states(kept.told(), kept, memory) if one.name == made.said.name)


def states(
    told: Iterable[ReservedNodes], kept: Reservations, memory: ReservationMemory
) -> Iterator[ReservationState]:
    said = {one.said.name: one.said for one in kept.kept}
    for one in told:
        yield _state(said[one.name], one)
    for made in memory.reservations:
        if why := kept.why_not(made.said):
            yield _not_kept(made, kept, why)


def _state(said: Reservation, found: ReservedNodes) -> ReservationState:
    words, others = STATES[found.state], counted(found.others, "pod")
    if found.others:
        words += (
            f"; {others} of others {'will be there then' if found.state == COMING else 'are there still'}"
        )
    if leaving := sum(not one.stays for one in found.warned):
        words += f"; {counted(leaving, 'group')} warned, to leave then"
    return ReservationState(
        name=said.name,
        beneficiary=found.beneficiary,
        by=found.by,
        asks=asks_words(said),
        begin=found.begin,
        until=found.until,
        every=said.every,
        time_zone=said.time_zone,
        nodes=found.nodes,
        state=found.state,
        others=found.others,
        on_start=said.on_start,
        warned=found.warned,
        words=words,
    )


def _not_kept(made: MadeReservation, kept: Reservations, why: str) -> ReservationState:
    spans = spans_of(made.said, kept.now)
    begin, until = spans[0] if spans else (kept.now, kept.now)
    return ReservationState(
        name=made.said.name,
        beneficiary=str(made.said.beneficiary),
        by=made.by,
        asks=asks_words(made.said),
        begin=told(begin),
        until=told(until),
        every=made.said.every,
        time_zone=made.said.time_zone,
        nodes=(),
        state=NOT_KEPT,
        others=0,
        on_start=made.said.on_start,
        warned=(),
        words=f"does not count: {why}",
    )


def asks_words(said: Reservation) -> str:
    """`512 nvidia.com/gpu on H100 in one block`, or `nodes with pool=demo`."""
    devices = said.devices
    if devices is None:
        return f"nodes with {selector_words(said.nodes or LabelSelector())}"
    model = "" if devices.model == EVERY_MODEL else f" on {devices.model}"
    return f"{devices.count} {devices.resource}{model}" + (f" in one {said.within}" if said.within else "")


def selector_words(selector: LabelSelector) -> str:
    exact = [f"{key}={value}" for key, value in selector.match_labels.items()]
    more = [
        " ".join((one.key, one.operator, ",".join(one.values))).strip() for one in selector.match_expressions
    ]
    return ", ".join((*exact, *more)) or "any labels"


def told(at: int) -> str:
    return moment(at // 1000)
