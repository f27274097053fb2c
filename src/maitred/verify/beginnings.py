"""Evictions at the beginning of a reservation: docs/reservations.md, a second time.

Nobody of higher rank comes instead, so law 4 asks something else of it: that the reservation evicts and has
begun, that whoever leaves started after it was made and was warned in time, and leaves as a whole.
"""

from collections.abc import Iterator
from typing import NamedTuple

from .allowances import heeded, marks_of
from .calendars import Span
from .case import Breach, Case, Eviction, breach
from .drains import kin_of
from .fields import Doc
from .impossible import stays
from .made_reservations import known_reservations, record_of, rules_in_force
from .pods import Pod
from .protection import shield
from .reservation_rules import ReservationRule
from .reserved import ReservedJudge
from .times import instant, thousandths
from .units import households

RESERVATION = "Reservation"
LEAST_NOTICE, SECOND = 60_000, 1000
WHO = "reservations"
RESERVED = 16


class Notice(NamedTuple):
    reservation: str
    unit: str
    at: int
    begin: int


def judge_beginnings(case: Case) -> Iterator[Breach]:
    leaving = [one for one in case.evictions if one.cause == RESERVATION]
    if case.now is None:
        return
    yield from _judge_notices(case, case.now)
    if leaving:
        judge = _Judge(case, case.now)
        for eviction in leaving:
            for fault in judge.faults(eviction):
                yield breach(4, eviction.pod.key, f"evicted for a reservation, but {fault}")


def _judge_notices(case: Case, now: int) -> Iterator[Breach]:
    """What the Plan remembers of warnings was said before, or is said now."""
    said = case.plan.doc("madeReservations")
    before = set(_notices(record_of(case)))
    for notice in _notices(said) if said.raw else ():
        if notice not in before and notice.at != now // SECOND * SECOND:
            yield breach(RESERVED, notice.unit, "is remembered to have been warned, and was not")


def _notices(doc: Doc) -> list[Notice]:
    found = []
    for one in doc.docs("warned"):
        at, begin = instant(one.text("at")), instant(one.text("begin"))
        if at is not None and begin is not None:
            found.append(Notice(one.text("reservation"), one.text("unit"), at, begin))
    return found


class _Judge:
    def __init__(self, case: Case, now: int) -> None:
        self.case, self.now = case, now
        self.rules, self.homes = rules_in_force(case), households(case)
        self.notices = _notices(record_of(case))
        self.protected = heeded(case)
        self.said = {doc.text("name"): doc for doc in case.plan.docs("reservations")}
        self.reserved = ReservedJudge(case, now, self.said)

    def faults(self, eviction: Eviction) -> Iterator[str]:
        kind, _, name = eviction.preemptor.partition("/")
        rule, said = self.rules.get(name), self.said.get(name)
        if kind != "reservation" or rule is None or said is None:
            yield f"there is no {eviction.preemptor}"
            return
        span = next(iter(rule.calendar.spans(self.now)), None)
        if not rule.evicts:
            yield f"{name} waits for those who are inside"
        if span is None or span[0] > self.now or said.text("state") != "begun":
            yield f"{name} has not begun"
            return
        kin = kin_of(eviction.pod, self.homes)
        nodes = set(said.texts("nodes"))
        if not any(pod.node_name in nodes for pod in kin):
            yield f"nothing of it is on nodes of {name}"
        if any(self.reserved.is_for(rule, pod) for pod in kin):
            yield f"{name} is for it"
        yield from self._stay(kin)
        yield from self._untold(rule, span, eviction, kin)

    def _stay(self, kin: tuple[Pod, ...]) -> Iterator[str]:
        gone = {one.pod.key for one in self.case.evictions}
        left = sorted(pod.key for pod in kin if pod.key not in gone)
        if left:
            yield f"{', '.join(left)} would stay, which break with it"
        if any(stays(pod) for pod in kin):
            yield "it belongs to its node"
        if any(pod.controller is None for pod in kin):
            yield "no controller would recreate it"
        for pod in kin:
            why = shield(pod, marks_of(self.case, pod), self.now)
            if why is not None and pod.key in self.protected:
                yield why

    def _untold(
        self, rule: ReservationRule, span: Span, eviction: Eviction, kin: tuple[Pod, ...]
    ) -> Iterator[str]:
        starts = [pod.bound for pod in kin]
        known = [thousandths(one) for one in starts if one is not None]
        since = self._since(rule.name)
        if since is None or len(known) < len(starts) or min(known) < since:
            yield f"it did not start after {rule.name} was made"
            return
        unit, latest = eviction.receipt.text("unit"), self.now - max(rule.lead, LEAST_NOTICE)
        told = (
            one.at
            for one in self.notices
            if (one.reservation, one.unit) == (rule.name, unit) and one.begin == span[0] // SECOND * SECOND
        )
        if not any(min(known) // SECOND * SECOND <= at <= latest for at in told):
            yield "it was not warned in time"

    def _since(self, name: str) -> int | None:
        """When it was made; of the policy, when it was first seen."""
        made = next((one.made for one in known_reservations(self.case) if one.rule.name == name), None)
        if made is not None and all(rule.name != name for rule in self.case.policy.reservations):
            return made
        for doc in record_of(self.case).docs("standing"):
            if doc.doc("said").text("name") == name:
                return instant(doc.text("since"))
        return None
