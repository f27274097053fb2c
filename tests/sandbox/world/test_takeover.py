"""A dump of a real cluster: what of it comes along, and what stays behind."""

import json
from typing import Any

from maitred.sandbox.kubelets.marks import FAULT, KUBELET
from maitred.sandbox.world.drain import comes_back
from maitred.sandbox.world.takeover import CONTROLLED_BY, take_over

Json = dict[str, Any]


def node(name: str, ready: str = "True", **spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"u-{name}",
            "labels": {"zone": "a"},
            "annotations": {"secret": "x"},
        },
        "spec": {"providerID": "cloud://1", "podCIDR": "10.0.0.0/24", **spec},
        "status": {
            "capacity": {"cpu": "8"},
            "allocatable": {"cpu": "7"},
            "conditions": [{"type": "Ready", "status": ready}],
            "images": [{"names": ["private/thing"]}],
        },
    }


def pod(name: str, spec: Json | None = None, phase: str = "Running", **metadata: Any) -> Json:
    container = {
        "name": "main",
        "image": "private/train:1",
        "command": ["run", "--token=hunter2"],
        "env": [{"name": "PASSWORD", "value": "hunter2"}],
        "volumeMounts": [{"name": "token", "mountPath": "/run"}],
        "resources": {
            "requests": {"cpu": "1"},
            "limits": {"cpu": "4", "memory": "1Gi", "nvidia.com/gpu": "2"},
        },
    }
    volumes = [
        {"name": "token", "secret": {"secretName": "hunter2"}},
        {"name": "kube-api-access-x", "projected": {"sources": []}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team", "uid": f"u-{name}", **metadata},
        "spec": {
            "containers": [container],
            "volumes": volumes,
            "serviceAccountName": "robot",
            **(spec or {}),
        },
        "status": {"phase": phase},
    }


def taken(*bodies: Json) -> dict[str, Json]:
    """By kind and name."""
    return {f"{b['kind']} {b['metadata']['name']}": b for b in take_over(bodies).objects}


def owned(kind: str, uid: str) -> Json:
    return {
        "ownerReferences": [
            {"apiVersion": "x/v1", "kind": kind, "name": "owner", "uid": uid, "controller": True}
        ]
    }


def test_a_node_keeps_what_it_has_and_gets_the_mark() -> None:
    found = taken(node("n1", unschedulable=True))["Node n1"]
    assert found["metadata"]["labels"] == {"zone": "a", KUBELET: "simulated"}
    assert found["spec"] == {"unschedulable": True, "taints": []}
    assert found["status"] == {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "7"}}
    assert "annotations" not in found["metadata"]


def test_a_node_that_was_lost_is_lost_here() -> None:
    assert FAULT in taken(node("n1", ready="Unknown"))["Node n1"]["metadata"]["annotations"]
    gone = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    own = {"key": "inference", "effect": "NoSchedule"}
    found = taken(node("n1", taints=[gone, own]))["Node n1"]
    assert FAULT in found["metadata"]["annotations"]
    assert found["spec"]["taints"] == [own]


def test_a_pod_keeps_what_decisions_read_and_no_secret() -> None:
    found = taken(node("n1"), pod("p", {"nodeName": "n1", "nodeSelector": {"zone": "a"}}))["Pod p"]
    assert found["spec"]["nodeName"] == "n1"
    assert found["spec"]["nodeSelector"] == {"zone": "a"}
    assert found["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    [container] = found["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "2"},
        "limits": {"nvidia.com/gpu": "2"},
    }
    assert "hunter2" not in json.dumps(found)


def test_overhead_is_asked_for_by_a_container() -> None:
    found = taken(pod("p", {"overhead": {"cpu": "250m", "memory": "1Gi"}, "runtimeClassName": "vm"}))["Pod p"]
    requests = found["spec"]["containers"][0]["resources"]["requests"]
    assert (requests["cpu"], requests["memory"]) == ("1250m", "2Gi")
    assert "overhead" not in found["spec"]


