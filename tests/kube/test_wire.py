"""Objects as controllers read them, and those that do not read well."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from maitred.cluster.state import ClusterState, Put
from maitred.kube.lease import Held
from maitred.kube.resources import NODES, PODS, Resource
from maitred.kube.wire import ConfigMap, WatchedGroup, WatchedPod, look_again
from maitred.model.node import Node

ON_NODE: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "team", "uid": "u"},
    "spec": {"nodeName": "n1", "containers": [{"resources": {"requests": {"cpu": "2"}}}]},
}


def read(into: Any, value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value), type=into)


def on_node(**spec: object) -> bytes:
    return msgspec.json.encode({**ON_NODE, "spec": {**ON_NODE["spec"], **spec}})


def test_paths() -> None:
    groups = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")
    assert PODS.path() == "/api/v1/pods"
    assert PODS.path("team", "p", "binding") == "/api/v1/namespaces/team/pods/p/binding"
    assert NODES.path(name="n1") == "/api/v1/nodes/n1"
    assert groups.path("team") == "/apis/scheduling.k8s.io/v1beta1/namespaces/team/podgroups"
    assert (str(groups), groups.api_version) == ("podgroups.scheduling.k8s.io", "scheduling.k8s.io/v1beta1")
    assert (str(PODS), PODS.api_version) == ("pods", "v1")


def test_a_pod_is_a_pod_of_the_model_and_more() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": True}
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    status = {"conditions": [condition], "nominatedNodeName": "n2", "startTime": "2026-01-31T12:00:00Z"}
    metadata = {**ON_NODE["metadata"], "resourceVersion": "7", "generation": 2, "ownerReferences": [owner]}
    pod = read(WatchedPod, {**ON_NODE, "metadata": metadata, "status": {"phase": "Pending", **status}})
    assert (pod.metadata.resource_version, pod.metadata.generation) == ("7", 2)
    assert (pod.metadata.owner_references[0].api_version, pod.metadata.owner_references[0].controller) == (
        "batch/v1",
        True,
    )
    assert (pod.status.phase, pod.status.nominated_node_name) == ("Pending", "n2")
    assert pod.status.conditions[0].reason == "Unschedulable"
    assert pod.status.start_time == datetime(2026, 1, 31, 12, tzinfo=UTC)
    state = ClusterState()
    state.apply(Put(pod))
    state.apply(Put(read(Node, {"metadata": {"name": "n1"}})))


def test_groups_config_maps_and_leases() -> None:
    condition = {"type": "PodGroupScheduled", "status": "True", "observedGeneration": 3}
    condition["lastTransitionTime"] = "2026-01-31T12:00:00Z"
    group = read(
        WatchedGroup, {"metadata": {"name": "g", "generation": 3}, "status": {"conditions": [condition]}}
    )
    assert group.status.conditions[0].observed_generation == group.metadata.generation == 3
    assert read(ConfigMap, {"metadata": {"name": "c"}, "data": {"policy.yaml": "x"}}).data == {
        "policy.yaml": "x"
    }
    spec = {"holderIdentity": "a_1", "leaseDurationSeconds": 15, "leaseTransitions": 2}
    lease = read(Held, {"metadata": {}, "spec": {**spec, "renewTime": "2026-01-31T12:00:00.000001Z"}})
    assert (lease.spec.holder_identity, lease.spec.lease_duration_seconds) == ("a_1", 15)
    assert lease.spec.renew_time == datetime(2026, 1, 31, 12, 0, 0, 1, tzinfo=UTC)


def test_nulls_are_no_fault() -> None:
    data = msgspec.json.encode({"metadata": {"name": "p", "labels": None}, "spec": None, "status": None})
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(data, type=WatchedPod)
    assert look_again(data, WatchedPod) == (read(WatchedPod, {"metadata": {"name": "p"}}), "")


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"hostNetwork": "yes"}, "spec.hostNetwork: expected true or false, got a string"),
        ({"nodeSelector": {"a.b/c": []}}, "spec.nodeSelector.a.b/c: expected a string, got a list"),
        (
            {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone"}]},
            "spec.topologySpreadConstraints[0].whenUnsatisfiable: is required",
        ),
        (
            {"overhead": 3, "tolerations": [{}, {"operator": "Perhaps"}]},
            "spec.overhead: expected an object, got a whole number; "
            "spec.tolerations[1].operator: 'Perhaps' is not one of Equal, Exists, Gt, Lt",
        ),
    ],
)
def test_a_pod_on_a_node_takes_room_whatever_else_it_says(spec: dict[str, object], fault: str) -> None:
    pod, faults = look_again(on_node(**spec), WatchedPod)
    assert pod is not None
    assert (pod.spec.node_name, pod.spec.containers[0].resources.requests) == ("n1", {"cpu": "2"})
    assert sorted(faults.split("; ")) == sorted(fault.split("; "))


def test_a_waiting_pod_with_a_fault_is_not_read() -> None:
    pod, faults = look_again(on_node(nodeName="", hostNetwork="yes"), WatchedPod)
    assert pod is None
    assert faults == "spec.hostNetwork: expected true or false, got a string"


@pytest.mark.parametrize(
    ("data", "into"),
    [
        (b"[]", WatchedPod),
        (b"3", WatchedPod),
        (b'{"spec": {"nodeName": "n1"}}', WatchedPod),
        (b'{"metadata": {"name": 3}, "spec": {"nodeName": "n1"}}', Node),
        (on_node(tolerations=[{"operator": "Perhaps"}] * 21), WatchedPod),
        (b'{"metadata": ' + b"[" * 100_000, WatchedPod),
    ],
)
def test_what_is_beyond_reading(data: bytes, into: Any) -> None:
    found, faults = look_again(data, into)
    assert found is None
    assert faults
