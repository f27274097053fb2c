"""Reservations that somebody has made: docs/reserve.md, a second time. What cannot be read counts for
nothing, all of it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from .case import Breach, Case, breach
from .fields import Doc
from .reservation_rules import ReservationRule, read_rule
from .times import instant

OBJECT = "maitred-system/maitred-reservations"
LONGEST, MOST, LONGEST_NAME, LONGEST_BY = 900_000, 100, 63, 256
WHO = "reservations"
RESERVED = 16


@dataclass(frozen=True)
class Made:
    rule: ReservationRule
    by: str
    made: int
    raw: Doc

    def is_over(self, now: int) -> bool:
        return not self.rule.calendar.spans(now) and self.rule.calendar.is_over(now)


def record_of(case: Case) -> Doc:
    """Empty if it cannot be read."""
    kept = case.cluster.raw.get(("ConfigMap", OBJECT))
    text = "" if kept is None else kept.doc("data").text("record")
    try:
        if not 0 < len(text) <= LONGEST:
            return Doc({}, WHO)
        record = Doc(json.loads(text), WHO)
        found = list(map(_read, record.docs("reservations")))
    except (ValueError, TypeError):
        return Doc({}, WHO)
    return record if len({one.rule.name for one in found}) == len(found) <= MOST else Doc({}, WHO)


def known_reservations(case: Case) -> list[Made]:
    return list(map(_read, record_of(case).docs("reservations")))


def rules_in_force(case: Case) -> dict[str, ReservationRule]:
    """Those of the policy, and those that were made; a name or a queue is for the policy to say."""
    policy, queues = case.policy, case.policy.rights.queues if case.policy.rights else {}
    rules = {rule.name: rule for rule in policy.reservations}
    for one in known_reservations(case):
        if one.rule.name not in rules and (not one.rule.queue or one.rule.queue in queues):
            rules[one.rule.name] = one.rule
    return rules


def judge_made(case: Case) -> Iterator[Breach]:
    """The Plan forgets those that are over, and only those."""
    if case.now is None:
        return
    now, known, said = case.now, known_reservations(case), case.plan.doc("madeReservations")
    left = [one.raw.raw for one in known if not one.is_over(now)]
    if not said.raw:
        if len(left) < len(known):
            yield breach(RESERVED, WHO, "some are over, and are to be remembered all the same")
    elif said.raw == record_of(case).raw:
        yield breach(RESERVED, WHO, "are to be written down anew, and nothing has changed")
    elif [one.raw for one in said.docs("reservations")] != left:
        yield breach(RESERVED, WHO, "to be remembered are not those that were made and are not over")


def _read(doc: Doc) -> Made:
    made, by, rule = instant(doc.text("made")), doc.text("by"), read_rule(doc.doc("said"))
    if made is None or not 0 < len(by) <= LONGEST_BY or not by.isprintable():
        raise doc.error("by", "must be short and plain, and made a time")
    if not 0 < len(rule.name) <= LONGEST_NAME:
        raise doc.error("said.name", "must be short")
    if sum(map(bool, (rule.queue, rule.namespace, rule.group))) != 1:
        raise doc.error("said.for", "must be one of queue, namespace and group")
    if bool(rule.resource) == (rule.nodes is not None):
        raise doc.error("said", "must be for devices or nodes")
    return Made(rule, by, made, doc)
