"""`maitred policy check`: what is in force, in full; what is wrong, by file and field."""

import json
from pathlib import Path

import msgspec
import yaml
from click.testing import CliRunner

from maitred.cli import cli
from maitred.model.policy import Policy

TEXT = """\
apiVersion: maitred.dev/v1alpha1
kind: Policy
topology:
  levels: [{name: zone, key: topology.kubernetes.io/zone}, {name: rack, key: example.com/rack}]
nodes:
  managed: {matchLabels: {pool: training}}
nodeTemplates:
- name: h100
  allocatable: {cpu: 96, nvidia.com/gpu: "8"}
  taints: [{key: gpu, effect: NoSchedule}]
"""


def check(*arguments: str, text: str = "") -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["policy", "check", *arguments], input=text)
    return result.exit_code, result.stdout, result.stderr


def test_the_defaults_are_shown() -> None:
    status, shown, _ = check("-", text="search: {steps: 77}")
    assert status == 0
    expected = msgspec.to_builtins(Policy())
    expected["search"]["steps"] = 77
    assert yaml.safe_load(shown) == json.loads(json.dumps(expected))


def test_what_is_shown_is_the_same_policy(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(TEXT)
    _, first, _ = check(str(file))
    _, again, _ = check("-", text=first)
    _, as_json, _ = check(str(file), "-o", "json")
    assert first == again
    assert json.loads(as_json) == yaml.safe_load(first)
    assert msgspec.convert(json.loads(as_json), Policy).node_templates[0].allocatable == {
        "cpu": 96,
        "nvidia.com/gpu": "8",
    }


def test_a_mistake_is_named(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(TEXT.replace("pool: training", "pool: 3"))
    what = "nodes.managed.matchLabels.pool: expected a string, got a whole number; put it in quotes"
    assert check(str(file)) == (2, "", f"{file}: {what}\n")


def test_a_file_that_is_not_there() -> None:
    assert check("no.yaml") == (2, "", "no.yaml: no such file or directory\n")


def test_what_does_not_suit_a_cluster_is_a_warning(tmp_path: Path) -> None:
    cluster, policy = tmp_path / "cluster.yaml", tmp_path / "policy.yaml"
    cluster.write_text("{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4}}}")
    policy.write_text("queues: [{name: a, limits: [{resource: cpu, cap: 5}]}]")
    told = "queues[0].limits[0].cap: 5 never limits anybody, as nodes have 4 cpu"
    status, shown, warned = check(str(policy), "-f", str(cluster))
    assert (status, shown, warned) == (0, check(str(policy))[1], f"warning: {told}\n")
    status, shown, warned = check(str(policy), "-f", str(cluster), "-o", "json")
    assert (status, warned) == (0, "")
    assert json.loads(shown) == {**json.loads(check(str(policy), "-o", "json")[1]), "warnings": [told]}


def test_files_without_an_option_are_refused() -> None:
    assert check("-", "nodes.yaml")[0] == 2
