"""The role in deploy/ is what the scheduler uses: nothing is missing in it, and nothing is too much."""

from collections.abc import Iterator
from itertools import product

import pytest

from maitred.controllers.answers.backlog import Backlog, Update
from maitred.controllers.answers.follower import StateFollower
from maitred.controllers.answers.refusals import RefusedError
from maitred.controllers.answers.routes import ROUTES
from maitred.controllers.answers.service import Service
from maitred.controllers.keeping import HEALTH, LIFTED, RESERVED, SPENDING, USE, WAITING
from maitred.controllers.policy import PolicyConfigMap, PolicySource
from maitred.controllers.scheduling.term import Witnesses
from maitred.kube.answers import own_token
from maitred.kube.claim_writes import ClaimWriter
from maitred.kube.client import Client
from maitred.kube.discovery import Served
from maitred.kube.node_taints import TaintWriter
from maitred.kube.outcomes import Done, RefusalReason, Refused
from maitred.kube.permit import Always
from maitred.kube.resources import CONFIG_MAPS, LEASES
from maitred.kube.shared_record import NO_RECORD, RecordVersion, SharedRecord
from maitred.kube.wire import WatchedClaim
from maitred.kube.writes import Writer
from maitred.model.kinds import KINDS
from maitred.model.node import LEMON, LEMON_EFFECT
from maitred.model.plan import ClaimAllocation, ClaimToMake
from tests.scenarios.api import Api
from tests.scenarios.conftest import SYSTEM_NAMESPACE, rights
from tests.scenarios.devices import (
    CLAIMS,
    OWN,
    all_is_free,
    asks_for,
    declare,
    equipped,
    gpus_and_a_switch,
    with_claims,
)
from tests.scenarios.draining import Drained, Forget, Request
from tests.scenarios.faults import LostAnswers, PagesOnly
from tests.scenarios.gangs import PAIR, WITH_VOLUMES
from tests.scenarios.line import Right
from tests.scenarios.objects import Composite, Group, Job, Pods, members, nodes, taken
from tests.scenarios.preempting import NoRecords, NotSuspended, Suspended
from tests.scenarios.server import Server
from tests.scenarios.stage import Actor, Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Delete, Exist, Gone, Told
from tests.scenarios.test_crashes import crash
from tests.scenarios.trees import TreeTold

OURS = LEASE = "maitred"
POLICY = "maitred-policy"
GANG = Group("job", quorum=2)
JOB = Job("job", 2, GANG)
YIELDING = Group("yielding", quorum=2)
LESSER = Job("yielding", 2, YIELDING)
EQUIPPED = Group("equipped", quorum=2)
TREE, PART = Composite("tree", quorum=1), Group("part", quorum=2, parent="tree")
CRITICAL = Pods("critical", spec={"priorityClassName": "system-cluster-critical"})


def test_the_role_has_what_is_used_and_nothing_else(server: Server) -> None:
    scenario = Scenario("every right is used", nodes(2, cpu=1), ())

    async def act(stage: Stage) -> None:
        system = Api(stage.api.client, SYSTEM_NAMESPACE)
        await system.delete(LEASES, LEASE)
        await system.create(CONFIG_MAPS, {"metadata": {"name": POLICY}, "data": {"policy.yaml": "{}"}})
        try:
            await use_everything(stage)
        finally:
            await system.delete(CONFIG_MAPS, POLICY)
        used = {right for journal in stage.journals for right in journal.rights if is_of_role(right)}
        allowed = {right for right in granted() if is_served(right, stage.served)}
        assert not used - allowed, f"missing in the role: {sorted(used - allowed)}"
        assert not allowed - used, f"too much in the role: {sorted(allowed - used)}"

    play(server, scenario, act)


async def use_everything(stage: Stage) -> None:
    """A gang is cut short and taken back, others are bound over a bad line, a tree of groups among them, and
    one makes room."""
    await stage.play(Create(GANG, JOB), Exist(JOB))
    await crash(stage, 1, executed=True)
    await stage.play(Bound(JOB, 1))
    [free] = {"n0", "n1"} - {pod.spec.node_name for pod in stage.observer.of_job("job")}
    await stage.play(Create(taken(free, cpu=1)))
    backlog = Backlog()
    witnesses = Witnesses(backlog=backlog)
    actor = stage.start(trouble=PagesOnly(), source=policy, lease=LEASE, witnesses=witnesses)
    await stage.play(Bound(JOB, 0), Told(JOB, "Waiting: Capacity"), Delete(JOB))
    actor.line.trouble = LostAnswers()
    await stage.play(Delete(taken(free, cpu=1)), *WITH_VOLUMES, Told(members(PAIR, 2), "Scheduled"))
    await stage.play(Delete(members(PAIR, 2)))
    if stage.served.composites is not None:
        await stage.play(Create(TREE, PART, members(PART, 2)), TreeTold(TREE, "Scheduled"))
        await stage.play(Delete(members(PART, 2)))
    await use_devices(stage, actor)
    await stage.play(Create(YIELDING, LESSER), Bound(LESSER))
    await ask(stage, actor, backlog)
    await remember(stage, actor)
    await stage.play(Create(CRITICAL), Bound(CRITICAL), Suspended(LESSER))
    await stage.play(Delete(CRITICAL), NotSuspended(LESSER), Bound(LESSER), NoRecords())
    await stage.play(Delete(LESSER), Gone(LESSER), Request("n0"), Drained("n0"), Forget())
    taints = TaintWriter(Writer(actor.line, Always()))
    for add in (True, False):
        assert await taints.change("n0", LEMON, "", LEMON_EFFECT, add) == Done()


