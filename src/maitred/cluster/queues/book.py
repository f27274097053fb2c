"""The book of queues: on which account pods run, and how what they use is counted.

What is used is counted by *kind*: a resource that some limit speaks of, on devices of one model. An *account*
is a queue and a user. What runs on an account counts for its queue and for all queues above, and for the user
wherever one of these has a limit per user: each of them has a row in what is counted.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, starmap
from typing import TypeVar

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.device_models import models_told
from maitred.cluster.devices.needs import ClaimNeed
from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, Ints, Mask, NodeView
from maitred.cluster.queues.charges import Charges, Floats, named_claims
from maitred.cluster.queues.claimed import ClaimCounter, DevicesByClaims, shared_needs
from maitred.cluster.queues.entered import EnteredViews
from maitred.cluster.queues.scavenging import Scavengers, scavengers_in
from maitred.cluster.queues.tree import TOP, Bounds, QueueTree
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.model.needs import Needs
from maitred.model.policy import Policy, device_model, matches_model
from maitred.model.queues import DEFAULT_QUEUE, EVERY_MODEL, Payer, named_queue
from maitred.model.runtime import NO_TERMS, RunTerms, Runtime, limit_of
from maitred.model.selector import matches, selector_of

T = TypeVar("T")
NO_QUEUE = -1
RENEWED_EVERY = 3_600_000
"""In milliseconds: a group of which nobody says how long it runs pays for an hour, and then for the next."""
SHARE_DIGITS = 9

AccountKey = tuple[int, str, int, int | None, bool]
"""Queue, user, span, deadline, and whether those on it scavenge."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Bounds of one queue, with the kinds that they speak of."""

    queue: int
    bounds: Bounds
    kinds: Rows
    number: int
    """Among those of all queues."""
    places: tuple[int, ...]
    """The same as kinds."""

    def asked(self, amounts: list[int]) -> int:
        """What so much of every kind is of what it speaks of."""
        return sum([amounts[place] for place in self.places])


Guarantees = tuple[list[tuple[Limit, int]], list[int]]
"""What a queue is guaranteed, and the kinds of which that is nothing."""


@dataclass(frozen=True, slots=True)
class QueueAccount:
    queue: int
    user: str
    """Empty where it is not known. Whoever is not known counts as one user: else what nobody has signed would
    be a way past the limits of users."""
    rows: Rows
    """Where it counts."""
    span: int = 0
    """How long groups on it could have what they get, in milliseconds, if a budget pays for it,"""
    deadline: int | None = None
    """and when their Job ends in any case, in milliseconds since 1970."""
    scavenges: bool = False
    """Whether those on it pay nothing, and leave for whoever pays."""

    @property
    def key(self) -> AccountKey:
        return self.queue, self.user, self.span, self.deadline, self.scavenges


OUTSIDE = QueueAccount(NO_QUEUE, "", np.zeros(1, dtype=np.intp))
"""Of pods that are in no queue: they count only among all there are."""


