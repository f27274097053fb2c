"""Which claims to devices a pod may use, as controllers and kubelets ask it."""

from maitred.kube.resources import PODS
from maitred.model.devices.claims import Consumer, ResourceClaim
from maitred.model.meta import controller_of
from maitred.model.pod import Pod

SCHEDULING = "scheduling.k8s.io"


def is_for(pod: Pod, claim: ResourceClaim) -> bool:
    """Whether a claim of the name that the pod knows was made for it, or for its group."""
    owner, group = controller_of(claim.metadata), pod.spec.scheduling_group
    if owner is None:
        return False
    return owner.uid == pod.metadata.uid or (
        group is not None
        and owner.kind == "PodGroup"
        and owner.api_version.startswith(f"{SCHEDULING}/")
        and owner.name == group.pod_group_name
    )


def is_reserved_for(pod: Pod, claim: ResourceClaim) -> bool:
    group = pod.spec.scheduling_group
    return any(
        consumer.uid == pod.metadata.uid
        or (is_group(consumer) and group is not None and consumer.name == group.pod_group_name)
        for consumer in claim.status.reserved_for
    )


def is_pod(consumer: Consumer) -> bool:
    return (consumer.api_group, consumer.resource) == ("", PODS.plural)


def is_group(consumer: Consumer) -> bool:
    return (consumer.api_group, consumer.resource) == (SCHEDULING, "podgroups")
