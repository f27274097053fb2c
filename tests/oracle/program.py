"""The same question as brute force, put as an integer program: good to a dozen members on a dozen nodes.

It covers what does not depend on the order in which members sit down, and the two cases where "some order
exists" can be said of the final state: one spread constraint shared by everyone it counts, and one affinity
term shared by everyone who has one. Anything else raises `OutsideError` and is left to brute force.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import highspy

from tests.oracle.brute import domains, kinds, nodes
from tests.oracle.builders import Obj
from tests.oracle.floor import Floor, Table
from tests.oracle.guests import Guest, Spread, Term
from tests.oracle.reading import Group


class OutsideError(Exception):
    """The instance says something that this program cannot express."""


def seatable(objects: Sequence[Obj], group: Group) -> bool:
    """Whether a placement of some quorum exists."""
    return group.needed == 0 or any(p.reaches(group.needed) for p in _programs(objects, group))


def most_seated(objects: Sequence[Obj], group: Group) -> int:
    """The largest number of pending members that can sit down together now."""
    return max((program.most() for program in _programs(objects, group)), default=0)


def _programs(objects: Sequence[Obj], group: Group) -> Iterator["Program"]:
    floor = Floor(nodes(objects), [obj for obj in objects if obj["kind"] == "Pod"], objects)
    alike = [Kind(members[0], len(members)) for members in kinds(group.pending, objects)]
    for tables in domains(floor, group, group.running):
        yield Program(floor, alike, tables)


@dataclass(frozen=True, eq=False)
class Kind:
    """Members that no filter can tell apart."""

    guest: Guest
    size: int


class Program:
    """x[kind, node] members of each kind on each node of one domain."""

    def __init__(self, floor: Floor, alike: list[Kind], tables: list[Table]) -> None:
        self.floor, self.alike, self.tables = floor, alike, tables
        self.solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        self.solver.setOptionValue("output_flag", False)
        self.solver.setOptionValue("threads", 1)
        if any(kind.guest.claims for kind in alike):
            raise OutsideError("volumes")
        self.x = {(k, t): self._count(k, t) for k in alike for t in tables}
        for kind in alike:
            self._hold(self._sum(self.x[kind, t] for t in tables) <= kind.size)
        self._resources()
        self._ports()
        self._apart()
        self._together()
        self._spread()

    def reaches(self, needed: int) -> bool:
        self._hold(self._sum(self.x.values()) >= needed)
        self.solver.run()
        status = self.solver.getModelStatus()
        assert status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible), status
        return bool(status == highspy.HighsModelStatus.kOptimal)

    def most(self) -> int:
        self.solver.maximize(self._sum(self.x.values()))
        assert self.solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        objective: float = self.solver.getInfo().objective_function_value
        return round(objective)

    # ---- words of the program

    def _count(self, kind: Kind, table: Table) -> Any:
        """How many may sit there as far as what runs already is concerned."""
        guest = kind.guest
        free = self.floor.welcome(guest, table) and self.floor.ports_free(guest, table)
        free = free and self.floor.kept_apart(guest, table)
        return self.solver.addIntegral(lb=0, ub=kind.size if free else 0)

    def _sum(self, terms: Iterable[Any]) -> Any:
        return self.solver.qsum(list(terms))

    def _hold(self, constraint: Any) -> None:
        self.solver.addConstr(constraint)

    def _forbid(self, counts: Iterable[Any]) -> None:
        for count in counts:
            self.solver.changeColBounds(count.index, 0, 0)

    def _any_of(self, kind: Kind, tables: Sequence[Table]) -> Any:
        """1 if a member of the kind sits on one of the nodes."""
        present = self.solver.addBinary()
        self._hold(self._sum(self.x[kind, t] for t in tables) <= kind.size * present)
        return present

    def _places(self, key: str) -> dict[str, list[Table]]:
        """The nodes of each domain of a topology key."""
        places: dict[str, list[Table]] = {}
        for table in self.tables:
            if key in table.labels:
                places.setdefault(table.labels[key], []).append(table)
        return places

    # ---- constraints

    def _resources(self) -> None:
        for table in self.tables:
            for name in sorted({name for kind in self.alike for name in kind.guest.requests}):
                free = max(0, table.room.get(name, 0) - table.used.get(name, 0))
                asked = [(kind, kind.guest.requests.get(name, 0)) for kind in self.alike]
                if any(amount for _, amount in asked):
                    self._hold(self._sum(amount * self.x[kind, table] for kind, amount in asked) <= free)

    def _ports(self) -> None:
        for i, kind in enumerate(self.alike):
            for other in self.alike[i:]:
                if _same_port(kind.guest, other.guest):
                    for table in self.tables:
                        self._exclude(kind, other, [table])

    def _apart(self) -> None:
        for kind in self.alike:
            for term in kind.guest.apart:
                for other in self.alike:
                    if self.floor.means(term, other.guest):
                        for tables in self._places(term.key).values():
                            self._exclude(kind, other, tables)

    def _exclude(self, kind: Kind, other: Kind, tables: list[Table]) -> None:
        """The two kinds never share these nodes; of one kind, a single member may be there."""
        if kind is other:
            self._hold(self._sum(self.x[kind, t] for t in tables) <= 1)
        else:
            self._hold(self._any_of(kind, tables) + self._any_of(other, tables) <= 1)

    def _together(self) -> None:
        """Whoever has the term sits in a domain with a seed: one who is meant and came without needing the
        others.

        A seed runs there already, is a member without the term, or is the first of the series, of which there
        is one at most and only if nobody who is meant runs anywhere.
        """
        bound = [kind for kind in self.alike if kind.guest.together]
        if not bound:
            return
        term = self._common_term(bound)
        places = self._places(term.key)
        meant = [kind for kind in self.alike if self.floor.means(term, kind.guest)]
        settled = {
            t.labels[term.key] for t in self.floor.tables if term.key in t.labels and self._meant_at(term, t)
        }
        firsts = []
        for value, tables in places.items():
            first = self.solver.addBinary()
            firsts.append(first)
            self._hold(
                self._sum([first, *(-1 * self.x[k, t] for k in meant if k in bound for t in tables)]) <= 0
            )
            free = self._sum([first, *(self.x[k, t] for k in meant if k not in bound for t in tables)])
            for kind in bound:
                self._hold(self._any_of(kind, tables) - free <= int(value in settled))
        self._hold(self._sum(firsts) <= (0 if settled else 1))
        placed = {table for tables in places.values() for table in tables}
        self._forbid(self.x[k, t] for k in bound for t in self.tables if t not in placed)

    def _meant_at(self, term: Term, table: Table) -> bool:
        return any(self.floor.means(term, other) for other in table.guests)

    def _common_term(self, bound: list[Kind]) -> Term:
        """The one affinity term of all who have any: the same key, meaning the same pods."""
        everyone = [kind.guest for kind in self.alike] + [g for t in self.floor.tables for g in t.guests]
        terms = [term for kind in bound for term in kind.guest.together]
        if any(len(kind.guest.together) > 1 for kind in bound):
            raise OutsideError("several affinity terms")
        if len({(t.key, *(self.floor.means(t, guest) for guest in everyone)) for t in terms}) > 1:
            raise OutsideError("different affinity terms")
        return terms[0]

    def _spread(self) -> None:
        """Filling the emptiest domain first is an order that works whenever the final state is level."""
        bound = [kind for kind in self.alike if kind.guest.spread]
        if not bound:
            return
        rule = self._common_rule(bound)
        counts = self._running_counts(bound[0].guest, rule)
        if any(k.guest.together for k in self.alike) and len(set(counts.values())) > 1:
            raise OutsideError("affinity and spread over uneven domains")
        places = self._places(rule.key)
        seated = {v: self._sum(self.x[k, t] for k in bound for t in places.get(v, ())) for v in counts}
        least = self.solver.addVariable(lb=0, ub=0 if len(counts) < rule.min_domains else highspy.kHighsInf)
        slack = sum(kind.size for kind in bound) + max(counts.values(), default=0)
        for value, count in counts.items():
            if value in places:
                self._hold(least - seated[value] <= count)
                used = [self._any_of(kind, places[value]) for kind in bound]
                for one in used:
                    self._hold(seated[value] - least + slack * one <= rule.skew + slack - count)
            else:
                self._hold(least <= count)
        self._forbid(self.x[k, t] for k in bound for t in self.tables if t.labels.get(rule.key) not in counts)

    def _running_counts(self, guest: Guest, rule: Spread) -> dict[str, int]:
        counts: dict[str, int] = {}
        for table in self.floor.tables:
            if self.floor.looks_at(guest, table, rule):
                found = sum(self.floor.counted_by(rule, guest.namespace, other) for other in table.guests)
                value = table.labels[rule.key]
                counts[value] = counts.get(value, 0) + found
        return counts

    def _common_rule(self, bound: list[Kind]) -> Spread:
        """The one spread constraint, shared by every member that it counts."""
        if any(len(kind.guest.spread) > 1 for kind in bound):
            raise OutsideError("several spread constraints")
        rules = [(kind.guest, kind.guest.spread[0]) for kind in bound]
        running = [guest for table in self.floor.tables for guest in table.guests]
        seen = {
            (
                rule.key,
                rule.skew,
                rule.min_domains,
                guest.namespace,
                *(self.floor.looks_at(guest, table, rule) for table in self.floor.tables),
                *(self.floor.counted_by(rule, guest.namespace, other) for other in running),
                *(self.floor.counted_by(rule, guest.namespace, k.guest) == (k in bound) for k in self.alike),
            )
            for guest, rule in rules
        }
        guest, rule = rules[0]
        if len(seen) > 1 or any(
            self.floor.counted_by(rule, guest.namespace, k.guest) != (k in bound) for k in self.alike
        ):
            raise OutsideError("spread constraints that differ, or that count members without one")
        return rule


def _same_port(one: Guest, other: Guest) -> bool:
    return any(
        number == other_number
        and protocol == other_protocol
        and (ip == other_ip or "0.0.0.0" in (ip, other_ip))
        for ip, protocol, number in one.ports
        for other_ip, other_protocol, other_number in other.ports
    )
