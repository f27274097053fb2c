"""Every question that can be asked over HTTP."""

from typing import Annotated

import msgspec

from maitred.controllers.answers.orders import OverrideOrder, ReservationOrder, new_id
from maitred.controllers.answers.route import LABEL, NAME, AnswerContext, Name, Namespace, Parameter, Route
from maitred.explain.billing.bill import bill, read_month
from maitred.explain.billing.document import Bill
from maitred.explain.capacity.capacity import capacity
from maitred.explain.capacity.document import Capacity
from maitred.explain.group_verdicts import GroupVerdicts, group_verdicts
from maitred.explain.health.answer import FleetHealth
from maitred.explain.health.naming import about
from maitred.explain.overriding.answer import OverrideDone, OverrideEnd, OverrideList, OverrideWish
from maitred.explain.overriding.asking import ending_of, override_of, overrides, state_of
from maitred.explain.proposal.answer import Proposals
from maitred.explain.proposal.propose import proposals
from maitred.explain.proposal.supposition import Request
from maitred.explain.queues.answer import Queues
from maitred.explain.queues.survey import queues
from maitred.explain.reserving.answer import ReservationDone, ReservationEnd, ReservationList
from maitred.explain.reserving.asking import reservation_of, reservations
from maitred.explain.reserving.asking import state_of as state_of_reservation
from maitred.explain.why.answer import KINDS, Comparison, EvictionAnswer, Kind, Why
from maitred.explain.why.comparing import compare
from maitred.explain.why.evicted import receipt
from maitred.explain.why.names import Meant, Names, find
from maitred.explain.why.why import why_named
from maitred.kube.answers import Reason
from maitred.model.manifest import InputError
from maitred.model.overrides import VERB as OVERRIDE
from maitred.model.overrides import Override
from maitred.model.reservations import Reservation
from maitred.model.reserving import VERB as RESERVE
from maitred.model.reserving import MadeReservation

ONE_OF_THEM = LABEL.strip("^$")
NAMESPACES = rf"^{ONE_OF_THEM}(,{ONE_OF_THEM})*$"
KEY = rf"{LABEL.rstrip('$')}/{NAME.lstrip('^')}"
MonthName = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])$")]
By = Annotated[str, msgspec.Meta(max_length=323, pattern=r"^(namespace|queue|model|label:[-A-Za-z0-9_./]+)$")]
Namespaces = Annotated[str, msgspec.Meta(max_length=1000, pattern=NAMESPACES)]
NodeOrGroup = Annotated[str, msgspec.Meta(min_length=1, max_length=317)]
Key = Annotated[str, msgspec.Meta(max_length=317, pattern=KEY)]


def answer_why(asked: AnswerContext) -> Why | Comparison:
    other = asked.question.values.get("ratherThan")
    if other is None:
        values = asked.question.values
        return why_named(
            asked.situation, values["name"], values["namespace"], kind_in(asked, "kind"), asked.seen
        )
    rival = find(asked.situation, other, "", kind_in(asked, "ratherThanKind"), asked.seen)
    return compare(asked.situation, meant_by(asked).key, rival, asked.seen)


def on_nodes(asked: AnswerContext) -> list[str] | None:
    """Its members that have places, which are to be looked at. None if it is not known without a look at all
    that there are, or has ended: whose pods are whose is seen only by looking at them."""
    names = Names(asked.situation.snapshot)
    try:
        meant = meant_by(asked)
    except InputError:
        return None
    if meant.workload is not None or "ratherThanKind" in asked.question.values:
        return None
    key = meant.key
    rows = names.rows_of(key)
    if key not in names.views and not len(rows):
        return None
    pods = [occupant.key for occupant in asked.situation.snapshot.bound.occupants[rows]]
    return [pod.partition("/")[2] for pod in pods]


def meant_by(asked: AnswerContext) -> Meant:
    values, names = asked.question.values, Names(asked.situation.snapshot, asked.seen)
    return names.meant(values["name"], values["namespace"], kind_in(asked, "kind"))


def kind_in(asked: AnswerContext, parameter: str) -> Kind | None:
    return next((kind for kind in KINDS if kind == asked.question.values.get(parameter)), None)


