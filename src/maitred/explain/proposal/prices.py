"""What a group would cost if it started now, and when it would cost less."""

from collections.abc import Sequence

import numpy as np

from maitred.cluster.device_models import models_told
from maitred.cluster.queues.charges import MONEY, Charges, Floats
from maitred.cluster.queues.tariff import HOUR, Tariff
from maitred.cluster.snapshot import GroupView
from maitred.decide.deadlines import due
from maitred.explain.proposal.answer import Offer
from maitred.explain.situation import Situation
from maitred.model.plan import Bind
from maitred.model.runtime import NO_TERMS, limit_of
from maitred.model.timing import NOT_BEFORE
from maitred.model.words import moment

AHEAD = (24 * HOUR, 7 * 24 * HOUR)
"""So far ahead it is looked for the cheapest start: within a day, and within a week."""
WORTH_SAYING = 0.01
"""What saves a smaller part is not offered."""
DIGITS = 9
"""What costs the same up to these is as cheap."""


def cheaper_start(situation: Situation, view: GroupView, places: Sequence[Bind]) -> tuple[Offer, ...]:
    """For a group that may have these places now: the first of the cheapest starts within some time, if that
    is cheaper and if it is known for how long the group runs. Nobody knows whether there is room then."""
    prices, now = situation.policy.prices, round(situation.now.timestamp() * 1000)
    span = run_time(situation, view)
    if not prices.hours or span is None or not places:
        return ()
    rate, tariff = _rate(situation, view, places), Tariff(prices.hours, now)
    if not rate:
        return ()
    starts = np.array([now, *_starts(situation, view, tariff, now, span)], dtype=np.int64)
    hours = np.round(tariff.hours(starts, starts + span, np.ones(len(starts), dtype=np.bool_)), DIGITS)
    cheapest = (int(np.argmin(hours[starts <= now + ahead])) for ahead in AHEAD)
    costs: list[float] = hours.tolist()
    found, least = list[Offer](), costs[0]
    for place in cheapest:
        if costs[place] < least - costs[0] * WORTH_SAYING:
            least = costs[place]
            found.append(_offer(int(starts[place]), rate * least, rate * costs[0], prices.currency))
    return tuple(found)


def _offer(at: int, cost: float, instead: float, currency: str) -> Offer:
    start = moment(at // 1000)
    detail = {
        "kind": "price",
        "start": start,
        "cost": round(cost, 2),
        "now": round(instead, 2),
        "currency": currency,
    }
    words = (
        f"starting at {start} costs {cost:,.2f} instead of {instead:,.2f} {currency}, if there is room then"
    )
    return Offer("price", words, f'{NOT_BEFORE}: "{start}"', detail)


def run_time(situation: Situation, view: GroupView) -> int | None:
    """What it expects, or else its limit; in milliseconds."""
    book = situation.snapshot.book
    terms = NO_TERMS if book is None else book.run_terms(view.account)
    limit = limit_of(view.runtime, terms)
    said = [one for one in (view.runtime.expected, None if limit is None else limit.span) if one is not None]
    return min(said, default=None)


def _starts(situation: Situation, view: GroupView, tariff: Tariff, now: int, span: int) -> list[int]:
    """Where the cost can be least: it begins, or ends, when prices change."""
    last = now + AHEAD[-1]
    needed = due(view, situation.snapshot.book)
    if needed is not None and needed.latest_start is not None:
        last = min(last, needed.latest_start)
    steps = tariff.at[(tariff.at > now) & (tariff.at <= last + span)]
    found = np.unique(np.concatenate((steps, steps - span)) // 1000 * 1000)
    starts: list[int] = found[(found > now) & (found <= last)].tolist()
    return starts


def _rate(situation: Situation, view: GroupView, places: Sequence[Bind]) -> float:
    """What an hour of it costs there, at plain prices."""
    snapshot, policy = situation.snapshot, situation.policy
    models, codes = models_told(snapshot.nodes, policy, snapshot.inventory)
    nobody = np.zeros(len(snapshot.bound.node), dtype=np.bool_)
    charges, shape_of = (
        Charges(snapshot, policy, models, nobody),
        dict(zip(view.pods, view.shapes, strict=True)),
    )
    own, shared = dict[int, Floats](), dict[str, float]()
    rate = 0.0
    for bind in places:
        number, model = int(shape_of[bind.pod]), int(codes[snapshot.nodes.rows[bind.node]])
        shape = snapshot.shapes[number]
        if number not in own:
            own[number] = charges.of_pod(snapshot.needs[shape.needs], shape.devices)[MONEY]
        rate += float(own[number][model])
        for claim, rates in charges.shared_by(shape.devices):
            shared.setdefault(claim, float(rates[MONEY, model]))
    return rate + sum(shared.values())
