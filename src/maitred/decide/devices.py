"""Why the claims of a group get no devices: which request of which claim fails, and what excludes devices.

Members that fit are seated first, so that what is said is true of the next one. What is to blame is found by
asking for less: one claim, one request of it, without one of its constraints.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np

from maitred.cluster.devices.allocator import Answer
from maitred.cluster.devices.matching import TOO_DEAR
from maitred.cluster.devices.menus import menu_column
from maitred.cluster.devices.needs import ClaimNeed, spec_bytes, spec_of
from maitred.cluster.devices.reasons import AcceptingNodes, Funnel, Stock, funnel_of, stock_of, tainted_for
from maitred.cluster.devices.requests import DeviceAsk, program_of
from maitred.cluster.nodes import Mask
from maitred.cluster.supply.devices import LOOKS, DeviceSupply
from maitred.cluster.supply.interface import Lift
from maitred.cluster.trial import Trial
from maitred.decide.blockers import NAMES_SHOWN, Unseated, names_shown
from maitred.decide.compile import make_rules
from maitred.decide.seating import commit
from maitred.model.cel import SelectorError, selector
from maitred.model.devices.claims import (
    MOST_CONSUMERS,
    MOST_DEVICES,
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    ExactRequest,
)
from maitred.model.devices.slices import DeviceTaint
from maitred.model.plan import Blocker, Detail
from maitred.model.words import counted

MOST_STEPS = 200_000
"""Of the search for devices, to explain why there are none."""
LONGEST_EXPRESSION = 80
"""Selectors are written by tenants, and may be 10 KiB long."""


def devices(unseated: Unseated) -> Blocker:
    trial, distinct = unseated.trial, unseated.ask.distinct
    claims = sorted({c for shape in distinct for c in trial.needs(shape).device_claims})
    supply = trial.supply(DeviceSupply)
    served = {one.resource: one.device_class for shape in distinct for one in supply.served(shape)}
    words, more = _claims(unseated)
    detail: Detail = {**unseated.numbers, "claims": claims, "classes": dict(sorted(served.items()))}
    return Blocker("Devices", words, detail | more)


def _claims(unseated: Unseated) -> tuple[str, Detail]:
    problems = sorted({p for shape in unseated.ask.distinct for p in _problems(unseated.trial, shape)})
    pools = _pool_words(unseated.trial)
    if problems:
        return f"its claims cannot be served: {'; '.join(problems[:NAMES_SHOWN])}", {"problems": problems}
    checkpoint = unseated.trial.checkpoint()
    before = stock_of(unseated.trial.supply(DeviceSupply).book)
    commit(unseated.trial, unseated.ask, unseated.nearest)
    case = _Case(unseated, before)
    words, detail = case.told()
    unseated.trial.rollback(checkpoint)
    if case.exhausted:
        words += "; the search for devices was given up before all choices were tried"
    share = f"there are devices for {unseated.holds} of {counted(unseated.needed, 'member')}; "
    return (share if unseated.needed > 1 else "") + words + pools, detail


def _pool_words(trial: Trial) -> str:
    problems = trial.snapshot.inventory.problems
    return f"; {names_shown(list(problems))}" if problems else ""


# -- what is wrong with the claims themselves --------------------------------------------------------------


def named_claims(trial: Trial, shape: int) -> list[tuple[str, ClaimNeed]]:
    """The claims of a shape, as its pods call them; one that has a name of its own by that. What they ask for
    by a resource that a class serves is called by the resource."""
    needs, names = trial.shape(shape).devices, trial.needs(shape).device_claims
    own = names if len(names) == len(needs) else ("",) * len(needs)
    claims = [(need.claim or name, need) for name, need in zip(own, needs, strict=True)]
    served = trial.supply(DeviceSupply).served(shape)
    return [*claims, *((one.resource, ClaimNeed(spec=one.spec, resource=one.resource)) for one in served)]


def _problems(trial: Trial, shape: int) -> Iterator[str]:
    """What keeps claims from being served by any device of any node."""
    inventory = trial.snapshot.inventory
    for name, need in named_claims(trial, shape):
        if need.problem:
            yield need.problem
        if need.consumers <= 0:
            yield f"claim {name} is reserved for {MOST_CONSUMERS} pods, and can be for no more"
        if not need.spec:
            continue
        program = program_of(need.spec, inventory)
        if program.problem:
            yield f"claim {name}: {program.problem}"
            continue
        if menu_column(need.spec, trial.nodes, inventory).is_too_dear:
            yield f"claim {name}: {TOO_DEAR}"
        for request in program.requests:
            wrong = [_problem(ask) for ask in request]
            if all(wrong):
                yield from (
                    f"request {ask.name} of claim {name}: {problem}"
                    for ask, problem in zip(request, wrong, strict=True)
                )


def _problem(ask: DeviceAsk) -> str:
    """Why no device will ever do for a request."""
    if ask.problem:
        return ask.problem
    for expression in ask.expressions:
        try:
            selector(expression)
        except SelectorError as error:
            return f"{_selector_words(ask, expression)}: {error}"
    return ""


def _selector_words(ask: DeviceAsk, expression: str) -> str:
    """Whoever wrote the claim looks for it there, and cannot change a class."""
    own = {one.cel.expression for one in ask.source.selectors if one.cel}
    whose = "" if expression in own else f" of device class {ask.source.device_class_name}"
    return f"selector {shortened(expression)}{whose}"


def shortened(expression: str) -> str:
    text = " ".join(expression.split())
    return f"`{text if len(text) <= LONGEST_EXPRESSION else text[: LONGEST_EXPRESSION - 3] + '...'}`"


# -- devices that are unwell ---------------------------------------------------------------------------------


def tainted_devices(unseated: Unseated) -> list[Detail]:
    """Those that claims of members select, and whose taints they do not tolerate: where the group would sit
    if they were well, else wherever they are."""
    trial = unseated.trial
    mended = {trial.nodes.names[row] for row in unseated.mended}
    supply = trial.supply(DeviceSupply)
    specs = {spec for shape in unseated.ask.distinct for spec in supply.specs(shape)}
    found = {device for spec in specs for device in tainted_for(spec, trial.snapshot.inventory)}
    found = {device for device in found if device.reach.node in mended} or found
    return [
        {
            "driver": device.id.driver,
            "pool": device.id.pool,
            "device": device.id.device,
            "node": device.reach.node or None,
            "taints": [taint_text(taint) for taint in device.taints],
        }
        for device in sorted(found, key=lambda one: one.id)
    ]


def taint_text(taint: DeviceTaint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def tainted_words(tainted: list[Detail]) -> str:
    """Those of one pool together: `gpu-3 of pool n2 is tainted ecc:NoSchedule`."""
    pools = dict[tuple[str, str], list[str]]()
    for one in tainted:
        pools.setdefault((one["pool"], ", ".join(one["taints"])), []).append(one["device"])
    said = [
        f"{names[0] if len(names) == 1 else counted(len(names), 'device')} of pool {pool} "
        f"{_are(len(names))} tainted {taints}"
        for (pool, taints), names in pools.items()
    ]
    return names_shown(said)


# -- which request fails, and why --------------------------------------------------------------------------


@dataclass
class _Case:
    """The next member that gets no devices, with those that do in their seats."""

    unseated: Unseated
    before: Stock
    """What was taken before the members that fit got theirs."""

    def __post_init__(self) -> None:
        seated = {member for member, _ in self.unseated.nearest}
        shapes = self.unseated.ask.shapes
        waiting = [shape for member, shape in enumerate(shapes) if member not in seated]
        asked_by = self.trial.supply(DeviceSupply).asked_by
        with_claims = [shape for shape in waiting if asked_by(shape)]
        self.shape = (with_claims or list(shapes))[0]
        self.book = self.trial.supply(DeviceSupply).book
        self.exhausted = False
        self.left = MOST_STEPS

    @property
    def trial(self) -> Trial:
        return self.unseated.trial

    @cached_property
    def places(self) -> AcceptingNodes:
        """Nodes that accept the member, but for its devices; where others have to be near, there."""
        unseated = self.unseated
        lift: Lift = unseated.lift | frozenset({"Devices"})
        rules = make_rules(self.trial, (self.shape,), unseated.context.policy, lift)
        accepting: Mask = rules.masks[0] & unseated.within
        required = unseated.ask.topology.required
        if required and unseated.nearest:
            codes = self.trial.nodes.column(unseated.context.key(required)).codes
            accepting = accepting & (codes == codes[unseated.nearest[0][1]])
        return AcceptingNodes(accepting, accepting & (rules.copies[0] > 0))

    def told(self) -> tuple[str, Detail]:
        claims = named_claims(self.trial, self.shape)
        for name, need in claims:
            if need.allocated and need.reach is not None and not self._reaches(need):
                return self._out_of_reach(name, need)
        sought = [(name, need) for name, need in claims if need.spec]
        for name, need in sought:
            known = self.book.shared.get(need.claim) if need.claim else None
            if known is not None and not self.book.is_wide(need.spec):
                return self._beside_its_devices(name, sorted(known.rows))
            if known is None and not self.fits((need.spec,)):
                return self._failing(name, need)
        return self._together([name for name, _ in sought], [need.spec for _, need in sought])

    def fits(self, specs: Sequence[bytes]) -> bool:
        """Whether some node has devices for these claims beside all that is promised."""
        own = tuple(sorted(specs))
        nodes, inventory = self.trial.nodes, self.trial.snapshot.inventory
        self.left -= sum(menu_column(spec, nodes, inventory).evaluations for spec in own)
        numbers, _ = self.book.states(own)
        rows = np.flatnonzero(self.places.roomy)
        _, first = np.unique(numbers[rows], return_index=True)
        for row in rows[first].tolist():
            if self.left < 0 or self.trial.load.meter.over:
                self.exhausted = True
                return True  # so nothing is blamed that may be innocent
            answer = self._answer(row, own)
            self.left -= answer.steps
            self.trial.load.meter.take(LOOKS * answer.steps)
            self.exhausted |= answer.exhausted
            if answer.solution is not None:
                return True
        return False

    def _answer(self, row: int, own: Sequence[bytes]) -> Answer:
        """Devices for these claims on a node. Of devices that several nodes can use, others have some."""
        book = self.book
        if not any(map(book.is_wide, own)):
            return book.answer(row, book.demands(row) + Counter(own))
        book.add(row, own, 1)
        answer = book.together(book.entangled()).answer
        book.add(row, own, -1)
        return answer

    # -- claims that are where others are --------------------------------------------------------------

    def _reaches(self, need: ClaimNeed) -> bool:
        (mask,) = self.trial.supply(DeviceSupply).fit((self.shape,), frozenset(), False).masks
        return mask is None or bool((mask & self.places.accepting).any())

    def _out_of_reach(self, name: str, need: ClaimNeed) -> tuple[str, Detail]:
        (mask,) = self.trial.supply(DeviceSupply).fit((self.shape,), frozenset(), False).masks
        nodes = self.trial.nodes
        there = sorted(nodes.names[row] for row in np.flatnonzero(nodes.alive if mask is None else mask))
        where = f"{names_shown(there)} only, where this pod cannot be" if there else "no node that is there"
        words = f"claim {name} is allocated, and its devices can be used from {where}"
        return words, {"claim": name, "nodes": there[:NAMES_SHOWN]}

    def _beside_its_devices(self, name: str, rows: list[int]) -> tuple[str, Detail]:
        """Its devices belong to one node, so all who share the claim must be there."""
        nodes = [self.trial.nodes.names[row] for row in rows]
        words = f"claim {name} is shared, and its devices are on {names_shown(nodes)}"
        return f"{words}: who shares it must be there", {"claim": name, "nodes": nodes}

    # -- claims and requests that fail -----------------------------------------------------------------

    def _together(self, names: list[str], specs: list[bytes]) -> tuple[str, Detail]:
        if len(names) > 1 and not self.fits(specs):
            words = f"no node has devices for {_claim_names(names)} at once"
            return f"{words}, though for each alone", {"together": names}
        if self.exhausted:
            return f"no devices were found for {_claim_names(names)}", {}
        where = "the nodes that have devices for its claims have"
        unseated = self.unseated
        return f"{where} room for {unseated.holds} of {unseated.needed}", {}

    def _failing(self, name: str, need: ClaimNeed) -> tuple[str, Detail]:
        claim = spec_of(need.spec)
        if need.resource and len(claim.requests) > 1:
            claim = _added_up(claim)
        for request in claim.requests:
            alone = _only(claim, request)
            if not self.fits((spec_bytes(alone),)):
                words, detail = self._request(alone)
                if need.resource:
                    device_class = alone.requests[0].exactly or ExactRequest()
                    called = f"{name}, which device class {device_class.device_class_name} serves"
                    return f"{called}: {words}", {"resource": name, **detail}
                return f"request {request.name} of claim {name}: {words}", {"claim": name, **detail}
        together = [request.name for request in claim.requests]
        words = f"no node has devices for requests {_listed(together)} of claim {name} at once"
        culprit = self._culprit(claim)
        if culprit:
            words += f" that {culprit}"
        return words, {"claim": name, "together": together, "constraint": culprit or None}

    def _culprit(self, claim: DeviceClaim) -> str:
        """The constraint without which there would be devices; all of them, if no single one is enough."""
        said = [_constraint_words(one) for one in claim.constraints]
        for place, words in enumerate(said):
            others = (*claim.constraints[:place], *claim.constraints[place + 1 :])
            if self.fits((spec_bytes(msgspec.structs.replace(claim, constraints=others)),)):
                return words
        without = spec_bytes(msgspec.structs.replace(claim, constraints=()))
        return _listed(said) if len(said) > 1 and self.fits((without,)) else ""

    def _request(self, claim: DeviceClaim) -> tuple[str, Detail]:
        """What excludes devices, alternative by alternative."""
        inventory, (request,) = self.trial.snapshot.inventory, claim.requests
        program = program_of(spec_bytes(claim), inventory)
        told, found = list[str](), list[Detail]()
        for place, ask in enumerate(program.asks):
            only = request
            if request.first_available:
                only = msgspec.structs.replace(request, first_available=(request.first_available[place],))
            words, detail = self._ask(ask, msgspec.structs.replace(claim, requests=(only,)))
            told.append(f"{ask.name}: {words}" if len(program.asks) > 1 else words)
            found.append({"request": ask.name, **detail})
        return "; or ".join(told), {"request": request.name, "alternatives": found}

    def _ask(self, ask: DeviceAsk, alone: DeviceClaim) -> tuple[str, Detail]:
        problem = _problem(ask)
        if problem:
            return problem, {"problem": problem}
        published = sum(len(pool.devices) for pool in self.book.inventory.pools.values())
        self.trial.load.meter.take(LOOKS * published)
        funnel = funnel_of(ask, self.book, self.places, self.before)
        last = self._last(ask, funnel, alone)
        return "; ".join([*_clauses(ask, funnel), *([last] if last else [])]), _numbers(ask, funnel)

    def _last(self, ask: DeviceAsk, funnel: Funnel, alone: DeviceClaim) -> str:
        """What is in the way of the devices that nothing excludes one by one."""
        if not funnel.left:
            return ""
        if ask.wants_all:
            return self._last_of_all(funnel)
        left = f"of {funnel.left} left" if funnel.left < funnel.published else f"of {funnel.left}"
        node, most = min(funnel.by_node.items(), key=lambda one: (-one[1], one[0]), default=("", 0))
        if most < ask.count:
            return f"{left}, no node has {ask.count}: {node} has {most}"
        culprit = self._culprit(alone)
        if culprit:
            return f"{left}, no {ask.count} on one node {culprit}{self._unknown(alone, culprit)}"
        return f"{left}, no {ask.count} on one node go together"

    def _unknown(self, claim: DeviceClaim, culprit: str) -> str:
        """An attribute that no device has is most likely misspelt."""
        inventory = self.trial.snapshot.inventory
        devices = (device for pool in inventory.pools.values() for device in pool.devices)
        named = {_constraint_words(one): one for one in claim.constraints}.get(culprit)
        if named is None or any(device.value(_attribute(named)) for device in devices):
            return ""
        return ", which is an attribute of no device"

    def _last_of_all(self, funnel: Funnel) -> str:
        """Who wants all devices of a node gets none of it if one of them is not to be had."""
        node, most = min(funnel.by_node.items(), key=lambda one: (-one[1], one[0]))
        if most > MOST_DEVICES:
            return f"{node} has {most}, and a claim can have {MOST_DEVICES}"
        return f"{funnel.left} {_are(funnel.left)} left, and no node has all of its own left"


def _added_up(claim: DeviceClaim) -> DeviceClaim:
    """What the containers of a pod ask for of one resource, as one request."""
    (first, source), *_ = [(one, one.exactly or ExactRequest()) for one in claim.requests]
    count = sum(one.exactly.count for one in claim.requests if one.exactly is not None)
    whole = msgspec.structs.replace(source, count=count)
    return DeviceClaim((msgspec.structs.replace(first, exactly=whole),))


def _claim_names(names: list[str]) -> str:
    return f"claim{'s' if len(names) > 1 else ''} {_listed(names)}"


def _listed(names: list[str]) -> str:
    """There may be 32 of them."""
    if len(names) > NAMES_SHOWN:
        return names_shown(names)
    return " and ".join(names)


def _only(claim: DeviceClaim, request: DeviceRequest) -> DeviceClaim:
    """One request of a claim, with the constraints that speak of it."""
    names = {request.name, *(f"{request.name}/{one.name}" for one in request.first_available)}
    constraints = tuple(
        one for one in claim.constraints if not one.requests or not names.isdisjoint(one.requests)
    )
    return DeviceClaim((request,), constraints)


def _attribute(one: DeviceConstraint) -> str:
    return one.match_attribute or one.distinct_attribute


def _constraint_words(one: DeviceConstraint) -> str:
    return f"{'share' if one.match_attribute else 'differ in'} {_attribute(one)}"


# -- words and numbers -------------------------------------------------------------------------------------


def _clauses(ask: DeviceAsk, funnel: Funnel) -> Iterator[str]:
    wanted = "all devices of a node" if ask.wants_all else counted(ask.count, "device")
    yield f"it wants {wanted}"
    if not funnel.published:
        yield "no device is published"
        return
    if funnel.other_class:
        said = f"{funnel.of_class} of {counted(funnel.published, 'device')} "
        yield f"{said}{_are(funnel.of_class)} of class {ask.source.device_class_name}"
    if ask.source.selectors and funnel.of_class:
        yield _selected_words(ask, funnel)
    for failure in funnel.failures:
        failed = _selector_words(ask, failure.expression)
        yield f"{failed} fails for {counted(failure.devices, 'device')}: {failure.message}"
    if funnel.tainted:
        yield f"{funnel.tainted} {_are(funnel.tainted)} tainted"
    if funnel.elsewhere:
        yield f"{funnel.elsewhere} {_are(funnel.elsewhere)} out of reach of the nodes that accept the pod"
    if funnel.crowded:
        yield f"{funnel.crowded} {_are(funnel.crowded)} on nodes without room for the pod"
    if funnel.in_use:
        yield f"{funnel.in_use} {_are(funnel.in_use)} in use"
    if funnel.promised:
        yield f"{funnel.promised} {'goes' if funnel.promised == 1 else 'go'} to the members that fit"
    yield from _amount_clauses(funnel)


def _amount_clauses(funnel: Funnel) -> Iterator[str]:
    for name, count in sorted(funnel.beyond.items()):
        yield f"{count} never {'has' if count == 1 else 'have'} so much {name} for one request"
    for name, count in sorted(funnel.short.items()):
        yield f"{count} {'has' if count == 1 else 'have'} too little {name} left"
    for name, count in sorted(funnel.spent.items()):
        yield f"{count} {'needs' if count == 1 else 'need'} more of counter {name} than is left"


def _selected_words(ask: DeviceAsk, funnel: Funnel) -> str:
    match = "matches" if funnel.selected == 1 else "match"
    said = f"{funnel.selected} of {counted(funnel.of_class, 'device')} {match} "
    names = set[str]()
    for one in ask.source.selectors:
        reads = selector(one.cel.expression if one.cel else "").reads
        if reads.everything or reads.domains or not (reads.attributes or reads.capacity):
            return f"{said}its selectors" + _strictest(funnel)
        names |= {name.rpartition("/")[2] for name in reads.attributes | reads.capacity}
    *first, last = sorted(names)
    return f"{said}{' and '.join([', '.join(first), last]) if first else last}" + _strictest(funnel)


def _strictest(funnel: Funnel) -> str:
    """Where no device is left: the selector that excludes the last of them."""
    if funnel.selected or len(funnel.rejected) < 2:
        return ""
    last = [expression for expression, count in funnel.rejected.items() if count][-1]
    return f" ({funnel.rejected[last]} excluded by {shortened(last)})"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _numbers(ask: DeviceAsk, funnel: Funnel) -> Detail:
    node = min(funnel.by_node.items(), key=lambda one: (-one[1], one[0]), default=None)
    return {
        "count": "All" if ask.wants_all else ask.count,
        "class": ask.source.device_class_name,
        "published": funnel.published,
        "ofClass": funnel.of_class,
        "selected": funnel.selected,
        "rejected": [
            {"selector": text, "devices": count} for text, count in funnel.rejected.items() if count
        ],
        "failures": [one._asdict() for one in funnel.failures],
        "tainted": funnel.tainted,
        "outOfReach": funnel.elsewhere,
        "withoutRoom": funnel.crowded,
        "inUse": funnel.in_use,
        "ofMembers": funnel.promised,
        "capacity": dict(sorted((funnel.short + funnel.beyond).items())),
        "counters": dict(sorted(funnel.spent.items())),
        "left": funnel.left,
        "mostOnOneNode": node[1] if node else 0,
    }
