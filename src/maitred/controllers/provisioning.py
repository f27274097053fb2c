"""Asks an autoscaler for the nodes that Plans say: a ProvisioningRequest for a group, and templates of its
pods.

Nothing is remembered. The names follow from the group, so whoever leads next makes no second request; and
what belongs to a group goes with what owns its pods.
"""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.keyed_writes import KeyedWrites, Outcome
from maitred.kube.errors import KubeError
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.resources import PODS, Resource
from maitred.kube.writes import Writer
from maitred.model.plan import NodeRequest, Plan
from maitred.model.policy import Policy

log = logging.getLogger(__name__)

POD_TEMPLATES = Resource("", "v1", "podtemplates", "PodTemplate")
IN_FLIGHT = 8
MANAGED = {"app.kubernetes.io/managed-by": "maitred"}
NOT_OF_ALL = ("nodeName", "hostname", "ephemeralContainers")
"""What is not the same for all members, or is not known before they have nodes."""
GONE = Refused(RefusalReason.GONE, "its pods are gone")
Json = dict[str, Any]


class ProvisioningPart:
    """Hears of every Plan of the scheduling loop."""

    def __init__(self, writer: Writer, requests: Resource | None, policy: Callable[[], Policy]) -> None:
        """`requests`: as the API server has them, if it has."""
        self._writer, self._requests, self._policy = writer, requests, policy
        self._writes = KeyedWrites[str, NodeRequest](
            IN_FLIGHT, self._request, lambda wanted: f"group {wanted.group}: nodes could not be asked for"
        )
        self._has_warned = False

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        """Of groups that wait and were not decided, what was said last still counts."""
        decided = {one.group for one in plan.decisions}
        waiting = {view.group.key for view in snapshot.groups} - decided
        kept = {group: one for group, one in self._writes.wanted.items() if group in waiting}
        wanted = kept | {one.group: one for one in plan.provisioning}
        if self._requests is not None:
            self._writes.want(wanted)
        elif wanted and not self._has_warned:
            self._has_warned = True
            log.warning(
                "groups lack nodes, and no autoscaler is asked: this API server has no ProvisioningRequest "
                "(autoscaling.x-k8s.io); install its definition and restart maitred, or take provisioning "
                "out of the policy"
            )

    async def run(self) -> None:
        await self._writes.run()

    async def _request(self, wanted: NodeRequest) -> Outcome:
        assert self._requests is not None, "else nothing is wanted"
        outcome = await self._ask(wanted, self._requests)
        if isinstance(outcome, Done):
            log.info("group %s: nodes were asked for, by ProvisioningRequest %s", wanted.group, wanted.name)
        return Done() if outcome is GONE else outcome

    async def _ask(self, wanted: NodeRequest, requests: Resource) -> Outcome:
        """The templates first: a request without them fails for good."""
        namespace, owner, sets = wanted.group.partition("/")[0], Json(), list[Json]()
        for number, one in enumerate(wanted.pods):
            pod = await self._read(one.pod, one.uid)
            if not isinstance(pod, dict):
                return pod
            owner = owner or owner_of(pod)
            name = f"{wanted.name}-{number}"
            made = await self._make(POD_TEMPLATES, namespace, template_body(name, pod, owner))
            if not isinstance(made, Done):
                return made
            sets.append({"count": one.count, "podTemplateRef": {"name": name}})
        said = self._policy().provisioning
        spec = {"provisioningClassName": said.class_name, "parameters": said.parameters, "podSets": sets}
        head = {"apiVersion": requests.api_version, "kind": requests.kind}
        body = {**head, "metadata": metadata(wanted.name, owner), "spec": spec}
        return await self._make(requests, namespace, body)

    async def _read(self, key: str, uid: str) -> Json | Refused | Unknown:
        namespace, _, name = key.partition("/")
        try:
            found: Json | None = await self._writer.read(PODS.path(namespace, name), dict)
        except KubeError as error:
            return Unknown(str(error))
        return GONE if found is None or found["metadata"]["uid"] != uid else found

    async def _make(self, resource: Resource, namespace: str, body: Json) -> Outcome:
        """What has this name already was made before."""
        outcome = await self._writer.create(resource, namespace, json.dumps(body).encode())
        taken = isinstance(outcome, Refused) and outcome.why is RefusalReason.TAKEN
        return Done() if taken else outcome


def owner_of(pod: Mapping[str, Any]) -> Json:
    """What controls the pod, or else the pod: with it the request goes."""
    meta = pod["metadata"]
    controller = next((one for one in meta.get("ownerReferences", ()) if one.get("controller")), None)
    if controller is None:
        return {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    return {field: controller[field] for field in ("apiVersion", "kind", "name", "uid")}


def metadata(name: str, owner: Json) -> Json:
    return {"name": name, "labels": MANAGED, "ownerReferences": [owner]}


def template_body(name: str, pod: Mapping[str, Any], owner: Json) -> Json:
    spec = {field: value for field, value in pod["spec"].items() if field not in NOT_OF_ALL}
    template = {"metadata": {"labels": pod["metadata"].get("labels", {})}, "spec": spec}
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": metadata(name, owner),
        "template": template,
    }