async def use_devices(stage: Stage, actor: Actor) -> None:
    """A gang gets them, and gives back what it shares. And a claim is made for a pod that has none."""
    async with equipped(stage, gpus_and_a_switch(stage)):
        if stage.served.groups is not None:
            await declare(stage, EQUIPPED)
            who = with_claims(EQUIPPED, 2)
        else:  # only a PodGroup has a claim that its members share
            who = members(EQUIPPED, 2, spec={"resourceClaims": [OWN]})
        await stage.play(Create(who), Bound(who), Delete(who), Gone(who))
        await all_is_free(stage)
        if stage.served.groups is not None:
            await stage.play(Delete(EQUIPPED))
        key = f"{stage.api.namespace}/made-extended-resources"
        made = ClaimToMake(f"{stage.api.namespace}/made", asks_for("gpu"), ())
        writer = ClaimWriter(Writer(actor.line, Always()), CLAIMS, OURS)
        claim = await writer.make(ClaimAllocation(key, {}, (), made), "uid")
        assert isinstance(claim, WatchedClaim), claim
        assert await writer.remove(key, claim.metadata.uid, ()) == Done()


async def remember(stage: Stage, actor: Actor) -> None:
    """What is known of failures and of use, as it is written when there is something."""
    home = Api(stage.api.client, SYSTEM_NAMESPACE)
    for kind in (HEALTH, USE, SPENDING, LIFTED, WAITING, RESERVED):
        record = SharedRecord(Writer(actor.line, Always()), SYSTEM_NAMESPACE, kind.kind)
        await home.delete(CONFIG_MAPS, record.name)
        first = await record.write("{}", NO_RECORD)
        assert isinstance(first, RecordVersion), first
        assert await record.read() == first
        assert isinstance(await record.write("{}", first), RecordVersion)
        late = await record.write("", NO_RECORD)
        assert isinstance(late, Refused), late
        assert late.why is RefusalReason.STALE
        await home.delete(CONFIG_MAPS, record.name)


async def ask(stage: Stage, actor: Actor, backlog: Backlog) -> None:
    """How a gang is doing, whose pods are looked at one by one; and a name that a look at all might find."""

    async def news(afresh: bool) -> Update:
        return backlog.update()

    service = Service(actor.line, StateFollower(news).view)
    [why] = (route for route in ROUTES if route.looks)
    user = await service.visitor(await own_token(stage.api.client))
    await service.answer(why, about(stage, YIELDING.name), user, nothing_posted)
    with pytest.raises(RefusedError, match="nobody"):
        await service.answer(why, about(stage, "nobody"), user, nothing_posted)
    service.close()


def about(stage: Stage, name: str) -> dict[str, str]:
    return {"namespace": stage.api.namespace, "name": name}


async def nothing_posted() -> bytes:
    raise AssertionError("the question has no body")


def policy(client: Client) -> PolicySource:
    return PolicyConfigMap(client, SYSTEM_NAMESPACE, POLICY)


def granted() -> Iterator[Right]:
    """To the scheduler; there is a role for those who ask it, too."""
    rules = (rule for body in rights() for rule in body.get("rules", ()) if body["metadata"]["name"] == OURS)
    for rule in rules:
        for verb, group, resource in product(rule["verbs"], rule["apiGroups"], rule["resources"]):
            if resource != "resourceclaims/binding":  # which a server asks for beside resourceclaims/status
                yield Right(verb, group, resource)


def is_of_role(right: Right) -> bool:
    """Anyone may ask what the server has to offer."""
    return not right.resource.startswith("/")


def is_served(right: Right, served: Served) -> bool:
    """The rest of the role is for servers that have more."""
    name = (right.group, right.resource.partition("/")[0])
    kinds = [row.type for row in KINDS if row.optional and (row.group, row.plural) == name]
    return all(kind in served.resources for kind in kinds)
