"""From a question to its answer: who asks, what they may see, and the cluster without the names of others."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import msgspec

from maitred.cluster.snapshot import Snapshot
from maitred.cluster.supposing import supposing
from maitred.controllers.answers.access import EVERYWHERE, AccessCheck
from maitred.controllers.answers.orders import STANDBY, AnyOrder, OrderDesk
from maitred.controllers.answers.question_queue import QuestionQueue
from maitred.controllers.answers.refusals import RefusedError
from maitred.controllers.answers.replica import View
from maitred.controllers.answers.route import AnswerContext, CheckedQuestion, Route
from maitred.controllers.answers.worker import InterruptedJob
from maitred.explain.billing.document import Usage
from maitred.explain.health.answer import FleetHealth
from maitred.explain.health.survey import health
from maitred.explain.proposal.supposition import Supposition, read_supposition
from maitred.explain.redaction.health import health_as_seen_by
from maitred.explain.redaction.situation import as_seen_by
from maitred.explain.redaction.usage import usage_as_seen_by
from maitred.explain.situation import Situation
from maitred.explain.why.seen import Seen
from maitred.kube.answers import Reason
from maitred.kube.client import Client
from maitred.kube.fleet import look_at_fleet
from maitred.kube.pod_progress import look
from maitred.kube.reviews import User
from maitred.model.history import NO_HISTORY, History
from maitred.model.manifest import InputError

T = TypeVar("T")

OLDEST_SITUATION = timedelta(seconds=30)
MOST_SITUATIONS = 8
OLDEST_SURVEY = timedelta(seconds=5)

Source = Callable[[QuestionQueue], Awaitable[View | None]]
"""What is known now; None while this scheduler knows nothing: another one leads. A state is brought up to
date in the queue of questions, to whose thread it belongs."""
Past = Callable[[datetime, Collection[str] | None], History]
"""What is remembered; of some namespaces only, where one may see no more. Asked in a thread."""


Used = Callable[[int, int], Usage]
"""What devices were used for on some days. Asked in a thread; raises RefusedError where that is not known."""


def nothing_remembered(now: datetime, namespaces: Collection[str] | None) -> History:
    return NO_HISTORY


def nothing_known(first_day: int, end_day: int) -> Usage:
    raise RefusedError(Reason.NO_LEDGER, "this scheduler keeps no ledger; start it with --ledger to keep one")


@dataclass(frozen=True, slots=True)
class AnswerInputs:
    """What a situation is made from, before it is known who may see what of it."""

    snapshot: Snapshot
    view: View
    now: datetime
    version: int
    """Of the state."""
    supposed: bool = False
    """Whether the snapshot has more than the state, which no other question will suppose."""


class Situations:
    """Those of the latest state, so that many questions about one moment take one cycle. What was worked out
    for one takes much memory, and no question is about an earlier state. Used in the thread alone."""

    def __init__(self) -> None:
        self._kept = OrderedDict[Hashable, Situation]()
        self._latest: Hashable = None

    def get(
        self, inputs: AnswerInputs, mine: Collection[str] | None, make: Callable[[], Situation]
    ) -> Situation:
        """One of the same state, if it is not much older; what waits for a time is not wrong for longer."""
        latest = (inputs.view.term, inputs.version, id(inputs.view.policy))
        if latest != self._latest:
            self._kept.clear()
            self._latest = latest
        key = None if mine is None else frozenset(mine)
        kept = self._kept.get(key)
        if kept is not None and inputs.now - kept.now > OLDEST_SITUATION:
            kept = None
        if inputs.supposed:
            situation = make()
            return situation if kept is None else replace(situation, waiting=kept.in_vain())
        if kept is None:
            kept = self._kept[key] = make()
        self._kept.move_to_end(key)
        while len(self._kept) > MOST_SITUATIONS:
            self._kept.popitem(last=False)
        return kept

    def clear(self) -> None:
        self._kept.clear()


class Service:
    def __init__(
        self,
        client: Client,
        source: Source,
        past: Past = nothing_remembered,
        used: Used = nothing_known,
        question_queue: QuestionQueue | None = None,
        desk: OrderDesk | None = None,
    ) -> None:
        """Without a `desk` nothing can be changed."""
        self._desk = desk
        self._client = client
        self._source = source
        self._past = past
        self._used = used
        self._access = AccessCheck(client)
        self._question_queue = question_queue or QuestionQueue()
        self._situations = Situations()
        self._surveying = asyncio.Lock()
        self._surveyed: tuple[Hashable, datetime, FleetHealth] | None = None

    def close(self) -> None:
        self._question_queue.close()

    async def visitor(self, token: str) -> User:
        return await self._access.visitor(token)

    async def answer(
        self, route: Route, values: Mapping[str, str], user: User, read: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        """In JSON. Raises RefusedError.

        `read` gives what was posted. It is called when all is known that there could be against it: who asks,
        for which namespaces, whether there is room for the question, and whether this scheduler could answer.
        """
        question = CheckedQuestion(values)
        async with self._question_queue.seat(user, route.body is not None):
            if route.order is not None:
                return await self._carried_out(route, question, user, read)
            await self._access.admit(user, question.namespaces)
            if route.body is not None:
                await self._view()
                body = await read()
                supposition = await self._work(user, partial(read_posted, body, question.namespaces))
                question = replace(question, supposition=supposition)
            return await self._answer(route, question, user)

    async def _answer(self, route: Route, question: CheckedQuestion, user: User) -> bytes:
        view = await self._view()
        inputs = await self._question_queue.work(user, partial(inputs_for, view, question), whole=True)
        mine = await self._access.sight(user, (*question.namespaces, *namespaces_of(inputs.snapshot)))
        asked = await self._work(user, partial(self._asked, inputs, question, mine))
        if route.looks is not None:
            pods = await self._work(user, partial(route.looks, asked))
            asked = replace(asked, seen=await self._look(view, question.values["namespace"], pods))
        if route.surveys:
            whole = await self._survey(user, view, inputs)
            asked = replace(asked, health=health_as_seen_by(whole, mine))
        return await self._work(user, partial(worked_out, route, asked))

    async def _carried_out(
        self, route: Route, question: CheckedQuestion, user: User, read: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        """An order, from those who have the right to give it. They may know the group, so nothing is hidden;
        the answer has nothing else."""
        assert route.order is not None
        namespace = question.values.get("namespace", EVERYWHERE)
        name = question.values.get("name", "")
        await self._access.allow(user, route.verb, namespace, name)
        view = await self._view()
        if self._desk is None:
            raise RefusedError(Reason.NOT_LEADING, STANDBY)
        question = replace(question, wish=read_wish(route, await read()))
        inputs = await self._question_queue.work(user, partial(inputs_for, view, question), whole=True)
        whole = Situation(inputs.snapshot, view.policy, inputs.now, view.scheduler)
        asked = AnswerContext(whole, question, self._used, user=user.name)
        order = await self._work(user, partial(ordered, route, asked))
        if order.name != name:  # a right to the one name is none to the other
            await self._access.allow(user, route.verb, namespace, order.name)
        await self._desk.place(order, self._view)
        return await self._work(user, partial(worked_out, route, asked))

    async def _view(self) -> View:
        view = await self._source(self._question_queue)
        if view is None:
            raise RefusedError(Reason.NOT_LEADING, "this scheduler is on standby; ask the one that leads")
        return view

    async def _work(self, user: User, work: Callable[[], T]) -> T:
        return await self._question_queue.work(user, partial(self._interruptible, work))

    def _interruptible(self, work: Callable[[], T]) -> T:
        """What was being added to a situation when it was stopped may be there in part."""
        try:
            return work()
        except InterruptedJob:
            self._situations.clear()
            raise

    def _asked(
        self, inputs: AnswerInputs, question: CheckedQuestion, mine: Collection[str] | None
    ) -> AnswerContext:
        def used(first_day: int, end_day: int) -> Usage:
            return usage_as_seen_by(self._used(first_day, end_day), mine)

        situation = self._situations.get(inputs, mine, lambda: self._situation(inputs, mine))
        return AnswerContext(situation, question, used, namespaces=mine)

    def _situation(self, inputs: AnswerInputs, mine: Collection[str] | None) -> Situation:
        """In the thread. Nothing after this knows a name that the visitor may not know."""
        past = self._past(inputs.now, mine)
        whole = Situation(inputs.snapshot, inputs.view.policy, inputs.now, inputs.view.scheduler, past)
        return as_seen_by(whole, mine)

    async def _survey(self, user: User, view: View, inputs: AnswerInputs) -> FleetHealth:
        """The health of all, by one look for all who ask about the same state within a few seconds, and one
        look at a time: to list every node and pod costs the API server more than any other question."""
        state = (view.term, inputs.version, id(view.policy))
        async with self._surveying:
            kept = self._surveyed
            if kept is None or kept[0] != state or inputs.now - kept[1] > OLDEST_SURVEY:
                look = await look_at_fleet(self._client, view.groups.values())
                whole = Situation(inputs.snapshot, view.policy, inputs.now, view.scheduler)
                found = await self._work(user, partial(health, whole, look))
                kept = self._surveyed = state, inputs.now, found
        return kept[2]

    async def _look(self, view: View, namespace: str, pods: Collection[str] | None) -> Seen:
        groups = [group for key, group in view.groups.items() if key.startswith(f"{namespace}/")]
        return await look(self._client, namespace, groups, pods)


# -- in the thread -----------------------------------------------------------------------------------------


def read_posted(body: bytes, namespaces: Collection[str]) -> Supposition:
    try:
        supposition = read_supposition(body)
    except InputError as problem:
        raise RefusedError(Reason.BAD_QUESTION, str(problem)) from None
    for item in supposition.objects:
        if (namespace := item.metadata.namespace or "default") not in namespaces:
            what = (
                f"{item.metadata.name} is in namespace {namespace}; the parameter namespaces does not list it"
            )
            raise RefusedError(Reason.BAD_QUESTION, what)
    return supposition


def read_wish(route: Route, body: bytes) -> Any:
    assert route.body is not None, "an order is posted"
    try:
        return msgspec.json.decode(body, type=route.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise RefusedError(Reason.BAD_QUESTION, f"what was posted cannot be read: {problem}") from None


def ordered(route: Route, asked: AnswerContext) -> AnyOrder:
    assert route.order is not None
    try:
        return route.order(asked)
    except InputError as problem:
        raise RefusedError(route.misses, str(problem)) from None


def inputs_for(view: View, question: CheckedQuestion) -> AnswerInputs:
    """The state belongs to the thread, and is as it was when this returns or raises: it is done whole."""
    now, state = datetime.now(UTC), view.state
    if question.supposition is None:
        return AnswerInputs(state.snapshot(), view, now, state.version)
    supposed = question.supposition.stand_ins(now, view.scheduler)
    try:
        return AnswerInputs(supposing(state, supposed), view, now, state.version, supposed=True)
    except ValueError as problem:
        raise RefusedError(Reason.BAD_QUESTION, f"this object cannot be used: {problem}") from None


def worked_out(route: Route, asked: AnswerContext) -> bytes:
    try:
        return msgspec.json.encode(route.work(asked))
    except InputError as problem:
        raise RefusedError(route.misses, str(problem)) from None


def namespaces_of(snapshot: Snapshot) -> Iterator[str]:
    """Those first where pods wait: their names count most, should there be too many to ask about."""
    yield from (view.group.key.partition("/")[0] for view in snapshot.groups)
    yield from sorted(snapshot.namespaces)
