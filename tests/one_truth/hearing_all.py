"""Everybody who can be asked about one state of a cluster, and what they say."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from tempfile import NamedTemporaryFile

import msgspec

from maitred.cli.audit.dumps import read_dump
from maitred.cluster.state import ClusterState
from maitred.cluster.supposing import supposing
from maitred.controllers.answers.route import AnswerContext, CheckedQuestion, Route
from maitred.controllers.answers.routes import ROUTES
from maitred.controllers.answers.service import nothing_known, worked_out
from maitred.decide import decide
from maitred.explain.audit.answer import Audit
from maitred.explain.audit.auditing import audit
from maitred.explain.capacity.document import Capacity
from maitred.explain.group_verdicts import GroupVerdicts
from maitred.explain.proposal.answer import Proposals
from maitred.explain.proposal.supposition import Supposition
from maitred.explain.redaction.situation import as_seen_by
from maitred.explain.remedies.seeking import explained_plan
from maitred.explain.replay import Replay, Replayer
from maitred.explain.situation import Situation
from maitred.explain.why.answer import Why
from maitred.model import recording
from maitred.model.meta import Timestamp
from maitred.model.objects import Object
from maitred.model.plan import GroupVerdict, Plan
from tests.explain.applying import described_by, members
from tests.explain.supposing import expanded
from tests.support import NOON, Obj, listed, policy_of, read, state_of

NOW = msgspec.convert(NOON, Timestamp)
ROUTE: dict[str, Route] = {route.path.partition("/")[0]: route for route in ROUTES}


@dataclass(frozen=True)
class Cluster:
    raw: list[Obj]
    policy: Obj | None = None

    @cached_property
    def objects(self) -> list[Object]:
        return read(self.raw)

    @cached_property
    def state(self) -> ClusterState:
        return state_of(self.objects)

    @cached_property
    def situation(self) -> Situation:
        """As the command line makes it."""
        return Situation(self.state.snapshot(), policy_of(self.policy), NOW)

    @cached_property
    def plan(self) -> Plan:
        """What `decide` says."""
        return explained_plan(self.situation)

    @property
    def verdicts(self) -> dict[str, GroupVerdict]:
        """Of several groups of one name, the first."""
        return {group.group: group for group in reversed(self.plan.decisions)}

    # -- the scheduler that runs -----------------------------------------------------------------------

    @cached_property
    def live(self) -> Situation:
        """As the scheduler makes it, for somebody who may see everything."""
        return as_seen_by(Situation(self.state.snapshot(), policy_of(self.policy), NOW), None)

    def asked(self, path: str, question: CheckedQuestion, situation: Situation | None = None) -> bytes:
        return worked_out(ROUTE[path], AnswerContext(situation or self.live, question, nothing_known))

    def live_why(self, group: str) -> Why:
        namespace, _, name = group.partition("/")
        question = CheckedQuestion({"namespace": namespace, "name": name, "kind": "group"})
        return msgspec.json.decode(self.asked("why", question), type=Why)

    def live_capacity(self) -> Capacity:
        return msgspec.json.decode(self.asked("capacity", CheckedQuestion({})), type=Capacity)

    def live_groups(self) -> GroupVerdicts:
        return msgspec.json.decode(self.asked("groups", CheckedQuestion({})), type=GroupVerdicts)

    def live_plan(self, supposition: Supposition) -> Proposals:
        state = supposing(self.state, supposition.stand_ins(NOW))
        supposed = as_seen_by(
            Situation(state, policy_of(self.policy), NOW, waiting=self.live.in_vain()), None
        )
        found = self.asked("plan", CheckedQuestion({}, supposition), supposed)
        return msgspec.json.decode(found, type=Proposals)

    def supposing(self, supposition: Supposition) -> Situation:
        """As the command line supposes."""
        return Situation(supposing(self.state, supposition.stand_ins(NOW)), policy_of(self.policy), NOW)

    # -- a record --------------------------------------------------------------------------------------

    def replayed(self) -> tuple[Plan, Replay]:
        """What the loop decides and writes down, and what becomes of it when it is decided again."""
        policy, snapshot = policy_of(self.policy), self.state.snapshot()
        plan = decide(snapshot, policy, NOW)
        groups = tuple(view.group.key for view in snapshot.groups)
        replayer = Replayer("record")
        for line in (
            recording.Opening(recording.VERSION, "test", None, 0.0),
            *(self._came(item) for item in self.objects),
            recording.PolicyInForce(policy),
            recording.Look(NOW.isoformat(), groups),
            recording.Decision(plan),
        ):
            replayer.take(recording.encode(line))
        return plan, replayer.replay()

    @staticmethod
    def _came(item: Object) -> recording.Came:
        kind, bare = recording.recorded(item)
        return recording.Came(kind, msgspec.Raw(recording.encode(bare)), 0.0)

    # -- an audit --------------------------------------------------------------------------------------

    def audited(self) -> Audit:
        with NamedTemporaryFile(suffix=".json") as file:
            file.write(listed(self.raw))
            file.flush()
            observer, _ = read_dump([file.name], policy_of(self.policy), NOW)
        return audit(observer, NOW)

    # -- the same objects, before they are there -------------------------------------------------------

    def _tree(self, verdict: GroupVerdict) -> tuple[list[Obj], list[Obj]]:
        """The pods of a tree, and the objects that declare it and its parts."""
        parts = next(found for one, found in self.plan.with_parts() if one is verdict)
        names = {one.group.partition("/")[2] for one in (verdict, *parts)}
        kinds = ("PodGroup", "CompositePodGroup")
        declared = [one for one in self.raw if one["kind"] in kinds and one["metadata"]["name"] in names]
        pods = [one for one in self.raw if one["kind"] == "Pod"]
        named = [(one, one["spec"].get("schedulingGroup", {}).get("podGroupName")) for one in pods]
        return [one for one, name in named if name in names], declared

    def proposable(self) -> Iterator[tuple[str, "Cluster", "Cluster", Supposition]]:
        """Groups of which nothing runs yet: the cluster with the group as if it had come now, the cluster
        without it, and what is proposed."""
        for group, verdict in self.verdicts.items():
            own = members(self.raw, group)
            declared = [item for item in described_by(self.raw, group) if item["kind"] != "Pod"]
            if verdict.counts == "parts":
                own, declared = self._tree(verdict)
            if verdict.verdict == "Invalid" or not all(map(is_new, own)):
                continue
            if any(item["kind"] == "Job" for item in declared) and not makes(declared[0], own):
                continue
            dated = [came_now(item) if item in own or item in declared else item for item in self.raw]
            others = [item for item in self.raw if item not in own and item not in declared]
            written = declared if any(item["kind"] == "Job" for item in declared) else [*declared, *own]
            proposed = [came_now(item) for item in written]
            found = Supposition(tuple(expanded(*proposed).objects))
            yield group, Cluster(dated, self.policy), Cluster(others, self.policy), found


def makes(job: Obj, pods: list[Obj]) -> bool:
    """Whether these are the pods that `plan` makes of a Job, so that both can be asked about."""
    names = [f"{job['metadata']['name']}-{number}" for number in range(job["spec"]["parallelism"])]
    same = all(pod["spec"] == job["spec"]["template"]["spec"] for pod in pods)
    return same and sorted(pod["metadata"]["name"] for pod in pods) == sorted(names)


def is_new(pod: Obj) -> bool:
    """Whether nothing has happened to it that its manifest does not say."""
    metadata, status = pod["metadata"], pod.get("status", {})
    untouched = "nodeName" not in pod["spec"] and "nominatedNodeName" not in status
    return untouched and "deletionTimestamp" not in metadata and status.get("phase") == "Pending"


def came_now(item: Obj) -> Obj:
    dated = deepcopy(item)
    dated["metadata"]["creationTimestamp"] = NOON
    return dated
