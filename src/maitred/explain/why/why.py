"""`why`: what becomes of one group, and for what reasons."""

import msgspec
import numpy as np

from maitred.cluster.journal import Rows
from maitred.decide.queues.overriding import why_not
from maitred.explain.situation import Situation
from maitred.explain.why.answer import Kind, Why
from maitred.explain.why.decided import of_decided
from maitred.explain.why.loose_pods import in_another_group, made_basic, of_loose, several_words
from maitred.explain.why.names import Names
from maitred.explain.why.others import of_another_scheduler, of_declared, of_job, of_owner, of_past
from maitred.explain.why.seated import of_seated
from maitred.explain.why.seen import NOTHING_SEEN, Seen
from maitred.explain.why.summary import summary_of
from maitred.explain.why.yielding import queueless_words, yield_of
from maitred.model.manifest.errors import InputError
from maitred.model.overrides import note_of

NO_ROWS: Rows = np.zeros(0, dtype=np.intp)


def why_named(
    situation: Situation, name: str, namespace: str, kind: Kind | None = None, seen: Seen = NOTHING_SEEN
) -> Why:
    """About what somebody calls by a name, and perhaps a kind. Raises InputError for an unknown one."""
    names = Names(situation.snapshot, seen)
    meant = names.meant(name, namespace, kind)
    if meant.owner is not None:
        return _summed_up(of_owner(meant.key, meant.owner, names))
    workload = meant.workload
    if workload is not None and workload.is_loose:
        rows = np.concatenate([NO_ROWS, *(names.rows_of(group) for group in workload.groups)])
        return _summed_up(_with_losses(of_loose(situation, workload, names), situation, rows))
    answer = _answer(situation, meant.key, names)
    if workload is None:
        return _summed_up(answer)
    several = (several_words(workload.groups),) if len(workload.groups) > 1 else ()
    named = in_another_group(situation, workload, answer)
    more = (*several, *named, *made_basic(situation, workload, answer, names))
    return _summed_up(msgspec.structs.replace(answer, notes=(*answer.notes, *more)))


def why(situation: Situation, key: str, seen: Seen = NOTHING_SEEN) -> Why:
    """`key` is `namespace/name` of a group, as `find` gives it. Raises InputError if there is none."""
    return _summed_up(_answer(situation, key, Names(situation.snapshot, seen)))


def _summed_up(answer: Why) -> Why:
    return msgspec.structs.replace(answer, summary=summary_of(answer))


def _answer(situation: Situation, key: str, names: Names) -> Why:
    answer = _with_losses(_state_of(situation, key, names), situation, names.rows_of(key))
    override = situation.snapshot.overrides.at(situation.now).of(key)
    if override is None or not situation.policy.queues:
        return answer
    view = names.views.get(key)
    refusal = "" if view is None else why_not(override, view, situation.snapshot)
    if refusal:
        note = f"the override {override.words} does not count: {refusal}"
        return msgspec.structs.replace(answer, notes=(*answer.notes, note))
    return msgspec.structs.replace(answer, override=note_of(override))


def _with_losses(answer: Why, situation: Situation, rows: Rows) -> Why:
    notes = (*answer.notes, *queueless_words(situation, rows))
    return msgspec.structs.replace(answer, yields=yield_of(situation, rows), notes=notes)


def _state_of(situation: Situation, key: str, names: Names) -> Why:
    if key in names.views:
        cycle = situation.cycle()
        group = cycle.group(key)
        if group is None:
            return of_another_scheduler(situation, names.views[key])
        return of_decided(situation, cycle, group, names)
    if len(names.rows_of(key)):
        return of_seated(situation, key, names)
    if key in names.seen_members:
        return of_past(situation, key, names.seen_members[key], names)
    job = names.job_of(key)
    if job is not None:
        return of_job(key, job, names)
    if key in names.declared:
        return of_declared(key, names)
    raise InputError("", "", "", f"there is no group {key}")