class QueueBook:
    """The first row of all counts is that of all pods there are; then come the queues, then their users."""

    def __init__(self, snapshot: Snapshot, policy: Policy, scheduler: str | None) -> None:
        self.snapshot, self.policy, self.scheduler = snapshot, policy, scheduler
        nodes = snapshot.nodes
        self.tree: QueueTree = nodes.derived_with(policy, "queues", lambda: QueueTree(policy.queues))
        templates = (device_model(policy, template.labels) for template in policy.node_templates)
        told = models_told(nodes, policy, snapshot.inventory)[0]
        self.models = tuple(dict.fromkeys((*told, *templates)))
        self.claims = ClaimCounter(snapshot, self.tree.resources)
        self.accounts = [OUTSIDE]
        self.height = 1 + len(self.tree)
        """How many rows there are by now."""
        self._account_of: dict[AccountKey, int] = {}
        self._row_of_user: dict[tuple[int, str], int] = {}
        self.rows_of_scavengers: dict[int, int] = {}
        """Where it counts what those have in a queue who do not pay, if anybody has."""
        self._accounts_in: dict[int, list[int]] = {}
        self._not_lent: dict[tuple[int, ...], list[Limit]] = {}
        self._may_use: dict[tuple[int, str], bool] = {}

    @property
    def kinds(self) -> int:
        return len(self.tree.resources) * len(self.models)

    def row(self, queue: int) -> int:
        return 1 + queue

    def is_about(self, snapshot: Snapshot, policy: Policy, scheduler: str | None) -> bool:
        """Whether it would be the same if it were made from this snapshot."""
        own = self.snapshot
        columns = (
            *("nodes", "bound", "needs", "shapes", "payers", "namespaces", "standings"),
            *("inventory", "allocated"),
        )
        same = all(getattr(own, name) is getattr(snapshot, name) for name in columns)
        same = same and own.spending.scavengers == snapshot.spending.scavengers
        return same and self.policy is policy and self.scheduler == scheduler

    def about(self, snapshot: Snapshot) -> "QueueBook":
        """The book of a snapshot in which other pods run, with the same accounts."""
        columns = ("bound", "payers", "nodes", "inventory", "allocated")
        if all(getattr(self.snapshot, name) is getattr(snapshot, name) for name in columns):
            return self
        other = QueueBook(snapshot, self.policy, self.scheduler)
        for account in self.accounts[1:]:
            other._number_of(account.key)
        return other

    # -- who is in which queue -------------------------------------------------------------------------

    def queue_of(self, payer: Payer) -> int:
        """NO_QUEUE if there is none of that name."""
        return self.tree.number.get(named_queue(payer, self.snapshot.namespaces), NO_QUEUE)

    def account_of(self, view: GroupView) -> int:
        ours = self.scheduler is None or self.scheduler in view.schedulers
        number = self.account_for(view.payer, view.runtime) if ours else NO_ACCOUNT
        joins = number != NO_ACCOUNT and self.scavenges_with(view)
        return self.scavenging(number) if joins else number

    def account_for(self, payer: Payer, runtime: Runtime) -> int:
        """The number of the account on which a group that waits would run."""
        queue = self.queue_of(payer)
        if queue == NO_QUEUE:
            return NO_ACCOUNT
        if not self.tree.has_budget[queue]:
            return self._number_of((queue, payer.user, 0, None, False))
        return self._number_of((queue, payer.user, self.span(runtime, queue), runtime.stay.deadline, False))

    def scavenges_with(self, view: GroupView) -> bool:
        """Whether the members of a group that wait join others who run without paying."""
        return bool(view.running) and view.group.key in self.scavengers.groups

    def scavenging(self, account: int) -> int:
        """The account of the same queue and user, of those who do not pay."""
        known = self.accounts[account]
        return self._number_of((known.queue, known.user, 0, None, True))

    def span(self, runtime: Runtime, queue: int) -> int:
        """How long a group of a queue could run, in milliseconds; it pays for so long from the start."""
        limit = limit_of(runtime, self.tree.run_terms[queue])
        return RENEWED_EVERY if limit is None else limit.span

    def account(self, payer: Payer) -> int:
        """The number of the account on which such pods run."""
        return self._number_of((self.queue_of_running(payer), payer.user, 0, None, False))

    def queue_of_running(self, payer: Payer) -> int:
        """Marks can be changed while a pod runs: who names a queue that a group could not start in counts for
        the default queue then, as who names none."""
        queue = self.queue_of(payer)
        usable = queue != NO_QUEUE and self.tree.is_leaf(queue) and self.may_use(queue, payer.namespace)
        return queue if usable else self.tree.number[DEFAULT_QUEUE]

    def _number_of(self, key: AccountKey) -> int:
        known = self._account_of.get(key)
        if known is None:
            known = self._account_of[key] = len(self.accounts)
            self.accounts.append(self._opened(*key))
            for row in self.accounts[known].rows.tolist():
                self._accounts_in.setdefault(row, []).append(known)
        return known

    def accounts_in(self, row: int) -> list[int]:
        """The numbers of those that count in a row, but for what is in no queue."""
        return self._accounts_in.get(row, [])

    def _opened(
        self, queue: int, user: str, span: int, deadline: int | None, scavenges: bool
    ) -> QueueAccount:
        chain = self.tree.chain[queue]
        rows = [0, *map(self.row, chain)]
        limited = (one for one in chain if any(b.per_user is not None for b in self.tree.bounds[one]))
        for one in limited:
            place = self._row_of_user.get((one, user))
            if place is None:
                place = self._row_of_user[one, user] = self.height
                self.height += 1
            rows.append(place)
        for one in chain if scavenges else ():
            place = self.rows_of_scavengers.get(one)
            if place is None:
                place = self.rows_of_scavengers[one] = self.height
                self.height += 1
            rows.append(place)
        return QueueAccount(queue, user, np.array(rows, dtype=np.intp), span, deadline, scavenges)

    def row_of_user(self, queue: int, user: str) -> int | None:
        return self._row_of_user.get((queue, user))

    @cached_property
    def account_of_bound(self) -> Codes:
        """The account of each pod on a node, also of those who do not pay."""
        found = self._payer_of_bound
        yielding = self.scavengers.yielding & (found != NO_ACCOUNT)
        if yielding.any():
            found = found.copy()
            for number in np.unique(found[yielding]).tolist():
                found[yielding & (found == number)] = self.scavenging(number)
        return found

    @cached_property
    def _payer_of_bound(self) -> Codes:
        """The same as if all paid. Pods of other schedulers, and of nodes, are in no queue. Pods that are
        only imagined there are nobody's occupants."""
        bound, snapshot = self.snapshot.bound, self.snapshot
        used = np.unique(bound.payer)
        of_payer = np.zeros(len(snapshot.payers) + 1, dtype=np.int32)
        for number in used.tolist():
            of_payer[number] = self.account(snapshot.payers[number])
        found = of_payer[bound.payer]
        imagined = np.array([one is None for one in bound.occupants.tolist()], dtype=np.bool_)
        found[bound.fixed & ~imagined] = NO_ACCOUNT
        if self.scheduler is not None:
            own = np.array([one.scheduler == self.scheduler for one in snapshot.standings] + [False])
            found[~own[bound.standing] & ~imagined] = NO_ACCOUNT
        return found

    @cached_property
    def scavengers(self) -> Scavengers:
        """Pods on nodes of which it is remembered that they do not pay, whatever queue they name by now."""
        return scavengers_in(self.snapshot, any(self.tree.has_budget))

    @cached_property
    def scavenges(self) -> Mask:
        """Pods on nodes that leave for whoever pays. Where no budget is left, nobody does."""
        found: Mask = np.array([one.scavenges for one in self.accounts], dtype=np.bool_)[
            self.account_of_bound
        ]
        return found

    @cached_property
    def unpaid(self) -> Mask:
        """Those of them that cost nothing."""
        return self.scavenges & self.scavengers.remembered

    def run_terms(self, account: int) -> RunTerms:
        """What the queue of an account says of run times."""
        queue = NO_QUEUE if account == NO_ACCOUNT else self.accounts[account].queue
        return NO_TERMS if queue == NO_QUEUE else self.tree.run_terms[queue]

    def may_use(self, queue: int, namespace: str) -> bool:
        """Whether groups of a namespace may use a queue, and all queues above it."""
        if not self.tree.selectors[queue]:
            return True
        known = self._may_use.get((queue, namespace))
        if known is None:
            labels = self.snapshot.namespace_labels(namespace)
            known = all(matches(selector, labels) for selector in self.tree.selectors[queue])
            self._may_use[queue, namespace] = known
        return known

    def usable_by(self, namespaces: Iterable[str]) -> frozenset[int]:
        """The queues that groups of any of these namespaces may name, and all queues above them."""
        tree = self.tree
        users = {TOP: [self.snapshot.namespace_labels(one) for one in namespaces]}
        for queue in reversed([*tree.from_below()]):
            selector, above = tree.queues[queue].namespaces, users[tree.parent[queue]]
            asked = selector_of(selector)
            users[queue] = above if asked is None else [one for one in above if matches(asked, one)]
        leaves = (queue for queue in range(len(tree)) if tree.is_leaf(queue) and users[queue])
        return frozenset(queue for leaf in leaves for queue in tree.chain[leaf])

    # -- what is counted -------------------------------------------------------------------------------

    def model_of(self, nodes: NodeView) -> Codes:
        """Which of the models the devices of each node are of."""
        names, codes = models_told(nodes, self.policy, self.snapshot.inventory)
        if names == self.models[: len(names)]:
            return codes
        number = {name: place for place, name in enumerate(self.models)}
        return np.array([number.get(name, 0) for name in names], dtype=np.int32)[codes]

    @cached_property
    def amounts_by_needs(self) -> Ints:
        """What pods of each needs request of every resource that counts; what they have by claims is another
        matter."""
        found = np.zeros((len(self.snapshot.needs), len(self.tree.resources)), dtype=np.int64)
        for number, needs in enumerate(self.snapshot.needs):
            found[number] = self.claims.requested(needs)
        return found

    def amounts_of(self, needs: Needs, claims: Iterable[ClaimNeed]) -> Ints:
        """What pods of some needs, which need not be those of any pod that is there, have to themselves."""
        own = (self.claims.claimed(claim) for claim in claims if not claim.claim)
        return sum(own, start=self.claims.requested(needs))

    def shared_by(self, claims: tuple[ClaimNeed, ...]) -> tuple[tuple[str, Ints], ...]:
        """Of these, the claims that several pods may share, and what each has or asks for; those aside that
        count nothing."""
        found = ((need.claim, self.claims.claimed(need)) for need in shared_needs(claims))
        return tuple((claim, amounts) for claim, amounts in found if amounts.any())

    @cached_property
    def held(self) -> DevicesByClaims | None:
        """Devices that pods on nodes have by claims."""
        return self.claims.held(named_claims(self.snapshot))

    @cached_property
    def charges(self) -> Charges:
        """What an hour of devices costs those whose queue has a budget."""
        return Charges(self.snapshot, self.policy, self.models, self.unpaid)

    @cached_property
    def used_at_first(self) -> Ints:
        """What all pods on nodes use, in every row."""
        return self.used_by(np.arange(len(self.snapshot.bound.node)))

    def used_by(self, pods: Rows) -> Ints:
        """The same of some of them."""
        return self.in_rows(self.account_of_bound[pods], self.kinds_of(pods))

    def used_alone_by(self, pods: Rows) -> Ints:
        """The same without claims that several pods may share."""
        return self.in_rows(self.account_of_bound[pods], self._kinds(pods, shared=False))

    def kinds_of(self, pods: Rows) -> Ints:
        """What each of these pods uses of every kind."""
        return self._kinds(pods, shared=True)

    def _kinds(self, pods: Rows, shared: bool) -> Ints:
        bound, snapshot = self.snapshot.bound, self.snapshot
        amounts = self.amounts_by_needs[bound.needs[pods]]
        if self.held is not None:
            amounts = amounts + (self.held.by_pod if shared else self.held.own)[pods]
        found = np.zeros((len(pods), len(self.tree.resources), len(self.models)), dtype=np.int64)
        models = self.model_of(snapshot.nodes)[bound.node[pods]]
        found[np.arange(len(pods)), :, models] = amounts
        return found.reshape(len(pods), self.kinds)

    def in_rows(self, accounts: Codes, amounts: Ints) -> Ints:
        """Amounts of some accounts, where they count."""
        by_account = np.zeros((len(self.accounts), self.kinds), dtype=np.int64)
        np.add.at(by_account, accounts, amounts)
        found = np.zeros((self.height, self.kinds), dtype=np.int64)
        for number in np.unique(accounts).tolist():
            found[self.accounts[number].rows] += by_account[number]
        return found

    # -- limits ----------------------------------------------------------------------------------------

    @cached_property
    def limits(self) -> list[tuple[Limit, ...]]:
        """Of each queue."""
        return self._derived("limits", self._found_limits)

    def _found_limits(self) -> list[tuple[Limit, ...]]:
        number = count()

        def limit(queue: int, bounds: Bounds) -> Limit:
            kinds = self.kinds_in(bounds.resource, bounds.model)
            return Limit(queue, bounds, kinds, next(number), tuple(kinds.tolist()))

        return [tuple(limit(queue, one) for one in bounds) for queue, bounds in enumerate(self.tree.bounds)]

    def _derived(self, what: str, make: Callable[[], T]) -> T:
        """What follows from the policy and the models alone: it outlasts the book."""
        return self.snapshot.nodes.derived_with(self.policy, (what, self.models), make)

    def kinds_in(self, resource: str, pattern: str) -> Rows:
        """The kinds that a pattern of models speaks of."""
        first = self.tree.resources.index(resource) * len(self.models)
        chosen = [place for place, model in enumerate(self.models) if matches_model(pattern, model)]
        return first + np.array(chosen, dtype=np.intp)

    @cached_property
    def unguaranteed(self) -> list[Rows]:
        """Kinds of which a queue is guaranteed nothing."""
        return self._derived("unguaranteed", self._found_unguaranteed)

    def _found_unguaranteed(self) -> list[Rows]:
        found = list[Rows]()
        for limits in self.limits:
            without = np.ones(self.kinds, dtype=np.bool_)
            for limit in limits:
                if limit.bounds.guarantee is not None:
                    without[limit.kinds] = False
            found.append(np.flatnonzero(without))
        return found

    def bounds_of_kind(self, kind: int) -> Bounds:
        """Of something of which a queue is guaranteed nothing."""
        resource, model = divmod(int(kind), len(self.models))
        return Bounds(self.tree.resources[resource], self.models[model] or EVERY_MODEL, 0)

    @cached_property
    def _lend_never(self) -> set[int]:
        return {place for place, queue in enumerate(self.tree.queues) if queue.lend == "never"}

    def not_lent(self, chain: tuple[int, ...]) -> list[Limit]:
        """Guarantees that are kept from a queue, given with those above it: of queues that never lend. What
        is kept for a queue is kept for those below it too."""
        if not self._lend_never:
            return []
        if chain not in self._not_lent:
            tree, never = self.tree, self._lend_never - {*chain}
            first = sorted(queue for queue in never if never.isdisjoint(tree.chain[queue][:-1]))
            self._not_lent[chain] = [
                one for queue in first for one in self.limits[queue] if one.bounds.guarantee
            ]
        return self._not_lent[chain]

    def is_beyond(self, queue: int, asked: Ints) -> bool:
        """Whether some of so much, by kind, is of a kind of which a queue is guaranteed nothing."""
        return any(map(asked.tolist().__getitem__, self._guarantees[queue][1]))

    def within_guarantee(self, queue: int, used: Ints) -> bool:
        """Whether so much, by kind, is no more than a queue is guaranteed."""
        of_kinds, (guarantees, unguaranteed) = used.tolist(), self._guarantees[queue]
        for place in unguaranteed:
            if of_kinds[place]:
                return False
        return all(one.asked(of_kinds) <= guarantee for one, guarantee in guarantees)

    @cached_property
    def _guarantees(self) -> list[Guarantees]:
        """Of each queue."""
        return self._derived("guarantees", self._found_guarantees)

    def _found_guarantees(self) -> list[Guarantees]:
        def known(limits: tuple[Limit, ...]) -> list[tuple[Limit, int]]:
            return [(one, one.bounds.guarantee) for one in limits if one.bounds.guarantee is not None]

        nothing = [kinds.tolist() for kinds in self.unguaranteed]
        return [(known(limits), without) for limits, without in zip(self.limits, nothing, strict=True)]

    def by_resource(self, used: Ints) -> Ints:
        """So much of every kind, on devices of all models together."""
        found: Ints = used.reshape(*used.shape[:-1], -1, len(self.models)).sum(axis=-1)
        return found

    def share(self, queue: int, used: Ints) -> float:
        """The largest part that so much is of anything there is, over the weight of the queue."""
        return self.share_of(self.by_resource(used), queue)

    def share_of(self, of_resources: Ints | Floats, queue: int) -> float:
        """The same of amounts by resource."""
        return self._weighed(queue, float((of_resources / np.maximum(self._in_all, 1)).max(initial=0.0)))

    def shares_of(self, used: Ints) -> list[float]:
        """The shares of all queues, from what is used in every row."""
        parts = self.by_resource(used[1 : 1 + len(self.tree)]) / np.maximum(self._in_all, 1)
        return list(starmap(self._weighed, enumerate(parts.max(axis=1, initial=0.0).tolist())))

    def _weighed(self, queue: int, part: float) -> float:
        weight: float = self.tree.queues[queue].weight
        # Rounded, so that what is equal stays equal whatever it is divided by.
        return round(part / weight, SHARE_DIGITS)

    @cached_property
    def _in_all(self) -> Ints:
        return self.by_resource(self.hardware)

    @cached_property
    def hardware(self) -> Ints:
        """All there is of every kind, on nodes that are there."""
        nodes = self.snapshot.nodes
        found = np.zeros((len(self.tree.resources), len(self.models)), dtype=np.int64)
        models = self.model_of(nodes)
        for place, resource in enumerate(self.tree.resources):
            column = nodes.resource_column(resource)
            if column is not None:
                np.add.at(found[place], models[nodes.alive], nodes.allocatable[column][nodes.alive])
        published = self.claims.published(nodes)
        if published.any():
            # What belongs to no single node has no model.
            of_columns = np.append(models, 0)
            for place in range(len(found)):
                np.add.at(found[place], of_columns, published[place])
        return found.reshape(-1)


def in_queues(snapshot: Snapshot, policy: Policy, scheduler: str | None) -> Snapshot:
    """The same cluster with its book of queues; as it is, where the policy has none."""
    if not policy.queues:
        return snapshot if snapshot.book is None else replace(snapshot, book=None)
    last = snapshot.book
    same = last is not None and last.is_about(snapshot, policy, scheduler)
    book = last if last is not None and same else QueueBook(snapshot, policy, scheduler)

    def account_of(view: GroupView) -> tuple[int, bool]:
        number = book.account_of(view)
        return number, book.accounts[number].scavenges

    kept: EnteredViews = snapshot.nodes.derived_with(policy, "entered views", EnteredViews)
    views = (snapshot.groups, snapshot.awaited, snapshot.hurt, snapshot.leaving, snapshot.away)
    groups, awaited, hurt, leaving, away = kept.entered(account_of, views)
    return replace(snapshot, book=book, groups=groups, awaited=awaited, hurt=hurt, leaving=leaving, away=away)
