"""Features that a pod needs of the kubelet, and that a node therefore has to declare.

Since 1.37 nodes list what their kubelet can do (`status.declaredFeatures`), and kube-scheduler keeps pods
away from nodes that lack a feature which their spec makes use of. Of all that kubelets declare, these are
what a new pod can need; the others matter when a running pod is changed, or to its allocated devices.
"""

from maitred.model.pod import PodSpec

RESTART_ALL = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
MOUNT_OPTIONS = "VolumeBindMountOptions"


def needed_features(spec: PodSpec) -> tuple[str, ...]:
    """The features by name, sorted."""
    containers = (*spec.containers, *spec.init_containers)
    mounts = [mount for container in containers for mount in container.volume_mounts]
    mounts += [mount for container in spec.ephemeral_containers for mount in container.volume_mounts]
    needed = []
    if any(rule.action == "RestartAllContainers" for c in containers for rule in c.restart_policy_rules):
        needed.append(RESTART_ALL)
    if spec.host_network and not spec.host_users:
        needed.append(USER_NAMESPACES)
    if any(mount.bind_mount_options for mount in mounts):
        needed.append(MOUNT_OPTIONS)
    return tuple(needed)
