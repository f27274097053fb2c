"""Answers and offers in words: one sentence, and what to write where to get something else."""

from collections.abc import Sequence
from datetime import datetime
from shlex import quote
from typing import get_args

from maitred.explain.forecast.estimate import Estimate
from maitred.explain.forecast.wording import clock
from maitred.explain.proposal.answer import ClaimChange, CostToOthers, Proposal, Where
from maitred.explain.proposal.supposition import DEVICES, ProposedGroup
from maitred.explain.tables import LONGEST_LIST, listed
from maitred.model.group import MIN_COUNT, SLICE_SIZE, SLICE_TOPOLOGY, TOPOLOGY_REQUIRED, TopologyRequest
from maitred.model.membership import MARKS, POD_GROUP
from maitred.model.plan import Detail, Remedy
from maitred.model.quantity import CPU, MEMORY, is_whole
from maitred.model.words import counted

COUNT_FIELDS = {
    "Job": "spec.parallelism: {0}, and spec.completions: {0} if it was the same",
    "CronJob": "spec.jobTemplate.spec.parallelism: {0}",
    "Deployment": "spec.replicas: {0}",
    "ReplicaSet": "spec.replicas: {0}",
    "ReplicationController": "spec.replicas: {0}",
    "StatefulSet": "spec.replicas: {0}",
}
"""Where kinds with one template say how many pods there are."""
CLAIM_CHANGES: tuple[str, ...] = get_args(ClaimChange)


# -- the answer --------------------------------------------------------------------------------------------


def answer_words(proposal: Proposal, by_options: bool) -> str:
    """`Job team-a/train fits now: all 8 members on 2 nodes in rack r1`."""
    asked = counted(proposal.members, "member")
    gang = f"A gang of {asked}" if proposal.members > 1 else "A pod"
    who = gang if by_options else proposal.workload
    match proposal.outcome:
        case "fits":
            said = f"fits now{_seated(proposal)}"
        case "preempts":
            said = f"fits after preempting {cost_words(proposal.cost)}"
        case "waits":
            some = f"waits: {proposal.placed} of {asked} fit now" if proposal.placed else "waits"
            said = f"{some}: {_first(proposal)}"
        case "never":
            said = f"can never run as it is written, not even on an empty cluster: {_first(proposal)}"
    return f"{who} {said}"


def _seated(proposal: Proposal) -> str:
    place, members = place_words(proposal.where), proposal.members
    if members == 1:
        return f", {place}"
    if proposal.placed == members:
        return f": all {members} {proposal.counts} {place}"
    return f": {proposal.placed} of {members} {proposal.counts}, quorum {proposal.quorum}, {place}"


def _first(proposal: Proposal) -> str:
    proof = proposal.on_empty_cluster
    blockers = proposal.blockers if proof is None else (proof,)
    return next((f"{blocker.category}: {blocker.message}" for blocker in blockers), "")


def place_words(where: Where) -> str:
    """The nodes, and the narrowest domain that holds them all, or else how many domains they are in."""
    nodes = (
        f"on {counted(len(where.nodes), 'node')}" if len(where.nodes) > 1 else f"on {''.join(where.nodes)}"
    )
    one = [f"{level} {domains[0]}" for level, domains in where.domains.items() if len(domains) == 1]
    if one:
        return f"{nodes} in {one[-1]}"
    several = [domain_words(level, domains) for level, domains in where.domains.items()]
    return f"{nodes} in {several[0]}" if several else nodes


def domain_words(level: str, domains: Sequence[str]) -> str:
    """`2 racks (r1, r3)`, or only how many. A level that has no name is called by the end of its key."""
    named = f" ({', '.join(domains)})" if len(domains) <= LONGEST_LIST else ""
    return f"{counted(len(domains), level.rpartition('/')[2])}{named}"


def cost_words(cost: CostToOthers) -> str:
    units = listed([victim.unit for victim in cost.victims], "group")
    parts = [f"{counted(cost.pods, 'pod')} of {units}"]
    if cost.work_lost_device_hours:
        parts.append(f"{cost.work_lost_device_hours:g} device-hours of work lost")
    if cost.violations:
        parts.append(f"{counted(cost.violations, 'disruption')} beyond budgets")
    return ", ".join(parts)


# -- offers ------------------------------------------------------------------------------------------------


def offer_words(remedy: Remedy, members: int, where: Where, by_options: bool) -> str:
    detail = remedy.detail
    match detail["kind"]:
        case "members":
            return f"now with {detail['to']} of {detail['from']} members"
        case "quorum":
            return f"now with {detail['to']} of {members} members, and the others when there is room"
        case "topology" if detail["constraint"] == "slice":
            wider = f"within one {detail['to']}" if detail["to"] else "anywhere"
            return f"now with each slice {wider} instead of within one {detail['from']}"
        case "topology":
            inside = f" of one {detail['to']}" if detail["to"] else ""
            domains = where.domains.get(detail["from"], ())
            if not domains:
                return f"now anywhere{inside}, not within one {detail['from']}"
            return f"now across {domain_words(detail['from'], domains)}{inside}"
        case "deviceCount" if by_options:
            return f"now with {detail['to']} instead of {detail['from']} devices for each member"
        case "deviceClass" if by_options:
            return f"now with devices of class {detail['to']} instead of {detail['from']}"
        case "deviceSelector" if by_options:
            other = [one["to"] for one in detail.get("values", ())]
            return f"now with devices of {f'model {other[0]}' if other else 'any model'}"
        case _:
            return f"now if you {remedy.change}"


