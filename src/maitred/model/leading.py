"""Pods that the others of their gang cannot do without, however many of those there are.

The workers of a Ray cluster end with its head, and those of a training job with its master or launcher. So
such a pod is never taken for surplus. Its labels are believed: whoever lies there has all of a gang evicted
instead of one pod.
"""

from collections.abc import Mapping

LEADING_ROLES = {
    "ray.io/node-type": frozenset({"head"}),
    "training.kubeflow.org/job-role": frozenset({"master", "launcher"}),
}
"""As operators label them."""


def leading_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Those by which a pod leads."""
    return {key: labels[key] for key, roles in LEADING_ROLES.items() if labels.get(key) in roles}


def is_leading(labels: Mapping[str, str]) -> bool:
    return bool(leading_labels(labels))
