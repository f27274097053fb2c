"""On whose account pods run, and whether the devices of a gang may be of different models.

It is said on a pod itself, on the objects of its group, or on an owner above it. What is nearer to the pod
counts. Two places that differ are a problem: nobody can know which of them was meant.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from maitred.model.membership.conventions import QUEUES, first_mark
from maitred.model.meta import CUT_TO, MarkSaid, ObjectMeta, said_under, shortened
from maitred.model.objects import Object
from maitred.model.operators.podgroups import KaiPodGroup, VolcanoPodGroup
from maitred.model.operators.volcano import VolcanoJob
from maitred.model.queues import ANY_MODEL, DEVICE_MODELS, QUEUE, SAME_MODEL, USER, Payer
from maitred.model.runtime import LIMIT_MARKS
from maitred.model.timing import TIMING_MARKS

_READ = frozenset((QUEUE, DEVICE_MODELS, *QUEUES, *LIMIT_MARKS, *TIMING_MARKS))
WITH_QUEUES = (VolcanoPodGroup, KaiPodGroup, VolcanoJob)
"""Objects that name a queue in their specs."""


class AccountWords(NamedTuple):
    """What one object says."""

    queue: tuple[MarkSaid, ...] = ()
    foreign_queue: str = ""
    """The queue that it names in another scheduler's language."""
    models: tuple[MarkSaid, ...] = ()
    limits: tuple[MarkSaid, ...] = ()
    """The run-time limits that it asks for, in the order in which they count."""
    times: tuple[MarkSaid, ...] = ()
    """When it must be done, and before when it may not start."""


UNSAID = AccountWords()


class SaidAt(NamedTuple):
    where: str
    """In words: `on the pod`."""
    words: AccountWords


class ModelsWish(NamedTuple):
    said: str = ""
    problem: str = ""


NO_MODELS = ModelsWish()


def account_words(about: ObjectMeta) -> AccountWords:
    if _READ.isdisjoint(about.labels) and _READ.isdisjoint(about.annotations):
        return UNSAID
    queue, models = (tuple(said_under(about, (key,))) for key in (QUEUE, DEVICE_MODELS))
    limits, times = (tuple(said_under(about, keys)) for keys in (LIMIT_MARKS, TIMING_MARKS))
    return AccountWords(queue, first_mark(about, QUEUES) or "", models, limits, times)


def words_of_object(one: Object) -> AccountWords:
    words = account_words(one.metadata)
    named = one.spec.queue if isinstance(one, WITH_QUEUES) else ""
    return words._replace(foreign_queue=shortened(named)) if named else words


def user_on(about: ObjectMeta) -> str | None:
    """Who made an object that nobody else controls; None for any other, of which somebody else tells that.

    Only the annotation counts, which the API server keeps true. It is not read from what has a controller, be
    the reference to it as strange as it may: whoever makes such objects may write there what they like.
    """
    if any(owner.controller for owner in about.owner_references):
        return None
    return user_named(about)


def user_named(about: ObjectMeta) -> str:
    return shortened(about.annotations.get(USER, ""))


def payer_of(namespace: str, user: str, places: Sequence[SaidAt]) -> Payer:
    queue, problem = _first([(one.where, one.words.queue) for one in places])
    foreign = next((one.words.foreign_queue for one in places if one.words.foreign_queue), "")
    return Payer(namespace, queue or foreign, user, problem)


def models_of(places: Sequence[SaidAt]) -> ModelsWish:
    said, problem = _first([(one.where, one.words.models) for one in places])
    if said not in ("", ANY_MODEL, SAME_MODEL):
        problem = f"{DEVICE_MODELS} is {said[:CUT_TO]!r}, and must be {ANY_MODEL} or {SAME_MODEL}"
    return ModelsWish(said, problem) if said else NO_MODELS


def _first(said: Iterable[tuple[str, tuple[MarkSaid, ...]]]) -> tuple[str, str]:
    """What the nearest place says, and which other one says something else."""
    every = [(where, one) for where, marks in said for one in marks]
    if not every:
        return "", ""
    where, first = every[0]
    other = next(((place, one) for place, one in every if one.value != first.value), None)
    if other is None:
        return first.value, ""
    return first.value, f"{first.words} {where} and {other[1].words} {other[0]}; remove one of the two"


# -- of a group --------------------------------------------------------------------------------------------


def common_payer(payers: Sequence[tuple[str, Payer]]) -> Payer:
    """On whose account a group runs: that of its first member. Members are named by words: `pod ml/a-0`.
    A group has one account, so members that differ are a problem."""
    name, first = payers[0]
    problem = next((payer.problem for _, payer in payers if payer.problem), "")
    for other, payer in payers[1:] if not problem else ():
        if payer.queue != first.queue:
            differing = f"{name} {_queue_words(first)} and {other} {_queue_words(payer)}"
            problem = f"{differing}; all members of a group must name one queue"
            break
        if payer.user != first.user:
            differing = f"{name} is of {_user_words(first)} and {other} of {_user_words(payer)}"
            problem = f"{differing}; all members of a group must be of one user"
            break
    return msgspec.structs.replace(first, problem=problem) if problem != first.problem else first


def _queue_words(payer: Payer) -> str:
    return f"names queue {payer.queue}" if payer.queue else "names no queue"


def _user_words(payer: Payer) -> str:
    return f"user {payer.user}" if payer.user else "no known user"


def common_models(wishes: Iterable[ModelsWish]) -> ModelsWish:
    """What a group says of models of devices. Members that say nothing go along."""
    said = sorted({wish for wish in wishes if wish.said})
    problem = next((wish.problem for wish in said if wish.problem), "")
    if not problem and len(said) > 1:
        values = ", ".join(wish.said for wish in said)
        problem = f"its members have different values of {DEVICE_MODELS}: {values}"
    return ModelsWish(said[0].said, problem) if said else NO_MODELS