def test_what_cannot_be_taken_over_is_said() -> None:
    result = take_over(
        [
            node("n1"),
            pod("done", phase="Succeeded"),
            pod("leaving", deletionTimestamp="2026-01-01T00:00:00Z"),
            pod("lost", {"nodeName": "elsewhere"}),
            pod("kept", **owned("ReplicaSet", "u-absent")),
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "hunter2"}},
            {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}},
        ]
    )
    assert dict(result.left_out) == {
        "Pod that is finished": 1,
        "Pod that is being deleted": 1,
        "Pod on a node that is not in the dump": 1,
        "ReplicaSet as the owner of a Pod": 1,
        "Secret of v1": 1,
        "PodGroup of scheduling.volcano.sh/v1beta1": 1,
    }
    assert {b["metadata"]["name"] for b in result.objects if b["kind"] == "Pod"} == {"kept"}
    assert "hunter2" not in json.dumps(result.objects)


def test_owners_that_come_along_stay_owners() -> None:
    csi = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "spec": {"drivers": []}}
    found = taken(node("n1"), {**csi, "metadata": {"name": "n1", **owned("Node", "u-n1")}})["CSINode n1"]
    assert found["metadata"]["ownerReferences"][0]["uid"] == "u-n1"


def test_pods_of_a_daemon_set_still_belong_to_their_node() -> None:
    found = taken(node("n1"), pod("agent", {"nodeName": "n1"}, **owned("DaemonSet", "u")))["Pod agent"]
    assert "kubernetes.io/config.mirror" in found["metadata"]["annotations"]


def test_that_a_pod_had_a_controller_is_remembered() -> None:
    found = taken(node("n1"), pod("web", {"nodeName": "n1"}, **owned("ReplicaSet", "u")))["Pod web"]
    assert found["metadata"]["annotations"] == {CONTROLLED_BY: "ReplicaSet/owner"}
    assert comes_back(found)
    again = taken(node("n1"), {**found, "status": {"phase": "Running"}})["Pod web"]
    assert comes_back(again), "a dump of a sandbox that has loaded a dump"
    assert not comes_back(taken(node("n1"), pod("bare", {"nodeName": "n1"}))["Pod bare"])


def test_groups_that_the_dump_lacks_are_said() -> None:
    def member(name: str, group: str) -> Json:
        return pod(name, {"schedulingGroup": {"podGroupName": group}})

    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup"}
    there = {**group, "metadata": {"name": "there", "namespace": "team"}, "spec": {}}
    pods = (member("a-0", "absent"), member("a-1", "absent"), member("t-0", "there"))
    left_out = take_over([node("n1"), there, *pods]).left_out
    [(words, number)] = left_out.items()
    assert number == 1
    assert words.startswith(
        "PodGroup that pods name and the dump lacks; add it with `kubectl get -A -o json podgroups >> FILE`"
    )


def test_missing_namespaces_and_priority_classes_are_made() -> None:
    found = taken(
        pod("p", {"priorityClassName": "gold", "priority": 700}),
        pod("q", {"priorityClassName": "system-node-critical"}),
    )
    assert found["PriorityClass gold"]["value"] == 700
    assert "Namespace team" in found
    assert "PriorityClass system-node-critical" not in found
    assert "priority" not in found["Pod p"]["spec"]


def test_groups_of_any_version_become_groups_of_this_one() -> None:
    old = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "team"},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "podGroupTemplateRef": {"workload": {"workloadName": "w"}},
            "disruptionMode": "PodGroup",
        },
    }
    found = taken(old)["PodGroup g"]
    assert found["apiVersion"] == "scheduling.k8s.io/v1beta1"
    assert found["spec"] == {"schedulingPolicy": {"gang": {"minCount": 4}}, "disruptionMode": {"all": {}}}


def test_a_volume_is_bound_to_its_claim_by_name() -> None:
    reference = {
        "kind": "PersistentVolumeClaim",
        "namespace": "team",
        "name": "data",
        "uid": "old",
        "resourceVersion": "7",
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {"claimRef": reference},
    }
    found = taken(volume)["PersistentVolume v"]
    assert found["spec"]["claimRef"] == {"kind": "PersistentVolumeClaim", "namespace": "team", "name": "data"}


def test_what_others_refer_to_comes_first_and_who_runs_before_who_waits() -> None:
    bodies = [pod("a-waits"), pod("z-runs", {"nodeName": "n1"}), node("n1")]
    assert [f"{b['kind']} {b['metadata']['name']}" for b in take_over(bodies).objects] == [
        "Namespace team",
        "Node n1",
        "Pod z-runs",
        "Pod a-waits",
    ]
