"""Owners of owners: by controller, namespace and UID, and never in a circle."""

from maitred.cluster.tables import Tables
from maitred.model.job import Job
from maitred.model.meta import ObjectMeta, OwnerReference
from maitred.model.objects import Object
from maitred.model.operators.jobset import JobSet, TrainJob
from maitred.model.owner_chain import owners_above

BATCH, SETS, TRAINER = "batch/v1", "jobset.x-k8s.io/v1alpha2", "trainer.kubeflow.org/v1alpha1"


def owned(name: str, uid: str, *owners: OwnerReference, namespace: str = "ml") -> ObjectMeta:
    return ObjectMeta(name=name, namespace=namespace, uid=uid, owner_references=owners)


def reference(kind: str, name: str, uid: str, api_version: str, controller: bool = True) -> OwnerReference:
    return OwnerReference(kind, name, uid, controller, api_version)


def names_above(pod: ObjectMeta, *objects: Object) -> list[tuple[str, str]]:
    tables = Tables()
    for one in objects:
        tables.put(one)
    return [(type(one).__name__, one.metadata.name) for one in owners_above(pod, tables)]


TRAIN = TrainJob(metadata=owned("train", "u3"))
SET = JobSet(metadata=owned("train", "u2", reference("TrainJob", "train", "u3", TRAINER)))
JOB = Job(metadata=owned("train-node-0", "u1", reference("JobSet", "train", "u2", SETS)))
POD = owned("train-node-0-0", "u0", reference("Job", "train-node-0", "u1", BATCH))


def test_the_chain_goes_from_the_job_to_the_train_job() -> None:
    expected = [("Job", "train-node-0"), ("JobSet", "train"), ("TrainJob", "train")]
    assert names_above(POD, TRAIN, SET, JOB) == expected


def test_the_chain_ends_where_an_object_is_not_known() -> None:
    assert names_above(POD, TRAIN, JOB) == [("Job", "train-node-0")]


def test_another_object_of_the_same_name_is_no_owner() -> None:
    other = JobSet(metadata=owned("train", "another"))
    assert names_above(POD, other, JOB) == [("Job", "train-node-0")]


def test_an_object_of_the_same_name_in_another_namespace_is_no_owner() -> None:
    elsewhere = Job(metadata=owned("train-node-0", "u1", namespace="other"))
    assert names_above(POD, elsewhere) == []


def test_an_owner_that_is_no_controller_is_not_followed() -> None:
    pod = owned("p", "u0", reference("Job", "train-node-0", "u1", BATCH, controller=False))
    assert names_above(pod, JOB) == []


def test_owners_in_a_circle_end_somewhere() -> None:
    first = Job(metadata=owned("a", "1", reference("Job", "b", "2", BATCH)))
    second = Job(metadata=owned("b", "2", reference("Job", "a", "1", BATCH)))
    assert 2 <= len(names_above(owned("p", "0", reference("Job", "a", "1", BATCH)), first, second)) <= 8


def test_a_job_of_volcano_is_not_one_of_kubernetes() -> None:
    pod = owned("p", "u0", reference("Job", "train-node-0", "u1", "batch.volcano.sh/v1alpha1"))
    assert names_above(pod, JOB) == []
