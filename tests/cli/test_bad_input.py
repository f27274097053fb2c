"""Input that is not valid: one line that says which file, which object, which field and what; status 2."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from maitred.cli import cli
from tests.oracle import builders as b

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def decide(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["decide", *arguments], input=text)


def refused(result: Result) -> str:
    """The line that a refusal prints, which is all that it prints."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr.strip()


def pod(**spec: Any) -> dict[str, Any]:
    return b.pod("p", namespace="ml", spec=spec)


def container(**fields: Any) -> dict[str, Any]:
    return pod(containers=[fields])


def requests(**amounts: Any) -> dict[str, Any]:
    return container(resources={"requests": amounts})


def near(**fields: Any) -> dict[str, Any]:
    return pod(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "rack", **fields}]}})


def on_nodes(requirement: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    return pod(affinity={"nodeAffinity": {REQUIRED: terms}})


def selecting(requirement: dict[str, Any]) -> dict[str, Any]:
    return near(labelSelector={"matchExpressions": [requirement]})


def group(**spec: Any) -> dict[str, Any]:
    return b.pod_group("g", namespace="ml", spec=spec)


def composite(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "g", "namespace": "ml"}
    version = "scheduling.k8s.io/v1alpha3"
    return {"apiVersion": version, "kind": "CompositePodGroup", "metadata": metadata, "spec": spec}


NEAR = f"spec.affinity.podAffinity.{REQUIRED}[0]"
NODES = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
GANG = {"gang": {"minCount": 2}}

CASES: list[tuple[dict[str, Any], str, str, str]] = [
    # types
    (pod(priority="high"), "Pod ml/p", "spec.priority", "expected a whole number, got a string"),
    (pod(containers={}), "Pod ml/p", "spec.containers", "expected a list, got an object"),
    (pod(containers=[None]), "Pod ml/p", "spec.containers[0]", "expected an object, got null"),
    (pod(nodeSelector={"a": "x", "b": 1}), "Pod ml/p", "spec.nodeSelector.b", "put it in quotes"),
    (pod(hostNetwork="yes"), "Pod ml/p", "spec.hostNetwork", "expected true or false, got a string"),
    (
        pod(preemptionPolicy="never"),
        "Pod ml/p",
        "spec.preemptionPolicy",
        "not one of Never, PreemptLowerPriority",
    ),
    (pod(priority=2**31), "Pod ml/p", "spec.priority", "out of range"),
    (pod(activeDeadlineSeconds=0), "Pod ml/p", "spec.activeDeadlineSeconds", "is 0, and must be from 1"),
    (pod(activeDeadlineSeconds=2**31), "Pod ml/p", "spec.activeDeadlineSeconds", "from 1 to 2147483647"),
    (
        b.pod("p", created="yesterday"),
        "Pod default/p",
        "metadata.creationTimestamp",
        "'yesterday' is not a time",
    ),
    # identity
    ({"kind": "Pod", "metadata": {"name": "p"}}, "Pod p", "apiVersion", "is required"),
    ({"apiVersion": "v1", "metadata": {"name": "p"}}, "document 1", "kind", "is required"),
    ({"apiVersion": "v1", "kind": "Pod"}, "Pod in document 1", "metadata.name", "is required"),
    (b.pod(""), "Pod in document 1", "metadata.name", "is required"),
    (b.pod("a b"), "Pod default/a b", "metadata.name", "'a b' is not a name"),
    (b.node("a/b"), "Node a/b", "metadata.name", "'a/b' is not a name"),
    (b.pod("p" * 254), "Pod default/ppp", "metadata.name", "is 254 characters long"),
    (b.pod("p", namespace="n" * 64), "Pod nnn", "metadata.namespace", "is 64 characters long"),
    (b.pod("p", group="a b"), "Pod default/p", "spec.schedulingGroup.podGroupName", "is not a name"),
    # quantities
    (requests(cpu="4 cores"), "Pod ml/p", "spec.containers[0].resources.requests.cpu", "is not a quantity"),
    (requests(cpu="-1"), "Pod ml/p", "spec.containers[0].resources.requests.cpu", "negative"),
    (requests(memory="9" * 5000), "Pod ml/p", "spec.containers[0].resources.requests.memory", "quantity"),
    (requests(cpu=True), "Pod ml/p", "spec.containers[0].resources.requests.cpu", "got a boolean"),
    (requests(**{"a b": 1}), "Pod ml/p", "spec.containers[0].resources.requests.a b", "name of a resource"),
    (pod(overhead={"cpu": ""}), "Pod ml/p", "spec.overhead.cpu", "is not a quantity"),
    (
        pod(initContainers=[{"resources": {"limits": {"cpu": "x"}}}]),
        "Pod ml/p",
        "spec.initContainers[0]",
        "'x'",
    ),
    (b.node("n", cpu="many"), "Node n", "status.allocatable.cpu", "'many' is not a quantity"),
    (b.pvc("c", "big"), "PersistentVolumeClaim default/c", "spec.resources.requests.storage", "'big'"),
    (b.pv("v", "-1Gi"), "PersistentVolume v", "spec.capacity.storage", "negative"),
    # what pods ask for
    (
        container(ports=[{"hostPort": 70000}]),
        "Pod ml/p",
        "spec.containers[0].ports[0].hostPort",
        "at most 65535",
    ),
    (
        container(ports=[{"protocol": "tcp"}]),
        "Pod ml/p",
        "spec.containers[0].ports[0].protocol",
        "TCP, UDP, SCTP",
    ),
    (pod(tolerations=[{"value": "x"}]), "Pod ml/p", "spec.tolerations[0]", "operator must be Exists"),
    (pod(tolerations=[{"operator": "Maybe"}]), "Pod ml/p", "spec.tolerations[0].operator", "not one of"),
    (near(topologyKey=""), "Pod ml/p", f"{NEAR}.topologyKey", "is required"),
    (near(topologyKey="a b"), "Pod ml/p", f"{NEAR}.topologyKey", "is not a label key"),
    (
        selecting(b.expr("a", "In")),
        "Pod ml/p",
        f"{NEAR}.labelSelector.matchExpressions[0].values",
        "In needs",
    ),
    (selecting(b.expr("a", "Exists", "x")), "Pod ml/p", f"{NEAR}.labelSelector", "Exists takes no values"),
    (selecting(b.expr("a", "Gt", "1")), "Pod ml/p", f"{NEAR}.labelSelector", "only for node affinity"),
    (on_nodes(b.expr("a", "NotIn")), "Pod ml/p", f"{NODES}.values", "NotIn needs at least one value"),
    (on_nodes(b.expr("a", "Gt", "1", "2")), "Pod ml/p", f"{NODES}.values", "needs exactly one value"),
    (on_nodes(b.expr("a", "Lt", "1", "2")), "Pod ml/p", f"{NODES}.values", "exactly one value"),
    (on_nodes(b.expr("", "Exists")), "Pod ml/p", f"{NODES}.key", "is required"),
    (pod(affinity={"nodeAffinity": {REQUIRED: {}}}), "Pod ml/p", "nodeSelectorTerms", "is required"),
    (
        pod(topologySpreadConstraints=[b.spread("", {})]),
        "Pod ml/p",
        "Constraints[0].topologyKey",
        "is required",
    ),
    (pod(topologySpreadConstraints=[b.spread("a", skew=0)]), "Pod ml/p", "maxSkew", "at least 1, not 0"),
    (b.node("n", taints=[{"effect": "NoSchedule"}]), "Node n", "spec.taints[0].key", "is required"),
    (b.node("n", taints=["a=b:Never"]), "Node n", "spec.taints[0].effect", "not one of"),
    # groups
    (group(schedulingPolicy={}), "PodGroup ml/g", "spec.schedulingPolicy", "is required"),
    (group(schedulingPolicy={**GANG, "basic": {}}), "PodGroup ml/g", "spec.schedulingPolicy", "both"),
    (group(schedulingPolicy=GANG, minMember=3), "PodGroup ml/g", "spec.minMember", "3 contradicts"),
    (group(minMember=3), "PodGroup ml/g", "spec.minMember", "3 contradicts spec.schedulingPolicy.basic"),
    (group(minMember=0), "PodGroup ml/g", "spec.minMember", "must be at least 1, not 0"),
    (
        group(schedulingPolicy={"gang": {}}),
        "PodGroup ml/g",
        "spec.schedulingPolicy.gang.minCount",
        "is required",
    ),
    (b.pod_group("g", -1), "PodGroup default/g", "spec.schedulingPolicy.gang.minCount", "at least 1, not -1"),
    (b.pod_group("g", 1, ""), "PodGroup default/g", "spec.schedulingConstraints.topology[0].key", "required"),
    (
        group(schedulingConstraints={"topology": [{"key": "a"}, {"key": "b"}]}),
        *("PodGroup ml/g", "spec.schedulingConstraints.topology", "has 2 keys; one is allowed"),
    ),
    (group(disruptionMode="All"), "PodGroup ml/g", "spec.disruptionMode", "'All' is not Pod, PodGroup"),
    (group(disruptionMode={"some": {}}), "PodGroup ml/g", "spec.disruptionMode", "is not Pod, PodGroup"),
    (composite(), "CompositePodGroup ml/g", "spec.schedulingPolicy", "exactly one"),
    # the rest
    (b.priority_class("c", 2**40), "PriorityClass c", "value", "out of range"),
    (b.pv("v", on=[b.expr("a", "In")]), "PersistentVolume v", "spec.nodeAffinity.required", "In needs"),
    (
        {**b.storage_class("s"), "volumeBindingMode": "Later"},
        *("StorageClass s", "volumeBindingMode", "not one of Immediate, WaitForFirstConsumer"),
    ),
    (b.csi_node("n", {"d": 2**40}), "CSINode n", "spec.drivers[0].allocatable.count", "out of range"),
    (
        {"apiVersion": "maitred.dev/v1alpha1", "kind": "Policy"},
        *("Policy in document 1", "kind", "a Policy is given with --policy"),
    ),
    ({"apiVersion": "v1", "kind": "List", "items": [3]}, "document 1, items[0]", "", "expected an object"),
    ({"apiVersion": "v1", "kind": "PodList", "items": {}}, "document 1", "items", "expected a list"),
]


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize(("manifest", "object", "field", "what"), CASES)
def test_an_object_that_is_refused(
    tmp_path: Path, form: str, manifest: dict[str, Any], object: str, field: str, what: str
) -> None:
    file = tmp_path / f"bad.{form}"
    file.write_text(json.dumps(manifest) if form == "json" else yaml.safe_dump(manifest))
    line = refused(decide("-f", str(file)))
    assert line.startswith(f"{file}: {object}")
    assert field in line
    assert what in line


def test_one_bad_object_among_many(tmp_path: Path) -> None:
    file = tmp_path / "dump.json"
    items = [b.pod(f"p{i}") for i in range(50)]
    items[33]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "x"}}
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    line = refused(decide("-f", str(file)))
    assert line.startswith(f"{file}: Pod default/p33: spec.containers[0].resources.requests.cpu: 'x' is not")


