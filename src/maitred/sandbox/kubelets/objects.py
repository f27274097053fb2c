"""Pods and nodes: what a kubelet reads of them."""

from maitred.model.meta import ObjectMeta
from maitred.model.node import Node as PlainNode
from maitred.model.node import NodeStatus as PlainNodeStatus
from maitred.model.pod import Container as PlainContainer
from maitred.model.pod import Pod as PlainPod
from maitred.model.pod import PodSpec as PlainPodSpec

FINISHED = ("Succeeded", "Failed")


class Container(PlainContainer, frozen=True):
    name: str = ""


class PodSpec(PlainPodSpec, frozen=True):
    containers: tuple[Container, ...] = ()


class Pod(PlainPod, frozen=True):
    spec: PodSpec = PodSpec()

    @property
    def is_finished(self) -> bool:
        return self.status.phase in FINISHED


class NodeStatus(PlainNodeStatus, frozen=True):
    @property
    def is_ready(self) -> bool:
        return any(condition.type == "Ready" and condition.status == "True" for condition in self.conditions)


class NodeMeta(ObjectMeta, frozen=True):
    resource_version: str = ""


class Node(PlainNode, frozen=True):
    metadata: NodeMeta
    status: NodeStatus = NodeStatus()