def answer_eviction(asked: AnswerContext) -> EvictionAnswer:
    values = asked.question.values
    return receipt(asked.situation, values["pod"], values["namespace"])


def answer_plan(asked: AnswerContext) -> Proposals:
    assert asked.question.supposition is not None, "what is posted has been read"
    return proposals(asked.situation, asked.question.supposition)


def answer_capacity(asked: AnswerContext) -> Capacity:
    return capacity(asked.situation, asked.namespaces)


def answer_queues(asked: AnswerContext) -> Queues:
    return queues(asked.situation, asked.namespaces)


def answer_health(asked: AnswerContext) -> FleetHealth:
    values = asked.question.values
    if "name" not in values:
        return asked.health
    return about(asked.health, asked.situation, values["name"], values["home"])


def answer_groups(asked: AnswerContext) -> GroupVerdicts:
    return group_verdicts(asked.situation)


def answer_bill(asked: AnswerContext) -> Bill:
    values, situation = asked.question.values, asked.situation
    month, by = read_month(values.get("month"), situation.now), values.get("by", "namespace")
    return bill(asked.used(month.first_day, month.end_day), by, situation.policy, month, situation.now)


def answer_overrides(asked: AnswerContext) -> OverrideList:
    return overrides(asked.situation, asked.namespaces)


def override_ordered(asked: AnswerContext) -> Override:
    values, wish = asked.question.values, asked.question.wish
    kind = kind_in(asked, "kind")
    return override_of(asked.situation, values["name"], values["namespace"], kind, wish, asked.user)


def order_override(asked: AnswerContext) -> OverrideOrder:
    return OverrideOrder(new_id(), grant=override_ordered(asked))


def answer_override(asked: AnswerContext) -> OverrideDone:
    override = override_ordered(asked)
    view = Names(asked.situation.snapshot).views.get(override.group)
    return OverrideDone(group=override.group, override=state_of(override, view, asked.situation))


def order_end(asked: AnswerContext) -> OverrideOrder:
    return OverrideOrder(new_id(), end=ended_group(asked), by=asked.user)


def ended_group(asked: AnswerContext) -> str:
    values = asked.question.values
    return ending_of(asked.situation, values["name"], values["namespace"], kind_in(asked, "kind"))


def answer_end(asked: AnswerContext) -> OverrideDone:
    return OverrideDone(group=ended_group(asked), ended=True)


def answer_reservations(asked: AnswerContext) -> ReservationList:
    return reservations(asked.situation)


def reservation_ordered(asked: AnswerContext) -> MadeReservation:
    return reservation_of(asked.situation, asked.question.wish, asked.user)


def order_reservation(asked: AnswerContext) -> ReservationOrder:
    known = asked.situation.snapshot.reservations.reservations
    beside = tuple(one.said.name for one in known)
    return ReservationOrder(new_id(), make=reservation_ordered(asked), beside=beside)


def answer_reservation(asked: AnswerContext) -> ReservationDone:
    made = reservation_ordered(asked)
    return ReservationDone(name=made.said.name, reservation=state_of_reservation(asked.situation, made))


def order_cancel(asked: AnswerContext) -> ReservationOrder:
    return ReservationOrder(new_id(), cancel=asked.question.values["reservation"], by=asked.user)


def answer_cancel(asked: AnswerContext) -> ReservationDone:
    return ReservationDone(name=asked.question.values["reservation"], cancelled=True)


