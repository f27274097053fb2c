"""The sources of membership: which of them counts, and what each of them reads."""

import re
from itertools import combinations
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

import maitred
from maitred.model.job import Job
from maitred.model.membership import (
    KEYS,
    SOURCES,
    GroupId,
    group_of_template,
    named_group,
    said_by,
    settle,
)
from maitred.model.objects import Object
from maitred.model.pod import Pod
from maitred.model.policy import Workloads
from maitred.model.recording import allowed
from tests.oracle import builders as b
from tests.oracle.builders import GROUP, MIN_COUNT, Obj

T = TypeVar("T", bound=Object)
SOURCE = Path(maitred.__file__).parent
LWS, YUNIKORN = "leaderworkerset.sigs.k8s.io/", "yunikorn.apache.org/"


def owner(version: str, kind: str) -> Obj:
    return {"apiVersion": version, "kind": kind, "name": "g", "uid": "u", "controller": True}


CLAIMS: dict[str, Obj] = {
    "PodGroup": {"spec": {"schedulingGroup": {"podGroupName": "podgroup"}}},
    "maitred.dev": {"annotations": {GROUP: "marks"}},
    "Coscheduling": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}},
    "Volcano": {"annotations": {"scheduling.k8s.io/group-name": "g"}},
    "KAI": {"annotations": {"pod-group-name": "g"}},
    "Koordinator": {"annotations": {"gang.scheduling.koordinator.sh/name": "g"}},
    "YuniKorn": {"annotations": {f"{YUNIKORN}app-id": "g", f"{YUNIKORN}task-group-name": "w"}},
    "Kueue": {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}},
    "Armada": {"annotations": {"armadaproject.io/gangId": "g"}},
    "Gödel": {"annotations": {"godel.bytedance.com/pod-group-name": "g"}},
    "JobSet": {"ownerReferences": [owner("jobset.x-k8s.io/v1alpha2", "JobSet")]},
    "LeaderWorkerSet": {"labels": {f"{LWS}name": "g", f"{LWS}group-index": "0"}},
    "RayCluster": {"ownerReferences": [owner("ray.io/v1", "RayCluster")]},
    "PyTorchJob": {"ownerReferences": [owner("kubeflow.org/v1", "PyTorchJob")]},
    "MPIJob": {"ownerReferences": [owner("kubeflow.org/v2beta1", "MPIJob")]},
    "Job": {"ownerReferences": [owner("batch/v1", "Job")]},
    "owner": {"ownerReferences": [owner("acme.dev/v1", "Thing")], "annotations": {MIN_COUNT: "2"}},
}


def claimed(*sources: str) -> Obj:
    """A pod that all of these sources claim."""
    raw = b.pod("p")
    for source in sources:
        for field, value in CLAIMS[source].items():
            home = raw if field == "spec" else raw["metadata"]
            if isinstance(value, list):
                home[field] = [*home.get(field, []), *value]
            else:
                home[field] = {**home.get(field, {}), **value}
    return raw


def read(raw: Obj) -> Pod:
    return msgspec.convert(raw, Pod)


class Nothing:
    """Knows of no object at all."""

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        return None


def source_of(raw: Obj) -> str | None:
    found = settle(said_by(read(raw)), Nothing(), Workloads()).id
    return None if found is None else found.source


def test_every_source_has_a_claim_here() -> None:
    assert list(CLAIMS) == [source.title for source in SOURCES]


def test_the_first_source_in_the_table_counts() -> None:
    """A pod has one controller, so one kind of owner is enough; a Job that is not known makes no group."""
    owned = ("JobSet", "LeaderWorkerSet", "RayCluster", "PyTorchJob", "MPIJob", "Job", "owner")
    for first, second in combinations(CLAIMS, 2):
        if first in owned:
            continue
        assert source_of(claimed(second, first)) == first, f"with {second} beside it"


@pytest.mark.parametrize("source", CLAIMS)
def test_only_what_a_pod_names_is_known_from_the_pod(source: str) -> None:
    found = named_group(said_by(read(claimed(source))))
    written = next(one.written for one in SOURCES if one.title == source)
    assert (None if found is None else found.source) == (source if written else None)


@pytest.mark.parametrize("source", CLAIMS)
def test_what_a_source_reads_is_recorded(source: str) -> None:
    """A record with less would be audited in another way."""
    about = claimed(source)["metadata"]
    read_by_it = {*about.get("labels", {}), *about.get("annotations", {})}
    assert read_by_it <= KEYS
    assert set(allowed(dict.fromkeys(read_by_it, ""))) == read_by_it


def test_only_the_table_reads_the_group_of_a_pod() -> None:
    """`verify` has its own reading on purpose, and the sandbox stands in for Kubernetes."""
    own = re.compile(r"\bpod_group_name\b|mark\([^()]*\bGROUP\)|\bget\(GROUP\)|\bGROUP in\b")
    packages = ("cluster", "decide", "explain", "simulate", "ledger", "kube", "controllers", "cli")
    readers = [
        str(path.relative_to(SOURCE))
        for package in packages
        for path in sorted((SOURCE / package).rglob("*.py"))
        if own.search(path.read_text())
    ]
    assert readers == []


def test_a_template_tells_the_group_of_the_pods_made_from_it() -> None:
    template: Obj = {"metadata": {"labels": {GROUP: "label"}, "annotations": {GROUP: "annotation"}}}
    job = {"metadata": {"name": "j", "namespace": "ml"}, "spec": {"template": template}}
    made = {"metadata": {**template["metadata"], "name": "j-0", "namespace": "ml"}}
    found = group_of_template(msgspec.convert(job, Job), Nothing(), Workloads())
    assert found == named_group(said_by(read(made))) == GroupId("maitred.dev", "ml/label")
