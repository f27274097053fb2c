"""Brute force: is there any placement of a group with any allocation of devices to its claims?

Member after member goes to every node in turn; there, every claim that has no devices yet gets every set of
devices that it may have. Slow, and meant to be obviously right. What has been tried without success is not
tried again: what can still be had depends only on who sits where and on what is taken.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

from tests.oracle import brute
from tests.oracle.builders import Obj
from tests.oracle.device_claims import (
    Claim,
    Outcome,
    Pick,
    allocation_of,
    applied,
    claims_of,
    names_of,
    reached,
    results_of,
)
from tests.oracle.device_supply import Amounts, Gadget, Id, Supply, bearable, consumed
from tests.oracle.floor import Floor, Table
from tests.oracle.guests import Guest, guest
from tests.oracle.reading import Group, key
from tests.oracle.selectors import quantity

MOST_DEVICES = 32


@dataclass
class Taken:
    """What is in use: whole devices, and parts of shared ones. Admin access uses nothing."""

    whole: dict[Id, str] = field(default_factory=dict)
    parts: dict[Id, list[Amounts]] = field(default_factory=dict)

    def copy(self) -> "Taken":
        return Taken(dict(self.whole), {gadget: list(parts) for gadget, parts in self.parts.items()})

    def state(self) -> Any:
        parts = {g: sorted(str(sorted(p.items())) for p in some) for g, some in self.parts.items()}
        return frozenset(self.whole), str(sorted(parts.items()))


class Problem:
    """A group, the nodes and the devices; without a group, just what can be had."""

    def __init__(self, objects: Sequence[Obj], group: Group | None = None) -> None:
        self.objects, self.group, self.supply = objects, group, Supply(objects)
        self.nodes = {node["metadata"]["name"]: node for node in brute.nodes(objects)}
        self.claims = claims_of(objects)
        self.taken = Taken()
        self.matched: dict[tuple[int, int], list[Gadget]] = {}
        for claim in (o for o in objects if o["kind"] == "ResourceClaim"):
            for result in results_of(claim.get("status", {}).get("allocation")):
                self.take_result(result)

    def take_result(self, result: Obj) -> None:
        gadget = result["driver"], result["pool"], result["device"]
        if result.get("adminAccess"):
            return
        if "shareID" in result:
            amounts = {k: quantity(v) for k, v in result.get("consumedCapacity", {}).items()}
            self.taken.parts.setdefault(gadget, []).append(amounts)
        else:
            self.taken.whole[gadget] = ""

    # ---- one claim on one node

    def ways(
        self, claim: Claim, node: Obj, taken: Taken, watched: Sequence[Pick] = ()
    ) -> Iterator[tuple[list[Pick], Taken]]:
        """Every set of devices that a claim may have on a node, with what is taken then.

        Admin access takes nothing from others, but a pod gets it only where there is as much left as if it
        did: what its claims before this one watch counts for it.
        """
        requests = claim.spec["devices"]["requests"]
        for picks in self._sets(requests, node, []):
            if len(picks) <= MOST_DEVICES and _together(claim.spec["devices"], picks):
                after = self._take(picks, taken)
                if after is not None and self._fits(after, [*watched, *filter(_watches, picks)], picks):
                    yield picks, after

    def _sets(self, requests: list[Obj], node: Obj, picks: list[Pick]) -> Iterator[list[Pick]]:
        if not requests:
            yield picks
            return
        request, *rest = requests
        for name, wanted in _alternatives(request):
            for gadgets in self._for_one(wanted, node):
                yield from self._sets(rest, node, [*picks, *((name, wanted, g) for g in gadgets)])

    def _for_one(self, wanted: Obj, node: Obj) -> Iterator[tuple[Gadget, ...]]:
        matching = self._matching(wanted, node)
        fine = [gadget for gadget in matching if bearable(wanted, gadget)]
        if wanted.get("allocationMode") != "All":
            yield from combinations(fine, wanted.get("count", 1))
        elif matching and len(fine) == len(matching) and self.supply.known_in_full(node):
            yield tuple(matching)

    def _matching(self, wanted: Obj, node: Obj) -> list[Gadget]:
        known = id(wanted), id(node)
        if known not in self.matched:
            found = [gadget for gadget in self.supply.on(node) if self.supply.selects(wanted, gadget)]
            self.matched[known] = found
        return self.matched[known]

    def _take(self, picks: list[Pick], taken: Taken) -> Taken | None:
        """What is taken with these devices too, if no whole device is given away twice."""
        after, whole = taken.copy(), set[Id]()
        for name, wanted, gadget in picks:
            if not gadget.shared and gadget.id in whole:
                return None  # one claim has no device twice, whatever it has it for
            whole.add(gadget.id)
            if wanted.get("adminAccess"):
                continue
            if gadget.shared:
                after.parts.setdefault(gadget.id, []).append(consumed(wanted, gadget) or {})
            elif gadget.id in after.whole:
                return None
            else:
                after.whole[gadget.id] = name
        return after

    def _fits(self, taken: Taken, watched: list[Pick], picks: list[Pick]) -> bool:
        """Whether shared devices and counters have what is taken of them."""
        touched = {gadget.id: gadget for _, _, gadget in picks}
        for gadget in (gadget for gadget in touched.values() if gadget.shared):
            parts = [*taken.parts.get(gadget.id, []), *(_part(pick) for pick in watched if pick[2] is gadget)]
            for name, has in gadget.raw.get("capacity", {}).items():
                if sum(part.get(name, Fraction(0)) for part in parts) > quantity(has["value"]):
                    return False
        for pool in {gadget[:2] for gadget in touched}:
            used: dict[tuple[str, str], Fraction] = {}
            for counter, amount in self._drawn(pool, taken, watched):
                used[counter] = used.get(counter, Fraction(0)) + amount
            have = self.supply.counters(pool)
            drawn = {c for gadget in touched.values() if gadget.id[:2] == pool for c, _ in _counters(gadget)}
            if any(used[counter] > have[counter] for counter in drawn):
                return False
        return True

    def _drawn(
        self, pool: tuple[str, str], taken: Taken, watched: list[Pick]
    ) -> Iterator[tuple[tuple[str, str], Fraction]]:
        """What devices of a pool take of counters; one that is shared does so once."""
        known = [self.supply.by_id[key] for key in (*taken.whole, *taken.parts) if key in self.supply.by_id]
        more = [gadget for _, _, gadget in watched if not (gadget.shared and gadget in known)]
        for gadget in (*known, *more):
            if gadget.id[:2] == pool:
                yield from _counters(gadget)

    def pod_ways(
        self,
        claims: Sequence[Claim | None],
        node: Obj,
        taken: Taken,
        given: dict[str, Obj],
        watched: Sequence[Pick] = (),
    ) -> Iterator[tuple[Taken, dict[str, Obj]]]:
        """Every way to serve the claims of one pod on a node; one that does not exist cannot be served."""
        if not claims:
            yield taken, given
            return
        claim, *rest = claims
        if claim is None:
            return
        allocation = claim.allocation or given.get(claim.name)
        if allocation is not None:
            if reached(allocation, node):
                yield from self.pod_ways(rest, node, taken, given, watched)
            return
        for picks, after in self.ways(claim, node, taken, watched):
            made, seen = allocation_of(claim, picks, node, self.supply), [*watched, *filter(_watches, picks)]
            yield from self.pod_ways(rest, node, after, {**given, claim.name: made}, seen)

    # ---- the whole group

    def floor(self) -> Floor:
        pods = [obj for obj in self.objects if obj["kind"] == "Pod"]
        return Floor(list(self.nodes.values()), pods, self.objects)

    def rooms(self) -> tuple[Floor, list[list[Table]]]:
        floor = self.floor()
        assert self.group is not None
        return floor, brute.domains(floor, self.group, self.group.running)

    def members(self) -> list[tuple[Guest, list[Claim | None]]]:
        assert self.group is not None
        pods = self.group.pending
        return [(guest(pod), [self.claims.get(name) for name in names_of(pod, self.objects)]) for pod in pods]


class _Search:
    """Every member on every node, or left out, with every allocation."""

    def __init__(self, problem: Problem, floor: Floor, room: list[Table], need: int) -> None:
        self.problem, self.floor, self.room, self.need = problem, floor, room, need
        self.members = problem.members()
        self.dead: set[Any] = set()

    def descend(
        self, number: int, taken: Taken, seats: dict[str, str], given: dict[str, Obj]
    ) -> Outcome | None:
        if len(seats) + len(self.members) - number < self.need:
            return None
        if number == len(self.members):
            return Outcome(dict(seats), dict(given))
        member, claims = self.members[number]
        reach = {name: str(allocation.get("nodeSelector")) for name, allocation in given.items()}
        state = number, str(seats), taken.state(), str(sorted(reach.items()))
        if state in self.dead:
            return None
        for table in (table for table in self.room if self.floor.passes(member, table)):
            self.floor.seat(member, table)
            seated, node = {**seats, member.name: table.name}, self.problem.nodes[table.name]
            for after, more in self.problem.pod_ways(claims, node, taken, given):
                found = self.descend(number + 1, after, seated, more)
                if found is not None:
                    self.floor.unseat(member, table)
                    return found
            self.floor.unseat(member, table)
        found = self.descend(number + 1, taken, seats, given)
        if found is None:
            self.dead.add(state)
        return found


def solve(objects: Sequence[Obj], group: Group, need: int | None = None) -> Outcome | None:
    """Seats and devices for the missing quorum of a group, or for so many members, if there are any."""
    problem = Problem(objects, group)
    floor, rooms = problem.rooms()
    need = group.needed if need is None else need
    searches = (_Search(problem, floor, room, need).descend(0, problem.taken, {}, {}) for room in rooms)
    return next((found for found in searches if found is not None), None)


def most_seated(objects: Sequence[Obj], group: Group) -> int:
    """How many pending members can be seated at once."""
    counts = range(len(group.pending), 0, -1)
    return next((n for n in counts if solve(objects, group, n) is not None), 0)


def one_by_one(objects: Sequence[Obj], group: Group) -> int:
    """How many members are seated if each takes the first node and the first devices that will do, as a
    scheduler does that looks at one pod after the other."""
    problem, best = Problem(objects, group), 0
    floor, rooms = problem.rooms()
    for room in rooms:
        taken, given, seats = problem.taken, dict[str, Obj](), list[tuple[Guest, Table]]()
        for member, claims in problem.members():
            for table in (table for table in room if floor.passes(member, table)):
                way = next(problem.pod_ways(claims, problem.nodes[table.name], taken, given), None)
                if way is not None:
                    taken, given = way
                    floor.seat(member, table)
                    seats.append((member, table))
                    break
        for member, table in seats:
            floor.unseat(member, table)
        best = max(best, len(seats))
    return best


def first_allocation(objects: Sequence[Obj], name: str, spec: Obj, node: Obj) -> Obj | None:
    """Some devices for a claim on a node, as if it had been allocated before."""
    problem, claim = Problem(objects), Claim(name, spec, None)
    picks = next((picks for picks, _ in problem.ways(claim, node, problem.taken)), None)
    return None if picks is None else allocation_of(claim, picks, node, problem.supply)


def started(objects: Sequence[Obj], pod: Obj, place: str) -> list[Obj]:
    """The cluster with one of its pods running on a node, if it fits and can have its claims there."""
    problem = Problem(objects)
    node, floor = problem.nodes[place], problem.floor()
    if not any(table.name == place and floor.passes(guest(pod), table) for table in floor.tables):
        return list(objects)
    claims = [problem.claims.get(name) for name in names_of(pod, objects)]
    way = next(problem.pod_ways(claims, node, problem.taken, {}), None)
    if way is None:
        return list(objects)
    entries = [
        {"claim": c.name, "allocation": way[1].get(c.name), "reservedFor": [c.users[pod["metadata"]["name"]]]}
        for c in claims
        if c is not None
    ]
    bind = {"pod": key(pod), "node": node["metadata"]["name"]}
    return applied(objects, {"binds": [bind], "claims": entries})


def is_allowed(objects: Sequence[Obj], group: Group, outcome: Outcome, entry: Obj) -> bool:
    """Whether a claim may have what the entry of a Plan gives it, beside all else that was found."""
    problem = Problem(objects, group)
    for name, allocation in outcome.allocations.items():
        for result in results_of(allocation) if name != entry["claim"] else ():
            problem.take_result(result)
    claim = problem.claims[entry["claim"]]
    users = [problem.nodes[outcome.seats[pod]] for pod in claim.users if pod in outcome.seats]
    every = list(problem.nodes.values())
    for node in users:
        for picks, _ in problem.ways(claim, node, problem.taken):
            made = allocation_of(claim, picks, node, problem.supply)
            same = _canonical(made, every) == _canonical(entry["allocation"], every)
            if same and all(reached(made, user) for user in users):
                return True
    return False


def _canonical(allocation: Obj, nodes: list[Obj]) -> Any:
    """The same for allocations that mean the same in this cluster."""
    results = sorted(json.dumps(result, sort_keys=True) for result in results_of(allocation))
    return results, allocation["devices"].get("config"), [reached(allocation, node) for node in nodes]


def _alternatives(request: Obj) -> list[tuple[str, Obj]]:
    if "exactly" in request:
        return [(request["name"], request["exactly"])]
    return [(f"{request['name']}/{one['name']}", one) for one in request["firstAvailable"]]


def _together(devices: Obj, picks: list[Pick]) -> bool:
    """Whether the constraints of a claim hold."""
    for rule in devices.get("constraints", ()):
        name = rule.get("matchAttribute") or rule["distinctAttribute"]
        asked = rule.get("requests")
        covered = [g for r, _, g in picks if not asked or r in asked or r.split("/")[0] in asked]
        values = [_values(gadget, name) for gadget in covered]
        if not all(values):
            return False
        if "matchAttribute" in rule and values and not set.intersection(*values):
            return False
        if "distinctAttribute" in rule and any(a & b for a, b in combinations(values, 2)):
            return False
    return True


def _values(gadget: Gadget, name: str) -> set[tuple[str, Any]]:
    found = set()
    for kind, value in (gadget.value(name) or {}).items():
        found |= {(kind.removesuffix("s"), v) for v in (value if isinstance(value, list) else [value])}
    return found


def _watches(pick: Pick) -> bool:
    return bool(pick[1].get("adminAccess"))


def _part(pick: Pick) -> Amounts:
    return consumed(pick[1], pick[2]) or {}


def _counters(gadget: Gadget) -> Iterable[tuple[tuple[str, str], Fraction]]:
    for one in gadget.raw.get("consumesCounters", ()):
        for name, counter in one["counters"].items():
            yield (one["counterSet"], name), quantity(counter["value"])
