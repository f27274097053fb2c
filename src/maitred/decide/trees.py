"""Seats for a tree of groups: every part with its quorum, within the domains of all that it is part of.

A composite is met when as many of its parts are as its quorum says; a leaf when as many of its members sit.
The parts of a composite share one domain of its level, and each of them has its own within that. First
everybody is seated together, if there is room. If not, the quorum of the tree is, and then as much more as
fits: further parts, each with its own quorum, then members above the quorum.

Parts are seated one after the other, each in the best domain that is open to it, and taken back when a
later one finds no place. That is quick, and may miss a placement. So where nothing is found, a small tree
is searched in full (`joint.py`); of a large one it is said that the search was cut off, unless sums prove
that there is no room.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from maitred.cluster.nodes import Codes, Mask
from maitred.cluster.parts import Branch, Parts
from maitred.cluster.snapshot import RunningMember
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.context import Context, Waiver
from maitred.decide.joint import JointSearch, Layout, is_small
from maitred.decide.levels import codes_of
from maitred.decide.place import candidates
from maitred.decide.seating import commit, rules_for, seat_within
from maitred.decide.seats import Demand, Steps
from maitred.decide.slices import seat_slices, whole_slices

SHARE = 4
"""Of the steps of a search, so many parts: one of them is spent on seating everybody at once."""


DEARER = 100
"""Steps that it takes at most to try a leaf once more."""


NO_MORE = object()


class TreeSeating:
    def __init__(
        self, trial: Trial, ask: Ask, parts: Parts, context: Context, steps: Steps, waiver: Waiver
    ) -> None:
        self.trial, self.ask, self.parts, self.context, self.waiver = trial, ask, parts, context, waiver
        self.steps, self._own = steps, steps
        self.bound_to_levels = "Topology" not in waiver.lift
        self._members: dict[int, list[int]] = {}
        for member, leaf in enumerate(parts.waiting):
            self._members.setdefault(leaf, []).append(member)
        self._anchors: dict[int, list[RunningMember]] = {}
        for leaf, there in zip(parts.seated, ask.seated, strict=True):
            self._anchors.setdefault(leaf, []).append(there)
        self._counts, self._possible = parts.have(), parts.possible()
        self._taken: Assignment = []
        """Seats on the trial, in the order in which they were taken."""
        self._tried = set[int]()

    def seat(self, within: Mask) -> Assignment | None:
        """Seats for the quorum of the tree and as many more as fit. The trial is left as it was."""
        root, checkpoint = self.parts.root, self.trial.checkpoint()
        if self._members_may_change_seats():
            return self._handed_out(within) if root.met(self._possible) else None
        if root.met(self._counts):
            self._own = Steps(self.steps.left, meter=self.steps.meter)
            self._extend(root, within)
            return self._taken_back(checkpoint) or None
        if not root.met(self._possible):
            return None
        found = self._everyone(within, checkpoint) or self._quorum(within, checkpoint)
        if found is None and self._own.exhausted:
            self.steps.exhausted = True
        return found

    # -- members that are alike, in parts that may be anywhere -------------------------------------------

    def _members_may_change_seats(self) -> bool:
        """Whether it makes no difference who sits where, but for how many sit in each part."""
        return len(self.ask.distinct) == 1 and self._parts_may_be_anywhere()

    def _parts_may_be_anywhere(self) -> bool:
        return not (self.bound_to_levels and self.parts.has_wishes())

    def _handed_out(self, within: Mask) -> Assignment | None:
        """Seats are looked for as for one group, which is as quick for a thousand parts as for one. They are
        handed out to parts: first to those with which the quorum of the tree takes fewest."""
        found = self._as_one_group(within)
        rows = [row for _, row in found or ()]
        return list(zip(self._first_to_sit(len(rows)), rows, strict=False)) or None

    def _as_one_group(self, within: Mask) -> Assignment | None:
        ask = replace(self.ask, parts=None)
        return seat_within(self.trial, ask, within, self.context, self.steps, self.waiver)

    def _first_to_sit(self, seats: int) -> list[int]:
        """The members that so many seats are for."""
        counts, members = list(self._counts), list[int]()

        def sit(leaf: Branch, count: int) -> None:
            begun = counts[leaf.leaf] - self._counts[leaf.leaf]
            taken = self._members.get(leaf.leaf, [])[begun : begun + count]
            counts[leaf.leaf] += len(taken)
            members.extend(taken)

        def meet(branch: Branch) -> None:
            if branch.is_leaf:
                sit(branch, branch.lacking(counts))
                return
            open_ = [
                child for child in branch.children if child.met(self._possible) and not child.met(counts)
            ]
            open_.sort(key=lambda child: child.lacking(counts))
            for child in open_[: max(0, branch.quorum - branch.counted(counts))]:
                meet(child)

        def extend(branch: Branch) -> None:
            if branch.is_leaf:
                sit(branch, seats - len(members))
                return
            for child in branch.children:
                if child.met(self._possible) and child.lacking(counts) <= seats - len(members):
                    meet(child)
            for child in branch.children:
                if child.met(counts):
                    extend(child)

        meet(self.parts.root)
        extend(self.parts.root)
        return members

    # -- everybody, or the quorum ------------------------------------------------------------------------

    def _everyone(self, within: Mask, checkpoint: int) -> Assignment | None:
        self._own = Steps(self.steps.left // SHARE, meter=self.steps.meter)
        for _ in self._ways(self.parts.root, within, everyone=True):
            return self._taken_back(checkpoint)
        return None

    def _quorum(self, within: Mask, checkpoint: int) -> Assignment | None:
        """In the domain that takes most of the tree."""
        self._own = Steps(self.steps.left, meter=self.steps.meter)
        root, best = self.parts.root, None
        for mask in self._masks(root, within, everyone=False):
            if not self._own.goes_on():
                break
            for _ in self._ways_within(root, mask, everyone=False):
                self._extend(root, mask)
                found = self._taken_back(checkpoint)
                best = found if best is None or len(found) > len(best) else best
                break
        if best is not None:
            return best
        if self.parts.needs_everyone() and self._parts_may_be_anywhere():
            return self._as_one_group(within)
        return None if self._is_proof(within) else self._search(within)

    def _taken_back(self, checkpoint: int) -> Assignment:
        """The seats that were found, which are given back."""
        found, self._taken = self._taken, []
        for member, _ in found:
            self._counts[self.parts.waiting[member]] -= 1
        self.trial.rollback(checkpoint)
        return found

    # -- one part after the other ----------------------------------------------------------------------

    def _ways(self, branch: Branch, within: Mask, everyone: bool) -> Iterator[None]:
        """Ways to seat the quorum of a branch, or all of it. The members sit on the trial while one is looked
        at, and stay there if no other is asked for."""
        for mask in self._masks(branch, within, everyone):
            yield from self._ways_within(branch, mask, everyone)

    def _ways_within(self, branch: Branch, mask: Mask, everyone: bool) -> Iterator[None]:
        if branch.is_leaf:
            yield from self._ways_of_leaf(branch, mask, everyone)
            return
        able = [child for child in branch.children if child.met(self._possible)]
        open_ = able if everyone else [child for child in able if not child.met(self._counts)]
        begun = sorted(open_, key=lambda child: not self._rows(child))
        needed = len(open_) if everyone else branch.quorum - branch.counted(self._counts)
        yield from self._ways_of_children(begun, max(0, needed), mask, everyone)

    def _ways_of_children(
        self, children: list[Branch], needed: int, mask: Mask, everyone: bool
    ) -> Iterator[None]:
        """Every choice of so many of them, each with its ways, until the steps are used up. There may be
        thousands, so those that are under way are a list, and no recursion."""
        begun = list[tuple[int, int, Iterator[None]]]()
        before = self.trial.checkpoint(), len(self._taken)
        position, left = 0, needed
        while True:
            if not left:
                yield
            elif len(children) - position >= left:
                begun.append((position, left, self._ways(children[position], mask, everyone)))
            if not begun:
                return
            if self._is_spent():
                self._take_back(*before)
                return
            position, left, ways = begun[-1]
            if next(ways, NO_MORE) is NO_MORE:
                begun.pop()  # and on without this child
            else:
                left -= 1
            position += 1

    def _is_spent(self) -> bool:
        return not self._own.goes_on() or (self._own.exhausted and self._own.left < DEARER)

    def _take_back(self, checkpoint: int, count: int) -> None:
        """The seats that were taken since there were so many."""
        for member, _ in self._taken[count:]:
            self._counts[self.parts.waiting[member]] -= 1
        del self._taken[count:]
        self.trial.rollback(checkpoint)

    def _ways_of_leaf(self, leaf: Branch, mask: Mask, everyone: bool) -> Iterator[None]:
        waiting = self._waiting(leaf)
        need = len(waiting) if everyone else leaf.lacking(self._counts)
        if not need:
            yield
            return
        before = self.trial.checkpoint(), len(self._taken)
        seated = self._seat_leaf(leaf, waiting, need, mask)
        if not seated:
            return
        self._note(seated)
        yield
        self._take_back(*before)

    def _seat_leaf(self, leaf: Branch, waiting: list[int], need: int, mask: Mask) -> Assignment:
        """The members of a leaf on these nodes, no more of them than are needed; none if that cannot be."""
        ask = self._ask_of(leaf, waiting, need)
        if len(waiting) < need or not self._own.take(self._cost(leaf, mask)):
            return []
        found = self._found_for(ask, mask)
        if not found:
            return []
        if need:
            found = whole_slices(ask, found) if self._is_cut(leaf) else found[:need]
        commit(self.trial, ask, found)
        return [(waiting[member], row) for member, row in found]

    def _cost(self, leaf: Branch, mask: Mask) -> int:
        """Every leaf is tried once. What takes long is to try them again, on other nodes."""
        if leaf.leaf not in self._tried:
            self._tried.add(leaf.leaf)
            return 1
        return min(DEARER, int(np.count_nonzero(mask)))

    def _found_for(self, ask: Ask, mask: Mask) -> Assignment | None:
        if ask.topology.slice_size and self.bound_to_levels:
            return seat_slices(self.trial, ask, mask, self.context, self._own, self.waiver)
        return seat_within(self.trial, ask, mask, self.context, self._own, self.waiver)

    def _note(self, seated: Assignment) -> None:
        self._taken += seated
        for member, _ in seated:
            self._counts[self.parts.waiting[member]] += 1

    # -- what is above the quorum ----------------------------------------------------------------------

    def _extend(self, branch: Branch, within: Mask) -> None:
        """As much more of a branch that is met as fits: parts with their quorums first, then members."""
        mask = next(iter(self._masks(branch, within, everyone=False)), None)
        if mask is None:
            return
        if branch.is_leaf:
            waiting = self._waiting(branch)
            if waiting:
                self._note(self._seat_leaf(branch, waiting, 0, mask))
            return
        for child in branch.children:
            if not child.met(self._counts) and child.met(self._possible):
                next(self._ways(child, mask, everyone=False), None)
        for child in branch.children:
            if child.met(self._counts):
                self._extend(child, mask)

    # -- where -----------------------------------------------------------------------------------------

    def _masks(self, branch: Branch, within: Mask, everyone: bool) -> list[Mask]:
        """The domains that a branch could be in, best first; of the nodes that it may be on, where it has no
        level. One that has members already stays in their domain."""
        codes = self._codes(branch)
        rows = self._rows(branch)
        if codes is not None and rows:
            taken = np.unique(codes[rows])
            return [within & (codes == taken[0])] if len(taken) == 1 and taken[0] >= 0 else []
        members = [member for leaf in sorted(branch.leaves()) for member in self._waiting_in(leaf)]
        if not members:
            return [within]
        need = len(members) if everyone else branch.lacking(self._counts)
        ask = replace(self._some(members), need=need)
        rules = rules_for(self.trial, ask, self.context, self.waiver)
        anywhere = np.zeros(len(within), dtype=np.int32)
        domains = anywhere if codes is None else codes
        demand = Demand(
            ask.demand().counts, 0 if everyone and self._leaves_out(branch) else need, len(members)
        )
        found = candidates(rules, within, domains, np.array(rows, dtype=np.intp), demand, self.context.policy)
        return [within & (domains == domain) for domain, _ in found]

    def _leaves_out(self, branch: Branch) -> bool:
        """Whether some part of it cannot be seated at all, so that nobody waits for all of its members."""
        return any(not part.met(self._possible) for part, _ in branch.walk())

    def _codes(self, branch: Branch) -> Codes | None:
        if not branch.topology.required or not self.bound_to_levels:
            return None
        return codes_of(self.trial.nodes, self.context.key(branch.topology.required))

    def _rows(self, branch: Branch) -> list[int]:
        """The nodes that members of a branch have."""
        leaves = branch.leaves()
        before = [member.node for leaf in leaves for member in self._anchors.get(leaf, ())]
        return before + [row for member, row in self._taken if self.parts.waiting[member] in leaves]

    def _waiting(self, leaf: Branch) -> list[int]:
        return self._waiting_in(leaf.leaf)

    def _waiting_in(self, leaf: int) -> list[int]:
        """Members of a leaf that have no seat yet."""
        taken = {member for member, _ in self._taken}
        return [member for member in self._members.get(leaf, ()) if member not in taken]

    def _some(self, members: list[int]) -> Ask:
        return replace(
            self.ask,
            shapes=tuple(self.ask.shapes[member] for member in members),
            orders=tuple(self.ask.orders[member] for member in members),
            seated=(),
            parts=None,
        )

    def _ask_of(self, leaf: Branch, waiting: list[int], need: int) -> Ask:
        """What the members of a leaf ask for by themselves."""
        orders, taken = self.ask.orders, [(m, row) for m, row in self._taken if self._is_in(leaf, m)]
        seated = (*self._anchors.get(leaf.leaf, ()), *(RunningMember(orders[m], row) for m, row in taken))
        return replace(self._some(waiting), need=need, topology=leaf.topology, seated=seated)

    def _is_in(self, leaf: Branch, member: int) -> bool:
        return self.parts.waiting[member] == leaf.leaf

    def _is_cut(self, leaf: Branch) -> bool:
        return bool(leaf.topology.slice_size) and self.bound_to_levels

    # -- nothing found ---------------------------------------------------------------------------------

    def _is_proof(self, within: Mask) -> bool:
        """Whether it is certain that there is no placement, now that none was found."""
        if not self._own.exhausted and self._is_counted(within):
            return True
        self._own = Steps(self.steps.left, meter=self.steps.meter)
        return not self._could_sit_alone(self.parts.root, within)

    def _is_counted(self, within: Mask) -> bool:
        """Whether members are alike and mind nothing but room, and all leaves have the same level, or none:
        then to try all domains of each is to try everything."""
        rules = rules_for(self.trial, self.ask, self.context, self.waiver)
        root = self.parts.root
        below = [branch for child in root.children for branch, _ in child.walk()]
        leaves = {branch.topology.required for branch in below if branch.is_leaf}
        inner = any(branch.topology.required for branch in below if not branch.is_leaf)
        alike = len(self.ask.distinct) == 1 and rules.simple
        plain = len(leaves) == 1 and not inner and not any(map(self._is_cut, below))
        return alike and (plain or not self.bound_to_levels)

    def _could_sit_alone(self, branch: Branch, within: Mask) -> bool:
        """Whether a branch could have its quorum if no other part of the tree took any room."""
        if branch.met(self._counts) or not self._own.goes_on():
            return True
        for mask in self._masks(branch, within, everyone=False):
            if branch.is_leaf:
                ask = self._ask_of(branch, self._waiting(branch), branch.lacking(self._counts))
                if self._found_for(ask, mask) or self._own.exhausted:
                    return True
            elif sum(self._could_sit_alone(child, mask) for child in branch.children) >= branch.quorum:
                return True
        return False

    def _search(self, within: Mask) -> Assignment | None:
        """All that there is to try, where that is little."""
        leaves = [branch for branch, _ in self.parts.root.walk() if branch.is_leaf]
        if any(map(self._is_cut, leaves)) or not is_small(self.ask, within):
            self.steps.exhausted = True
            return None
        self._own = Steps(self.steps.left, meter=self.steps.meter)
        joint = JointSearch(self.trial, self.ask, self.parts, self.context, self._own, self.waiver)
        for layout in self._layouts(self.parts.root, within):
            if not self._own.goes_on() or (found := joint.seat(layout)) is None:
                continue
            return found
        return None

    def _layouts(self, branch: Branch, within: Mask) -> Iterator[Layout]:
        """Every choice of parts that makes up the quorum, and of a domain for each."""
        if branch.met(self._counts):
            yield []
            return
        for mask in self._masks(branch, within, everyone=False):
            if branch.is_leaf:
                yield [(branch, mask, branch.lacking(self._counts))]
                continue
            able = [child for child in branch.children if child.met(self._possible)]
            open_ = [child for child in able if not child.met(self._counts)]
            yield from self._chosen(open_, branch.quorum - branch.counted(self._counts), mask)

    def _chosen(self, children: list[Branch], needed: int, mask: Mask) -> Iterator[Layout]:
        if needed <= 0:
            yield []
        elif len(children) >= needed:
            child, *others = children
            for layout in self._layouts(child, mask):
                yield from ([*layout, *rest] for rest in self._chosen(others, needed - 1, mask))
            yield from self._chosen(others, needed, mask)


def quorum_of_tree(parts: Parts, found: Assignment) -> Assignment:
    """Those of the seats that make up the quorum: as few as can be, of each part the first."""
    seats: dict[int, Assignment] = {}
    for member, row in found:
        seats.setdefault(parts.waiting[member], []).append((member, row))
    have, everyone = parts.have(), parts.have(member for member, _ in found)
    taken = _quorum_of(parts.root, seats, have, everyone)
    chosen = {member for member, _ in taken}
    return [(member, row) for member, row in found if member in chosen]


def _quorum_of(
    branch: Branch, seats: dict[int, Assignment], have: list[int], everyone: list[int]
) -> Assignment:
    if branch.met(have):
        return []
    if branch.is_leaf:
        mine = seats.get(branch.leaf, [])
        if branch.topology.slice_size:
            return mine
        return mine[: branch.lacking(have)]
    missing = branch.quorum - branch.counted(have)
    able = [child for child in branch.children if child.met(everyone) and not child.met(have)]
    able.sort(key=lambda child: child.lacking(have))
    return [seat for child in able[:missing] for seat in _quorum_of(child, seats, have, everyone)]