def test_the_same_object_in_two_files(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.json"):
        (tmp_path / name).write_text(json.dumps(pod()))
    line = refused(decide("-f", str(tmp_path)))
    assert line.startswith(
        f"{tmp_path / 'b.json'}: Pod ml/p: metadata.name: another object of this name is in"
    )
    assert line.endswith(f"in {tmp_path / 'a.yaml'} (document 1)")


def test_a_dump_cut_off_in_the_middle(tmp_path: Path) -> None:
    file = tmp_path / "dump.json"
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod()] * 1000}, indent=4)
    half = text[: len(text) // 2]
    file.write_text(half)
    place = f"in the middle, in line {len(half.splitlines())}, after {len(half):,} bytes"
    assert refused(decide("-f", str(file))) == f"{file}: the JSON ends {place}; was it cut off?"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert refused(decide("-f", f"{tmp_path}/no.yaml")) == f"{tmp_path}/no.yaml: no such file or directory"


def test_a_directory_without_manifests(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# nothing here")
    assert refused(decide("-f", str(tmp_path))) == f"{tmp_path}: has no files ending in .yaml, .yml, .json"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to the superuser")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    file = tmp_path / "secret.yaml"
    file.touch(0o000)
    assert refused(decide("-f", str(file))) == f"{file}: permission denied"


def test_standard_input_only_once() -> None:
    assert refused(decide("-f", "-", "-f", "-", text="")) == "-: standard input can be read only once"


def test_bad_standard_input() -> None:
    assert refused(decide("-f", "-", text="a: [")).startswith(
        "standard input: line 2, column 1: not valid YAML"
    )


@pytest.mark.parametrize("now", ["yesterday", "2026-01-01", "2026-01-01T00:00:00", "1767225600", ""])
def test_a_time_that_is_none(now: str) -> None:
    line = refused(decide("-f", "-", "--now", now, text=""))
    assert line == f"--now: {now!r} is not a time such as 2026-01-31T12:00:00Z"


def test_a_policy_that_is_refused(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("topology: {levels: [{name: rack, keys: rack}]}")
    line = refused(decide("-f", "-", "--policy", str(policy), text=""))
    assert line == f"{policy}: topology.levels[0].keys: there is no such field; did you mean key?"


def test_no_control_characters_reach_the_terminal(tmp_path: Path) -> None:
    line = refused(decide("-f", "-", text=json.dumps(b.pod("a\x1b[31m\nb"))))
    assert line.startswith("standard input: Pod default/a\\x1b[31m\\nb: metadata.name:")


@pytest.mark.parametrize("arguments", [[], ["-f"], ["-f", "-", "--output", "xml"], ["-f", "-", "--colour"]])
def test_bad_usage_is_status_2_too(arguments: list[str]) -> None:
    result = decide(*arguments, text="")
    assert result.exit_code == 2
    assert "Error: " in result.stderr
