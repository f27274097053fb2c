"""The pods of owners are those that real operators made, as far as they were recorded."""

from pathlib import Path

import pytest
import yaml

from maitred.explain.proposal.expansion import Gathered
from maitred.model.manifest import Reader
from maitred.model.meta import controller_of
from maitred.model.operators.pods import MAKERS, pods_of
from maitred.model.pod import Pod

RECORDED = sorted((Path(__file__).parents[1] / "operators/recorded").glob("*.yaml"))
OTHERWISE = (
    "batch.kubernetes.io/controller-uid",
    "controller-uid",
    "controller-revision-hash",
    "jobset.sigs.k8s.io/job-key",
    "leaderworkerset.sigs.k8s.io/group-key",
    "leaderworkerset.sigs.k8s.io/template-revision-hash",
    "ray.io/worker-group-replica-name",
)
"""Labels with UIDs, with hashes of revisions, or with hashes of the namespace that they were recorded in."""


def labels(pod: Pod) -> dict[str, str]:
    return {key: value for key, value in pod.metadata.labels.items() if key not in OTHERWISE}


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_operators_make_the_same_pods(file: Path) -> None:
    reader = Reader()
    reader.read(file.read_bytes(), file.name)
    tops = [one for one in reader.objects if type(one) in MAKERS and controller_of(one.metadata) is None]
    version = yaml.safe_load(file.read_bytes().partition(b"---")[0])["apiVersion"]
    made = [
        pod for top in tops for part in pods_of(top, Gathered(reader.objects), version) for pod in part.pods()
    ]
    assert made
    for real in (item for item in reader.objects if isinstance(item, Pod)):
        like = [one for one in made if labels(one) == labels(real)]
        assert like, f"{real.metadata.name}: {labels(real)}"
        (stem,) = {one.metadata.name for one in like if real.metadata.name.startswith(one.metadata.name)} or {
            like[0].metadata.name.rpartition("-")[0]
        }
        assert real.metadata.name.startswith(stem)
        owners = [controller_of(one.metadata) for one in (like[0], real)]
        assert len({(one.kind, one.name, one.api_version) for one in owners if one is not None}) == 1
        assert like[0].spec.containers == real.spec.containers
        first = [[one.resources for one in pod.spec.init_containers] for pod in (like[0], real)]
        assert first[0] == first[1]
        assert like[0].spec.scheduler_name == real.spec.scheduler_name
