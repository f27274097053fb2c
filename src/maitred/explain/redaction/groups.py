"""Groups of strangers, and the objects around them: CompositePodGroups, Jobs and budgets."""

from maitred.cluster.parts import Branch, Parts
from maitred.cluster.snapshot import GroupView, LaterMembers, RunningMember, SeatedGroup
from maitred.decide.preemption.receipts import on_disruption
from maitred.explain.redaction.aliases import MARK, Aliases
from maitred.explain.redaction.pods import PodFields, each, preemption_policy, protection, runtime
from maitred.explain.redaction.reports import ReportFields, wish
from maitred.explain.redaction.vocabulary import Vocabulary
from maitred.model.budget import BudgetSpec, BudgetStatus, PodDisruptionBudget
from maitred.model.group import Composite, Group, TopologyRequest
from maitred.model.job import Job, JobSpec, JobStatus
from maitred.model.meta import ObjectMeta, key_of
from maitred.model.owners import BATCH_JOB
from maitred.model.suspending import BY_TITLE

PROBLEM = "something is wrong with it"
COMPLETION_MODES = ("Indexed", "NonIndexed")
ACTIONS = ("Ignore", "FailJob", "FailIndex")


class GroupFields:
    def __init__(self, names: Aliases, words: Vocabulary, pods: PodFields, reports: ReportFields) -> None:
        self._names, self._words, self._pods, self._reports = names, words, pods, reports

    def view(self, view: GroupView, created: float) -> GroupView:
        names, pods = self._names, tuple(map(self._names.keys.__getitem__, view.pods))
        space = view.group.key.partition("/")[0]
        orders = (
            (index, age, pod.partition("/")[2])
            for (index, age, _), pod in zip(view.orders, pods, strict=True)
        )
        running = (
            RunningMember((*one.order[:2], names.name(f"{space}/{one.order[2]}")), one.node)
            for one in view.running
        )
        return GroupView(
            group=self.group(view.group),
            pods=pods,
            uids=pods,
            orders=tuple(orders),
            shapes=view.shapes,
            gates=tuple((MARK,) * len(gates) for gates in view.gates) if any(view.gates) else view.gates,
            running=tuple(running),
            running_shapes=view.running_shapes,
            members=view.members,
            succeeded=view.succeeded,
            created=created,
            arrived=view.arrived,
            ranks=each(self._pods.rank, view.ranks),
            schedulers=each(self._words.told, view.schedulers),
            pending_schedulers=each(self._words.told, view.pending_schedulers),
            nominated=each(self._words.node, view.nominated) if any(view.nominated) else view.nominated,
            made_shapes=view.made_shapes,
            runtime=runtime(view.runtime),
            parts=None if view.parts is None else self._parts(view.parts),
            members_by_leaf=view.members_by_leaf,
            later=None if view.later is None else self._later(view.later),
            kept_from=view.kept_from,
            owned_by=self._owner(view.owned_by),
            source=self._reports.source(view.source),
            wishes=each(wish, view.wishes),
            leaving_shapes=view.leaving_shapes,
            payer=self._pods.payer(view.payer),
            any_model=view.any_model,
        )

    def _later(self, later: LaterMembers) -> LaterMembers:
        groups = tuple((self._names.key(key), pods) for key, pods in later.groups)
        return LaterMembers(later.shapes, later.orders, self._parts(later.parts), groups)

    def _owner(self, owner: str) -> str:
        """Its kind is of the few that create pods later."""
        kind, _, key = owner.partition(" ")
        return f"{kind} {self._names.key(key)}" if key else ""

    def group(self, group: Group) -> Group:
        """What is wrong with it stays wrong, but is told to its own people only."""
        return Group(
            key=self._names.key(group.key),
            quorum=group.quorum,
            gang=group.gang,
            parent=self._names.key(group.parent),
            workload=self._words.told(group.workload),
            topology=self._topology(group.topology),
            priority=group.priority,
            priority_class_name=self._words.told(group.priority_class_name),
            class_may_lack=group.class_may_lack,
            preemption_policy=preemption_policy(group.preemption_policy),
            disruption=group.disruption,
            protection=protection(group.protection),
            runtime=runtime(group.runtime),
            on_failure=wish(group.on_failure),
            exists=group.exists,
            completed=group.completed,
            done=group.done,
            problems=(PROBLEM,) if group.problems else (),
        )

    def _topology(self, request: TopologyRequest) -> TopologyRequest:
        return TopologyRequest(
            required=self.level(request.required),
            preferred=each(self.level, request.preferred),
            slice_size=request.slice_size,
            slice_level=self.level(request.slice_level),
            annotated=self.level(request.annotated),
        )

    def level(self, name: str) -> str:
        """A level is named by its name in the policy, or by the key of a label of nodes."""
        return name if not name or self._words.is_known(name) else self._words.key(name)

    def seated(self, seated: SeatedGroup) -> SeatedGroup:
        return SeatedGroup(
            group=self.group(seated.group),
            counted=seated.counted,
            ranks=each(self._pods.rank, seated.ranks),
            runtime=runtime(seated.runtime),
            failed=seated.failed,
        )

    def composite(self, composite: Composite) -> Composite:
        return Composite(
            key=self._names.key(composite.key),
            quorum=composite.quorum,
            parent=self._names.key(composite.parent),
            workload=self._words.told(composite.workload),
            level=self.level(composite.level),
            priority=composite.priority,
            priority_class_name=self._words.told(composite.priority_class_name),
            preemption_policy=preemption_policy(composite.preemption_policy),
            disruption=composite.disruption,
        )

    def _parts(self, parts: Parts) -> Parts:
        return Parts(self._branch(parts.root), parts.waiting, parts.seated, parts.succeeded)

    def _branch(self, branch: Branch) -> Branch:
        return Branch(
            key=self._names.key(branch.key),
            quorum=branch.quorum,
            topology=self._topology(branch.topology),
            children=tuple(map(self._branch, branch.children)),
            leaf=branch.leaf,
        )

    def _meta(self, meta: ObjectMeta) -> ObjectMeta:
        """That it is there, since when, and which one it is."""
        namespace, _, name = self._names.key(key_of(meta)).partition("/")
        return ObjectMeta(
            name=name,
            namespace=namespace,
            uid=self._names.other(meta.uid),
            creation_timestamp=meta.creation_timestamp,
            deletion_timestamp=meta.deletion_timestamp,
        )

    def job(self, job: Job) -> Job:
        spec, status = job.spec, job.status
        mode = spec.completion_mode if spec.completion_mode in COMPLETION_MODES else MARK
        return Job(
            self._meta(job.metadata),
            JobSpec(
                parallelism=spec.parallelism,
                completions=spec.completions,
                completion_mode=mode,
                suspend=spec.suspend,
                backoff_limit=spec.backoff_limit,
                backoff_limit_per_index=spec.backoff_limit_per_index,
                pod_failure_policy=failure_policy(job),
                active_deadline_seconds=spec.active_deadline_seconds,
                # Jobs of the cluster itself are never suspended either, and have another namespace now.
                managed_by="" if BY_TITLE[BATCH_JOB.title].may_be_suspended(job) else MARK,
            ),
            JobStatus(
                active=status.active,
                succeeded=status.succeeded,
                failed=status.failed,
                start_time=status.start_time,
            ),
        )

    def budget(self, budget: PodDisruptionBudget) -> PodDisruptionBudget:
        space = budget.metadata.namespace or "default"
        disrupted = {
            self._names.name(f"{space}/{pod}"): moment for pod, moment in budget.status.disrupted_pods.items()
        }
        return PodDisruptionBudget(
            self._meta(budget.metadata),
            BudgetSpec(
                min_available=share(budget.spec.min_available),
                max_unavailable=share(budget.spec.max_unavailable),
            ),
            BudgetStatus(budget.status.disruptions_allowed, disrupted),
        )


def failure_policy(job: Job) -> object:
    """As much of it as speaks of pods that were disrupted."""
    action = on_disruption(job)
    if action not in ACTIONS:
        return None
    disrupted = {"type": "DisruptionTarget", "status": "True"}
    return {"rules": [{"action": action, "onPodConditions": [disrupted]}]}


def share(amount: int | str | None) -> int | str | None:
    """A number or a percentage, as one that was read."""
    return f"{int(amount.removesuffix('%'))}%" if isinstance(amount, str) else amount
