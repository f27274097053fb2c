"""What a Plan remembers of use: it follows from what was remembered, from what queues have, and the hour.

docs/design/queues.md, a second time. Of every queue and resource there is an average, in which what was used
a half-life ago counts for half.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isclose, isfinite

from .case import Breach, Case, breach
from .fields import Doc
from .rights import LIMITS, Books
from .times import instant

OBJECT = "maitred-system/maitred-usage"
INTERVAL = 300_000
LONGEST, LONGEST_NAME, LARGEST = 900_000, 512, 2**63
LEAST = 2e-6
WHO = "what is remembered of use"

Amounts = Mapping[str, float]


@dataclass(frozen=True)
class UseSoFar:
    had: Amounts = field(default_factory=dict)
    average: Amounts = field(default_factory=dict)


@dataclass(frozen=True)
class UsageRecord:
    at: int | None = None
    """In thousandths of a second; None if nothing is remembered."""
    queues: Mapping[str, UseSoFar] = field(default_factory=dict)


def judge_usage(case: Case) -> Iterator[Breach]:
    rights, said = case.policy.rights, case.plan.doc("usage")
    if not rights or rights.half_life is None:
        if said.raw:
            yield breach(LIMITS, WHO, "is to be written down, although the policy lets nothing decay")
        return
    known, has = _known(case), _present(Books(case))
    if not said.raw:
        elapsed = 0 if case.now is None or known.at is None else case.now - known.at
        if elapsed >= INTERVAL and has:
            yield breach(
                LIMITS, WHO, f"was written down {elapsed // 1000} s ago, and is not written down again"
            )
        return
    found = _read(said)
    if found.at is None or (case.now is not None and abs(found.at - case.now) > 1):
        yield breach(LIMITS, WHO, "has another time than the Plan")
        return
    if known.at is not None and -INTERVAL <= found.at - known.at < INTERVAL:
        yield breach(LIMITS, WHO, "is written down again too soon")
    known = UsageRecord() if known.at is not None and known.at > found.at + INTERVAL else known
    is_cut = len(json.dumps(said.raw)) > LONGEST / 2
    for name in sorted({*has, *known.queues, *found.queues}):
        if name in found.queues or not is_cut:
            yield from _judge(case, name, has.get(name, {}), known, found)


def _judge(case: Case, name: str, has: Amounts, known: UsageRecord, found: UsageRecord) -> Iterator[Breach]:
    assert found.at is not None
    assert case.policy.rights.half_life is not None
    told, before = found.queues.get(name, UseSoFar()), known.queues.get(name, UseSoFar())
    for resource in sorted(case.policy.rights.resources):
        now, mean = has.get(resource, 0.0), has.get(resource, 0.0)
        if known.at is not None:
            had, elapsed = before.had.get(resource, 0.0), max(0, found.at - known.at)
            meanwhile = (had + now) / 2 if elapsed <= 2 * INTERVAL else min(had, now)
            stays = 2.0 ** (-elapsed / case.policy.rights.half_life)
            mean = meanwhile + (before.average.get(resource, 0.0) - meanwhile) * stays
        for words, right, number in (("has", now, told.had), ("has had on average", mean, told.average)):
            claimed = number.get(resource, 0.0)
            if not isclose(claimed, right, rel_tol=1e-6, abs_tol=LEAST):
                fault = f"says that queue {name} {words} {claimed:g} {resource}, and it is {right:g}"
                yield breach(LIMITS, WHO, fault)


def _present(books: Books) -> dict[str, dict[str, float]]:
    """What groups in each queue itself have, in cores, bytes and devices."""
    found: dict[str, dict[str, float]] = {}
    for name in {books.queue(pod) for pod, _ in books.holding} - {""}:
        seats = [seat for seat in books.holding if books.queue(seat[0]) == name]
        for (resource, _), amount in books.use(seats).items():
            amounts = found.setdefault(name, {})
            amounts[resource] = amounts.get(resource, 0.0) + amount / (1000 if resource == "cpu" else 1)
    return found


def _known(case: Case) -> UsageRecord:
    """What cannot be read counts for nothing."""
    kept = case.cluster.raw.get(("ConfigMap", OBJECT))
    text = "" if kept is None else kept.doc("data").text("record")
    try:
        return _read(Doc(json.loads(text), WHO)) if 0 < len(text) <= LONGEST else UsageRecord()
    except ValueError:
        return UsageRecord()


def _read(doc: Doc) -> UsageRecord:
    at = instant(doc.text("at"))
    queues: dict[str, UseSoFar] = {}
    for one in doc.docs("queues"):
        name = one.text("queue")
        if not one.given("queue") or name in queues or len(name) > LONGEST_NAME:
            raise one.error("queue", "must be a name, once")
        queues[name] = UseSoFar(_amounts(one.doc("had")), _amounts(one.doc("average")))
    return UsageRecord(at, queues) if at is not None else UsageRecord()


def _amounts(doc: Doc) -> dict[str, float]:
    found: dict[str, float] = {}
    for resource, value in doc.raw.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not isfinite(value) or not 0 <= value <= LARGEST or len(resource) > LONGEST_NAME:
            raise doc.error(resource, "must be an amount")
        found[resource] = float(value)
    return found
