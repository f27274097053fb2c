"""What is reported of strangers' pods, and what is remembered of their groups: as much as decisions read.

Whether a member is lost, and whose fault that is, counts for everybody, since room may be kept. Which
container it was and what it said is its owner's business.
"""

from maitred.cluster.snapshot import ReportedPod, Reports
from maitred.explain.redaction.aliases import MARK, Aliases
from maitred.explain.redaction.vocabulary import Vocabulary
from maitred.model.container_status import (
    ContainerState,
    ContainerStatus,
    DeviceReport,
    DeviceReports,
    EndedContainer,
    RunningContainer,
    WaitingContainer,
)
from maitred.model.healing import FailureWish
from maitred.model.health.pods import KNOWN_REASONS, NO_SUCH_IMAGE, answered
from maitred.model.membership import SOURCES, GroupId
from maitred.model.memory import CountedFault, HealthMemory, Incident, NodeScore
from maitred.model.meta import ObjectMeta, key_of
from maitred.model.pod import Pod, PodSpec, PodStatus
from maitred.model.reports import SaidCondition

PROBLEM = "it cannot be read"
PHASES = frozenset({"Pending", "Running", "Succeeded", "Failed"})
TITLES = frozenset(source.title for source in SOURCES)


class ReportFields:
    def __init__(self, names: Aliases, words: Vocabulary) -> None:
        self._names, self._words = names, words

    def reports(self, reports: Reports) -> Reports:
        """Nodes belong to the cluster."""
        return Reports(
            nodes=reports.nodes,
            pods={
                self._id(id): pods if self._names.is_own(id.key) else tuple(map(self._reported, pods))
                for id, pods in reports.pods.items()
            },
        )

    def _id(self, id: GroupId) -> GroupId:
        if self._names.is_own(id.key):
            return id
        return GroupId(known(id.source, TITLES), self._names.key(id.key), self._names.other(id.uid))

    def source(self, source: tuple[str, str, str]) -> tuple[str, str, str]:
        found = self._id(GroupId(*source))
        return found.source, found.key, found.uid

    def _reported(self, one: ReportedPod) -> ReportedPod:
        pod = one.pod
        namespace, _, name = self._names.key(key_of(pod.metadata)).partition("/")
        about = ObjectMeta(
            name=name,
            namespace=namespace,
            uid=self._names.key(key_of(pod.metadata)),
            creation_timestamp=pod.metadata.creation_timestamp,
            deletion_timestamp=pod.metadata.deletion_timestamp,
        )
        status = PodStatus(
            phase=known(pod.status.phase, PHASES),
            reason=reason(pod.status.reason),
            conditions=tuple(
                SaidCondition(
                    type=said.type,
                    status=said.status,
                    reason=reason(said.reason),
                    last_transition_time=said.last_transition_time,
                )
                for said in pod.status.conditions
                if said.type == "DisruptionTarget"
            ),
            init_container_statuses=tuple(map(container, pod.status.init_container_statuses)),
            container_statuses=tuple(map(container, pod.status.container_statuses)),
            start_time=pod.status.start_time,
        )
        spec = PodSpec(node_name=self._words.node(pod.spec.node_name))
        return ReportedPod(pod=Pod(about, spec, status), index=one.index, owned=one.owned)

    # -- what is remembered ----------------------------------------------------------------------------

    def memory(self, memory: HealthMemory) -> HealthMemory:
        return HealthMemory(
            incidents=tuple(map(self._incident, memory.incidents)),
            scores=tuple(map(score, memory.scores)),
        )

    def _incident(self, one: Incident) -> Incident:
        if self._names.is_own(one.group):
            return one
        pods = tuple(map(self._names.key, one.pods))
        return Incident(
            group=self._names.key(one.group),
            source=self.source(one.source),
            begun=one.begun,
            rule=one.rule,
            family=one.family,
            words="",
            since=one.since,
            pods=pods,
            uids=pods,
            nodes=tuple(map(self._words.node, one.nodes)),
            held_until=one.held_until,
            had=one.had,
            youngest=one.youngest,
            ended=one.ended,
            how=one.how,
            devices=one.devices,
            is_whole=one.is_whole,
        )


def score(one: NodeScore) -> NodeScore:
    """Nodes and devices belong to the cluster; what is said of their failures may name who was there."""
    return NodeScore(
        node=one.node,
        score=one.score,
        at=one.at,
        tainted=one.tainted,
        lemon_since=one.lemon_since,
        hour=one.hour,
        counted=one.counted,
        faults=tuple(
            CountedFault(what=said.what, at=said.at, weight=said.weight, device=said.device, over=said.over)
            for said in one.faults
        ),
        devices=one.devices,
    )


def wish(said: FailureWish) -> FailureWish:
    return FailureWish(said.rule, PROBLEM if said.problem else "")


def known(word: str, words: frozenset[str]) -> str:
    return word if not word or word in words else MARK


def reason(text: str) -> str:
    """Of a refusal of the kubelet it counts that it is one; the resource that was short may be a name."""
    return "OutOfResource" if text.startswith("OutOf") else known(text, KNOWN_REASONS)


def container(status: ContainerStatus) -> ContainerStatus:
    return ContainerStatus(
        name=MARK,
        ready=status.ready,
        restart_count=status.restart_count,
        state=state(status.state),
        last_state=state(status.last_state),
        allocated_resources_status=tuple(
            DeviceReports(
                MARK, tuple(DeviceReport(MARK, known(one.health, HEALTHS)) for one in said.resources)
            )
            for said in status.allocated_resources_status
        ),
    )


def device(one: DeviceReport) -> DeviceReport:
    return DeviceReport(resource_id=MARK, health=known(one.health, HEALTHS))


HEALTHS = frozenset({"Healthy", "Unhealthy", "Unknown"})


def state(one: ContainerState) -> ContainerState:
    held, ended = one.waiting, one.terminated
    return ContainerState(
        waiting=None
        if held is None
        else WaitingContainer(reason(held.reason), NO_SUCH_IMAGE[0] if answered(held.message) else ""),
        running=None if one.running is None else RunningContainer(one.running.started_at),
        terminated=None
        if ended is None
        else EndedContainer(
            started_at=ended.started_at,
            exit_code=ended.exit_code,
            signal=ended.signal,
            reason=reason(ended.reason),
            finished_at=ended.finished_at,
        ),
    )
