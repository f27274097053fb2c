"""Queues: nobody has more than a limit says, and nobody is evicted for another queue who is entitled.

Whoever is entitled depends on who is there, and that changes during a cycle: what is a breach here is one
however the cluster looked when it was decided.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from .case import PREEMPTION, RECLAIM, Breach, Case, Eviction, breach
from .claimed import ClaimedDevices
from .groups import Group
from .impossible import stays
from .models import judge_models
from .overrides import Lifts, judge_notes
from .payers import Account, account_of
from .pods import Pod
from .priorities import standing
from .queues import DEFAULT, QueueTerm, Use, total
from .rules import Bind
from .scavengers import Scavengers
from .selectors import labels_of_namespace, matches
from .times import thousandths

LIMITS = 14


def judge_rights(case: Case) -> Iterator[Breach]:
    if not case.policy.rights:
        return
    books = Books(case)
    yield from _judge_accounts(books)
    yield from _judge_limits(books)
    yield from judge_notes(case, books.lifts)
    yield from judge_models(case)
    for eviction in case.evictions:
        for fault in _faults(books, eviction):
            yield breach(4, eviction.pod.key, fault)


@dataclass(frozen=True)
class Party:
    """A group with seats, as far as it is on one account."""

    key: str
    queue: str
    use: Use
    rank: float
    started: float


class Books:
    """Who is in which queue, and what each queue uses."""

    def __init__(self, case: Case) -> None:
        self.case, self.rights = case, case.policy.rights
        self._accounts: dict[str, Account | None] = {}
        self._above = {name: frozenset(self.rights.chain(name)) for name in self.rights.queues}
        seats = (pod for pod, _ in (*case.binds, *case.nominations))
        self.claims = ClaimedDevices(case.cluster, self.rights.resources, seats, self.account)
        self.lifts = Lifts(case, self.claims)
        self.scavengers = Scavengers(case)

    def account(self, pod: Pod) -> Account | None:
        """None for pods that are in no queue: of other schedulers, of their nodes, and those that wait and
        name a queue that does not exist. Who runs counts for the default queue then, or where the queue that
        it names is closed to it: its marks may have been changed since it started."""
        if pod.key not in self._accounts:
            found = account_of(pod, self.case.leaf_of[pod.key].key, self.case.cluster)
            if pod.node_name and not self._is_open(found.queue, pod.namespace):
                found = replace(found, queue=DEFAULT)
            other = self.case.scheduler is not None and pod.scheduler != self.case.scheduler
            out = other or stays(pod) or found.queue not in self.rights.queues
            self._accounts[pod.key] = None if out else found
        return self._accounts[pod.key]

    def _is_open(self, name: str, namespace: str) -> bool:
        """Whether groups of a namespace can be in a queue."""
        rules = self.rights.queues
        if name not in rules or any(rule.parent == name for rule in rules.values()):
            return False
        labels = labels_of_namespace(namespace, self.case.cluster.namespaces)
        selectors = [rules[one].namespaces for one in self.rights.chain(name)]
        return all(one is None or matches(one, labels) for one in selectors)

    def queue(self, pod: Pod) -> str:
        found = self.account(pod)
        return "" if found is None else found.queue

    def is_in(self, name: str) -> Callable[[Pod], bool]:
        """Whether a pod counts for a queue."""
        return lambda pod: name in self._above.get(self.queue(pod), ())

    def use(self, seats: Iterable[Bind]) -> Use:
        found, claims = dict[tuple[str, str], int](), set[str]()
        for pod, node in seats:
            model = self.case.model_of(node)
            for requested, amount in pod.requests.items():
                for resource in self.claims.names(requested):
                    found[resource, model] = found.get((resource, model), 0) + amount
            for claim, counts in self.claims.of(pod):
                for resource, amount in counts.items() if claim not in claims else ():
                    found[resource, model] = found.get((resource, model), 0) + amount
                claims.add(claim)
        return found

    def use_of(self, name: str, seats: Iterable[Bind]) -> Use:
        return self.use(filter(lambda seat: self.is_in(name)(seat[0]), seats))

    def _seats(self, keep: Callable[[Pod], bool]) -> list[Bind]:
        nodes = self.case.cluster.nodes
        return [
            (pod, nodes[pod.node_name])
            for pod in self.case.cluster.pods.values()
            if pod.holds and pod.node_name in nodes and keep(pod)
        ]

    @cached_property
    def holding(self) -> list[Bind]:
        """Everybody on a node, also who is leaving."""
        return self._seats(lambda pod: True)

    @cached_property
    def running(self) -> list[Bind]:
        return self._seats(lambda pod: not pod.terminating)

    @cached_property
    def staying(self) -> list[Bind]:
        gone = {eviction.pod.key for eviction in self.case.evictions}
        return [seat for seat in self.running if seat[0].key not in gone]

    @cached_property
    def there(self) -> dict[str, int]:
        """What the nodes have of every limited resource."""
        found = dict.fromkeys(self.rights.resources, 0)
        for (resource, _), amount in self._hardware.items():
            found[resource] += amount
        return found

    def amount_there(self, term: QueueTerm) -> int:
        """What the nodes have of what a term speaks of."""
        return term.part(self._hardware)

    @cached_property
    def _hardware(self) -> Use:
        nodes, found = self.case.cluster.nodes, dict[tuple[str, str], int]()
        for node in nodes.values():
            for resource in self.rights.resources & node.allocatable.keys():
                key = resource, self.case.model_of(node)
                found[key] = found.get(key, 0) + node.allocatable[resource]
        for name, resource, count in self.claims.published():
            if not name or name in nodes:
                key = resource, self.case.model_of(nodes[name]) if name else ""
                found[key] = found.get(key, 0) + count
        return found

    def paying(self, seats: Iterable[Bind]) -> list[Bind]:
        """Without those who run because nobody who pays wants their places: rights do not count them."""
        free = self.scavengers.yielding | self.scavengers.begun
        return [seat for seat in seats if seat[0].key not in free]

    # -- who is entitled -----------------------------------------------------------------------------------

    def is_entitled(self, pod: Pod, level: int) -> bool:
        """Whether the group of a pod is entitled at a level for certain: in whatever order equals are taken,
        before and after the binds of the Plan, with and without those who leave."""
        later = [*self.running, *self.case.binds, *self.case.nominations]
        queue = self.rights.chain(self.queue(pod))[level]
        return all(self._stands(pod, queue, seats) for seats in (self.running, self.holding, later))

    def _stands(self, pod: Pod, queue: str, seats: Sequence[Bind]) -> bool:
        parties = self._parties(queue, seats)
        own = self._party(pod)
        last = sorted(parties, key=lambda party: (-party.rank, party.started, party.key == own, party.key))
        return own in self._entitled(queue, last)

    def _party(self, pod: Pod) -> str:
        return f"{self.case.group_of[pod.key].key} {self.queue(pod)}"

    def _parties(self, queue: str, seats: Sequence[Bind]) -> list[Party]:
        members: dict[str, list[Bind]] = {}
        for seat in filter(lambda seat: self.is_in(queue)(seat[0]), self.paying(seats)):
            members.setdefault(self._party(seat[0]), []).append(seat)
        found = []
        for key, own in members.items():
            ranks = [standing(self.case.cluster, self.case.leaf_of[pod.key], pod) for pod, _ in own]
            known = [rank for rank in ranks if rank is not None]
            starts = [pod.started for pod, _ in own if pod.started is not None]
            rank = float(max(known)) if known else float("-inf")
            start = min(starts, default=float("inf"))
            found.append(Party(key, self.queue(own[0][0]), self.use(own), rank, start))
        return found

    def _entitled(self, queue: str, parties: Sequence[Party]) -> list[str]:
        """Those that fit into the guarantee beside those before them. In a queue above others, those go first
        that are entitled further down."""
        below: dict[str, list[Party]] = {}
        level = len(self.rights.chain(queue))
        for party in parties:
            chain = self.rights.chain(party.queue)
            if len(chain) > level:
                below.setdefault(chain[level], []).append(party)
        first = {key for name, some in below.items() for key in self._entitled(name, some)}
        found, used = list[str](), dict[tuple[str, str], int]()
        for party in sorted(parties, key=lambda party: party.key not in first):
            with_it = total((used, party.use))
            if self.rights.is_within(queue, with_it):
                found.append(party.key)
                used = with_it
        return found


# -- limits ------------------------------------------------------------------------------------------------


def _judge_accounts(books: Books) -> Iterator[Breach]:
    """Who is bound is in one queue, which exists and has no others below it."""
    parents = {rule.parent for rule in books.rights.queues.values()}
    for pod, _ in (*books.case.binds, *books.case.nominations):
        found = account_of(pod, books.case.leaf_of[pod.key].key, books.case.cluster)
        if found.queue not in books.rights.queues:
            yield breach(LIMITS, pod.key, f"gets a place, but there is no queue {found.queue}")
        elif found.queue in parents:
            yield breach(LIMITS, pod.key, f"gets a place, but {found.queue} has queues below it")
        elif found.contradictory:
            yield breach(LIMITS, pod.key, "gets a place, but different queues are named for it")


def _judge_limits(books: Books) -> Iterator[Breach]:
    """With what is bound beside all that is there, and with what is promised beside all that stays. Groups
    that an override lifts are not held to these limits. They may have had their turn after the others, so
    what they get is counted from the next decision on."""
    case, lifted = books.case, books.lifts

    def held_to(seats: Sequence[Bind]) -> list[Bind]:
        return [seat for seat in seats if lifted.of(case.group_of[seat[0].key]) is None]

    binds = held_to(case.binds) if lifted.now else case.binds
    promised = held_to(case.nominations) if lifted.now else case.nominations
    ways = ((binds, books.holding), (promised, [*books.staying, *binds]))
    found = dict[Breach, None]()
    for new, before in ways:
        found |= dict.fromkeys(_beyond(books, new, before))
    yield from found
    yield from _judge_lending(books)


def _beyond(books: Books, new: Sequence[Bind], before: Sequence[Bind]) -> Iterator[Breach]:
    for name, rule in books.rights.queues.items():
        used = books.use_of(name, [*before, *new])
        added = _more(used, books.use_of(name, before)) if books.use_of(name, new) else {}
        if added:
            yield from _over(name, rule.terms, used, added)
            yield from _over_by_user(books, name, [*before, *new], new)
            if not rule.borrows and not books.rights.is_within(name, used, added):
                yield breach(LIMITS, f"queue {name}", "would have more than its guarantee, and borrows never")


def is_refused(case: Case, seats: Sequence[Bind], beside: Sequence[Bind] = ()) -> bool:
    """Whether limits of its queues forbid a group these seats once all who leave have left, beside others."""
    if not case.policy.rights:
        return False
    books, leaving = Books(case), {pod.key for pod in case.leaving}
    staying = [seat for seat in books.holding if seat[0].key not in leaving]
    lifted = any(books.lifts.of(case.group_of[pod.key]) for pod, _ in seats)
    return not lifted and any(_beyond(books, seats, [*staying, *beside]))


def might_be_refused(case: Case, group: Group) -> bool:
    """Whether it depends on more than such limits: on a budget, or on what others do not lend."""
    books, rights = Books(case), case.policy.rights
    queues = {books.queue(pod) for pod in group.pending} - {""}
    paid = any(name in rights.budgets for queue in queues for name in rights.chain(queue))
    return paid or (bool(queues) and any(not rule.lends for rule in rights.queues.values()))


def _more(used: Use, before: Use) -> Use:
    """What has come; a claim that somebody uses already does not come again."""
    return {key: count - before.get(key, 0) for key, count in used.items() if count > before.get(key, 0)}


def _over(name: str, terms: Sequence[QueueTerm], used: Use, added: Use) -> Iterator[Breach]:
    for term in terms:
        if term.cap is not None and term.part(added) > 0 and term.part(used) > term.cap:
            yield breach(LIMITS, f"queue {name}", f"has {term.part(used)} {term}, its cap is {term.cap}")


def _over_by_user(books: Books, name: str, seats: Sequence[Bind], new: Sequence[Bind]) -> Iterator[Breach]:
    terms = [term for term in books.rights.queues[name].terms if term.per_user is not None]
    accounts = [(books.account(pod), (pod, node)) for pod, node in seats if terms and books.is_in(name)(pod)]
    fresh = {pod.key for pod, _ in new}
    users = dict.fromkeys(account.user for account, _ in accounts if account is not None)
    for user in users:
        own = [seat for account, seat in accounts if account is not None and account.user == user]
        used = books.use(own)
        added = _more(used, books.use([seat for seat in own if seat[0].key not in fresh]))
        for term in terms:
            if term.part(added) > 0 and term.part(used) > (term.per_user or 0):
                who = f"user {user} has" if user else "users that are not known have"
                words = f"{who} {term.part(used)} {term}, perUser is {term.per_user}"
                yield breach(LIMITS, f"queue {name}", words)


def _judge_lending(books: Books) -> Iterator[Breach]:
    """What queues that never lend have not used of their guarantees is still free, after groups that borrow
    beside them were bound."""
    case, rights = books.case, books.rights
    after = [*books.holding, *case.binds]
    for name in [rule.name for rule in rights.queues.values() if not rule.lends]:
        borrowers = [seat for seat in case.binds if _borrows_beside(books, name, seat[0])]
        for term in rights.guarantees(name) if borrowers else ():
            free = books.amount_there(term) - term.part(books.use(after))
            promised = [*after, *case.nominations]
            idle = (term.guarantee or 0) - term.part(books.use_of(name, promised))
            if term.part(books.use(borrowers)) > 0 and idle > 0 and free < idle:
                words = (
                    f"lends never and has not used {idle} {term} of its guarantee; {max(0, free)} are left"
                )
                yield breach(LIMITS, f"queue {name}", words)


def _borrows_beside(books: Books, lender: str, pod: Pod) -> bool:
    """Whether a pod is in a queue that is beyond its guarantee, where its branch parts from the lender's,
    with its group alone: others may have been bound later."""
    queue, above = books.queue(pod), books.rights.chain(lender)
    beside = [name for name in books.rights.chain(queue) if name not in above] if queue else []
    if queue and not beside:
        return False
    after = [*books.holding, *books.case.bound(books.case.group_of[pod.key])]
    return not beside or not books.rights.is_within(beside[0], books.use_of(beside[0], after))


# -- evictions ---------------------------------------------------------------------------------------------


def _faults(books: Books, eviction: Eviction) -> Iterator[str]:
    if eviction.cause not in (PREEMPTION, RECLAIM):
        return
    case, pod = books.case, eviction.pod
    group = next((group for group in case.preempting if group.key == eviction.preemptor), None)
    if group is None or not group.pending:
        return  # is found elsewhere
    ours, theirs = books.queue(group.pending[0]), books.queue(pod)
    if ours == theirs or "" in (ours, theirs):
        if eviction.cause == RECLAIM:
            yield f"reclaimed for {group.key}, and the two are not in different queues"
        return
    chains = [books.rights.chain(name) for name in (ours, theirs)]
    level = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*chains, strict=False)))
    claimant, owner = (chain[level] for chain in chains)
    if books.is_entitled(pod, level):
        yield f"evicted for {group.key} of queue {ours}, but queue {owner} is entitled to what it has"
    if eviction.cause == RECLAIM:
        yield from _judge_reclaim(books, group, eviction, claimant, owner)
    elif _is_entitled_surely(books, group, claimant):
        yield f"preempted, but {group.key} is entitled: it reclaims, whatever the priorities"


def _judge_reclaim(
    books: Books, group: Group, eviction: Eviction, claimant: str, owner: str
) -> Iterator[str]:
    case, rights = books.case, books.rights
    own = [seat for seat in case.nominations if case.group_of[seat[0].key] is group]
    least = books.use_of(claimant, books.paying([*books.staying, *own]))
    before = books.use_of(owner, books.paying([*books.running, *case.binds, *case.nominations]))
    less = rights.share(claimant, least, books.there) < rights.share(owner, before, books.there)
    if not rights.is_within(claimant, least):
        rank = standing(case.cluster, case.leaf_of[eviction.pod.key], eviction.pod)
        if rights.by_share and rank is not None and group.rank is not None and rank > group.rank:
            yield f"reclaimed by fair share for {group.key} of priority {group.rank}, and it has {rank}"
        elif not rights.by_share:
            yield f"reclaimed for {group.key}, but with it queue {claimant} has more than its guarantee"
        elif not less:
            yield f"reclaimed for {group.key}, but then {claimant} has no smaller share than {owner} had"
    least_runtime = rights.queues[books.queue(eviction.pod)].min_runtime
    starts = [pod.started for pod in case.group_of[eviction.pod.key].running if pod.started is not None]
    if case.now is None or not starts or not least_runtime:
        return
    if case.now < thousandths(min(starts)) + least_runtime:
        yield f"reclaimed for {group.key} before it has run as long as its queue says"


def _is_entitled_surely(books: Books, group: Group, claimant: str) -> bool:
    own = [seat for seat in books.case.nominations if books.case.group_of[seat[0].key] is group]
    most = books.paying([*books.holding, *books.case.binds, *books.case.nominations])
    return bool(own) and books.rights.is_within(claimant, books.use_of(claimant, most))


# -- for other laws ----------------------------------------------------------------------------------------


def is_bounded(case: Case, group: Group) -> bool:
    """Whether room alone does not answer whether a group could be seated: its queue may have a limit."""
    books = Books(case)
    queues = {books.queue(pod) for pod in group.pending} - {""}
    return any(map(case.policy.rights.is_bounded, queues))
