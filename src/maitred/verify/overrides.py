"""Overrides, a second time from docs/override.md: which groups are lifted past the limits of their queues.

Whoever is lifted is held to no cap, to no limit of a user and to no ban on borrowing, of its own queue and
of those above. What queues never lend is kept from it too, and nobody who is entitled leaves for it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .case import Breach, Case, breach, seniority
from .claimed import ClaimedDevices
from .fields import Doc
from .groups import Group
from .membership import owners_of
from .pods import Pod
from .times import instant, thousandths

OBJECT = "maitred-system/maitred-overrides"
LONGEST, LONGEST_REASON, LONGEST_BY, MOST = 900_000, 300, 256, 200
LONGEST_TIME = 7 * 86_400_000
SECOND = 1000
WHO = "overrides"
LIMITS = 14


@dataclass(frozen=True)
class Lift:
    """One override that can be read; times in thousandths of a second."""

    group: str
    uid: str
    youngest: int
    asks: dict[str, int]
    by: str
    reason: str
    until: int
    raw: Doc


class Lifts:
    """All that a case knows of overrides."""

    def __init__(self, case: Case, claims: ClaimedDevices | None = None) -> None:
        """Without `claims` it is known what there is, and not whom it lifts."""
        self.case, self.claims = case, claims

    @cached_property
    def known(self) -> list[Lift]:
        """What cannot be read counts for nothing, all of it."""
        kept = self.case.cluster.raw.get(("ConfigMap", OBJECT))
        text = "" if kept is None else kept.doc("data").text("record")
        try:
            if not 0 < len(text) <= LONGEST:
                return []
            found = list(map(_read, Doc(json.loads(text), WHO).docs("overrides")))
        except (ValueError, TypeError):
            return []
        return found if len({one.group for one in found}) == len(found) <= MOST else []

    @cached_property
    def now(self) -> list[Lift]:
        """Those that are not over. Where nobody says what time it is, none is."""
        return [one for one in self.known if self.case.now is None or one.until > self.case.now]

    def of(self, group: Group) -> Lift | None:
        """What lifts a group: it is neither younger than that nor larger."""
        found = next((one for one in self.now if one.group == group.key), None)
        if found is None or not self.case.policy.rights:
            return None
        age = seniority(group)[1]
        if age != float("inf") and thousandths(age) > found.youngest + SECOND:
            return None
        if found.uid and not any(found.uid in _uids(self.case, pod) for pod in group.members):
            return None
        asks = self._asks(group)
        grown = any(amount > found.asks.get(resource, 0) for resource, amount in asks.items())
        return None if grown else found

    def _asks(self, group: Group) -> dict[str, int]:
        """What its members ask for by now of what limits speak of; a claim that is shared counts once."""
        assert self.claims is not None, "nobody is judged by requests alone"
        found, shared = dict[str, int](), set[str]()
        for pod in (*group.pending, *group.running):
            counts = [(name, n) for asked, n in pod.requests.items() for name in self.claims.names(asked)]
            for claim, devices in self.claims.of(pod):
                counts += devices.items() if claim not in shared else ()
                shared.add(claim)
            for resource, amount in counts:
                found[resource] = found.get(resource, 0) + amount
        return found


def judge_overrides(case: Case) -> Iterator[Breach]:
    """The Plan forgets those that are over, and only those."""
    lifts, said = Lifts(case), case.plan.doc("overrides")
    left, found = lifts.now, said.docs("overrides")
    if case.now is None:
        return
    if not said.raw:
        if len(left) < len(lifts.known):
            yield breach(LIMITS, WHO, "some are over, and are to be remembered all the same")
    elif len(left) == len(lifts.known):
        yield breach(LIMITS, WHO, "are to be written down anew, and none is over")
    elif [one.raw for one in found] != [one.raw.raw for one in left]:
        yield breach(LIMITS, WHO, "to be remembered are not those that are granted and not over")


def judge_notes(case: Case, lifts: Lifts) -> Iterator[Breach]:
    """Receipts name the override of the group that others leave for, and none that there is not."""
    for eviction in case.evictions if case.now is not None else ():
        group = next((one for one in case.groups if one.key == eviction.preemptor), None)
        lift = None if group is None else lifts.of(group)
        note = eviction.receipt.doc("override")
        if eviction.receipt.raw and bool(note.raw) != (lift is not None):
            what = "names an override that is none" if note.raw else "does not name the override"
            yield breach(4, eviction.pod.key, f"its receipt {what} of {eviction.preemptor}")
        elif lift is not None and note.raw:
            told = (note.text("by"), note.text("reason"), instant(note.text("until")))
            if told != (lift.by, lift.reason, lift.until // SECOND * SECOND):
                yield breach(4, eviction.pod.key, "its receipt tells another override than there is")


def _uids(case: Case, pod: Pod) -> set[str]:
    owners = owners_of(pod, case.cluster)
    return {doc.doc("metadata").text("uid") for _, doc in owners.known}


def _read(doc: Doc) -> Lift:
    granted, until, created = (instant(doc.text(name)) for name in ("granted", "until", "created"))
    if granted is None or until is None or created is None:
        raise doc.error("until", "must be a time, as all times")
    if not granted < until <= granted + LONGEST_TIME:
        raise doc.error("until", "must be within seven days")
    by, reason, source = doc.text("by"), doc.text("reason"), doc.texts("source")
    if not 0 < len(by) <= LONGEST_BY or not 0 < len(reason) <= LONGEST_REASON or not reason.strip():
        raise doc.error("reason", "must be short, as who gives it")
    if not (by + reason).isprintable() or len(source) != 3 or not doc.text("group"):
        raise doc.error("reason", "must be plain text, and of a group")
    asks = doc.doc("asks")
    amounts = {name: asks.integer(name) for name in asks.raw}
    return Lift(doc.text("group"), source[2], max(granted, created), amounts, by, reason, until, doc)
