"""The oracle of queues: who is entitled, who is admitted, who goes next, and who is evicted for whom.

docs/design/queues.md in plain Python, word by word and without a thought for speed. It shares no code with
the engine or the checker: amounts are plain numbers, by resource and model.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Key = tuple[str, str]
Use = dict[Key, int]


def amounts(model: str = "", **of: int) -> Use:
    """What a group uses on devices of one model: `amounts(cpu=1, gpu=8)`."""
    return {(resource, model): amount for resource, amount in of.items()}


@dataclass(frozen=True)
class Sharer:
    """A group: the queue that it names, what it uses, or would use."""

    name: str
    queue: str
    use: Use
    priority: int = 0
    start: int = 0
    """When it got its seats; of one that waits, when it was created."""
    user: str = ""
    waits_since: int | None = None
    """Of one that has waited for longer than shares may hold it up."""


@dataclass
class Queues:
    """The tree as a Policy has it, in its own words: `queues: [{name, parent, weight, limits: [...]}]`."""

    written: Sequence[Mapping[str, Any]]
    there: Mapping[Key, int] = field(default_factory=dict)
    """All there is in the cluster."""
    fair: bool = False
    """fairShare.reclaim"""
    order: Sequence[str] = ("priority", "fair-share", "age")
    """The rules of the Policy, without the name, which comes last."""
    past: Mapping[str, Use] | None = None
    """fairShare.halfLife: the average of what each queue itself has had, on devices of all models."""

    def __post_init__(self) -> None:
        self.named = {queue["name"]: queue for queue in self.written}
        self.named.setdefault("default", {"name": "default"})
        self.limited = {limit["resource"] for queue in self.written for limit in queue.get("limits", ())}

    def path(self, queue: str) -> list[str]:
        """From the top to the queue."""
        above = self.named[queue].get("parent")
        return [*(self.path(above) if above else []), queue]

    def below(self, queue: str) -> list[str]:
        return [name for name, one in self.named.items() if one.get("parent") == queue]

    # -- amounts -------------------------------------------------------------------------------------------

    def used(self, queue: str, groups: Iterable[Sharer]) -> Use:
        """What a queue has: all that groups have which name it, or a queue below it."""
        return plus(*(group.use for group in groups if queue in self.path(group.queue)))

    def guarantees(self, queue: str) -> list[tuple[str, str, int]]:
        """Resource, pattern of models, amount. Of a resource of which a queue states none, what is guaranteed
        below it, taken together."""
        own = [
            (limit["resource"], limit.get("model", "*"), limit["guarantee"])
            for limit in self.named[queue].get("limits", ())
            if limit.get("guarantee") is not None
        ]
        stated = {resource for resource, _, _ in own}
        children = [self.guarantees(child) for child in self.below(queue)]
        theirs = [one for child in children for one in child if one[0] not in stated]
        for resource in dict.fromkeys(one[0] for one in theirs):
            patterns = [pattern for name, pattern, _ in theirs if name == resource]
            if "*" in patterns:
                own.append((resource, "*", sum(of_all_models(resource, child) for child in children)))
                continue
            for pattern in dict.fromkeys(patterns):
                total = sum(count for name, p, count in theirs if (name, p) == (resource, pattern))
                own.append((resource, pattern, total))
        return own

    def within_guarantee(self, queue: str, use: Use) -> bool:
        """Whether nothing of it is beyond the guarantee. What no guarantee speaks of is beyond it, unless no
        limit in the tree speaks of the resource."""
        guarantees = self.guarantees(queue)
        for (resource, model), amount in use.items():
            spoken = any(name == resource and fits(pattern, model) for name, pattern, _ in guarantees)
            if amount and resource in self.limited and not spoken:
                return False
        return all(part(use, resource, pattern) <= most for resource, pattern, most in guarantees)

    def beyond(self, queue: str, asked: Use, used: Use) -> bool:
        """Whether something that is asked for is part of what a queue uses beyond its guarantee."""
        guarantees = self.guarantees(queue)
        unspoken = any(
            amount
            and key[0] in self.limited
            and not any(g[0] == key[0] and fits(g[1], key[1]) for g in guarantees)
            for key, amount in asked.items()
        )
        return unspoken or any(
            part(asked, resource, pattern) and part(used, resource, pattern) > most
            for resource, pattern, most in guarantees
        )

    # -- entitled and borrowed -----------------------------------------------------------------------------

    def entitled(self, queue: str, seated: Sequence[Sharer]) -> set[str]:
        """Which groups of a queue, and of all below it, are entitled at its level."""
        inside = [group for group in seated if queue in self.path(group.queue)]
        depth = len(self.path(queue))

        def turn(group: Sharer) -> tuple[Any, ...]:
            further = self.path(group.queue)[depth:]
            down = [group.name not in self.entitled(one, seated) for one in further]
            return (*down, *[False] * (20 - len(down)), -group.priority, group.start, group.name)

        found, taken = set[str](), Use()
        for group in sorted(inside, key=turn):
            if self.within_guarantee(queue, plus(taken, group.use)):
                found.add(group.name)
                taken = plus(taken, group.use)
        return found

    def would_be_entitled(self, group: Sharer, queue: str, seated: Sequence[Sharer]) -> bool:
        """Whether one that waits is entitled at the level of a queue that it counts for."""
        return self.within_guarantee(queue, plus(self.used(queue, seated), group.use))

    # -- who goes first ------------------------------------------------------------------------------------

    def share(self, queue: str, groups: Iterable[Sharer]) -> Fraction:
        """The largest part of any limited resource in the cluster, over the weight."""
        used = self.used(queue, groups)
        parts = [
            Fraction(part(used, resource, "*"), max(1, part(dict(self.there), resource, "*")))
            for resource in self.limited
        ]
        return max(parts, default=Fraction()) / Fraction(self.named[queue].get("weight", 1))

    def next(self, waiting: Sequence[Sharer], seated: Sequence[Sharer]) -> Sharer:
        """The group whose turn it is; after it has had its seats, ask again.

        Groups are compared where their branches part, as if one was to be evicted for the other: first those
        within a branch, then the first of each. In one queue nobody is before a higher priority.
        """
        return self._first(waiting, seated, 0)

    def _first(self, waiting: Sequence[Sharer], seated: Sequence[Sharer], level: int) -> Sharer:
        branches: dict[str, list[Sharer]] = {}
        for group in waiting:
            branches.setdefault(self.path(group.queue)[level], []).append(group)
        firsts = []
        for queue, inside in branches.items():
            if self.below(queue):
                firsts.append(self._first(inside, seated, level + 1))
            else:
                firsts.append(min(inside, key=lambda group: self._by_rules(group, Fraction())))

        def turn(group: Sharer) -> tuple[Any, ...]:
            queue = self.path(group.queue)[level]
            borrows = not self.would_be_entitled(group, queue, seated)
            return (borrows, *self._by_rules(group, self._share_in_turn(queue, seated)))

        return min(firsts, key=turn)

    def _share_in_turn(self, queue: str, seated: Sequence[Sharer]) -> Fraction:
        """Half of what the queue has had, with all below it, and half of what it has."""
        if self.past is None:
            return self.share(queue, seated)
        had = [use for name, use in self.past.items() if queue in self.path(name)]
        mean = plus(*had, self.used(queue, seated))
        parts = [
            Fraction(part(mean, resource, "*")) / max(1, part(dict(self.there), resource, "*")) / 2
            for resource in self.limited
        ]
        return max(parts, default=Fraction()) / Fraction(self.named[queue].get("weight", 1))

    def _by_rules(self, group: Sharer, share: Fraction) -> tuple[Any, ...]:
        """What the rules compare, one after the other; after the priority, who has waited for so long."""
        values: dict[str, Any] = {"priority": -group.priority, "fair-share": share, "age": group.start}
        rules = [rule for rule in self.order if rule != "priority"]
        first = [values["priority"]] if "priority" in self.order else []
        waited = group.waits_since is None, group.waits_since or 0
        return (*first, waited, *(values[rule] for rule in rules), group.start, group.name)

    # -- admission -----------------------------------------------------------------------------------------

    def refusal(self, group: Sharer, seated: Sequence[Sharer]) -> str:
        """What keeps a group from being admitted; empty if nothing does."""
        after = [*seated, group]
        if not any(amount and resource in self.limited for (resource, _), amount in group.use.items()):
            return ""
        for queue in self.path(group.queue):
            used = self.used(queue, after)
            for limit in self.named[queue].get("limits", ()):
                about = (limit["resource"], limit.get("model", "*"))
                own = self.used(queue, [one for one in after if one.user == group.user])
                if not part(group.use, *about):
                    continue
                if limit.get("cap") is not None and part(used, *about) > limit["cap"]:
                    return f"cap of {queue}"
                if limit.get("perUser") is not None and part(own, *about) > limit["perUser"]:
                    return f"perUser of {queue}"
            if self.named[queue].get("borrow") == "never" and self.beyond(queue, group.use, used):
                return f"{queue} never borrows"
        return self._not_lent(group, after)

    def _not_lent(self, group: Sharer, after: Sequence[Sharer]) -> str:
        """What queues that never lend have not used of their guarantees must still be free, unless the group
        is entitled beside them."""
        everything, path = plus(*(one.use for one in after)), self.path(group.queue)
        lenders = [
            queue
            for queue in self._lends_never(path)
            for beside in [one for one in path if one not in self.path(queue)][:1]
            if not self.within_guarantee(beside, self.used(beside, after))
        ]
        for queue in lenders:
            for resource, pattern, _ in self.guarantees(queue):
                kept = sum(self._idle(one, resource, pattern, after) for one in lenders)
                free = part(dict(self.there), resource, pattern) - part(everything, resource, pattern)
                if part(group.use, resource, pattern) and kept and free < kept:
                    return f"{queue} never lends"
        return ""

    def _lends_never(self, path: Sequence[str]) -> list[str]:
        """Queues beside a path that never lend; what is kept for one is also kept for those below it."""
        written = [name for name, one in self.named.items() if one.get("lend") == "never"]
        never = [name for name in written if name not in path]
        return [name for name in never if not set(self.path(name)[:-1]) & set(never)]

    def _idle(self, queue: str, resource: str, pattern: str, groups: Sequence[Sharer]) -> int:
        """What a queue has not used of what it is guaranteed, on some models at most."""
        models = {model for name, model in self.there if name == resource and not fits(pattern, model)}
        return sum(
            max(0, most - part(self.used(queue, groups), resource, own))
            for name, own, most in self.guarantees(queue)
            if name == resource and not any(fits(own, model) for model in models)
        )

    # -- who may be evicted for whom -----------------------------------------------------------------------

    def cause(self, claimant: Sharer, victim: Sharer, seated: Sequence[Sharer]) -> str:
        """`Reclaim`, `Preemption`, or empty: it may not be evicted for this one. It is among those seated."""
        lower = "Preemption" if victim.priority < claimant.priority else ""
        if claimant.queue == victim.queue:
            return lower
        pairs = zip(self.path(claimant.queue), self.path(victim.queue), strict=False)
        own, other = next((a, b) for a, b in pairs if a != b)
        if victim.name in self.entitled(other, seated):
            return ""
        if self.would_be_entitled(claimant, own, [one for one in seated if one is not victim]):
            return "Reclaim"
        least = victim.priority <= claimant.priority
        if self.fair and least and self.share(own, [*seated, claimant]) < self.share(other, seated):
            return "Reclaim"
        return lower

    def evictable(self, claimant: Sharer, seated: Sequence[Sharer]) -> dict[str, str]:
        """Everybody who may be evicted for a group, and the cause."""
        causes = {group.name: self.cause(claimant, group, seated) for group in seated}
        return {name: cause for name, cause in causes.items() if cause}


def plus(*uses: Use) -> Use:
    found = Use()
    for use in uses:
        for key, amount in use.items():
            found[key] = found.get(key, 0) + amount
    return found


def part(use: Use, resource: str, pattern: str) -> int:
    """How much of a resource on models that a pattern speaks of."""
    return sum(n for (name, model), n in use.items() if name == resource and fits(pattern, model))


def fits(pattern: str, model: str) -> bool:
    """Whether a pattern is one or more whole words of a model; `*` stands for anything."""
    if pattern == "*":
        return True
    words = re.sub(r"[_.]", "-", pattern.lower())
    wanted = "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in words)
    return re.search(rf"(^|-){wanted}($|-)", re.sub(r"[_.]", "-", model.lower())) is not None


def of_all_models(resource: str, guarantees: Sequence[tuple[str, str, int]]) -> int:
    own = [(pattern, count) for name, pattern, count in guarantees if name == resource]
    whole = [count for pattern, count in own if pattern == "*"]
    return whole[0] if whole else sum(count for _, count in own)
