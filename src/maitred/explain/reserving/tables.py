"""Reservations as lines for people."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from maitred.explain.reserving.answer import ReservationDone, ReservationList, ReservationState
from maitred.explain.reserving.asking import NOT_KEPT
from maitred.explain.tables import Cell, aligned, header
from maitred.model.reservations import BEGUN, COMING, GIVEN_BACK
from maitred.model.words import counted

STYLES = {COMING: "", BEGUN: "green", GIVEN_BACK: "dim", NOT_KEPT: "yellow"}
THE_POLICY = "the policy"


def list_lines(found: ReservationList, width: int | None = None) -> Iterator[Text]:
    if not found.reservations:
        yield Text("Nothing is reserved.")
        return
    rows: list[Sequence[Cell]] = [header("NAME", "FOR", "FROM", "UNTIL", "NODES", "BY", "STATE")]
    for one in found.reservations:
        nodes, style = str(len(one.nodes)), STYLES[one.state]
        state = Text(f"{one.state}: {one.words}", style)
        by = one.by or THE_POLICY
        rows.append((one.name, one.beneficiary, one.begin, one.until, nodes, by, state))
    yield from aligned(rows, width)


def done_lines(done: ReservationDone, width: int | None = None) -> Iterator[Text]:
    one = done.reservation
    if one is None:
        yield Text(f"Reservation {done.name} is cancelled. Who runs there stays.")
        return
    yield Text(f"{one.name} reserves {one.asks} for {one.beneficiary}, {one.begin} to {one.until}.")
    yield from _more(one)


def _more(one: ReservationState) -> Iterator[Text]:
    if one.every:
        yield Text(f"It comes again: {one.every}, on the clocks of {one.time_zone}.")
    yield Text(f"As of now it is on {counted(len(one.nodes), 'node')}: {one.words}.")
    yield Text(f"To cancel it: maitred reserve --cancel {one.name}")
