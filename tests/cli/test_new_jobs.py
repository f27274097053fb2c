"""Jobs in files that nobody has created yet: every verb answers as if their pods were there."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from maitred.cli import cli
from tests.oracle import builders as b
from tests.support import NOON, Obj

NODES = [b.node(f"n{i}", gpu=8, rack=f"r{i // 2}") for i in range(4)]
GANG = {"schedulingPolicy": {"gang": {"minCount": 4}}}
SUPPOSED = "Job default/train has no pods in the input: decided as if its 4 pods had been created"
SKIPPED = "Job: this command does not create its pods; give the pods themselves (1 object skipped)"


def job(name: str = "train", gpu: int = 8, count: int = 4, **spec: Any) -> Obj:
    resources = {"limits": {"nvidia.com/gpu": gpu}}
    main = {"name": "main", "image": "example/train:1.0", "resources": resources}
    template = {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [main]}}
    body = {"parallelism": count, "scheduling": GANG, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": body}


def run(verb: str, *arguments: str, objects: list[Obj]) -> Result:
    timed = ("--now", NOON) if verb != "topology" else ()
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    return CliRunner().invoke(cli, [verb, *arguments, "-f", "-", *timed], input=text)


def decided(*objects: Obj) -> Obj:
    result = run("decide", "-o", "json", objects=list(objects))
    assert result.exit_code == 0, result.stderr
    plan: Obj = json.loads(result.stdout)
    return plan


def test_its_pods_are_decided_as_plan_would_have_them(tmp_path: Path) -> None:
    plan = decided(*NODES, job())
    assert [bind["pod"] for bind in plan["binds"]] == [f"default/train-{i}" for i in range(4)]
    [group] = plan["groups"]
    assert (group["group"], group["verdict"], group["quorum"]) == ("default/train", "Scheduled", 4)
    assert plan["warnings"] == [SUPPOSED]
    manifest, cluster = tmp_path / "job.yaml", tmp_path / "cluster.yaml"
    cluster.write_text(yaml.safe_dump_all(NODES))
    for gpu, status in ((8, 0), (9, 5)):
        manifest.write_text(yaml.safe_dump(job(gpu=gpu)))
        planned = CliRunner().invoke(cli, ["plan", "-f", str(manifest), "--on", str(cluster)])
        asked = run("why", "job/train", objects=[*NODES, job(gpu=gpu)])
        assert (planned.exit_code, asked.exit_code) == (status, status)


def test_the_order_of_the_input_does_not_matter() -> None:
    objects = [*NODES, job("b", 8, 2), job("a", 4, 3), b.pod("old", gpu=8, node="n0")]
    assert decided(*objects) == decided(*reversed(objects))


def test_the_checker_reads_them_the_same_way(tmp_path: Path) -> None:
    objects = [*NODES, job(), job("loose", 1, 2, scheduling=None)]
    plan = tmp_path / "plan.json"
    plan.write_text(run("decide", "-o", "json", objects=objects).stdout)
    result = run("verify", "--plan", str(plan), objects=objects)
    assert (result.exit_code, result.stdout) == (0, "Every law holds.\n")


@pytest.mark.parametrize("verb", ["decide", "capacity", "topology"])
def test_every_verb_says_so(verb: str) -> None:
    assert run(verb, objects=[*NODES, job()]).stderr == f"warning: {SUPPOSED}\n"


def test_capacity_counts_on_them() -> None:
    full = json.loads(run("capacity", "-o", "json", objects=[*NODES, job(gpu=5), job("more", 8)]).stdout)
    assert full["waiting"] == 1


def of_cluster() -> Obj:
    dumped = job()
    dumped["metadata"]["uid"] = "8f3c"
    return dumped


def started() -> Obj:
    return {**job(), "status": {"active": 4, "startTime": NOON}}


@pytest.mark.parametrize(
    ("found", "beside"),
    [
        pytest.param(of_cluster(), [], id="a UID"),
        pytest.param(started(), [], id="a status"),
        pytest.param(job(suspend=True), [], id="suspended"),
        pytest.param(job(managedBy="example.com/other"), [], id="of another controller"),
        pytest.param(job(count=0), [], id="no pods asked for"),
        pytest.param(job(), [b.pod("train-3", node="n0")], id="a pod of such a name"),
        pytest.param(job(), [b.pod_group("train", 1)], id="a PodGroup of such a name"),
    ],
)
def test_a_job_that_is_not_new_is_never_expanded(found: Obj, beside: list[Obj]) -> None:
    plan = decided(*NODES, found, *beside)
    assert (plan["binds"], plan["warnings"]) == ([], [SKIPPED])


@pytest.mark.parametrize("how", [{"owner": "Job/train"}, {"labels": {"job-name": "train"}}])
def test_a_job_with_pods_in_the_input_is_never_expanded(how: dict[str, Any]) -> None:
    plan = decided(*NODES, job(scheduling=None), b.pod("x", gpu=8, **how))
    assert [bind["pod"] for bind in plan["binds"]] == ["default/x"]
    assert plan["warnings"] == []


def test_a_job_of_that_name_in_another_namespace_is_another() -> None:
    plan = decided(*NODES, job(), b.pod("x", node="n0", namespace="team-b", owner="Job/train"))
    assert len(plan["groups"]) == 1


def test_what_the_template_says_wrong_is_refused_by_its_field() -> None:
    result = run("decide", objects=[*NODES, job(gpu="8x")])  # type: ignore[arg-type]
    assert result.exit_code == 2
    assert "Job train: spec.template.spec.containers[0].resources" in result.stderr
    result = run("decide", objects=[*NODES, job("a", count=6_000), job("b", count=6_000)])
    assert (result.exit_code, "at most 10000 pods" in result.stderr) == (2, True)


def test_marks_count_where_the_cluster_makes_groups_of_jobs() -> None:
    made = b.pod_group("other", 1)
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "other", "uid": "1", "controller": True}
    ]
    marked = job(scheduling=None)
    marked["spec"]["template"]["metadata"] = {"annotations": {"maitred.dev/group": "crew"}}
    assert [group["group"] for group in decided(*NODES, marked, made)["groups"]] == ["default/crew"]
