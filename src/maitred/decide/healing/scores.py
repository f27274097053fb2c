"""How often nodes have failed. A score is the number of failures, of which older ones count for less.

All that is seen of a node within an hour is one failure: a node that dies falls silent, loses its devices and
takes pods of many groups along. A fault counts again once it was over. So the memory changes when a node
fails and when that is over, and never because time goes by.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from operator import is_

from msgspec.structs import replace

from maitred.decide.healing.faults import NodeFault, evidence
from maitred.model.duration import span
from maitred.model.memory import MOST_SCORES, CountedFault, NodeScore
from maitred.model.policy import LemonRules
from maitred.model.times import after, before
from maitred.model.words import moment

HOUR = timedelta(hours=1)
FORGOTTEN = 0.05
"""A score below it is none."""
MOST_EVIDENCE, MOST_FAULTS, MOST_DEVICES = 3, 16, 8
DIGITS = 6


class Decay:
    """By how much a score is less after some time."""

    def __init__(self, lemons: LemonRules) -> None:
        self._half_life = span(lemons.half_life)

    def now(self, score: float, at: datetime, now: datetime) -> float:
        """A clock that was set back makes nothing older, and nothing worse."""
        if now <= at or not self._half_life:
            return score
        return score * math.pow(0.5, (now - at) / self._half_life)

    def until(self, one: NodeScore, least: float) -> datetime:
        """When it will have come down to that."""
        if one.score <= least:
            return one.at
        return after(one.at, self._half_life * math.log2(one.score / least))


class Scoring:
    """The scores of all nodes while they change."""

    def __init__(self, scores: Sequence[NodeScore], lemons: LemonRules, now: datetime) -> None:
        self.lemons, self.now, self.decay = lemons, now, Decay(lemons)
        self.before, self.by_node = tuple(scores), {one.node: one for one in scores}

    def of(self, one: NodeScore) -> float:
        """As it is now."""
        return self.decay.now(one.score, one.at, self.now)

    def count(self, found: Mapping[str, Sequence[NodeFault]]) -> None:
        """Faults that are seen now, by node."""
        remembered = {node for node, one in self.by_node.items() if one.faults}
        for node in sorted(remembered.union(found)):
            self._look_at(self.by_node.get(node) or NodeScore(node, 0.0, self.now), found.get(node, ()))

    def _look_at(self, known: NodeScore, seen: Sequence[NodeFault]) -> None:
        faults = {(one.what, one.device): one for one in known.faults}
        fresh = [one for one in seen if self._is_news(faults.get(one.key), one)]
        fresh = fresh[: max(0, MOST_FAULTS - len(faults.keys() - {one.key for one in fresh}))]
        there = {one.key for one in seen}
        over = [key for key, one in faults.items() if key not in there and not one.over]
        if not fresh and not over:
            return
        for key in over:
            faults[key] = replace(faults[key], over=True)
        for one in fresh:
            faults[one.key] = CountedFault(one.what, self.now, one.weight, one.device)
        old = before(self.now, HOUR)
        left = tuple(one for _, one in sorted(faults.items()) if not one.over or one.at > old)
        self.by_node[known.node] = self._counted(replace(known, faults=left), fresh)

    def _is_news(self, known: CountedFault | None, seen: NodeFault) -> bool:
        """What is worse than it was, as a silent node that is lost by now, is news too."""
        if known is None or seen.weight > known.weight:
            return True
        began_anew = seen.since is not None and known.at < seen.since <= self.now
        return (known.over or began_anew) and self.now - known.at >= HOUR

    def _counted(self, known: NodeScore, fresh: Sequence[NodeFault]) -> NodeScore:
        """Within one hour only what is worse than the rest adds to it."""
        heaviest = max((one.weight for one in fresh), default=0.0)
        hour, counted = known.hour, known.counted
        if hour is None or not hour <= self.now < after(hour, HOUR):
            hour, counted = self.now, 0.0
        gain = heaviest - counted
        if gain <= 0:
            return known
        told = [evidence(one, moment(int(self.now.timestamp()))) for one in fresh]
        return replace(
            known,
            score=round(self.of(known) + gain, DIGITS),
            at=max(self.now, known.at),
            hour=hour,
            counted=heaviest,
            evidence=(*known.evidence, *told)[-MOST_EVIDENCE:],
            devices=self._devices(known, fresh),
        )

    def _devices(self, known: NodeScore, fresh: Iterable[NodeFault]) -> tuple[tuple[str, float], ...]:
        scores = {device: self.decay.now(one, known.at, self.now) for device, one in known.devices}
        for fault in fresh:
            if fault.device:
                scores[fault.device] = scores.get(fault.device, 0.0) + fault.weight
        kept = sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:MOST_DEVICES]
        return tuple((device, round(one, DIGITS)) for device, one in kept if one >= FORGOTTEN)

    def kept(self) -> tuple[NodeScore, ...]:
        """What is to be remembered: the highest, and no score that has become too small to matter."""
        left = [one for one in self.by_node.values() if not self._is_forgotten(one)]
        if len(left) <= MOST_SCORES and all(map(is_, left, self.before)) and len(left) == len(self.before):
            return self.before
        if len(left) > MOST_SCORES:
            left.sort(key=lambda one: (not one.tainted, one.lemon_since is None, -self.of(one), one.node))
        return tuple(sorted(left[:MOST_SCORES], key=lambda one: one.node))

    def _is_forgotten(self, one: NodeScore) -> bool:
        lasts = any(not fault.over for fault in one.faults)
        return not (one.tainted or lasts) and self.of(one) < FORGOTTEN
