"""The Workload and the PodGroup of a Job, where the server has the group API of 1.37.

A Job that nothing controls gets both, before its first pod; one whose parent has a Workload and says so gets
a PodGroup from that. A Job that has started without them stays without.
"""

from collections.abc import Collection
from typing import TypeVar

from maitred.kube.errors import ApiError
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import Index, ObjectCache
from maitred.sandbox.housekeeping.jobs.objects import SUSPENDED, Job, condition_of
from maitred.sandbox.housekeeping.jobs.pods import owned_by
from maitred.sandbox.housekeeping.objects import (
    JOBS,
    POD_GROUPS,
    WORKLOADS,
    Json,
    Pod,
    PodGroup,
    WithMeta,
    Workload,
)
from maitred.sandbox.housekeeping.recorder import EventRecorder

JOB_CONTROLLER = "job-controller"
TEMPLATE_NAME = "scheduling.k8s.io/group-template-name"
LONGEST_NAME = 253
LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""Those of random names: without vowels there are no words."""

T = TypeVar("T", bound=WithMeta)


class Groups:
    def __init__(self, stock: ObjectCache, api: ControllerApi, recorder: EventRecorder) -> None:
        self._api = api
        self._recorder = recorder
        self._workloads = stock.shelf(WORKLOADS, Workload)
        self._groups = stock.shelf(POD_GROUPS, PodGroup)
        self._by_controller = Index(self._workloads, controller_name)
        self._by_workload = Index(self._groups, workload_name)

    async def ensure(self, job: Job, pods: Collection[Pod]) -> PodGroup | None:
        """The group that new pods are to be members of, made where it is missing."""
        if job.spec.template.spec.get("schedulingGroup") is not None:
            return None
        if job.metadata.controller is None:
            return await self._of_its_own(job, is_new(job, pods))
        if TEMPLATE_NAME in job.metadata.annotations:
            return await self._of_its_parent(job, is_new(job, pods))
        return None

    # -- a Job of its own ------------------------------------------------------------------------------

    async def _of_its_own(self, job: Job, new: bool) -> PodGroup | None:
        wanted = workload_body(job)
        named = f"{job.metadata.namespace}/{JOBS.group}/{JOBS.kind}/{job.metadata.name}"
        workload = only(controlled(self._by_controller[named], job))
        if workload is None:
            if not new:
                return None
            workload = await self._create_workload(job, wanted)
        template = workload.spec.pod_group_templates[0]
        group = only(controlled(self._by_workload[key(workload)], job))
        if group is None:
            return await self._create_group(job, workload, template, owners=[link(workload)]) if new else None
        [desired] = wanted["spec"]["podGroupTemplates"]
        await self._resize(workload, group, gang_size(desired))
        return group

    async def _create_workload(self, job: Job, body: Json) -> Workload:
        try:
            made = await self._api.create(WORKLOADS, job.metadata.namespace, body, Workload)
        except ApiError as error:
            if not error.is_conflict:
                words = f"Failed to create Workload for Job {job.metadata.name}: {error.message}"
                self._tell(job, "FailedWorkloadCreate", words, "Warning")
            raise
        words = f"Created Workload {made.metadata.name} for Job {job.metadata.name}"
        self._tell(job, "WorkloadCreated", words)
        return made

    async def _create_group(
        self, job: Job, workload: Workload, template: Json, owners: list[Json]
    ) -> PodGroup:
        name = group_name(workload.metadata.name, template["name"])
        spec = {field: value for field, value in template.items() if field != "name"}
        reference = {"workloadName": workload.metadata.name, "templateName": template["name"]}
        body = {
            "metadata": {"name": name, "ownerReferences": [owned_by(job), *owners]},
            "spec": {**spec, "workloadRef": reference},
        }
        made = await self._api.create(POD_GROUPS, job.metadata.namespace, body, PodGroup)
        self._tell(job, "PodGroupCreated", f"Created PodGroup {name} for Job {job.metadata.name}")
        return made

    async def _resize(self, workload: Workload, group: PodGroup, size: int | None) -> None:
        """A gang grows and shrinks with the parallelism of its Job."""
        if size is None:
            return
        template = workload.spec.pod_group_templates[0]
        if gang_size(template) not in (None, size):
            templates = [{**template, "schedulingPolicy": {"gang": {"minCount": size}}}]
            body = {"spec": {"podGroupTemplates": templates}}
            self._workloads.learn(await self._api.merge(WORKLOADS, workload.metadata, body, Workload))
        await self._resize_group(group, size)

    async def _resize_group(self, group: PodGroup, size: int) -> None:
        gang = group.spec.scheduling_policy.gang
        if gang is not None and gang.min_count != size:
            body = {"spec": {"schedulingPolicy": {"gang": {"minCount": size}}}}
            self._groups.learn(await self._api.merge(POD_GROUPS, group.metadata, body, PodGroup))

    # -- a Job of a parent -----------------------------------------------------------------------------

    async def _of_its_parent(self, job: Job, new: bool) -> PodGroup | None:
        parent = job.metadata.controller
        assert parent is not None
        api_group = parent.api_version.rpartition("/")[0]
        named = f"{job.metadata.namespace}/{api_group}/{parent.kind}/{parent.name}"
        workload = next(iter(self._by_controller[named]), None)
        if workload is None:
            return None
        wanted = job.metadata.annotations[TEMPLATE_NAME]
        template = next((t for t in workload.spec.pod_group_templates if t["name"] == wanted), None)
        if template is None:
            return None
        group = next(iter(controlled(self._by_workload[key(workload)], job)), None)
        if group is None:
            return await self._create_group(job, workload, template, owners=[]) if new else None
        size = gang_size(template)
        if size is not None:
            await self._resize_group(group, size)
        return group

    def _tell(self, job: Job, reason: str, words: str, type: str = "Normal") -> None:
        self._recorder.record(JOB_CONTROLLER, JOBS, job.metadata, reason, words, type)


def is_new(job: Job, pods: Collection[Pod]) -> bool:
    status = job.status
    started = pods or status.start_time is not None or status.succeeded or status.failed
    return not started and condition_of(status, SUSPENDED) is None


def controlled(items: Collection[T], job: Job) -> list[T]:
    """Those that are ours; whatever else names the Job, or its Workload, is left alone."""
    return [
        item
        for item in items
        if (owner := item.metadata.controller) is not None and owner.uid == job.metadata.uid
    ]


def only(found: list[T]) -> T | None:
    return found[0] if len(found) == 1 else None


def workload_body(job: Job) -> Json:
    scheduling = job.spec.scheduling or {}
    policy = scheduling.get("schedulingPolicy") or {"basic": {}}
    if "gang" in policy:
        policy = {"gang": {"minCount": max(1, job.spec.parallelism), **policy["gang"]}}
    template: Json = {"name": f"{job.metadata.name}-pgt-0", "schedulingPolicy": policy}
    for field in ("schedulingConstraints", "disruptionMode", "resourceClaims"):
        if scheduling.get(field) is not None:
            template[field] = scheduling[field]
    if job.spec.template.spec.get("priorityClassName"):
        template["priorityClassName"] = job.spec.template.spec["priorityClassName"]
    controller = {"apiGroup": JOBS.group, "kind": JOBS.kind, "name": job.metadata.name}
    return {
        "metadata": {"name": workload_name_for(job), "ownerReferences": [owned_by(job)]},
        "spec": {"controllerRef": controller, "podGroupTemplates": [template]},
    }


def gang_size(template: Json) -> int | None:
    gang = template.get("schedulingPolicy", {}).get("gang")
    return None if gang is None else int(gang["minCount"])


def link(workload: Workload) -> Json:
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "name": workload.metadata.name,
        "uid": workload.metadata.uid,
    }


# -- names -------------------------------------------------------------------------------------------------


def workload_name_for(job: Job) -> str:
    mark = hashed(f"(types.UID){job.metadata.uid}")
    return f"{job.metadata.name[: LONGEST_NAME - len(mark) - 1]}-{mark}"


def group_name(workload: str, template: str) -> str:
    """Where both are too long, each gives way down to its half."""
    mark = hashed(workload + template)
    room = LONGEST_NAME - len(mark) - 2
    template = template[: max(room // 2, room - len(workload))]
    return f"{workload[: room - len(template)]}-{template}-{mark}"


def hashed(text: str) -> str:
    """FNV-1a of 32 bits, its digits spelt in the letters of random names."""
    number = 0x811C9DC5
    for byte in text.encode():
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return "".join(LETTERS[ord(digit) % len(LETTERS)] for digit in str(number))


def key(workload: Workload) -> str:
    return f"{workload.metadata.namespace}/{workload.metadata.name}"


def controller_name(workload: Workload) -> str | None:
    named = workload.spec.controller_ref
    if named is None:
        return None
    return f"{workload.metadata.namespace}/{named.api_group}/{named.kind}/{named.name}"


def workload_name(group: PodGroup) -> str | None:
    named = group.spec.workload_ref.workload_name
    return f"{group.metadata.namespace}/{named}" if named else None