def time_words(start: Estimate, now: datetime) -> str:
    """`about 14:20 UTC`, or from when on if nobody can say more."""
    at = datetime.fromisoformat(start.likely or start.earliest or "").timestamp()
    when = f"{clock(at, now.timestamp())} UTC"
    return f"about {when}" if start.likely else f"{when} at the earliest"


def change_words(
    detail: Detail, proposed: ProposedGroup, topology: TopologyRequest, options: Sequence[str] = ()
) -> str:
    """What to write, and where, to get it; or what to give in place of the same options."""
    return _options(detail, options) if options else _fields(detail, proposed, topology)


def _options(detail: Detail, given: Sequence[str]) -> str:
    match detail["kind"]:
        case "members":
            quorum = f" --min-count {detail['quorum']}" if "--min-count" in given else ""
            return f"--gang {detail['to']}{quorum}"
        case "quorum":
            return f"--min-count {detail['to']}"
        case "topology":
            return f"--within {detail['to']}" if detail["to"] else "leave out --within"
        case "deviceCount":
            return f"--count {detail['to']}"
        case "deviceClass":
            return f"--device-class {detail['to']}"
        case "deviceSelector":
            other = [one["to"] for one in detail.get("values", ())]
            return f"--model {quote(other[0])}" if other else "leave out --model"
        case _:
            option = {CPU: "cpu", MEMORY: "memory"}.get(detail["resource"], f"{DEVICES}s")
            return f"--{option} {detail['to']}"


def _fields(detail: Detail, proposed: ProposedGroup, topology: TopologyRequest) -> str:
    if "part" in detail:
        return _field_of_part(detail)
    match detail["kind"]:
        case "members":
            fewer = f"leave out {counted(detail['from'] - detail['to'], 'pod')}"
            count = COUNT_FIELDS.get(proposed.kind, fewer).format(detail["to"])
            return "; ".join([count, *_quorum(detail["quorum"], proposed)])
        case "quorum":
            return ", ".join(_quorum(detail["to"], proposed))
        case "topology" if detail["constraint"] == "slice":
            wider = f"{SLICE_TOPOLOGY}: {detail['to']}"
            return wider if detail["to"] else f"leave out {SLICE_TOPOLOGY} and {SLICE_SIZE}"
        case "topology":
            field = (
                TOPOLOGY_REQUIRED if topology.annotated else _group_field(proposed, "schedulingConstraints")
            )
            return f"{field}: {detail['to']}" if detail["to"] else f"leave out {field}"
        case kind if kind in CLAIM_CHANGES:
            return _claim_field(detail)
        case _:
            return _request(detail["resource"], detail["to"])


def _field_of_part(detail: Detail) -> str:
    """Of the PodGroup or CompositePodGroup that is a part of a tree."""
    if detail["kind"] == "topology":
        field = f"spec.schedulingConstraints.topology[0].key of {detail['part']}"
        return f"{field}: {detail['to']}" if detail["to"] else f"leave out {field}"
    count = "minGroupCount" if detail["counts"] == "parts" else "minCount"
    return f"spec.schedulingPolicy.gang.{count} of {detail['part']}: {detail['to']}"


def _request(resource: str, amount: str) -> str:
    """The API server takes devices and huge pages only where request and limit are the same."""
    where = "resources.requests and resources.limits" if is_whole(resource) else "resources.requests"
    return f"{where} of {resource}: {amount}"


def _claim_field(detail: Detail) -> str:
    """Of the ResourceClaimTemplate or the ResourceClaim that the claim of a pod names."""
    if detail["kind"] == "deviceConstraint":
        where = f"the constraint on {detail['attribute']} in spec.devices.constraints of the claim"
        return f"matchAttribute of {where}: {detail['to']}" if detail["to"] else f"leave out {where}"
    of_request = f"request {detail['request']} in spec.devices.requests of the claim"
    match detail["kind"]:
        case "deviceCount":
            return f"count of {of_request}: {detail['to']}"
        case "deviceCapacity":
            return f"capacity.requests.{detail['capacity']} of {of_request}: {detail['to']}"
        case "deviceClass":
            return f"deviceClassName of {of_request}: {detail['to']}"
        case _:
            after = [one["to"] for one in detail["selectors"]]
            if None in after:
                return f"leave out this selector of {of_request}"
            return f"selectors of {of_request}: {'; '.join(after)}"


def _quorum(count: int, proposed: ProposedGroup) -> list[str]:
    if proposed.source == MARKS:
        return [f'{MIN_COUNT}: "{count}"']
    return [f"{_group_field(proposed, 'schedulingPolicy')}.gang.minCount: {count}"] * (
        proposed.source == POD_GROUP
    )


def _group_field(proposed: ProposedGroup, field: str) -> str:
    """Of the PodGroup, or of the Job that asks for one."""
    inner = f"{field}.topology[0].key" if field == "schedulingConstraints" else field
    return f"spec.scheduling.{inner}" if proposed.kind == "Job" else f"PodGroup spec.{inner}"
