"""What the command line asks a cluster about operators: whether there is one, and for templates."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from maitred.cli import cli
from maitred.cli.connecting import connection as own_connection
from maitred.kube.client import Client
from maitred.model.kinds import row_of
from maitred.model.objects import Object
from maitred.model.operators.jobset import TrainJob
from maitred.model.operators.runtimes import ClusterTrainingRuntime
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.kubeconfig import write_kubeconfig
from maitred.sandbox.world.objects import WorldObjects
from tests.controllers.answers.house import House, cluster, connection, running_house
from tests.docs.console import ROOT
from tests.oracle.builders import Obj

EXAMPLES = ROOT / "examples/workloads"
QUEUE = "kueue.x-k8s.io/queue-name"


def definition(kind: type[Object]) -> Obj:
    row = row_of(kind)
    return definition_of(row.group, row.versions[0], row.name, row.plural, row.namespaced)


def definition_of(group: str, version: str, kind: str, plural: str, namespaced: bool) -> Obj:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural, "listKind": f"{kind}List"},
            "scope": "Namespaced" if namespaced else "Cluster",
            "versions": [served],
        },
    }


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a cluster that has Kubeflow Trainer, and no other operator."""
    with running_house("127.0.0.1") as found:
        asyncio.run(install(found))
        path = tmp_path_factory.mktemp("kube") / "config"
        write_kubeconfig(path, found.server.url, found.server.authority, found.tokens[ADMIN])
        yield str(path)


async def install(found: House) -> None:
    runtime, _ = yaml.safe_load_all((EXAMPLES / "trainjob.yaml").read_text())
    async with Client(connection(found.server, found.tokens[ADMIN])) as admin:
        objects = WorldObjects(admin)
        for item in (*cluster(), definition(TrainJob), definition(ClusterTrainingRuntime), runtime):
            if item["kind"] != "Namespace":
                await objects.create(item)
        for name in ("idle", "begun"):
            await objects.create(train_job(name))
        path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team-a/trainjobs/begun"
        said = {"status": {"conditions": [{"type": "Created", "status": "True"}]}}
        await admin.request(
            "PATCH", path, body=json.dumps(said).encode(), content_type="application/merge-patch+json"
        )


def train_job(name: str) -> Obj:
    about = {"name": name, "namespace": "team-a"}
    spec = {"runtimeRef": {"name": "torch-distributed"}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": about,
        "spec": spec,
    }


def run(config: str, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--kubeconfig", config])


def planned(config: str, file: Path) -> Obj:
    answer: Obj = json.loads(run(config, "plan", "-f", str(file), "-o", "json").stdout)
    return answer


def test_an_object_whose_operator_is_not_installed_is_named_as_such(config: str) -> None:
    words = "no operator for JobSet is installed in this cluster: nothing will create its pods"
    answer = planned(config, EXAMPLES / "jobset.yaml")
    assert f"{words}; this answer is for a cluster that has it" in answer["warnings"]
    assert [one["workload"] for one in answer["proposals"]] == ["JobSet ml/llm"]
    asked = run(config, "why", "jobset/team-a/llm")
    assert (asked.exit_code, asked.stderr.splitlines()[-1]) == (2, words)
    assert "operator" not in run(config, "why", "trainjob/team-a/llm").stderr


def test_an_object_that_no_operator_minds_is_named_as_such(config: str) -> None:
    """Its kind is served, the object is there, and nobody has written to its status."""
    asked, begun = (run(config, "why", f"trainjob/team-a/{name}") for name in ("idle", "begun"))
    assert (asked.exit_code, begun.exit_code) == (4, 4)
    assert "check that the operator for TrainJob runs" in " ".join(asked.stdout.split())
    assert "check that" not in begun.stdout


def test_the_runtime_of_a_train_job_is_looked_up_in_the_cluster(config: str) -> None:
    answer = planned(config, EXAMPLES / "no-runtime")
    assert [(one["workload"], one["members"]) for one in answer["proposals"]] == [("TrainJob ml/finetune", 4)]
    assert not any("operator" in warning for warning in answer["warnings"])


def test_an_import_of_a_cluster_is_checked(config: str) -> None:
    result = run(config, "import", "--check", "--cluster", "-o", "json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["objects"], found["invalid"]) == (0, [], [])
    assert found["others"] > len(cluster()) // 2


def test_queues_of_a_cluster_are_imported(config: str) -> None:
    none = run(config, "import", "--queues", "--cluster")
    assert (none.exit_code, none.stdout) == (2, "")
    assert "there are no ClusterQueues of Kueue, and no Queues of Volcano or KAI" in none.stderr
    kind = definition_of("scheduling.run.ai", "v2", "Queue", "queues", namespaced=False)
    queue = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "vision"},
        "spec": {"resources": {"gpu": {"quota": 8, "limit": -1, "overQuotaWeight": 1}}},
    }
    asyncio.run(changed(config, create=(kind, queue)))
    try:
        found = run(config, "import", "--queues", "--cluster", "-o", "json")
    finally:
        names = ("scheduling.run.ai/v2/queues/vision", CRDS + "queues.scheduling.run.ai")
        asyncio.run(changed(config, delete=names))
    (made,) = json.loads(found.stdout)["queues"]
    assert made == {"name": "vision", "limits": [{"resource": "nvidia.com/gpu", "guarantee": 8}]}


CRDS = "apiextensions.k8s.io/v1/customresourcedefinitions/"


async def changed(config: str, create: tuple[Obj, ...] = (), delete: tuple[str, ...] = ()) -> None:
    async with Client(own_connection(config, None)) as admin:
        objects = WorldObjects(admin)
        for item in create:
            await objects.create(item)
        for path in delete:
            await admin.request("DELETE", f"/apis/{path}")