NAMESPACE = Parameter("namespace", "path", Namespace, "You must be allowed to list pods there.")
NAMED = (
    Parameter(
        "namespace", "path", Namespace, "You must be allowed the verb override on groups.maitred.dev there."
    ),
    Parameter("name", "path", Name, "Name of a group, of a pod, or of an object that creates pods."),
    Parameter("kind", "query", Kind, "Kind of the named object. Default: any kind."),
)
ROUTES = (
    Route(
        "why/{namespace}/{name}",
        "Why a group waits, how far it has started, or why it goes before or after another group.",
        (Why, Comparison),
        answer_why,
        (
            NAMESPACE,
            Parameter("name", "path", Name, "Name of a group, of a pod, or of an object that creates pods."),
            Parameter("kind", "query", Kind, "Kind of the named object. Default: any kind."),
            Parameter("ratherThan", "query", Key, "namespace/name of the group to compare with."),
            Parameter(
                "ratherThanKind", "query", Kind, "Kind of the object to compare with. Default: any kind."
            ),
        ),
        looks=on_nodes,
    ),
    Route(
        "evictions/{namespace}/{pod}",
        "Why a pod was evicted, or will be.",
        (EvictionAnswer,),
        answer_eviction,
        (NAMESPACE, Parameter("pod", "path", Name, "Name of the pod.")),
    ),
    Route(
        "plan",
        "What would happen to pods that do not exist yet. Nothing is created.",
        (Proposals,),
        answer_plan,
        (
            Parameter(
                "namespaces",
                "query",
                Namespaces,
                "Namespaces of the objects, separated by commas. You must be allowed to list pods in each.",
                default="default",
            ),
        ),
        body=Request,
        misses=Reason.BAD_QUESTION,
    ),
    Route(
        "capacity",
        "How large a gang could start, what blocks the waiting groups, and why devices are idle.",
        (Capacity,),
        answer_capacity,
    ),
    Route(
        "queues",
        "What each queue may have, uses, has borrowed and lent, and what waits for it.",
        (Queues,),
        answer_queues,
    ),
    Route(
        "health",
        "Which nodes and devices are unwell, which groups that hurts, and whose fault it is.",
        (FleetHealth,),
        answer_health,
        (
            Parameter("name", "query", NodeOrGroup, "A node, or a group as namespace/name. Default: all."),
            Parameter("home", "query", Namespace, "Namespace of a group without one.", default="default"),
        ),
        surveys=True,
    ),
    Route(
        "groups",
        "The verdict of every group that waits, and what is in its way.",
        (GroupVerdicts,),
        answer_groups,
    ),
    Route(
        "overrides",
        "Groups that somebody has lifted past the turn and the limits of their queues.",
        (OverrideList,),
        answer_overrides,
    ),
    Route(
        "overrides/{namespace}/{name}",
        "Lift a group that waits past the turn and the limits of its queue.",
        (OverrideDone,),
        answer_override,
        NAMED,
        body=OverrideWish,
        verb=OVERRIDE,
        order=order_override,
        misses=Reason.BAD_QUESTION,
    ),
    Route(
        "overrides/{namespace}/{name}/end",
        "End the override of a group.",
        (OverrideDone,),
        answer_end,
        NAMED,
        body=OverrideEnd,
        verb=OVERRIDE,
        order=order_end,
        misses=Reason.BAD_QUESTION,
    ),
    Route(
        "reservations",
        "Which nodes are kept for whom, and when.",
        (ReservationList,),
        answer_reservations,
    ),
    Route(
        "reservations",
        "Keep nodes for a queue, a namespace or a group, for a time. You must be allowed the verb reserve on "
        "groups.maitred.dev in all namespaces.",
        (ReservationDone,),
        answer_reservation,
        body=Reservation,
        verb=RESERVE,
        order=order_reservation,
        misses=Reason.BAD_QUESTION,
    ),
    Route(
        "reservations/{reservation}/cancel",
        "Cancel a reservation that somebody has made. You must be allowed the verb reserve on "
        "groups.maitred.dev in all namespaces.",
        (ReservationDone,),
        answer_cancel,
        (Parameter("reservation", "path", Name, "Name of the reservation."),),
        body=ReservationEnd,
        verb=RESERVE,
        order=order_cancel,
        misses=Reason.BAD_QUESTION,
    ),
    Route(
        "bill",
        "Who used the devices in a month, for what, and at what cost.",
        (Bill,),
        answer_bill,
        (
            Parameter("month", "query", MonthName, "Month, such as 2026-11. Default: this month."),
            Parameter(
                "by",
                "query",
                By,
                "One row for each namespace, queue, model or label:KEY. Default: namespace.",
            ),
        ),
    ),
)
